"""Conforming variants of the C core: builds that answer the open points in other ways, so few that all can be tried and
so mixed that any two answers meet."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from itertools import count, product

from acl_cts.backends.core_backend import FOLDER

ROWS = 24
"""Builds: the first answers every open point in its default way, the second in the other way."""

MEETINGS = 3
"""Builds, at the least, in which any two answers to any two open points meet."""

_SWITCH = re.compile(r"^#ifndef (CORE_ANSWER_\w+)$", re.MULTILINE)


@functools.cache
def switches() -> tuple[str, ...]:
    """The open points of the core, each a macro that is 0 or 1, in the order of its header."""
    return tuple(_SWITCH.findall((FOLDER / "src" / "answers.h").read_text(encoding="utf-8")))


@functools.cache
def variants() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Name and defines, as `build_core` takes them, of every variant; the same on every machine."""
    columns = _columns(len(switches()))
    return tuple(
        (_name(row), tuple(f"{switch}=1" for switch, column in zip(switches(), columns, strict=True) if column[row]))
        for row in range(ROWS)
    )


def _name(row: int) -> str:
    return ("default", "opposite")[row] if row < 2 else f"mixed-{row - 1}"


def _columns(wanted: int) -> list[tuple[int, ...]]:
    """One column of answers a switch. Half of each are 1, and one that meets an earlier column in some pair of answers
    too rarely is thrown away: with half the rows free to vary, few are."""
    columns: list[tuple[int, ...]] = []
    half = ROWS // 2 - 1
    for seed in count():
        mixed = [0] * half + [1] * half
        random.Random(seed).shuffle(mixed)
        column = (0, 1, *mixed)
        if all(_meet(column, other) for other in columns):
            columns.append(column)
        if len(columns) == wanted:
            return columns
    raise AssertionError("count() does not end")


def _meet(one: Sequence[int], other: Sequence[int]) -> bool:
    pairs: list[tuple[int, ...]] = list(zip(one, other, strict=True))
    return all(pairs.count(pair) >= MEETINGS for pair in product((0, 1), repeat=2))
