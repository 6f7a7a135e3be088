"""Updating a baseline: the state that results show becomes the accepted one."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acl_cts.reports.baseline import Baseline, Entry, KnownFailure, limit_name
from acl_cts.reports.exit_code import disagrees
from acl_cts.reports.files import ReportError
from acl_cts.reports.limit_result import BROKEN, LimitVerdict
from acl_cts.reports.matching import FLAKES, SKIPS
from acl_cts.reports.pattern import fits, fits_any
from acl_cts.reports.results import BASELINE, DISCREPANCY, BackendRun, CaseResult, Results, Support
from acl_cts.reports.waiving import has_turn
from acl_cts.specs.judgement import Verdict


@dataclass(frozen=True, slots=True)
class Change:
    """What an update did to one entry: expectations that it `added` and `removed`, by kind."""

    backend: str
    added: Mapping[str, int]
    removed: Mapping[str, int]


def updated(baseline: Baseline, results: Results, version: str) -> tuple[Baseline, tuple[Change, ...]]:
    """`baseline` with an entry for every backend of `results`, for libraries that fit the pattern `version`. The entry
    of the same backend and pattern is brought up to date: what was judged anew replaces what it said of the same cases;
    of a whole run nothing else is left of it. What a waiver covers is not taken over. Raises ReportError for results
    that cannot be relied on."""
    entries, changes = list(baseline.entries), []
    for run in results.runs:
        if run.trouble:
            raise ReportError(f"{run.backend}: the suite itself failed there ({run.trouble}); run again, then update")
        place = next((n for n, e in enumerate(entries) if (e.backend, e.version) == (run.backend, version)), None)
        old = entries[place] if place is not None else Entry(run.backend, version)
        new = _entry(old, run, whole=results.finished and run.complete and not results.partial)
        changes.append(_change(old, new))
        if place is None:
            entries.append(new)
        else:
            entries[place] = new
    return Baseline(tuple(entries)), tuple(changes)


def _entry(old: Entry, run: BackendRun, *, whole: bool) -> Entry:
    judged = {case.id: case for case in run.cases if has_turn(case)}
    ids = {case.id for case in run.cases}
    flakes = _flakes(old, judged)
    if whole:
        flakes = tuple(name for name in flakes if any(fits(name, id) for id in ids))
    failures = {
        case.id: KnownFailure(case.verdict, frozenset(found.clause for found in case.discrepancies))
        for case in judged.values()
        if disagrees(case, DISCREPANCY)
        and _not_waived(case.accepted)
        and not (case.verdict in FLAKES and fits_any(flakes, case.id))
    }
    skips = {case.id: case.verdict for case in judged.values() if case.verdict in SKIPS}
    kept = {id: known for id, known in old.failures.items() if id not in judged and (id in ids or not whole)}
    left = {} if whole else {id: verdict for id, verdict in old.skips.items() if id not in judged}
    return dataclasses.replace(
        old,
        failures=kept | failures,
        flakes=flakes,
        skips=left | (folded(skips, run.cases) if whole else skips),
        limits=_limits({} if whole else old.limits, run),
        unsupported=_unsupported(old, run),
    )


def _flakes(old: Entry, judged: Mapping[str, CaseResult]) -> tuple[str, ...]:
    """Patterns of what is flaky: what was, unless it shows otherwise, and what is now."""
    calm = (Verdict.PASS, Verdict.FAIL, Verdict.FLAKY)
    names = [name for name in old.flakes if name not in judged or judged[name].verdict in calm]
    now = [case for case in judged.values() if case.verdict is Verdict.FLAKY and _not_waived(case.accepted)]
    return tuple(dict.fromkeys((*names, *(case.id for case in now if not fits_any(names, case.id)))))


def _limits(old: Mapping[str, LimitVerdict], run: BackendRun) -> dict[str, LimitVerdict]:
    probed = {limit_name(limit) for limit in run.limits}
    broken = {
        limit_name(limit): limit.verdict
        for limit in run.limits
        if limit.verdict in BROKEN and _not_waived(limit.accepted)
    }
    return {name: verdict for name, verdict in old.items() if name not in probed} | broken


def _unsupported(old: Entry, run: BackendRun) -> tuple[str, ...]:
    decided = {entry.function for entry in run.support}
    lacking = {
        entry.function
        for entry in run.support
        if entry.state is Support.NOT_SUPPORTED and not entry.auxiliary and _not_waived(entry.accepted)
    }
    return tuple(sorted((set(old.unsupported) - decided) | lacking))


def _not_waived(accepted: tuple[str, ...]) -> bool:
    return accepted in ((), (BASELINE,))


def folded(skips: Mapping[str, Verdict], cases: Iterable[CaseResult]) -> dict[str, Verdict]:
    """`skips` with one pattern for a whole branch of ids where every case of it is skipped for the same reason."""
    branches: dict[str, set[Verdict]] = defaultdict(set)
    sizes: dict[str, int] = defaultdict(int)
    ids = [case.id for case in cases]
    verdicts = {case.id: case.verdict for case in cases}
    for id in ids:
        for branch in _branches(id):
            branches[branch].add(verdicts[id])
            sizes[branch] += 1
    found: dict[str, Verdict] = {}
    for id, verdict in skips.items():
        whole = (f"{b}/*" for b in _branches(id) if branches[b] == {verdict} and sizes[b] > 1 and not _wild(b))
        found[next(whole, id)] = verdict
    return found


def _branches(id: str) -> list[str]:
    """What `id` stands below, the outermost first."""
    parts = id.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _wild(text: str) -> bool:
    return any(mark in text for mark in "*?[")


def _change(old: Entry, new: Entry) -> Change:
    before, after = set(old.items), set(new.items)

    def numbers(items: set[tuple[str, str]]) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for kind, _ in sorted(items):
            found[kind] += 1
        return dict(found)

    return Change(new.backend, numbers(after - before), numbers(before - after))
