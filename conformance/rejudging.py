"""Judging again what a run has kept: whether verdicts, support and limits follow from the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import permutations

from acl_cts.backends.backend import HarnessError
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.budget import Budget
from acl_cts.conformance.case import Case
from acl_cts.conformance.detour import around
from acl_cts.conformance.gate import barred, declared
from acl_cts.conformance.limit_probe import Choice, every, probe_limits
from acl_cts.conformance.runner import detoured, told, untold
from acl_cts.conformance.scenario import asked_for
from acl_cts.conformance.support import SupportProbe
from acl_cts.conformance.trace_file import KeptProbe, KeptQuestions, KeptTrace, Stored
from acl_cts.reports.harmless import harmless
from acl_cts.reports.inconsistency import Inconsistency, Wrong
from acl_cts.reports.limit_result import LimitResult, LimitVerdict
from acl_cts.reports.profile_use import Claim
from acl_cts.reports.results import BackendRun, CaseResult, Cause, FunctionSupport
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Call, Program, steps
from acl_cts.specs.trace import Capability, End, Trace

BESIDE = frozenset({"duration", "attempts", "files", "evidence", "accepted", "repeats", "failed", "after"})
"""Parts of a result that no trace tells."""

HEADLINE = ("verdict", "cause")
"""Parts whose difference changes the verdict."""

CARED_FOR = frozenset({Cause.TIME_LIMIT, Cause.BACKEND_LOST, Cause.INTERRUPTED, Cause.UNREPORTED})
"""Why a case may not be executed that no rule foretells; each makes a run incomplete."""

ENDED = frozenset({End.CRASH, End.EXIT, End.TIMEOUT})

Report = Callable[[Inconsistency], None]
Oracle = Callable[[Spec, Program, Trace], Judgement]


@dataclass(slots=True)
class Rejudging:
    """Judges one backend's part of a run again. `cases`: all that may be in it. `report` is told what does not fit.

    `took`: traces that were judged, `answered`: answers to the questions about limits, `hurried_limits`: limits that
    are said not to be known for want of time.
    """

    spec: Spec
    cases: Mapping[str, Case]
    run: BackendRun
    report: Report
    oracle: Oracle = judge
    took: int = 0
    executed: dict[str, Program] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    _results: dict[str, CaseResult] = field(init=False)
    _seen: set[str] = field(default_factory=set)
    _ended: set[str] = field(default_factory=set)
    _lacking: dict[str, tuple[Program, str]] = field(default_factory=dict)
    _detours: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hurried_limits: int = 0
    _questions: list[KeptQuestions] = field(default_factory=list)
    _probes: list[KeptProbe] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._results = {result.id: result for result in self.run.cases}

    @property
    def answered(self) -> int:
        """Answers to the questions about limits."""
        return len(self._probes)

    def take(self, kept: KeptTrace | KeptQuestions | KeptProbe) -> None:
        """One more thing that was kept."""
        match kept:
            case KeptTrace():
                self._trace(kept)
            case KeptQuestions():
                self._questions.append(kept)
            case KeptProbe():
                self._probes.append(kept)

    def finish(self, choice: Choice | None = every, hurried: bool = False) -> None:
        """Nothing more was kept. `choice`: the limits that were probed, None where it is not known. `hurried`: the run
        had a time limit."""
        support = self._support()
        budget = Budget()
        self._reasons()
        for id, result in self._results.items():
            case = self.cases.get(id)
            if case is not None and id not in self._seen:
                self._untold(case, result, support, budget)
        if choice is not None:
            self._limits(support, choice, hurried)

    # -- what was executed

    def _trace(self, kept: KeptTrace) -> None:
        result, case = self._results.get(kept.id), self.cases.get(kept.id)
        if kept.id in self._seen:
            self._wrong(Wrong.TRACE_TWICE, kept.id, "has two traces")
            return
        self._seen.add(kept.id)
        if result is None or case is None or not result.attempts:
            self._wrong(Wrong.TRACE_EXTRA, kept.id, "has a trace and was not executed by the results")
            return
        ending = kept.trace.ending
        if ending.kind in ENDED:
            self._ended.add(ending.function)
        if kept.without:
            self._detours[kept.id] = kept.without
        way = self._way(case, kept.without)
        if way is None:
            self._wrong(Wrong.TRACE, kept.id, f"cannot do without {', '.join(kept.without)[:100]}")
            return
        if kept.trace.capabilities != frozenset(map(Capability, self.run.capabilities)):
            self._wrong(Wrong.TRACE, kept.id, "its trace was made with other capabilities than the backend's")
        if ending.kind is End.UNSUPPORTED:
            self._lacking[kept.id] = way.program, ending.detail if not kept.trace.records else ""
        self.took += 1
        self.executed[kept.id] = way.program
        if result.files:
            self.traces[kept.id] = kept.trace
        try:
            attempt = Attempt(kept.trace, self.oracle(self.spec, way.program, kept.trace))
        except Exception as error:  # whatever a trace that was made to harm does to the oracle is told
            self._wrong(Wrong.TRACE, kept.id, f"its trace cannot be judged ({type(error).__name__}: {error})")
            return
        expected = told(way, attempt)
        if result.verdict is Verdict.FLAKY and attempt.failing:
            # Why it is flaky is in no trace; that it failed once is.
            expected = replace(expected, verdict=Verdict.FLAKY, reason=result.reason)
        elif way is not case:
            expected = detoured(case, way, expected)
        self._compare(expected, result)

    def _reasons(self) -> None:
        """Whether what was not executed, or not wholly, was left out for a reason that the package shows."""
        missing = frozenset[str]().union(*(questions.missing for questions in self._questions))
        for id, (program, detail) in self._lacking.items():
            called = {statement.function for statement in steps(program) if isinstance(statement, Call)}
            unable = asked_for(program) - frozenset(map(Capability, self.run.capabilities))
            if detail not in unable and detail not in missing & called:
                lacked = harmless(detail, 60) or "anything"
                told = f"cannot have lacked {lacked}: the backend has it, or it is not needed"
                self._wrong(Wrong.NOT_EXECUTED, id, told)
        for id, functions in self._detours.items():
            for function in sorted(set(functions) - self._ended):
                told = f"was judged without {harmless(function, 60)}, which ended no process by the traces kept"
                self._wrong(Wrong.NOT_EXECUTED, id, told)

    def _way(self, case: Case, without: Sequence[str]) -> Case | None:
        """The part of `case` that does without these functions, None when there is none."""
        if len(without) > 4:
            return None
        for order in permutations(without):
            way: Case | None = case
            for function in order:
                way = around(self.spec, way, function) if way is not None else None
            if way is not None:
                return way
        return None

    def _compare(self, expected: CaseResult, result: CaseResult) -> None:
        for name in HEADLINE:
            ours, theirs = getattr(expected, name), getattr(result, name)
            if ours != theirs:
                self._wrong(Wrong.VERDICT, result.id, f"{name} is {ours or 'none'} by its trace, {theirs} is stated")
                return
        different = [
            f.name
            for f in fields(CaseResult)
            if f.name not in BESIDE and getattr(expected, f.name) != getattr(result, f.name)
        ]
        if {"clauses", "functions"}.intersection(different):
            self._wrong(Wrong.CASE, result.id, f"its {' and '.join(different)} are not those of the case")
        elif different:
            self._wrong(Wrong.JUDGEMENT, result.id, f"by its trace it has other {', '.join(different)}")

    # -- what was not

    def _untold(self, case: Case, result: CaseResult, support: Mapping[str, FunctionSupport], budget: Budget) -> None:
        if result.attempts:
            self._wrong(Wrong.TRACE_MISSING, case.id, "was executed and has no trace")
            return
        settled = declared(case, frozenset(map(Capability, self.run.capabilities)))
        if settled is None and (result.verdict is Verdict.ERROR or result.cause in CARED_FOR):
            return  # makes the run incomplete, and nobody better
        settled = settled or barred(case, support, budget)
        if settled is None and result.verdict is Verdict.BLOCKED and self._ended & case.functions:
            return  # how often is in no trace; that it happened is
        if settled is None:
            self._wrong(Wrong.NOT_EXECUTED, case.id, f"{result.verdict} is stated, and nothing kept it from execution")
            return
        self._compare(untold(case, settled), result)

    # -- what the library offers

    def _support(self) -> dict[str, FunctionSupport]:
        """The stated support of every function."""
        stated = tuple(replace(entry, claim=Claim.NONE, accepted=()) for entry in self.run.support)
        if not any(stated == answer for answer in map(self._answer, self._questions)):
            self._wrong(Wrong.SUPPORT, "", "which functions are supported does not follow from the answers kept")
        return {entry.function: entry for entry in stated}

    def _answer(self, questions: KeptQuestions) -> tuple[FunctionSupport, ...]:
        if questions.capabilities != frozenset(map(Capability, self.run.capabilities)):
            return ()
        session = Stored(questions.answers)
        probe = SupportProbe(self.spec, session.run, questions.missing, questions.capabilities)
        try:
            return tuple(probe.table().values())
        except HarnessError:
            return ()

    # -- the edges of limits

    def _limits(self, support: Mapping[str, FunctionSupport], choice: Choice, hurried: bool) -> None:
        if [probe.number for probe in self._probes] != list(range(len(self._probes))):
            self._wrong(Wrong.LIMIT, "", "answers to the questions about limits are missing or out of order")
            return
        answers = [(probe.program, probe.trace) for probe in self._probes]
        session = Stored(answers, frozenset(map(Capability, self.run.capabilities)))
        try:
            found = probe_limits(self.spec, session, support, choice=choice)
        except Exception as error:  # as above: answers that were made to harm
            self._wrong(Wrong.LIMIT, "", f"the answers do not suit the questions ({type(error).__name__}: {error})")
            return
        stated = tuple(replace(limit, accepted=()) for limit in self.run.limits)
        for wrong in self._limits_that_differ(found, stated, hurried):
            self._wrong(Wrong.LIMIT, *wrong)

    def _limits_that_differ(
        self, found: Iterable[LimitResult], stated: Sequence[LimitResult], hurried: bool
    ) -> Iterator[tuple[str, str]]:
        listed = list(found)
        if len(listed) != len(stated):
            yield "", f"{len(stated)} limits are stated, there are {len(listed)}"
            return
        for ours, theirs in zip(listed, stated, strict=True):
            unsettled = theirs.verdict in (LimitVerdict.NOT_PROBED, LimitVerdict.INCONCLUSIVE)
            if ours != theirs and hurried and unsettled:
                self.hurried_limits += 1
            elif ours != theirs:
                yield (
                    f"{ours.limit} of {ours.function}",
                    f"{ours.verdict} by the answers kept, {theirs.verdict} with other figures is stated"
                    if ours.verdict is theirs.verdict
                    else f"{ours.verdict} by the answers kept, {theirs.verdict} is stated",
                )

    def _wrong(self, kind: Wrong, where: str, what: str) -> None:
        self.report(Inconsistency(kind, f"{self.run.backend}: {where}" if where else self.run.backend, what))
