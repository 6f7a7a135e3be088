"""Figures: what a campaign has done so far, of one process or of all together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts since the start. `seconds` and `last_new` (the time of the last gain) on the clock of the campaign;
    `states`: features of the model; `crashes`: programs that ended their worker; `repeated`: failures with a bucket
    that was known; `scouted`: programs of scouts, which are checked in C, and `unconfirmed`: how many of these seemed
    to fail and do not for the oracle; `seeds_left`: conformance cases that were not taken as seeds yet; `fingerprint`:
    of all programs executed and their verdicts, in their order."""

    seconds: float = 0.0
    programs: int = 0
    calls: int = 0
    edges: int = 0
    states: int = 0
    corpus: int = 0
    findings: int = 0
    repeated: int = 0
    crashes: int = 0
    inconclusive: int = 0
    unjudged: int = 0
    divergences: int = 0
    notes: int = 0
    scouted: int = 0
    scouted_calls: int = 0
    unconfirmed: int = 0
    seeds_left: int = 0
    last_new: float = 0.0
    fingerprint: str = ""

    @property
    def rate(self) -> float:
        """Programs a second."""
        return self.programs / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """All of them."""
        return {**asdict(self), "seconds": round(self.seconds, 2), "last_new": round(self.last_new, 2)}

    def line(self) -> str:
        """One line for people."""
        seconds = max(self.seconds, 1e-9)
        parts = [
            _clock(self.seconds),
            f"{self.programs} programs",
            f"{self.programs / seconds:.0f} programs/s",
            f"{self.calls / seconds:.0f} calls/s",
            *((f"{self.scouted / seconds:.0f} scouted/s",) if self.scouted else ()),
            *((f"{self.edges} edges",) if self.edges else ()),
            f"{self.states} states",
            f"corpus {self.corpus}",
            f"findings {self.findings}",
        ]
        if self.seeds_left:
            parts.append(f"seeds left {self.seeds_left}")
        if self.repeated:
            parts.append(f"failures seen again {self.repeated}")
        if self.crashes:
            parts.append(f"crashes {self.crashes}")
        parts.append(f"last new {_clock(max(0.0, self.seconds - self.last_new))} ago")
        return " · ".join(parts)


def together(all_: Iterable[Figures]) -> Figures:
    """The figures of several processes with one corpus: work adds up, and what is reached is that of the best."""
    each = list(all_)
    if len(each) == 1:
        return each[0]
    total = {name: sum(getattr(one, name) for one in each) for name in _ADDED}
    best = {name: max((getattr(one, name) for one in each), default=0) for name in _BEST}
    return Figures(**total, **best, fingerprint=" ".join(one.fingerprint for one in each))


_ADDED = (
    "programs",
    "calls",
    "findings",
    "repeated",
    "crashes",
    "inconclusive",
    "unjudged",
    "divergences",
    "notes",
    "scouted",
    "scouted_calls",
    "unconfirmed",
    "seeds_left",
)
_BEST = ("seconds", "edges", "states", "corpus", "last_new")


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
