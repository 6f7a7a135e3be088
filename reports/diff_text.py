"""A difference as plain text: the versions, the number of cases by category, then one line for each change."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.reports.diff_words import (
    DIFF_MEANING,
    accused,
    answers,
    breaking,
    compared,
    detail,
    gaps,
    measured,
    probe,
    remarks,
    way,
)
from acl_cts.reports.difference import (
    GAPS,
    UNCOMPARED,
    BackendDifference,
    CaseChange,
    Change,
    Difference,
    LimitChange,
    PointChange,
    Shift,
)
from acl_cts.reports.words import counted

MOST = 40
"""Lines of one category that are shown unless all are asked for."""

GROUPS = 6
"""Reasons of one category of what is not compared."""


def diff_text(found: Difference, everything: bool = False) -> str:
    """The whole text, ending in a newline; of long categories only the first lines, unless `everything`."""
    most = 10**9 if everything else MOST
    return "\n".join(line.rstrip() for line in _lines(found, most)) + "\n"


def _lines(found: Difference, most: int) -> Iterator[str]:
    yield f"acl-cts {found.tool} · what changed in {counted(len(found.versions), 'run')}"
    width = max(len(version.name) for version in found.versions)
    for version in found.versions:
        libraries = [f"{name} {version.of_library(name)}".strip() for name in version.standings]
        told = [version.started[:16].replace("T", " "), f"tables {version.tables[:12]}", *libraries]
        yield f"  {version.name:<{width}}  " + ("unreadable" if version.unreadable else " · ".join(told))
    for remark in remarks(found):
        yield f"  note: {remark}"
    for backend in found.backends:
        yield ""
        yield from _backend(backend, most)
    yield ""
    for held in found.holds:
        yield f"[exit code {held.code}] {held.reason}"
    yield f"exit code {found.code}: {DIFF_MEANING[found.code]}"


def _backend(backend: BackendDifference, most: int) -> Iterator[str]:
    totals = " · ".join(f"{number} {change}" for change, number in backend.totals.items())
    renamed = f" · {backend.renamed} of them renamed" if backend.renamed else ""
    yield f"{backend.backend}: {counted(sum(backend.totals.values()), 'case')}: {totals or 'none'}{renamed}"
    for kind, rows in (("limit probes", backend.limits), ("open points", backend.points)):
        told = " · ".join(f"{number} {shift}" for shift, number in backend.shifts(rows).items())
        if told:
            yield f"  {kind:<14} {told}"
    for change in backend.totals:
        if change in UNCOMPARED:
            yield from _gaps(backend, change)
        elif change is not Change.UNCHANGED:
            yield from _cut((_case(case) for case in backend.of(change)), backend.totals[change], most)
    renamed_only = [case for case in backend.of(Change.UNCHANGED) if case.renamed_from]
    yield from _cut((f"  renamed: {case.renamed_from} → {case.id}" for case in renamed_only), len(renamed_only), most)
    limits, points = backend.moved_limits, backend.moved_points
    yield from _cut(map(_limit, compared(limits)), len(compared(limits)), most)
    yield from _cut(map(_point, compared(points)), len(compared(points)), most)
    yield from _uncompared("limit probe", [(limit.shift, probe(limit)) for limit in limits])
    yield from _uncompared("open point", [(point.shift, point.clause) for point in points])
    broken = [clause for clause in backend.clauses if any(clause.cells)]
    for clause in broken:
        yield f"  cases that break {clause.clause}: {' → '.join(map(breaking, clause.cells))}"
    if untested := [clause.clause for clause in backend.clauses if not any(clause.cells)]:
        told = counted(len(untested), "clause is", "clauses are")
        yield f"  {told} not put to the test by every run (first: {untested[0]})"
    for function in backend.support:
        cells = " → ".join("not asked for" if cell is None else cell.value for cell in function.cells)
        yield f"  function {function.function}: {cells}"


def _cut(lines: Iterator[str], number: int, most: int) -> Iterator[str]:
    for place, line in enumerate(lines):
        if place == most:
            yield f"  and {number - most} more; --all shows them"
            return
        yield line


def _case(case: CaseChange) -> str:
    clauses = accused(case)
    told = f"  {clauses[0]}" + (f" +{len(clauses) - 1}" if len(clauses) > 1 else "") if clauses else ""
    was = f"  (was {case.renamed_from})" if case.renamed_from else ""
    return f"  {case.change}: {way(case)}  {case.id}{told}{was}"


def _gaps(backend: BackendDifference, change: Change) -> Iterator[str]:
    """A line for each reason, not for each case: there may be thousands, and all for one."""
    found = gaps(backend, change)
    for told, reason, cases in found[:GROUPS]:
        because = f": {reason}" if reason else ""
        yield f"  {change}: {len(cases)} × {told}{because} (first: {cases[0].id})"
    if len(found) > GROUPS:
        rest = sum(len(cases) for _, _, cases in found[GROUPS:])
        yield f"  {change}: {rest} more for {counted(len(found) - GROUPS, 'further reason')}"


def _uncompared(noun: str, rows: list[tuple[Shift, str]]) -> Iterator[str]:
    """A line for each way in which limits or open points are not compared."""
    for shift in GAPS:
        names = [name for other, name in rows if other is shift]
        if names:
            yield f"  {counted(len(names), noun)} {shift} (first: {names[0]})"


def _limit(limit: LimitChange) -> str:
    because = f"  ({detail(limit)})" if detail(limit) else ""
    return f"  limit {limit.shift}: {' → '.join(map(measured, limit.cells))}  {probe(limit)}{because}"


def _point(point: PointChange) -> str:
    shift = "answered differently" if point.shift is Shift.MOVED else point.shift.value
    cases = f"  ({counted(point.changed, 'case')}, first {point.example})" if point.changed else ""
    return f"  open point {shift}: {' → '.join(map(answers, point.cells))}  {point.clause}{cases}"
