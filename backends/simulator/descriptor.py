"""Allocator descriptors and their registrations as objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Slot(StrEnum):
    """What a descriptor can be given."""

    OBJECT = "object"
    ALLOC = "alloc"
    ALLOC_ADVISE = "alloc-advise"
    FREE = "free"
    GET_ADDR_FROM_BLOCK = "get-addr-from-block"


REQUIRED = (Slot.OBJECT, Slot.ALLOC, Slot.FREE, Slot.GET_ADDR_FROM_BLOCK)
"""What must be set before a descriptor can be registered."""


@dataclass(slots=True, eq=False)
class Descriptor:
    """What a descriptor handle stands for; a slot never set has no entry."""

    handle: int
    slots: dict[Slot, int] = field(default_factory=dict)
    alive: bool = True


@dataclass(slots=True, eq=False)
class Registration:
    """A descriptor on a stream, with the slots as they were then; `block` is its inner allocation."""

    descriptor: Descriptor
    slots: dict[Slot, int]
    block: int
