"""Growth: whether memory that is held more and more, while the same objects live, is memory never given back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from acl_cts.specs.trace import Sample

STEADY_POOL = 88 * 2**20
"""Bytes that a library may keep for later use, whatever it was given back: 64 MiB are common, and this is more."""

IN_A_ROW = 3
"""Samples in a row up to the last over which memory that is never given back has grown."""

REGULAR = 16
"""On a device others hold memory too: there the last samples' growth for each turn differs by less than this part."""


def leaked(samples: Sequence[Sample]) -> str:
    """How much was never given back and where, '' when that cannot be said for certain. Between two samples the number
    of turns doubles, so a leak keeps doubling what is held, however coarse the steps in which a library takes memory; a
    cache that fills up comes to rest, and one that has not yet holds no more than it may."""
    turns = (0, *(sample.turns for sample in samples))
    for where, values in _readings(samples):
        if not _grows(turns, values) or values[-1] <= STEADY_POOL or 4 * (values[-1] - values[-2]) < values[-1]:
            continue
        if where == "device" and not _regular(turns, values):
            continue
        return f"after {turns[-1]} turns {values[-1]} bytes more are held by the {where}"
    return ""


def growing(samples: Sequence[Sample]) -> bool:
    """Whether the process still held more and more in the end."""
    turns = (0, *(sample.turns for sample in samples))
    return _grows(turns, _readings(samples)[0][1])


def _readings(samples: Sequence[Sample]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return (
        ("process", (0, *(sample.host for sample in samples))),
        ("device", (0, *(sample.device for sample in samples))),
    )


def _grows(turns: Sequence[int], values: Sequence[int]) -> bool:
    """Whether each of the last steps grew by a byte a turn at least; less than that is the process's own noise."""
    steps = [b - a >= after - before for (a, b), (before, after) in zip(pairwise(values), pairwise(turns), strict=True)]
    return len(steps) >= IN_A_ROW and all(steps[-IN_A_ROW:])


def _regular(turns: Sequence[int], values: Sequence[int]) -> bool:
    """Whether each of the last steps grew alike for each turn, as `_grows` has found that they do grow."""
    steps = list(zip(pairwise(values), pairwise(turns), strict=True))[-IN_A_ROW:]
    rates = [(b - a) / (after - before) for (a, b), (before, after) in steps]
    return (max(rates) - min(rates)) * REGULAR < max(rates)
