"""Waivers: failures that somebody answers for until a date. They never keep anything from being executed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from acl_cts.reports.hand_written import HandWritten, read_hand_written, take_hand_written
from acl_cts.reports.results import BASELINE
from acl_cts.specs.judgement import Verdict

SCHEMA = Path(__file__).parent / "waivers.schema.json"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a waiver covers, by patterns. A case must fit `cases` and `clauses`, where they are given, and have one of
    `verdicts`."""

    clauses: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    verdicts: frozenset[Verdict] = frozenset({Verdict.FAIL})
    limits: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    @property
    def patterns(self) -> Iterator[tuple[str, int, str]]:
        """Every pattern with its kind and its place among those of the kind."""
        for kind in ("clauses", "cases", "limits", "functions"):
            for number, pattern in enumerate(getattr(self, kind)):
                yield kind, number, pattern


@dataclass(frozen=True, slots=True)
class Waiver:
    """One accepted failure. `expires`: ISO date of the last day on which it holds. `backend`, `version`: patterns.
    `place`: file and line of the whole."""

    id: str
    reason: str
    owner: str
    link: str
    expires: str
    scope: Scope
    backend: str = "*"
    version: str = "*"
    place: str = ""


@dataclass(frozen=True, slots=True)
class WaiverFile:
    """All waivers of one file, and what tells where in it something stands."""

    written: HandWritten
    waivers: tuple[Waiver, ...]

    def place(self, number: int, *where: str | int) -> str:
        """File and line of a part of waiver `number`."""
        return self.written.place("waivers", number, *where)


def load_waivers(path: Path) -> WaiverFile:
    """The waivers in the file `path`. Raises ReportError, also for an id given twice or a day that no calendar has."""
    return _waivers(read_hand_written(path, SCHEMA))


def take_waivers(path: Path, raw: bytes) -> WaiverFile:
    """The same for a file of which the bytes `raw` are at hand; `path` is only told."""
    return _waivers(take_hand_written(path, raw, SCHEMA))


def _waivers(written: HandWritten) -> WaiverFile:
    seen: dict[str, int] = {}
    waivers = []
    for number, data in enumerate(written.data["waivers"]):
        name, where = data["id"], ("waivers", number, "id")
        if name == BASELINE:
            raise written.error(f"{name!r} stands for the baseline; give the waiver another id", *where)
        if name in seen:
            raise written.error(f"the id {name!r} is taken (line {seen[name]})", *where)
        seen[name] = data.lines["id"]
        written.date("waivers", number, "expires")
        scope = {kind: tuple(value) for kind, value in data["scope"].items()}
        if "verdicts" in scope:
            scope["verdicts"] = frozenset(map(Verdict, scope["verdicts"]))  # type: ignore[assignment]
        plain = {key: " ".join(value.split()) for key, value in data.items() if key != "scope"}
        waivers.append(Waiver(**plain, scope=Scope(**scope), place=written.place("waivers", number)))  # type: ignore[arg-type]
    return WaiverFile(written, tuple(waivers))
