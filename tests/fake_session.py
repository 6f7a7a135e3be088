"""A session without a library: answers come from a function, workers are counted, nothing is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from acl_cts.backends.backend import Identity
from acl_cts.specs.judgement import Finding, Judgement, Observation, Strength, Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Program, walk
from acl_cts.specs.trace import CallRecord, Capability, End, Ending, Phase, Ptr, Trace

Answer = int | Ptr | End
Behaviour = Callable[[Call, list[Program]], Answer]
"""What a call answers, given the programs that this worker executed before."""

EVERYTHING = frozenset(Capability)


def succeed(call: Call, before: list[Program]) -> Answer:
    """A library that is content with everything."""
    return Ptr(1) if call.function.endswith("CreateDesc") else 0


@dataclass
class FakeSession:
    """Executes programs by asking `behave` call by call; a call that dies takes the worker with it."""

    behave: Behaviour = succeed
    capabilities: frozenset[Capability] = EVERYTHING
    missing: frozenset[str] = frozenset()
    executed: list[Program] = field(default_factory=list)
    workers: int = 1
    broken: Exception | None = None
    _before: list[Program] = field(default_factory=list)

    @property
    def identity(self) -> Identity:
        return Identity("fake")

    @property
    def startups(self) -> int:
        return self.workers

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        if self.broken is not None:
            raise self.broken
        self.executed.append(program)
        before = [] if solo else self._before
        records: list[CallRecord] = []
        ending = Ending(End.COMPLETED)
        for step, statement in enumerate(walk(program.body)):
            if not isinstance(statement, Call):
                continue
            answer = self.behave(statement, list(before))
            if isinstance(answer, End):
                ending = Ending(answer, step, (), Phase.CALL, statement.function, "fake")
                break
            records.append(CallRecord(step, (), statement.function, answer))
        if not solo:
            self._before.append(program)
            if ending.kind is not End.COMPLETED:
                self.restart()
        return Trace(tuple(records), ending, capabilities=self.capabilities)

    def restart(self) -> None:
        self.workers += 1
        self._before = []

    def close(self) -> None:
        self._before = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def strict_oracle(spec: Spec, program: Program, trace: Trace) -> Judgement:
    """Every call must answer 0 or a pointer, and the program must complete."""
    ending = trace.ending
    died = {End.CRASH: Verdict.CRASH, End.EXIT: Verdict.CRASH, End.TIMEOUT: Verdict.TIMEOUT}.get(ending.kind)
    if died is not None:
        return Judgement(died, (_finding("common.no-crash", ending.function, "it returns", ending.kind.value),))
    for record in trace.records:
        assert isinstance(record, CallRecord)
        if record.ret not in (0, Ptr(1)):
            finding = _finding(f"test.{record.function}", record.function, "success", f"{record.ret}")
            return Judgement(Verdict.FAIL, (finding,))
    functions = frozenset(record.function for record in trace.records if isinstance(record, CallRecord))
    return Judgement(Verdict.PASS, observations=(Observation("x", "y", 0),), succeeded=functions, granted=1 << 20)


def _finding(clause: str, function: str, expected: str, observed: str) -> Finding:
    return Finding(clause, Strength.EXPLICIT, function, 0, (), expected, observed)
