"""The contract between a backend and everything that uses one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

from acl_cts.specs.faults import BadInput, SuiteFault
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability, Trace


class BackendError(BadInput):
    """A backend cannot be used: bad input of the user. Exit code 2.

    The message is one line: what, where, what to do.
    """


class HarnessError(SuiteFault):
    """The suite's own machinery failed (no compiler, worker that will not start, protocol broken). Exit code 3."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answered: for reports. `library`: file path or ''. `details`: versions, SoC name, flavour, data access..."""

    backend: str
    library: str = ""
    sha256: str = ""
    build_id: str = ""
    details: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """How to open a backend. Times in seconds. `flavour`: plain, asan, cover or tsan. `tables`: of further families,
    as `load_spec` takes them. `thread_safe`: the user says that the library may be called from several threads."""

    library: str = ""
    device: int = 0
    data_access: str = "auto"
    flavour: str = "plain"
    call_timeout: float = 5.0
    start_timeout: float = 120.0
    executor: str = ""
    tables: tuple[str, ...] = ()
    thread_safe: bool = False

    def __post_init__(self) -> None:
        # JSON, by which options travel, has no tuples.
        object.__setattr__(self, "tables", tuple(self.tables))


class Session(Protocol):
    """An open backend: runs programs one at a time, survives whatever the library does.

    `run` never raises for what the library under test does: crash, hang and exit are endings of the trace, and the next
    `run` finds a new worker. `call_timeout` bounds the time without progress, not the whole program.
    """

    @property
    def identity(self) -> Identity:
        """Who answers here."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the backend declares of itself."""
        ...

    @property
    def missing(self) -> frozenset[str]:
        """Functions of the interface that the library does not export."""
        ...

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        """Execute `program`; with `solo` in a process of its own. Raises HarnessError only for faults of the suite."""
        ...

    def restart(self) -> None:
        """Throw the worker away; the next program meets a new process."""
        ...

    @property
    def startups(self) -> int:
        """Workers started so far."""
        ...

    def close(self) -> None:
        """End the worker; further calls are not allowed."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Backend(Protocol):
    """A way to open sessions."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        ...

    @property
    def summary(self) -> str:
        """One line for `acl-cts backends`."""
        ...

    def open(self, options: Options) -> Session:
        """Open a session. Raises BackendError when the backend cannot be used here."""
        ...
