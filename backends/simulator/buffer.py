"""Shared buffers as objects: the data area, and the management structures that refer to it."""

from __future__ import annotations

from dataclasses import dataclass, field

PRIVATE_BYTES = 96
"""Size of a buffer's private area."""


@dataclass(slots=True, eq=False)
class Area:
    """A data area. `length` and `sets`: the length set last through any handle, and how many sets there were."""

    address: int
    size: int
    handles: int = 1
    length: int = 0
    sets: int = 0


@dataclass(slots=True, eq=False)
class Buffer:
    """What a handle stands for. `length` was current when the area had seen `seen` sets; `link` is its place in a
    chain's list, an inner allocation of its own that heads and unchained buffers do not have."""

    handle: int
    area: Area
    private: bytes
    length: int = 0
    seen: int = 0
    located: bool = False
    chain: list[Buffer] = field(default_factory=list)
    link: int = 0

    @property
    def chained(self) -> bool:
        """Whether it shares a chain with another buffer."""
        return len(self.chain) > 1

    @property
    def member(self) -> bool:
        """Whether another buffer is the head of its chain."""
        return self.chained and self.chain[0] is not self

    @property
    def heads(self) -> bool:
        """Whether it is the head of a chain with members."""
        return self.chained and self.chain[0] is self
