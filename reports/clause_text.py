"""What a report quotes of a clause, so that reports need not know the tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClauseText:
    """A clause in words, and where it comes from."""

    text: str
    source: str
