"""Matching: what of a run is as its baseline says, and what of the baseline is out of date."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from acl_cts.reports.baseline import Baseline, Entry, KnownFailure, limit_name
from acl_cts.reports.expected import BaselineUse, StaleItem, Use
from acl_cts.reports.limit_result import LimitResult, LimitVerdict
from acl_cts.reports.pattern import concerns, fits
from acl_cts.reports.results import BASELINE, BackendRun, CaseResult, FunctionSupport, Support
from acl_cts.reports.universe import Universe
from acl_cts.reports.waiving import JUDGED, has_turn
from acl_cts.specs.judgement import Verdict

FLAKES = frozenset({Verdict.FAIL, Verdict.FLAKY})
"""Verdicts that a case which is known to be flaky may have, beside pass."""

SKIPS = frozenset({Verdict.NOT_SUPPORTED, Verdict.NOT_RUN, Verdict.INCONCLUSIVE})
"""Verdicts of cases that were not judged."""

Item = tuple[int, str, str]
"""One expectation: the number of its entry, its kind, its name."""


@dataclass(slots=True)
class Matching:
    """Holds `baseline` against one run after the other."""

    baseline: Baseline
    universe: Universe
    _used: set[Item] = field(default_factory=set)
    _passed: set[Item] = field(default_factory=set)
    _numbers: Counter[str] = field(default_factory=Counter)

    def apply(self, run: BackendRun) -> BackendRun:
        """`run` with a mark at every failure that the baseline knows and no waiver covers."""
        mine = [
            (number, entry)
            for number, entry in enumerate(self.baseline.entries)
            if concerns(entry.backend, entry.version, run)
        ]
        if not mine:
            return run
        matched = dataclasses.replace(
            run,
            cases=tuple(self._case(mine, case) for case in run.cases),
            limits=tuple(self._limit(mine, limit) for limit in run.limits),
            support=tuple(self._function(mine, entry) for entry in run.support),
        )
        for number, entry in mine:
            self._skips(number, entry, run)
        return matched

    def use(self) -> BaselineUse:
        """What became of the baseline, when it was applied to all runs."""
        written = self.baseline.written
        counts = {kind: self._numbers[kind] for kind in ("failures", "flakes", "skips", "limits", "functions")}
        return BaselineUse(
            file=str(written.path) if written else "",
            sha256=written.sha256 if written else "",
            **counts,
            stale=tuple(self._stale()),
        )

    # -- what is known

    def _case(self, entries: Sequence[tuple[int, Entry]], case: CaseResult) -> CaseResult:
        for number, entry in entries:
            known = entry.failures.get(case.id)
            if known is not None:
                item = (number, "failures", case.id)
                if case.verdict is Verdict.PASS:
                    self._passed.add(item)
                elif case.verdict in JUDGED:
                    self._used.add(item)
                if as_known(known, case):
                    return self._accept(case, "failures")
            flaky = case.verdict in FLAKES and next((name for name in entry.flakes if fits(name, case.id)), "")
            if flaky:
                return self._accept(case, "flakes")
            if skipped(entry, case):
                self._numbers["skips"] += 1
                return case
        return case

    def _accept(self, case: CaseResult, kind: str) -> CaseResult:
        if case.accepted:
            return case
        self._numbers[kind] += 1
        return dataclasses.replace(case, accepted=(BASELINE,))

    def _limit(self, entries: Sequence[tuple[int, Entry]], limit: LimitResult) -> LimitResult:
        name = limit_name(limit)
        for number, entry in entries:
            known = entry.limits.get(name)
            if known is None:
                continue
            item = (number, "limits", name)
            if limit.verdict is LimitVerdict.AS_DOCUMENTED:
                self._passed.add(item)
            elif limit.verdict is known:
                self._used.add(item)
                if not limit.accepted:
                    self._numbers["limits"] += 1
                    return dataclasses.replace(limit, accepted=(BASELINE,))
        return limit

    def _function(self, entries: Sequence[tuple[int, Entry]], entry: FunctionSupport) -> FunctionSupport:
        for number, known in entries:
            if entry.function not in known.unsupported:
                continue
            item = (number, "unsupported", entry.function)
            if entry.state is Support.SUPPORTED:
                self._passed.add(item)
            elif entry.state is Support.NOT_SUPPORTED:
                self._used.add(item)
                if not entry.accepted:
                    self._numbers["functions"] += 1
                    return dataclasses.replace(entry, accepted=(BASELINE,))
        return entry

    def _skips(self, number: int, entry: Entry, run: BackendRun) -> None:
        """Whether what is skipped by the baseline still is: out of date is what was wholly judged."""
        results = {case.id: case for case in run.cases}
        for pattern, verdict in entry.skips.items():
            item = (number, "skips", pattern)
            wanted = [id for id in self._named(pattern) if id in results]
            if any(results[id].verdict is verdict for id in wanted):
                self._used.add(item)
            elif wanted and verdict is not Verdict.INCONCLUSIVE and all(has_turn(results[id]) for id in wanted):
                whole = len(wanted) == len(self._named(pattern))
                if whole and any(results[id].verdict in JUDGED for id in wanted):
                    self._passed.add(item)

    def _named(self, pattern: str) -> list[str]:
        if pattern in self.universe.cases:
            return [pattern]
        return [id for id in self.universe.cases if fits(pattern, id)]

    # -- what is out of date

    def _stale(self) -> Iterator[StaleItem]:
        for number, entry in enumerate(self.baseline.entries):
            if not self._has_backend(entry):
                written = self.baseline.written
                place = written.place("backends", number, "backend") if written else ""
                yield StaleItem("backend", entry.backend, Use.NOTHING, place)
            for kind, name in entry.items:
                use = self._state((number, kind, name))
                if use is not None:
                    yield StaleItem(kind, name, use, self.baseline.place(number, kind, name))

    def _has_backend(self, entry: Entry) -> bool:
        return any(fits(entry.backend.partition(":")[0], name) for name in self.universe.backends)

    def _state(self, item: Item) -> Use | None:
        _, kind, name = item
        if not self._exists(kind, name):
            return Use.NOTHING
        return Use.PASSED if item in self._passed and item not in self._used else None

    def _exists(self, kind: str, name: str) -> bool:
        match kind:
            case "failures":
                return name in self.universe.cases
            case "limits":
                return name.partition(" ")[0] in self.universe.limits
            case "unsupported":
                return name in self.universe.functions
        return bool(self._named(name))


def as_known(known: KnownFailure, case: CaseResult) -> bool:
    """Whether `case` fails as the baseline says: another verdict, or another clause, is news. What is known to crash
    may also just fail: memory that was spoilt does not end a process every time."""
    accused = {found.clause for found in case.discrepancies}
    milder = known.verdict is Verdict.CRASH and case.verdict is Verdict.FAIL
    return (case.verdict is known.verdict or milder) and (not known.clauses or accused <= known.clauses)


def skipped(entry: Entry, case: CaseResult) -> bool:
    """Whether `case` is not judged, as `entry` says."""
    if case.verdict not in SKIPS:
        return False
    exact = entry.skips.get(case.id)
    return exact is case.verdict or any(
        verdict is case.verdict and fits(name, case.id) for name, verdict in entry.skips.items()
    )
