"""Short forms for tests of the oracle: run a program's text on the simulator, change answers, judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from acl_cts.backends.backend import Options
from acl_cts.backends.simulator.session import SimulatorBackend
from acl_cts.specs.judgement import Judgement
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import CallRecord, End, Ending, Phase, Pointer, Ptr, Record, Trace

SPEC = load_spec()

COMPLETE = """
{name} = aclrtAllocatorCreateDesc()
aclrtAllocatorSetObjToDesc(allocatorDesc={name}, allocator=obj({number}))
aclrtAllocatorSetAllocFuncToDesc(allocatorDesc={name}, func=cb({number}))
aclrtAllocatorSetAllocAdviseFuncToDesc(allocatorDesc={name}, func=cb({number}))
aclrtAllocatorSetFreeFuncToDesc(allocatorDesc={name}, func=cb({number}))
aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc={name}, func=cb({number}))
"""


def complete(name: str, number: int) -> str:
    """Statements that make a description with every slot set."""
    return COMPLETE.format(name=name, number=number)


@dataclass(frozen=True)
class Told:
    """A program and a trace of it."""

    program: Program
    trace: Trace

    def judged(self) -> Judgement:
        """What the oracle says."""
        return judge(SPEC, self.program, self.trace)

    def calls(self, function: str) -> list[int]:
        """Places of the records of calls of `aclrt` + function."""
        records = enumerate(self.trace.records)
        return [k for k, r in records if isinstance(r, CallRecord) and r.function == "aclrt" + function]

    def record(self, function: str, which: int = -1) -> CallRecord:
        """One call's record."""
        record = self.trace.records[self.calls(function)[which]]
        assert isinstance(record, CallRecord)
        return record

    def change(self, place: int, record: Record) -> Told:
        """The same with another record."""
        records = (*self.trace.records[:place], record, *self.trace.records[place + 1 :])
        return Told(self.program, replace(self.trace, records=records))

    def returning(self, function: str, code: int | Ptr, which: int = -1) -> Told:
        """The same, one call returning something else."""
        return self.change(self.calls(function)[which], replace(self.record(function, which), ret=code))

    def writing(self, function: str, which: int = -1, **outs: Any) -> Told:
        """The same, one call writing other outputs."""
        record = self.record(function, which)
        assert set(outs) <= {name for name, _ in record.outs}
        changed = tuple((name, outs.get(name, value)) for name, value in record.outs)
        return self.change(self.calls(function)[which], replace(record, outs=changed))

    def changed(self, kind: type[Record], how: Callable[[Any], Record], which: int = -1) -> Told:
        """The same, one record of `kind` replaced by what `how` makes of it."""
        places = [k for k, r in enumerate(self.trace.records) if isinstance(r, kind)]
        return self.change(places[which], how(self.trace.records[places[which]]))

    def cut(self, count: int, ending: Ending) -> Told:
        """Only the first `count` records, then `ending`."""
        return Told(self.program, replace(self.trace, records=self.trace.records[:count], ending=ending))

    def fresh(self, kind: str = "other") -> tuple[Told, Ptr]:
        """The same with a pointer that no record shows."""
        raw = max(p.raw for p in self.trace.pointers) + (1 << 33)
        pointers = (*self.trace.pointers, Pointer(raw, kind))
        return Told(self.program, replace(self.trace, pointers=pointers)), Ptr(len(self.trace.pointers))


def tell(text: str, profile: str = "") -> Told:
    """Run a program's text on a new simulated process."""
    program = parse_program(text)
    with SimulatorBackend().open(Options(library=profile)) as session:
        return Told(program, session.run(program))


def ending(kind: End, step: int, function: str = "", detail: str = "", phase: Phase = Phase.CALL) -> Ending:
    """An ending at `step`."""
    return Ending(kind, step, (), phase, function, detail)


def names(judgement: Judgement) -> list[str]:
    """Clauses of the headline discrepancies."""
    return [finding.clause for finding in judgement.discrepancies]


def notes(judgement: Judgement) -> list[str]:
    """Clauses of the notes."""
    return [finding.clause for finding in judgement.notes]
