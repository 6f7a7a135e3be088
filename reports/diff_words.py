"""Words of a difference: how its parts are told in every form of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from acl_cts.reports.difference import (
    GAPS,
    BackendDifference,
    CaseChange,
    Cell,
    Change,
    Difference,
    LimitChange,
    PointChange,
)
from acl_cts.reports.limit_result import BROKEN, LimitResult, LimitVerdict
from acl_cts.reports.limit_table import units
from acl_cts.reports.results import Cause
from acl_cts.reports.standing import Stand
from acl_cts.reports.words import first_line

DIFF_MEANING = {
    0: "nothing newly fails",
    1: "something newly fails",
    2: "not everything can be read",
    4: "the comparison is incomplete: something was judged by one side only",
}
"""What each exit code says."""


def verdict(cell: Cell) -> str:
    """How a case stands in one version, in a word or two."""
    if isinstance(cell, Stand):
        stray = "stray write" if cell.breach and cell.verdict.value in ("pass", "fail") else cell.verdict.value
        return f"{stray} (accepted)" if cell.accepted else stray
    return "not there" if cell == "" else "no verdict"


def why(cell: Cell) -> str:
    """Why a case stands as it does; '' where it passed or was not there."""
    return first_line(cell.reason) if isinstance(cell, Stand) else cell


def way(case: CaseChange) -> str:
    """From verdict to verdict through all versions."""
    return " → ".join(map(verdict, case.cells))


def accused(case: CaseChange) -> tuple[str, ...]:
    """Clauses that the case accuses in any version, those of the last first."""
    cells = (cell for cell in reversed(case.cells) if isinstance(cell, Stand))
    return tuple(dict.fromkeys(clause for cell in cells for clause in cell.clauses))


def gaps(backend: BackendDifference, change: Change) -> list[tuple[str, str, list[CaseChange]]]:
    """Cases of a `change` that says that there is no comparison, by their way and the reason; the most first."""
    found: dict[tuple[str, str], list[CaseChange]] = {}
    for case in backend.of(change):
        unjudged = [cell for cell in case.cells if not isinstance(cell, Stand) or not cell.judged]
        reasons = dict.fromkeys(filter(None, map(_because, unjudged)))
        found.setdefault((way(case), "; ".join(reasons)), []).append(case)
    return sorted(((*key, cases) for key, cases in found.items()), key=lambda entry: -len(entry[2]))


def _because(cell: Cell) -> str:
    """The reason, or where a case has none the cause."""
    if isinstance(cell, Stand) and not cell.reason and cell.cause is not Cause.NONE:
        return cell.cause.value
    return why(cell)


def measured(cell: LimitResult | None) -> str:
    """What one version says of a limit."""
    if cell is None:
        return "not probed"
    told = cell.verdict.value
    if cell.measured is not None:
        told = units(cell.measured, cell.unit)
        if cell.verdict is not LimitVerdict.AS_DOCUMENTED:
            told += f" ({cell.verdict.value})"
    return f"{told} (accepted)" if cell.accepted else told


def detail(limit: LimitChange) -> str:
    """Why the last version's limit is wrong; '' where it is not."""
    last = limit.cells[-1]
    return last.detail if last is not None and last.verdict in BROKEN else ""


def probe(limit: LimitChange) -> str:
    """Which probe of a limit it is."""
    param = f" {limit.param}" if limit.param else ""
    return f"{limit.limit}, {limit.function}{param}" + (f", {limit.context}" if limit.context else "")


def answers(cell: tuple[tuple[str, int], ...]) -> str:
    """What one version answers at an open point."""
    told = ", ".join(f"{answer} ({number}×)" for answer, number in cell[:4])
    return told + (f" and {len(cell) - 4} more" if len(cell) > 4 else "") if cell else "no answer"


def breaking(cell: int | None) -> str:
    """How many cases of one version break a clause."""
    return "not tested" if cell is None else str(cell)


Row = TypeVar("Row", LimitChange, PointChange)


def compared(rows: Iterable[Row]) -> list[Row]:
    """Those of `rows` that are a comparison."""
    return [row for row in rows if row.shift not in GAPS]


def remarks(found: Difference) -> Iterator[str]:
    """What a reader must know before the categories: what the versions do not have in common."""
    tables = {version.tables for version in found.versions if not version.unreadable}
    if len(tables) > 1:
        yield "the tables differ: a verdict may have changed because the contract did; see acl-cts spec diff"
    tools = {version.tool for version in found.versions if not version.unreadable}
    if len(tools) > 1:
        yield f"made by different versions of the suite: {', '.join(sorted(tools))}"
    for version in found.versions:
        if version.unreadable:
            yield f"{version.name}: unreadable: {version.unreadable}"
        elif version.partial:
            yield f"{version.name}: {version.partial}; what is not in it is not compared"
    for backend in found.backends:
        uneven = sum(point.changed > 0 for point in backend.points)
        if backend.same_library:
            told = f", and answered {uneven} open points differently" if uneven else ""
            yield f"{backend.backend}: the same library every time (same SHA-256){told}"
