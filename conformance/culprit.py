"""Culprit: the shortest stretch of a worker's history after which a program fails that does not fail alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def culprit(history: Sequence[Item], fails_after: Callable[[Sequence[Item]], bool]) -> Sequence[Item] | None:
    """Bisect `history`, which `fails_after` is asked about in a new worker each time.

    First the longest tail that can be cut off at the front, then the part behind what is needed. None when the whole
    history does not bring the failure back. Takes about 2 log2(n) questions.
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
    return suffix[:end]
