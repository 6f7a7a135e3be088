"""Handles: what the variables of a growing program stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acl_cts.fuzz.vital import Facts
from acl_cts.specs.program import Ref
from acl_cts.specs.values import Obj

Key = tuple[str, int | None]
"""A variable: its name, and its place where it is one of an array."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A variable that stands for a handle. `mark`: 0 to 255, by which it is found again when others come and go.
    `span`: the places of the array for which it stands, when it stands for more than one."""

    ref: Ref
    item: Obj
    mark: int
    span: tuple[int, int] | None = None

    def __repr__(self) -> str:
        index = "" if self.ref.index is None else f"[{self.ref.index.offset}]"
        return f"<{self.item.kind} {self.ref.name}{index}>"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a name stands for: the call that gave it, the handles among its outputs, and the principal one."""

    facts: Facts
    items: dict[str, Obj]
    principal: Obj | None


Chooser = Callable[[list[Handle]], Handle]
"""Picks the handle to take in place of one that cannot be used."""


def last(handles: list[Handle]) -> Handle:
    """The handle made last."""
    return handles[-1]


def places(handle: Handle) -> tuple[int | None, int | None]:
    """The places of an array for which a handle stands: first, and one after the last."""
    if handle.span is not None:
        return handle.span
    index = handle.ref.index
    return (None, None) if index is None else (index.offset, index.offset + 1)
