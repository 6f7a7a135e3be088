"""The caller's memory as a simulated function sees it: cells for single outputs, rooms for bytes, data to read."""

from __future__ import annotations

from acl_cts.backends.simulator.memory import Fault
from acl_cts.specs.trace import sentinel

LARGE_ROOM = 256
"""Bytes given for a size that no function accepts anyway."""


class Cell:
    """One out parameter; `value` is None while nothing was written to it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: int | None = None


class Room:
    """Caller memory that a function may write; starts with the sentinel."""

    __slots__ = ("content",)

    def __init__(self, size: int) -> None:
        self.content = sentinel(size)

    def write(self, data: bytes) -> None:
        """Put `data` at the start. Raises Fault when the room is shorter."""
        if len(data) > len(self.content):
            raise Fault(f"{len(data)} bytes written into a room of {len(self.content)}")
        self.content = data + self.content[len(data) :]


def take(data: bytes, size: int) -> bytes:
    """The first `size` bytes of the caller's `data`. Raises Fault when there are fewer."""
    if size > len(data):
        raise Fault(f"{size} bytes read from a caller's {len(data)}")
    return data[:size]


def default_size(size: int) -> int:
    """Bytes of caller memory for an argument that the program leaves out, when the call states `size`."""
    return size if size <= 4096 else LARGE_ROOM
