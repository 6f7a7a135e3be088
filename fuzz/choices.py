"""Choices: where a generator's decisions come from.

A generator asks for bytes, one at a time, by their place in the record of the decision at hand. Bytes of a file, dice
and Hypothesis all answer the same questions, so there is one generator whatever the source.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from typing import Protocol

RECORD = 16
"""Bytes of one decision."""

OPERATION, TAG, COUNT, NULLS, SLOTS = 0, 1, 2, 3, 4
"""Places in a record: what to do, the mark of what it makes, how often, what is NULL, and the arguments."""

SOME_NULL, ALL_NULL = 232, 255
"""From the first on a record has a NULL; the second stands for NULL in every output."""

SLOT = 3
"""Bytes of one argument; argument k starts at `SLOTS + SLOT * (k % 4)`."""

SIMPLE = 32
"""Bytes below this stand for what is simple, whatever they are for."""

MOST = 256
"""Decisions of one program at most; further bytes are not looked at."""


class Choices(Protocol):
    """A source of decisions."""

    def byte(self, place: int) -> int:
        """The byte at `place` of the present record, 0 to 255. Low values mean simple choices."""
        ...


class Record:
    """Choices from the bytes of one record. Bytes that are missing are 0."""

    __slots__ = ("_data", "_start")

    def __init__(self, data: bytes, start: int = 0) -> None:
        self._data = data
        self._start = start

    def __repr__(self) -> str:
        return f"Record({self._data[self._start : self._start + RECORD].hex()!r})"

    def byte(self, place: int) -> int:
        """The byte at `place`."""
        at = self._start + place
        return self._data[at] if at < len(self._data) else 0


@dataclass(frozen=True, slots=True)
class Inner:
    """Choices of a decision inside another one, whose record has only a few bytes to spare for it: `operation` says
    what to do, `mark` by what it is found again, and everything else follows from `seed`. Only one of `seed` in two
    strays from what is simple. `nulls`: the least byte that tells which argument is NULL."""

    operation: int
    mark: int
    seed: int
    nulls: int = 0

    def byte(self, place: int) -> int:
        """The byte at `place`."""
        if place in (OPERATION, TAG):
            return self.operation if place == OPERATION else self.mark
        found = zlib.crc32(bytes((self.seed & 255, self.mark, place)))
        if place == NULLS and self.nulls:
            return self.nulls + found % (256 - self.nulls)
        return found % SIMPLE if self.seed & 1 else found & 255


def records(data: bytes) -> list[Record]:
    """One source for each record of `data`, the last one filled up with zeros.

    A record never borrows bytes from its neighbour: what changes in one does not move what the others mean, and whole
    records can be inserted and taken out.
    """
    return [Record(data, start) for start in range(0, min(len(data), MOST * RECORD), RECORD)]


def rolled(dice: random.Random, decisions: int) -> list[Record]:
    """`decisions` records of random bytes."""
    return records(dice.randbytes(RECORD * decisions))
