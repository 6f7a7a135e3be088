"""Waiving: which failures of a run the waivers cover, and what became of each waiver."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from acl_cts.reports.expected import Use, WaiverUse
from acl_cts.reports.limit_result import BROKEN, LimitResult
from acl_cts.reports.pattern import concerns, fits, fits_any
from acl_cts.reports.results import (
    FAILING,
    BackendRun,
    CaseResult,
    Cause,
    FunctionSupport,
    Support,
)
from acl_cts.reports.universe import Universe
from acl_cts.reports.waivers import Waiver, WaiverFile
from acl_cts.reports.words import counted
from acl_cts.specs.judgement import Strength, Verdict

ACCEPTABLE = FAILING | {Verdict.BLOCKED, Verdict.FLAKY}
"""Verdicts that somebody may answer for. A fault of the suite is none."""

JUDGED = ACCEPTABLE | {Verdict.PASS}
"""Verdicts that say something about the library."""


@dataclass(slots=True)
class Waiving:
    """Applies the waivers of `file` to one run after the other. `fail_on`: strengths that count. `today`: ISO date."""

    file: WaiverFile
    universe: Universe
    fail_on: frozenset[Strength]
    today: date
    _cases: Counter[str] = field(default_factory=Counter)
    _limits: Counter[str] = field(default_factory=Counter)
    _functions: Counter[str] = field(default_factory=Counter)
    _parts: Counter[str] = field(default_factory=Counter)

    def apply(self, run: BackendRun) -> BackendRun:
        """`run` with the names of the waivers at everything that they cover."""
        mine = [waiver for waiver in self.file.waivers if concerns(waiver.backend, waiver.version, run)]
        if not mine:
            return run
        return dataclasses.replace(
            run,
            cases=tuple(self._case(mine, case) for case in run.cases),
            limits=tuple(self._limit(mine, limit) for limit in run.limits),
            support=tuple(self._function(mine, entry) for entry in run.support),
        )

    def uses(self, runs: Sequence[BackendRun]) -> tuple[WaiverUse, ...]:
        """What became of every waiver, when it was applied to all of `runs`."""
        return tuple(self._use(number, waiver, runs) for number, waiver in enumerate(self.file.waivers))

    # -- what is covered

    def _case(self, waivers: list[Waiver], case: CaseResult) -> CaseResult:
        if case.verdict not in ACCEPTABLE:
            return case
        fitting = [waiver for waiver in waivers if in_cases(waiver, case)]
        counting = [found for found in case.discrepancies if found.strength in self.fail_on] or case.discrepancies
        accused = {found.clause for found in counting}
        covering: list[str] = []
        left = set(accused)
        for waiver in fitting:
            clauses = waiver.scope.clauses
            part = {clause for clause in accused if fits_any(clauses, clause)} if clauses else accused
            if part or not clauses:
                covering.append(waiver.id)
                self._parts[waiver.id] += 1
                left -= part
        whole = any(not waiver.scope.clauses for waiver in fitting)
        if not covering or left or not (accused or whole):
            return case
        self._cases.update(covering)
        return dataclasses.replace(case, accepted=tuple(covering))

    def _limit(self, waivers: list[Waiver], limit: LimitResult) -> LimitResult:
        names = tuple(w.id for w in waivers if fits_any(w.scope.limits, limit.limit))
        if limit.verdict not in BROKEN or not names:
            return limit
        self._limits.update(names)
        return dataclasses.replace(limit, accepted=names)

    def _function(self, waivers: list[Waiver], entry: FunctionSupport) -> FunctionSupport:
        names = tuple(w.id for w in waivers if fits_any(w.scope.functions, entry.function))
        if entry.state is not Support.NOT_SUPPORTED or not names:
            return entry
        self._functions.update(names)
        return dataclasses.replace(entry, accepted=names)

    # -- what became of a waiver

    def _use(self, number: int, waiver: Waiver, runs: Sequence[BackendRun]) -> WaiverUse:
        place, use, told = waiver.place, Use.USED, ""
        nothing = next(self._nothing(number, waiver), None)
        if nothing is not None:
            use, (place, told) = Use.NOTHING, nothing
        elif not (self._parts[waiver.id] or self._limits[waiver.id] or self._functions[waiver.id]):
            use, told = self._unused(waiver, [run for run in runs if concerns(waiver.backend, waiver.version, run)])
        expired = date.fromisoformat(waiver.expires) < self.today
        if expired:
            told = "; ".join(filter(None, (f"expired on {waiver.expires}", told)))
        return WaiverUse(
            waiver.id, waiver.reason, waiver.owner, waiver.link, waiver.expires, place, use, expired, told,
            self._cases[waiver.id], self._limits[waiver.id], self._functions[waiver.id],
        )  # fmt: skip

    def _nothing(self, number: int, waiver: Waiver) -> Iterator[tuple[str, str]]:
        """Patterns that name nothing there is, each with its place."""
        if not any(fits(waiver.backend.partition(":")[0], name) for name in self.universe.backends):
            yield self.file.place(number, "backend"), f"backend: {waiver.backend!r} names no backend"
        for kind, position, pattern in waiver.scope.patterns:
            if not any(fits(pattern, name) for name in self.universe.names(kind)):
                yield self.file.place(number, "scope", kind, position), f"{kind}: {pattern!r} matches nothing"

    def _unused(self, waiver: Waiver, runs: list[BackendRun]) -> tuple[Use, str]:
        """Why nothing was covered, and what to tell of it."""
        if not runs:
            return Use.ELSEWHERE, ""
        if waiver.scope.verdicts == {Verdict.FLAKY}:
            return Use.QUIET, ""
        near = [case for run in runs for case in run.cases if self._nearly(waiver, case)]
        if near:
            verdicts = ", ".join(sorted({case.verdict for case in near}))
            return (
                Use.PASSED,
                f"covers nothing; {counted(len(near), 'case')} in its scope failed otherwise ({verdicts})",
            )
        if all(self._settled(waiver, run) for run in runs):
            return Use.PASSED, "nothing that it covers fails any more"
        return Use.UNJUDGED, "not all that it covers was judged"

    def _nearly(self, waiver: Waiver, case: CaseResult) -> bool:
        """Whether `case` fails and would be covered but for its verdict."""
        clauses = waiver.scope.clauses
        accused = not clauses or any(fits_any(clauses, found.clause) for found in case.discrepancies)
        named = bool(waiver.scope.cases or clauses) and (
            not waiver.scope.cases or fits_any(waiver.scope.cases, case.id)
        )
        return case.verdict in ACCEPTABLE and case.verdict not in waiver.scope.verdicts and named and accused

    def _settled(self, waiver: Waiver, run: BackendRun) -> bool:
        """Whether all that `waiver` covers was judged in `run`, and something of it at all."""
        scope = waiver.scope
        known = {case.id: case for case in run.cases}
        if scope.cases or scope.clauses:
            wanted = [id for id in self.universe.cases if not scope.cases or fits_any(scope.cases, id)]
            if not all(id in known and has_turn(known[id]) for id in wanted):
                return False
            touched = [id for id in wanted if self._exercises(scope.clauses, id)] or wanted
            if not any(known[id].verdict in JUDGED for id in touched):
                return False
        if scope.limits and not any(fits_any(scope.limits, limit.limit) for limit in run.limits):
            return False
        supported = [e for e in run.support if fits_any(scope.functions, e.function) and e.state is Support.SUPPORTED]
        return not scope.functions or bool(supported)

    def _exercises(self, clauses: tuple[str, ...], id: str) -> bool:
        return not clauses or any(fits_any(clauses, clause) for clause in self.universe.cases[id])


def in_cases(waiver: Waiver, case: CaseResult) -> bool:
    """Whether `case` is among the cases that `waiver` speaks of, its clauses aside."""
    scope = waiver.scope
    if case.verdict not in scope.verdicts or not (scope.cases or scope.clauses):
        return False
    return not scope.cases or fits_any(scope.cases, case.id)


def has_turn(case: CaseResult) -> bool:
    """Whether `case` got the turn that it was to have: judged, or not run as declared beforehand."""
    if case.verdict is Verdict.NOT_RUN:
        return case.cause.expected and case.cause is not Cause.NONE
    return case.verdict is not Verdict.ERROR
