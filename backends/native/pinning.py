"""Pinning: this thread and its worker on one processor, which makes ringing each other several times faster."""

from __future__ import annotations

import os


class Pin:
    """Keeps the calling thread on one processor until the last holder lets go.

    `turn`: number of this process among those that share the work, each of which takes another processor.
    """

    def __init__(self) -> None:
        self.turn: int | None = None
        self._before: set[int] = set()
        self._holders = 0

    def hold(self) -> int:
        """Stay on one processor; its number."""
        if self._holders == 0:
            self._before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {_choose(self._before, self.turn)})
        self._holders += 1
        return min(os.sched_getaffinity(0))

    def let_go(self) -> None:
        """Undo one `hold`."""
        self._holders -= 1
        if self._holders == 0:
            os.sched_setaffinity(0, self._before)

    @property
    def free(self) -> set[int]:
        """The processors that this thread may use when it is not held."""
        return self._before if self._holders else os.sched_getaffinity(0)


PIN = Pin()
"""The one of this process."""


def _choose(allowed: set[int], turn: int | None) -> int:
    """Processes that share work spread out by their number, as workers of pytest-xdist; others stay where they are."""
    ordered = sorted(allowed)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if turn is None and worker.startswith("gw") and worker[2:].isdigit():
        turn = int(worker[2:])
    if turn is not None:
        return ordered[turn % len(ordered)]
    with open("/proc/thread-self/stat", encoding="ascii") as stat:
        here = int(stat.read().rpartition(")")[2].split()[36])
    return here if here in allowed else ordered[0]
