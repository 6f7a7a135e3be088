"""Culprit: the fewest programs of a worker's history after which a program fails that does not fail alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

THINNING = 60
"""Questions about what stands between the first and the last program that are needed; each costs a new worker."""


def culprit(history: Sequence[Item], fails_after: Callable[[Sequence[Item]], bool]) -> Sequence[Item] | None:
    """Bisect `history`, which `fails_after` is asked about in a new worker each time.

    First what can be cut off at the front, then behind what is needed, then what stands between the first and the last
    that are. None when the whole history does not bring the failure back. Takes about 2 log2(n) questions, and at most
    `THINNING` more for what stands between: none of what is left then can be done without, unless those ran out.
    """
    if not fails_after(history):
        return None
    start, bad = len(history), 0
    while start - bad > 1:
        middle = (start + bad) // 2
        if fails_after(history[middle:]):
            bad = middle
        else:
            start = middle
    suffix = history[bad:]
    good, end = 0, len(suffix)
    while end - good > 1:
        middle = (good + end) // 2
        if fails_after(suffix[:middle]):
            end = middle
        else:
            good = middle
    return _thinned(suffix[:end], fails_after)


def _thinned(stretch: Sequence[Item], fails_after: Callable[[Sequence[Item]], bool]) -> Sequence[Item]:
    """`stretch` without parts of its inside that are not needed: halves first, then ever smaller parts."""
    kept, asked = list(stretch), 0
    size = max(1, (len(kept) - 2) // 2)
    while len(kept) > 2:
        place = 1
        while place < len(kept) - 1:
            part = min(size, len(kept) - 1 - place)
            if asked >= THINNING:
                return kept
            asked += 1
            shorter = kept[:place] + kept[place + part :]
            if fails_after(shorter):
                kept = shorter
            else:
                place += part
        if size == 1:
            break
        size = max(1, size // 2)
    return kept
