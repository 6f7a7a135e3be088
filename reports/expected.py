"""Expected: what became of the baseline and the waivers of a run, to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from acl_cts.reports.typed import Typed


class Use(StrEnum):
    """What became of one expectation.

    `used`: something failed that it covers. `passed`: all that it covers was judged, and nothing fails. `nothing`: a
    pattern of it names nothing that there is. `quiet`: what it covers may fail or not, and did not. `unjudged`: not all
    that it covers was judged. `elsewhere`: it is about backends that were not judged.
    """

    USED = "used"
    PASSED = "passed"
    NOTHING = "nothing"
    QUIET = "quiet"
    UNJUDGED = "unjudged"
    ELSEWHERE = "elsewhere"


STALE = frozenset({Use.PASSED, Use.NOTHING})
"""Uses that show an expectation to be out of date."""


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """A waiver, and what it covered: numbers of `cases`, `limits` and `functions`. `told`: one line about the use where
    there is something to tell. `place`: file and line."""

    id: str
    reason: str
    owner: str
    link: str
    expires: str
    place: str
    use: Use
    expired: bool = False
    told: str = ""
    cases: int = 0
    limits: int = 0
    functions: int = 0

    @property
    def stale(self) -> bool:
        """Whether it is out of date."""
        return self.expired or self.use in STALE


@dataclass(frozen=True, slots=True)
class StaleItem:
    """One expectation of a baseline that is out of date. `kind` as in the file; `use`: `passed` or `nothing`."""

    kind: str
    name: str
    use: Use
    place: str


@dataclass(frozen=True, slots=True)
class BaselineUse:
    """What the baseline covered: numbers of `failures`, `flakes`, `skips`, `limits` and `functions`; and what of it is
    out of date."""

    file: str
    sha256: str
    failures: int = 0
    flakes: int = 0
    skips: int = 0
    limits: int = 0
    functions: int = 0
    stale: tuple[StaleItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run was told to expect. `waiver_file` and its digest are '' without waivers."""

    waivers: tuple[WaiverUse, ...] = ()
    waiver_file: str = ""
    waiver_sha256: str = ""
    baseline: BaselineUse | None = None


def expected_to_json(expected: Expected) -> dict[str, Any]:
    """JSON of `expected`."""
    plain = asdict(expected)
    plain["waivers"] = list(plain["waivers"])
    if expected.baseline is None:
        del plain["baseline"]
    else:
        plain["baseline"]["stale"] = list(plain["baseline"]["stale"])
    return plain


def expected_from_json(read: Typed) -> Expected:
    """What `expected_to_json` gave. Raises ValueError for anything else."""
    return Expected(
        waivers=read.listed("waivers", _waiver),
        waiver_file=read.text("waiver_file"),
        waiver_sha256=read.text("waiver_sha256"),
        baseline=_baseline(read.nested("baseline")) if "baseline" in read.data else None,
    )


def _waiver(data: Mapping[str, Any], place: str) -> WaiverUse:
    read = Typed(data, place)
    texts = {name: read.text(name) for name in ("id", "reason", "owner", "link", "expires", "place", "told")}
    counts = {name: read.count(name) for name in ("cases", "limits", "functions")}
    return WaiverUse(**texts, **counts, use=read.word("use", Use), expired=read.flag("expired"))  # type: ignore[arg-type]


def _baseline(read: Typed) -> BaselineUse:
    counts = {name: read.count(name) for name in ("failures", "flakes", "skips", "limits", "functions")}
    return BaselineUse(read.text("file"), read.text("sha256"), **counts, stale=read.listed("stale", _stale))


def _stale(data: Mapping[str, Any], place: str) -> StaleItem:
    read = Typed(data, place)
    return StaleItem(read.text("kind"), read.text("name"), read.word("use", Use), read.text("place"))
