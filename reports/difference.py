"""Difference: what changed between two or more runs, in categories of which every case is in exactly one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from acl_cts.reports.limit_result import LimitResult
from acl_cts.reports.results import Held, Support
from acl_cts.reports.standing import Stand
from acl_cts.reports.version import Version


class Change(StrEnum):
    """What became of a case from the first to the last version.

    `newly failing` did not fail before, whatever else it did; `worse` failed before and now fails in a worse way or
    breaks a further clause. Those with `accepted` are failures that a waiver or the baseline expects. `not judged any
    more`, `not judged before` and `judged in neither` say that there is no comparison; they are never `unchanged`.
    """

    NEWLY = "newly failing"
    WORSE = "worse"
    STILL = "still failing"
    NEWLY_ACCEPTED = "newly failing, accepted"
    STILL_ACCEPTED = "still failing, accepted"
    FIXED = "fixed"
    LOST = "not judged any more"
    GAINED = "not judged before"
    UNJUDGED = "judged in neither"
    WAVERED = "not the same in between"
    ADDED = "added"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


ALARMING = frozenset({Change.NEWLY, Change.WORSE})
"""Changes for which somebody should be woken."""

UNCOMPARED = frozenset({Change.LOST, Change.GAINED, Change.UNJUDGED})
"""Changes that say that there is no comparison."""


class Shift(StrEnum):
    """What became of a limit, an open point or a function's support. `broke` and `mended`: a limit whose measured edge
    is not, or again is, the documented one."""

    BROKE = "newly wrong"
    BROKE_ACCEPTED = "newly wrong, accepted"
    MENDED = "mended"
    MOVED = "moved"
    LOST = "not judged any more"
    GAINED = "not judged before"
    UNJUDGED = "judged in neither"
    UNCHANGED = "unchanged"


GAPS = (Shift.LOST, Shift.GAINED, Shift.UNJUDGED)
"""Shifts that say that there is no comparison."""

Cell = Stand | str
"""How a case stands in one version, or why it does not; '' where it is no case of that version."""


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case. `cells`: one for each version. `renamed_from`: the id that the same program had in an earlier one."""

    id: str
    change: Change
    cells: tuple[Cell, ...]
    renamed_from: str = ""


@dataclass(frozen=True, slots=True)
class LimitChange:
    """One probe of a limit; None where it was not made."""

    limit: str
    function: str
    param: str
    context: str
    shift: Shift
    cells: tuple[LimitResult | None, ...]


@dataclass(frozen=True, slots=True)
class PointChange:
    """One open point. `cells`: each answer with the number of cases that saw it, most frequent first, for each version.
    `changed`: number of cases whose answer is not the same in all versions that have one; `example`: the first."""

    clause: str
    shift: Shift
    cells: tuple[tuple[tuple[str, int], ...], ...]
    changed: int = 0
    example: str = ""


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """One clause, across the runs. `cells`: number of cases that break it; 0 where it was kept, None where nothing put
    it to the test."""

    clause: str
    cells: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class SupportChange:
    """One function that is not offered alike; None where it was not asked for."""

    function: str
    cells: tuple[Support | None, ...]


@dataclass(frozen=True, slots=True)
class BackendDifference:
    """Everything that changed on one backend. `cases`: those that are not simply unchanged; `totals`: all, by their
    change. `points`: all open points, `limits`: all probes; `same_library`: whether all versions judged the same file.
    """

    backend: str
    totals: Mapping[Change, int]
    cases: tuple[CaseChange, ...]
    limits: tuple[LimitChange, ...]
    points: tuple[PointChange, ...]
    clauses: tuple[ClauseChange, ...]
    support: tuple[SupportChange, ...]
    same_library: bool = False

    @property
    def renamed(self) -> int:
        """Number of cases that had another id."""
        return sum(bool(case.renamed_from) for case in self.cases)

    @property
    def moved_limits(self) -> tuple[LimitChange, ...]:
        """Limits that are not simply unchanged."""
        return tuple(limit for limit in self.limits if limit.shift is not Shift.UNCHANGED)

    @property
    def moved_points(self) -> tuple[PointChange, ...]:
        """Open points that are not simply unchanged."""
        return tuple(point for point in self.points if point.shift is not Shift.UNCHANGED)

    def of(self, change: Change) -> tuple[CaseChange, ...]:
        """Cases of one category."""
        return tuple(case for case in self.cases if case.change is change)

    def shifts(self, rows: tuple[LimitChange, ...] | tuple[PointChange, ...]) -> dict[Shift, int]:
        """Number of `rows` by what became of them, those that occur."""
        counted = Counter(row.shift for row in rows)
        return {shift: counted[shift] for shift in Shift if counted[shift]}


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from the first to the last of `versions`. `holds`: every exit code that holds, with why."""

    tool: str
    versions: tuple[Version, ...]
    backends: tuple[BackendDifference, ...]
    holds: tuple[Held, ...] = ()

    @property
    def code(self) -> int:
        """The exit code."""
        return self.holds[0].code if self.holds else 0

    def text(self, clause: str) -> tuple[str, str]:
        """What a clause says in English and Chinese, by the last version that has it."""
        for version in reversed(self.versions):
            if clause in version.texts:
                return version.texts[clause]
        return "", ""

    def total(self, *changes: Change) -> int:
        """Number of cases with one of these changes, on all backends."""
        return sum(backend.totals.get(change, 0) for backend in self.backends for change in changes)
