"""Trend: the history of a library as its stored runs tell it, in the order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from acl_cts.reports.limit_result import LimitResult
from acl_cts.reports.standing import Standing, answer_counts
from acl_cts.reports.stored import RESULTS
from acl_cts.reports.version import Version, named, tolerated

Probe = tuple[str, str, str, str]
"""What tells one probe of a limit from others: limit, function, parameter, situation."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One backend in one run. `failures`: number of failing cases by the clause that explains them, or by the verdict
    where none does; `accepted` of them are expected. `open_points`: each answer with its number."""

    totals: Mapping[str, int]
    failures: Mapping[str, int]
    accepted: int
    limits: Mapping[Probe, LimitResult]
    open_points: Mapping[str, tuple[tuple[str, int], ...]]

    @property
    def failed(self) -> int:
        """Number of failing cases."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True)
class Point:
    """One run: what is known of it, and how each backend stood. `version` holds no cases any more."""

    version: Version
    moments: Mapping[str, Moment]

    def label(self, backend: str) -> str:
        """How the run is called where `backend` is told of: the library's version, or the run's name."""
        return self.version.of_library(backend) or self.version.name


@dataclass(frozen=True, slots=True)
class Trend:
    """A history. `points`: runs in the order of time, and of library versions among those of one second; `unreadable`:
    results of which nothing is known."""

    tool: str
    points: tuple[Point, ...]
    unreadable: tuple[Version, ...]

    @property
    def backends(self) -> tuple[str, ...]:
        """Every backend of any run, those with most runs first."""
        counted = Counter(name for point in self.points for name in point.moments)
        return tuple(name for name, _ in counted.most_common())

    def text(self, clause: str) -> tuple[str, str]:
        """What a clause says in English and Chinese, by the latest run that has it."""
        for point in reversed(self.points):
            if clause in point.version.texts:
                return point.version.texts[clause]
        return "", ""


def found_in(folder: Path) -> list[Path]:
    """Every results.json below `folder`."""
    return sorted(path for path in folder.rglob(RESULTS) if path.is_file())


def point_of(path: Path) -> Point:
    """The run whose results are in the file `path`; one without moments where it cannot be read."""
    version = tolerated(path)
    moments = {name: _moment(standing) for name, standing in version.standings.items()}
    lean = {name: replace(standing, cases={}, answers={}) for name, standing in version.standings.items()}
    return Point(replace(version, standings=lean), moments)


def trend(points: Iterable[Point], folder: Path, tool: str) -> Trend:
    """The history that `points`, found below `folder`, make, told by version `tool` of the suite; each is called by its
    place there."""
    placed = [replace(point, version=_placed(point.version, folder)) for point in points]
    readable = [point for point in placed if not point.version.unreadable]
    ordered = sorted(readable, key=lambda point: (point.version.started, _libraries(point), point.version.path))
    return Trend(tool, tuple(ordered), tuple(p.version for p in placed if p.version.unreadable))


def _libraries(point: Point) -> list[str]:
    return sorted(standing.identity.get("version", "") for standing in point.version.standings.values())


def _placed(version: Version, folder: Path) -> Version:
    path = Path(version.path).parent
    name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) and path != folder else ""
    return replace(version, name=name or named([version])[0].name)


def _moment(standing: Standing) -> Moment:
    failing = [stand for stand in standing.cases.values() if stand.failed]
    return Moment(
        totals=standing.totals,
        failures=Counter(stand.clauses[0] if stand.clauses else stand.verdict.value for stand in failing),
        accepted=sum(bool(stand.accepted) for stand in failing),
        limits={(limit.limit, limit.function, limit.param, limit.context): limit for limit in standing.limits},
        open_points={clause: answer_counts(cases) for clause, cases in sorted(standing.answers.items())},
    )
