"""Values of the model: exact integers, pointers, objects and what is not known of them, with three-valued logic.

Plain Python values stand for themselves: `int`, `bool`, `None` for NULL (or "none"), `str` for the address of a
built-in callback or object (`callback:<type>:<n>`, `object:<n>`), `Ptr` for any other address, `tuple` for lists of
objects and for bytes with unknown members (`None`), `frozenset` for sets of candidates.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from acl_cts.specs.trace import Pointer, Ptr


class Mark:
    """A value that stands for the absence of one; compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN = Mark("unknown")
"""Not known: the documents or an earlier answer leave it open."""

UNWRITTEN = Mark("unwritten")
"""An output that the call did not write. Every comparison with it is false."""

CELL = Mark("cell")
"""Caller memory for an output: whatever it is, it is not NULL."""


class NotApplicableError(Exception):
    """A guard asks for a field of NULL: it does not apply."""


@dataclass(slots=True, eq=False)
class Obj:
    """An object of the model: a handle (identified by address and generation), a shared region, or a keyed record.

    `alive` is True, False, or UNKNOWN. `earlier` is the object that had this address before. `taint` names the root
    clause whose violation makes later answers about this object worthless. `pending` holds, by field, the clause of a
    refused call that must not have changed it. `doubt` tells how its life became unknown: objects of which it tells the
    same were in the same situation.
    """

    kind: str
    fields: dict[str, Any]
    alive: Any = True
    addresses: list[Ptr] = field(default_factory=list)
    earlier: Obj | None = None
    taint: str = ""
    pending: dict[str, str] = field(default_factory=dict)
    writes: list[tuple[int, bytes]] = field(default_factory=list)
    doubt: Hashable = None


def shape(value: Any) -> Hashable:
    """What an object is joined with, in numbers: two of the same shape stand in the same situation."""
    if not isinstance(value, Obj):
        return value is None
    return (value.kind, *((name, _joined(held)) for name, held in value.fields.items()))


def _joined(held: Any) -> Hashable:
    if held is UNKNOWN:
        return "unknown"
    if isinstance(held, tuple) and held and isinstance(held[-1], Obj):
        return len(held)
    return isinstance(held, Obj)


def equal(left: Any, right: Any) -> Any:
    """Three-valued equality of two model values."""
    if left is UNWRITTEN or right is UNWRITTEN:
        return False
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, Obj) and isinstance(right, Ptr):
        return right in left.addresses
    if isinstance(right, Obj) and isinstance(left, Ptr):
        return left in right.addresses
    if isinstance(left, Obj) or isinstance(right, Obj):
        return left is right
    if isinstance(left, tuple | bytes) and isinstance(right, tuple | bytes):
        return equal_bytes(left, right)
    return left == right


def equal_bytes(left: tuple[Any, ...] | bytes, right: tuple[Any, ...] | bytes) -> Any:
    """Three-valued equality of bytes with unknown members: one known difference is enough for False."""
    if len(left) != len(right):
        return False
    known = True
    for a, b in zip(left, right, strict=True):
        if a is None or b is None:
            known = False
        elif a != b:
            return False
    return True if known else UNKNOWN


def contains(collection: Any, value: Any) -> Any:
    """Three-valued membership in a set or tuple."""
    if value is UNWRITTEN:
        return False
    if collection is UNKNOWN:
        return UNKNOWN
    answer: Any = False
    for member in collection:
        same = equal(member, value)
        if same is True:
            return True
        if same is UNKNOWN:
            answer = UNKNOWN
    return answer


def negate(value: Any) -> Any:
    """Three-valued not."""
    return value if value is UNKNOWN else not value


def normalise(value: Any, pointers: tuple[Pointer, ...] | list[Pointer]) -> Any:
    """A trace's output as a model value: NULL is None, a built-in callback or object its kind, None is UNWRITTEN."""
    if value is None:
        return UNWRITTEN
    if isinstance(value, Ptr):
        kind = pointers[value.id].kind
        if kind == "null":
            return None
        return kind if kind.startswith(("callback:", "object:")) else value
    return value
