"""Deadly functions: how much of a campaign may go into what a library does badly anyway.

A library that crashes or hangs in every call of a function would eat the whole time. What such endings cost is counted
in programs that could have been executed instead, never in seconds, so that a run can be repeated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from acl_cts.specs.trace import End, Ending

PRICE = {End.CRASH: 20, End.EXIT: 20, End.TIMEOUT: 2000}
"""What an ending costs, in programs."""

SHARE = 0.2
"""Part of the programs that one function may cost."""

FREE = 1000
"""What it may cost before that counts, so that a few endings are always looked into."""


@dataclass(slots=True)
class Deadly:
    """Costs by function."""

    _costs: Counter[str] = field(default_factory=Counter)

    def charge(self, ending: Ending) -> None:
        """Count how a program ended."""
        price = PRICE.get(ending.kind, 0)
        if price and ending.function:
            self._costs[ending.function] += price

    def avoided(self, programs: int) -> frozenset[str]:
        """The functions that are not called for the time being, after so many programs."""
        allowed = FREE + SHARE * programs
        return frozenset(function for function, cost in self._costs.items() if cost > allowed)
