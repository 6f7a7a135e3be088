"""A third-party backend as a distribution of its own: the simulator with one fault, announced by an entry point."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Self

from acl_cts.backends.backend import BackendError, HarnessError, Identity, Options, Session
from acl_cts.backends.simulator.session import SimulatorBackend
from acl_cts.specs.program import Program
from acl_cts.specs.trace import CallRecord, Capability, Record, Trace

LATER = 40
"""Programs after which the faults that come in the middle of a run come."""


def announce(folder: Path) -> None:
    """Make `folder`, put on the Python path, announce this module as backend `odd`."""
    info = folder / "odd-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[acl_cts.backends]\nodd = third_party:OddBackend\n")
    (folder / "third_party.py").write_text(Path(__file__).read_text(encoding="utf-8"))


class OddBackend:
    """Opens the simulator with the fault that stands behind the colon."""

    name = "odd"
    summary = "the simulator with a fault"

    def open(self, options: Options) -> Session:
        if options.library == "nowhere":
            raise BackendError("odd: there is nothing here; give another name")
        if options.library == "unbuilt":
            raise HarnessError("odd: cannot be built")
        return OddSession(SimulatorBackend().open(replace(options, library="")), options.library)


class OddSession:
    """The simulator's session, with its fault."""

    def __init__(self, inner: Session, fault: str) -> None:
        self._inner = inner
        self._fault = fault
        self._runs = 0
        self._failed_once = False

    @property
    def identity(self) -> Identity:
        return Identity("odd", details={"fault": self._fault})

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._inner.capabilities

    @property
    def missing(self) -> frozenset[str]:
        if self._fault == "no-allocator":
            return frozenset({"aclrtAllocatorCreateDesc"})
        return frozenset({"aclrtAllocBuf"}) if self._fault == "no-mbuf" else frozenset()

    @property
    def startups(self) -> int:
        return self._inner.startups

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        self._runs += 1
        if self._runs > LATER:
            self._strike()
        trace = self._inner.run(program, solo=solo)
        return replace(trace, records=tuple(self._twist(record) for record in trace.records))

    def _strike(self) -> None:
        match self._fault:
            case "harness":
                raise HarnessError("odd: protocol broken")
            case "lost":
                raise BackendError("odd: device lost")
            case "dies":
                os._exit(9)
            case "interrupts":
                os.kill(os.getppid(), signal.SIGINT)
                signal.pause()

    def _twist(self, record: Record) -> Record:
        if not isinstance(record, CallRecord) or record.function != "aclrtGetBufDataLen" or record.ret != 0:
            return record
        if self._fault == "wrong-length":
            return replace(record, outs=(("len", 77),))
        if self._fault == "once" and self._runs > LATER and not self._failed_once:
            self._failed_once = True
            return replace(record, outs=(("len", 77),))
        return record

    def restart(self) -> None:
        self._inner.restart()

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
