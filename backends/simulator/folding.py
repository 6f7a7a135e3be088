"""Folding: iterations of a repeat that answer alike become one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from acl_cts.specs.trace import CallRecord, InvokeRecord, LiveRecord, Record, SameRecord, SkipRecord, TouchRecord

_ANSWER: dict[type, Callable[[Any], Any]] = {
    CallRecord: attrgetter("function", "ret", "outs", "breaches", "hits", "fault_fired"),
    SkipRecord: attrgetter("reason"),
    TouchRecord: attrgetter("error", "data", "crc"),
    InvokeRecord: attrgetter("error", "ret", "hits"),
    LiveRecord: attrgetter("objects", "bytes", "lost"),
    SameRecord: attrgetter("count"),
}
"""What a record says beside where it stands."""


class Folding:
    """Collects the iterations of the repeat at `step`, `loops` around it, into `records`."""

    def __init__(self, records: list[Record], step: int, loops: tuple[int, ...]) -> None:
        self._records = records
        self._step = step
        self._loops = loops
        self._last: list[Record] | None = None
        self._same = 0

    def add(self, iteration: list[Record]) -> None:
        """The next iteration, complete."""
        if self._last is not None and _alike(self._last, iteration, len(self._loops)):
            self._same += 1
            return
        self.close()
        self._records += iteration
        self._last = iteration

    def close(self) -> None:
        """Write down the repetitions that are still counted."""
        if self._same:
            self._records.append(SameRecord(self._step, self._loops, self._same))
            self._same = 0


def _alike(one: list[Record], other: list[Record], depth: int) -> bool:
    """Whether two iterations differ in nothing but the loop counter at `depth`."""
    return len(one) == len(other) and all(_same_answer(a, b, depth) for a, b in zip(one, other, strict=True))


def _same_answer(one: Record, other: Record, depth: int) -> bool:
    kind = type(one)
    return (
        kind is type(other)
        and one.step == other.step
        and one.loops[depth + 1 :] == other.loops[depth + 1 :]
        and bool(_ANSWER[kind](one) == _ANSWER[kind](other))
    )
