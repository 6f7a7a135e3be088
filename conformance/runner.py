"""The runner: gives every case exactly one verdict, whatever the library does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from acl_cts.backends.backend import BackendError, HarnessError, Session
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.budget import Budget
from acl_cts.conformance.case import Case
from acl_cts.conformance.confirm import Confirmed, Confirmer
from acl_cts.conformance.detour import around
from acl_cts.conformance.gate import Settled, barred, declared
from acl_cts.conformance.support import SupportProbe
from acl_cts.conformance.worker import Executed, Worker
from acl_cts.reports.results import CaseResult, Cause, FunctionSupport
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.trace import End, Trace

PATIENCE = 3
"""Harness errors in a row after which the machinery counts as broken and nothing is executed any more."""

Judge = Callable[[Spec, Program, Trace], Judgement]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case's result with what a failure folder keeps: the trace that it rests on, the case as it was executed when
    that differs, and, when it needed them, the programs that must go before it."""

    result: CaseResult
    trace: Trace | None = None
    executed: Case | None = None
    history: tuple[Executed, ...] = ()


@dataclass(slots=True)
class Runner:
    """Judges cases on one session.

    `isolate`: each case in a process of its own. `deadline`: reading of the monotonic clock, None for no limit.
    `asked`: what was executed to decide support, and the answers.
    """

    spec: Spec
    session: Session
    oracle: Judge
    isolate: bool = False
    deadline: float | None = None
    budget: Budget = field(default_factory=Budget)
    asked: list[tuple[Program, Trace]] = field(default_factory=list)
    _worker: Worker = field(init=False)
    _confirmer: Confirmer = field(init=False)
    _support: dict[str, FunctionSupport] = field(default_factory=dict)
    _errors: int = 0
    _lost: str = ""

    def __post_init__(self) -> None:
        self._worker = Worker(self.session, self.spec.floor.live_objects)
        self._confirmer = Confirmer(self._worker, self._try, self._expired)

    @property
    def support(self) -> Mapping[str, FunctionSupport]:
        """Support of every function; the first use asks the library. Raises HarnessError or BackendError."""
        if not self._support:
            self.budget.suit(self._worker.starting())
            probe = SupportProbe(self.spec, self._probe, self.session.missing, self.session.capabilities)
            self._support = probe.table()
        return self._support

    def recall(self, results: Iterable[CaseResult]) -> None:
        """Take into account what the same process had found before the run was cut off."""
        for result in results:
            self._confirmer.recall(result)

    def judge(self, case: Case) -> Outcome:
        """The one verdict of `case`. Never raises for what the library or the machinery does."""
        started = time.perf_counter()
        settled = declared(case, self.session.capabilities) or self._over()
        if settled is not None:
            return self._settle(case, settled, started)
        try:
            way = self._way(case)
            settled = barred(way, self.support, self.budget)
            outcome = self._settle(case, settled, started) if settled else self._execute(way, started)
            if way is not case:
                outcome = self._detoured(case, way, outcome)
        except BackendError as error:
            self._lost = f"the backend was lost: {error}"
            return self._settle(case, Settled(Verdict.NOT_RUN, self._lost, Cause.BACKEND_LOST), started)
        except HarnessError as error:
            self._errors += 1
            return self._settle(case, Settled(Verdict.ERROR, str(error)), started)
        if outcome.result.attempts:
            self._errors = 0
        return outcome

    def _way(self, case: Case) -> Case:
        """`case`, or the part of it that does without functions whose budget is used up."""
        way = case
        while (spent := self.budget.spent(way.functions)) is not None:
            shorter = around(self.spec, way, spent.signature.function)
            if shorter is None:
                return case
            way = shorter
        return way

    def _detoured(self, case: Case, way: Case, outcome: Outcome) -> Outcome:
        return replace(outcome, result=detoured(case, way, outcome.result), executed=way)

    def _over(self) -> Settled | None:
        """The verdict of all that is still to come, once nothing is executed any more."""
        if self._lost:
            return Settled(Verdict.NOT_RUN, self._lost, Cause.BACKEND_LOST)
        if self._expired():
            return Settled(Verdict.NOT_RUN, "the time limit was reached", Cause.TIME_LIMIT)
        if self._errors >= PATIENCE:
            return Settled(Verdict.ERROR, f"not executed: the suite's own machinery failed {PATIENCE} times in a row")
        return None

    def _execute(self, case: Case, started: float) -> Outcome:
        first = self._try(case)
        confirmed = self._confirmer.confirm(case, first) if first.failing else Confirmed(first)
        result = replace(
            told(case, confirmed.attempt, confirmed.flaky),
            duration=time.perf_counter() - started,
            attempts=1 + confirmed.attempts,
            after=tuple(executed.id for executed in confirmed.history),
        )
        return Outcome(result, confirmed.attempt.trace, history=confirmed.history)

    def _try(self, case: Case) -> Attempt:
        trace = self._worker.run(case.id, case.program, solo=case.solo or self.isolate, leaves=case.leaves)
        attempt = Attempt(trace, self.oracle(self.spec, case.program, trace))
        self.budget.charge(trace, attempt.clause)
        return attempt

    def _probe(self, program: Program) -> Trace:
        trace = self._worker.run("support probe", program)
        self.budget.charge(trace)
        self.asked.append((program, trace))
        return trace

    def _expired(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _settle(self, case: Case, settled: Settled, started: float) -> Outcome:
        return Outcome(replace(untold(case, settled), duration=time.perf_counter() - started))


def told(case: Case, attempt: Attempt, flaky: str = "") -> CaseResult:
    """What `attempt` tells of `case`, how it came about aside; `flaky`: what was found of a failure that did not
    repeat."""
    judgement = attempt.judgement
    return CaseResult(
        id=case.id,
        verdict=Verdict.FLAKY if flaky else judgement.verdict,
        reason=f"{attempt.reason} ({flaky})" if flaky else attempt.reason,
        cause=_cause(attempt),
        clauses=tuple(sorted(case.clauses)),
        functions=tuple(sorted(case.functions)),
        discrepancies=judgement.discrepancies,
        blocked=judgement.blocked,
        notes=judgement.notes,
        observations=judgement.observations,
        held=tuple(sorted(judgement.held)),
        succeeded=tuple(sorted(judgement.succeeded)),
        granted=judgement.granted,
        breach=attempt.breach,
    )


def untold(case: Case, settled: Settled) -> CaseResult:
    """What is told of `case` when it is not executed."""
    return CaseResult(
        id=case.id,
        verdict=settled.verdict,
        reason=settled.reason,
        cause=settled.cause,
        clauses=tuple(sorted(case.clauses)),
        functions=tuple(sorted(case.functions)),
    )


def detoured(case: Case, way: Case, result: CaseResult) -> CaseResult:
    """`result` of `case` when only its part `way` was to be executed."""
    lacking = ", ".join(sorted(case.functions - way.functions))
    return replace(result, reason="; ".join(filter(None, (result.reason, f"judged without {lacking}"))))


def _cause(attempt: Attempt) -> Cause:
    """Why an executed case was not judged."""
    if attempt.judgement.verdict is not Verdict.NOT_RUN:
        return Cause.NONE
    return Cause.CAPABILITY if attempt.trace.ending.kind is End.UNSUPPORTED else Cause.NOT_REACHED
