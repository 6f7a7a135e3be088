"""Comparison: from versions to their difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acl_cts.reports.difference import (
    ALARMING,
    BackendDifference,
    CaseChange,
    Cell,
    Change,
    ClauseChange,
    Difference,
    LimitChange,
    PointChange,
    Shift,
    SupportChange,
)
from acl_cts.reports.exit_code import PRECEDENCE, ExitCode
from acl_cts.reports.limit_result import BROKEN, LimitResult, LimitVerdict
from acl_cts.reports.results import Held
from acl_cts.reports.standing import Stand, Standing, answer_counts
from acl_cts.reports.version import Version
from acl_cts.reports.words import counted
from acl_cts.specs.judgement import Verdict

SEVERITY = {Verdict.FLAKY: 1, Verdict.FAIL: 2, Verdict.LEAK: 3, Verdict.TIMEOUT: 4, Verdict.CRASH: 5}
"""How bad a failure is, as compared with others."""

MEASURED = BROKEN | {LimitVerdict.AS_DOCUMENTED}
"""Verdicts on limits that say something about the library."""

NOWHERE = Stand(Verdict.NOT_RUN)


def compare(versions: Sequence[Version], tool: str) -> Difference:
    """What changed from the first of `versions`, two at least, to the last, told by version `tool` of the suite.

    Backends are compared by their names; where every version judged a single one, these are compared whatever they are
    called.
    """
    versions = _paired(versions)
    names = dict.fromkeys(name for version in versions for name in version.standings)
    backends = tuple(_of_backend(name, [version.standing(name) for version in versions]) for name in names)
    found = Difference(tool, tuple(versions), backends)
    holds = sorted(_holding(found), key=lambda held: PRECEDENCE.index(ExitCode(held.code)))
    return replace(found, holds=tuple(holds))


def _paired(versions: Sequence[Version]) -> Sequence[Version]:
    """The versions, with one name for what is to be compared."""
    readable = [version for version in versions if not version.unreadable]
    names = dict.fromkeys(name for version in readable for name in version.standings)
    if len(names) < 2 or any(len(version.standings) != 1 for version in readable):
        return versions
    joint = " → ".join(names)
    return [replace(version, standings=_single(joint, version)) for version in versions]


def _single(name: str, version: Version) -> dict[str, Standing]:
    return dict(zip((name,), version.standings.values(), strict=not version.unreadable))


def _of_backend(backend: str, standings: list[Standing]) -> BackendDifference:
    former = _former_ids(standings)
    totals: Counter[Change] = Counter()
    changed = []
    for id in _ids(standings, former):
        old = former.get(id, {})
        cells = tuple(_cell(standing, old.get(place, id)) for place, standing in enumerate(standings))
        change = _change(cells)
        totals[change] += 1
        if change is not Change.UNCHANGED or old:
            changed.append(CaseChange(id, change, cells, old[min(old)] if old else ""))
    order = list(Change)
    files = {standing.identity.get("sha256", "") for standing in standings}
    return BackendDifference(
        backend=backend,
        totals={change: totals[change] for change in Change if totals[change]},
        cases=tuple(sorted(changed, key=lambda case: order.index(case.change))),
        limits=tuple(_limits(standings)),
        points=tuple(_points(standings)),
        clauses=tuple(_clauses(standings)),
        support=tuple(_support(standings)),
        same_library=len(files) == 1 and files != {""},
    )


# ---------------------------------------------------------------------------------------------------------- cases


def _former_ids(standings: list[Standing]) -> dict[str, dict[int, str]]:
    """For each id of a later version, the ids that the same program had in earlier ones, by their place. Programs are
    told by the digest at the end of the id; one that is not unique among what came and went names none."""
    former: dict[str, dict[int, str]] = {}
    later: dict[str, None] = dict.fromkeys(standings[-1].cases)
    for place in range(len(standings) - 2, -1, -1):
        here = standings[place].cases
        came = _by_digest(id for id in later if id not in here)
        went = _by_digest(id for id in here if id not in later)
        renamed = {old: came[digest] for digest, old in went.items() if old and came.get(digest)}
        for old, new in renamed.items():
            former.setdefault(new, {})[place] = old
        later |= dict.fromkeys(id for id in here if id not in renamed)
    return former


def _by_digest(ids: Iterable[str]) -> dict[str, str]:
    """Ids by their program's digest; '' where several share it."""
    found: dict[str, str] = {}
    for id in ids:
        _, mark, digest = id.rpartition("~")
        if mark:
            found[digest] = "" if digest in found else id
    return found


def _ids(standings: list[Standing], former: Mapping[str, Mapping[int, str]]) -> Iterable[str]:
    """Every case once, by its latest id, in the order of the latest list."""
    old = {(place, id) for places in former.values() for place, id in places.items()}
    found: dict[str, None] = {}
    for place in range(len(standings) - 1, -1, -1):
        found |= dict.fromkeys(id for id in standings[place].cases if (place, id) not in old)
    return found


def _cell(standing: Standing, id: str) -> Cell:
    return standing.cases.get(id) or standing.gap


def _change(cells: tuple[Cell, ...]) -> Change:
    before, after = cells[0], cells[-1]
    if _passed(before) and _passed(after):
        return Change.UNCHANGED if all(map(_passed, cells)) else Change.WAVERED
    if after == "":
        return Change.REMOVED
    then = before if isinstance(before, Stand) else NOWHERE
    now = after if isinstance(after, Stand) else NOWHERE
    if now.failed:
        return _failing(then, now)
    if before == "":
        return Change.ADDED
    if not now.judged:
        return Change.LOST if then.judged else Change.UNJUDGED
    return Change.FIXED if then.failed else Change.GAINED


