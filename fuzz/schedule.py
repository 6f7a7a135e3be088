"""The schedule: of several ways to go on, those that led to something new are taken more often; none is starved."""

from __future__ import annotations

import random
from collections.abc import Iterable

FLOOR = 0.25
"""Least share of a way, as a part of what it would have if all were equal."""

MEMORY = 4096
"""Turns after which old experience counts half."""


class Schedule:
    """Shares by success. The same seed and the same rewards give the same choices."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._taken = dict.fromkeys(self._names, 4.0)
        self._paid = dict.fromkeys(self._names, 1.0)
        self._turns = 0
        self._weights: tuple[float, ...] = ()

    def pick(self, dice: random.Random) -> str:
        """The next way to go. Raises IndexError when there is none."""
        if self._turns % 64 == 0 or not self._weights:
            self._weights = tuple(self.shares().values())
        self._turns += 1
        name = dice.choices(self._names, self._weights)[0]
        self._taken[name] += 1
        if self._turns % MEMORY == 0:
            for table in (self._taken, self._paid):
                for known in table:
                    table[known] /= 2
        return name

    def reward(self, name: str) -> None:
        """What came of `name` was new."""
        self._paid[name] += 1

    def shares(self) -> dict[str, float]:
        """How often each way is taken, as parts of 1."""
        rates = {name: self._paid[name] / self._taken[name] for name in self._names}
        total = sum(rates.values()) or 1.0
        floor = FLOOR / max(1, len(self._names))
        raised = {name: max(floor, rate / total) for name, rate in rates.items()}
        return {name: share / sum(raised.values()) for name, share in raised.items()}
