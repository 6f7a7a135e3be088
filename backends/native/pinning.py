"""Pinning: this thread and its worker on one processor, which makes ringing each other several times faster."""

from __future__ import annotations

import os


class Pin:
    """Keeps the calling thread on one processor until the last holder lets go."""

    def __init__(self) -> None:
        self._before: set[int] = set()
        self._holders = 0

    def hold(self) -> int:
        """Stay on one processor; its number."""
        if self._holders == 0:
            self._before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {_choose(self._before)})
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


def _choose(allowed: set[int]) -> int:
    """Workers of pytest-xdist spread out by their number; anything else stays where it is running."""
    ordered = sorted(allowed)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw") and worker[2:].isdigit():
        return ordered[int(worker[2:]) % len(ordered)]
    with open("/proc/thread-self/stat", encoding="ascii") as stat:
        here = int(stat.read().rpartition(")")[2].split()[36])
    return here if here in allowed else ordered[0]