def _passed(cell: Cell) -> bool:
    return isinstance(cell, Stand) and cell.verdict is Verdict.PASS and not cell.breach


def _failing(then: Stand, now: Stand) -> Change:
    if not then.failed:
        return Change.NEWLY_ACCEPTED if now.accepted else Change.NEWLY
    if now.accepted:
        return Change.STILL_ACCEPTED
    worse = SEVERITY.get(now.verdict, 0) > SEVERITY.get(then.verdict, 0)
    further = (now.breach and not then.breach) or not set(now.clauses) <= set(then.clauses)
    return Change.WORSE if worse or further else Change.STILL


# --------------------------------------------------------------------------------------------------- other matters


def _limits(standings: list[Standing]) -> Iterator[LimitChange]:
    probes = [{_probe(limit): limit for limit in standing.limits} for standing in standings]
    for key in dict.fromkeys(key for found in reversed(probes) for key in found):
        cells = tuple(found.get(key) for found in probes)
        yield LimitChange(*key, shift=_shift(cells), cells=cells)


def _probe(limit: LimitResult) -> tuple[str, str, str, str]:
    return limit.limit, limit.function, limit.param, limit.context


def _shift(cells: tuple[LimitResult | None, ...]) -> Shift:
    before, after = cells[0], cells[-1]
    known = [cell for cell in cells if cell is not None and cell.verdict in MEASURED]
    then = before is not None and before.verdict in MEASURED
    if after is None or after.verdict not in MEASURED:
        return Shift.LOST if then else Shift.UNJUDGED
    if after.verdict in BROKEN and not (before is not None and before.verdict in BROKEN):
        return Shift.BROKE_ACCEPTED if after.accepted else Shift.BROKE
    if not then:
        return Shift.GAINED
    if before is not None and before.verdict in BROKEN and after.verdict not in BROKEN:
        return Shift.MENDED
    return Shift.MOVED if len({(cell.verdict, cell.measured) for cell in known}) > 1 else Shift.UNCHANGED


def _points(standings: list[Standing]) -> Iterator[PointChange]:
    for clause in sorted({clause for standing in standings for clause in standing.answers}):
        seen = [standing.answers.get(clause, {}) for standing in standings]
        cells = tuple(map(answer_counts, seen))
        differing = sorted(
            id for id in {id for found in seen for id in found} if len({found[id] for found in seen if id in found}) > 1
        )
        if not cells[-1]:
            shift = Shift.LOST if cells[0] else Shift.UNJUDGED
        elif not cells[0]:
            shift = Shift.GAINED
        elif seen[0].keys().isdisjoint(seen[-1]):
            shift = Shift.UNJUDGED
        else:
            shift = Shift.MOVED if differing else Shift.UNCHANGED
        yield PointChange(clause, shift, cells, len(differing), differing[0] if differing else "")


def _clauses(standings: list[Standing]) -> Iterator[ClauseChange]:
    """Clauses that the versions do not break alike; none where one of them judged nothing at all."""
    if not all(standing.cases for standing in standings):
        return
    for clause in sorted({clause for standing in standings for clause in (*standing.broken, *standing.held)}):
        cells = tuple(standing.broken.get(clause, 0 if clause in standing.held else None) for standing in standings)
        if len(set(cells)) > 1:
            yield ClauseChange(clause, cells)


def _support(standings: list[Standing]) -> Iterator[SupportChange]:
    """Functions that are not offered alike; none where one of the versions judged nothing at all."""
    if not all(standing.cases for standing in standings):
        return
    for function in dict.fromkeys(name for standing in standings for name in standing.support):
        cells = tuple(standing.support.get(function) for standing in standings)
        if len(set(cells)) > 1:
            yield SupportChange(function, cells)


# ------------------------------------------------------------------------------------------------------ exit codes


def _holding(found: Difference) -> Iterator[Held]:
    for version in found.versions:
        if version.unreadable:
            yield Held(ExitCode.USAGE, version.unreadable)
    for backend in found.backends:
        yield from (Held(code, f"{backend.backend}: {reason}") for code, reason in _of_part(backend))


def _of_part(backend: BackendDifference) -> Iterator[tuple[ExitCode, str]]:
    for change in Change:
        number = backend.totals.get(change, 0)
        if change in ALARMING and number:
            yield ExitCode.DISCREPANCY, f"{counted(number, 'case')} {change}"
    if broke := sum(limit.shift is Shift.BROKE for limit in backend.limits):
        yield ExitCode.DISCREPANCY, f"{counted(broke, 'limit probe')} {Shift.BROKE}"
    for change in (Change.LOST, Change.GAINED):
        if number := backend.totals.get(change, 0):
            yield ExitCode.INCOMPLETE, f"{counted(number, 'case')} {change}"
    if unfinished := sum(map(_unfinished, backend.cases)):
        yield ExitCode.INCOMPLETE, f"{counted(unfinished, 'case')} left over by a run that did not come to its end"
    for shift in (Shift.LOST, Shift.GAINED):
        if number := sum(limit.shift is shift for limit in backend.limits):
            yield ExitCode.INCOMPLETE, f"{counted(number, 'limit probe')} {shift}"


def _unfinished(case: CaseChange) -> bool:
    """Whether one of the two runs that are compared should have judged the case, and neither did, or it is new."""
    ends = (cell for cell in (case.cells[0], case.cells[-1]) if isinstance(cell, Stand))
    return case.change in (Change.UNJUDGED, Change.ADDED) and any(
        cell.verdict is Verdict.ERROR or (cell.verdict is Verdict.NOT_RUN and not cell.cause.expected) for cell in ends
    )
