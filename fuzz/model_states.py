"""Model states: what a program reached in the eyes of the contract, whatever library answered.

A feature is a call in its situation: the function, the state of its handles before it in broad strokes, what is NULL,
what it had to do and by which clause, and what it returned. It follows from program and trace alone, so it guides a
campaign where nothing can be seen of the library itself.
"""

from __future__ import annotations

from typing import Any

from acl_cts.specs.execution import Judged
from acl_cts.specs.frame import Frame
from acl_cts.specs.rules import FunctionRules
from acl_cts.specs.trace import Ptr
from acl_cts.specs.values import UNKNOWN, Obj

Feature = tuple[Any, ...]

MANY = 3
"""Records of a collection from which on their number makes no difference."""


class ModelStates:
    """Collects features: its `watch` goes to the oracle, `take` gives those of the program that was judged since."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: set[Feature] = set()

    def watch(self, rules: FunctionRules, frame: Frame, judged: Judged) -> None:
        """Note one call."""
        clause = judged.rules[0].clause.id if judged.rules else ""
        returned = frame.ret if isinstance(frame.ret, int) or frame.ret is None else "pointer"
        self._found.add((rules.function.name, situation(rules, frame), judged.outcome, clause, returned))

    def take(self) -> set[Feature]:
        """The features since the last time."""
        found, self._found = self._found, set()
        return found


def situation(rules: FunctionRules, frame: Frame) -> Feature:
    """The state before a call: handles, collections, NULL arguments; no addresses and no exact numbers."""
    args, machine = frame.args, frame.machine
    handles = [args[name] for name, _ in rules.inputs]
    parts: list[Any] = [shape(item) for item in handles]
    parts.append(tuple(name for name, value in args.items() if value is None))
    if len(handles) > 1:
        parts.append(handles[0] is handles[1])
    for name, records in machine.collections.items():
        if records:
            given = next((machine.holds(name, item) for item in handles if item is not None and item in records), None)
            parts.append((name, min(len(records), MANY), given if given is not UNKNOWN else "?"))
    return tuple(parts)


def shape(item: Any) -> Feature | None:
    """The state of one object in broad strokes, None for NULL."""
    if not isinstance(item, Obj):
        return None
    alive = item.alive if item.alive is not UNKNOWN else "?"
    return (item.kind, alive, bool(item.pending), *[_mark(value) for value in item.fields.values()])


def _mark(value: Any) -> Any:
    """What kind of value it is."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is tuple:
        return len(value).bit_length(), value.count(None) < len(value)
    if kind is Ptr:
        return "pointer"
    if value is UNKNOWN:
        return "?"
    if kind is Obj:
        return tuple(["object" if type(inner) is Obj else _mark(inner) for inner in value.fields.values()])
    if kind is frozenset:
        return min(len(value), 2), 0 in value
    if kind is int:
        return min(value, 2)
    return len(value).bit_length() if kind is bytes else str(value).rpartition(":")[0]
