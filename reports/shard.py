"""Shard: one of several parts of a run, each judged by a run of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

FORM = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """Part `number`, from 1, of `of`."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"

    @staticmethod
    def parse(text: str) -> Shard:
        """The shard that `text` names, as 2/4. Raises ValueError."""
        found = FORM.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            raise ValueError(f"{text!r} names no shard; write it as I/N, I from 1 to N")
        return Shard(int(found[1]), int(found[2]))
