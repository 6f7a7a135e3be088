"""Numbers that are worth passing: near the limits, wrapped around them, powers of two, seen before, and any other.

What a guard compares a parameter with is worked out once for a spec; its value in the situation at hand, where it
depends on one, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from acl_cts.conformance.boundary import names_in
from acl_cts.specs import expressions as ex
from acl_cts.specs.evaluate import Term, lenient
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Param
from acl_cts.specs.model import Function
from acl_cts.specs.program import Int

DELTAS = (0, 1, -1, 2, -2, 64, -64)
"""Steps from a limit."""

WIDTHS = (8, 16, 31, 32, 63, 64)
"""Bits at which careless arithmetic wraps."""

TYPICAL, NEAR, SMALL, EARLIER, OUTPUT, POWER, WRAPPED, ANY, EXTREME = range(9)
"""Ways to choose a number."""

_SHARES = (
    (TYPICAL, 56),
    (SMALL, 44),
    (NEAR, 68),
    (EARLIER, 18),
    (OUTPUT, 8),
    (POWER, 20),
    (WRAPPED, 24),
    (EXTREME, 8),
    (ANY, 10),
)

WAYS = tuple(way for way, share in _SHARES for _ in range(share))
"""The way that a byte stands for, simple ones first."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The edges of one integer parameter. `fixed`: values that never change. `moving`: asked in a situation."""

    bits: int
    typical: int
    fixed: tuple[int, ...]
    moving: tuple[Callable[[Frame], Any], ...]

    def edge(self, which: int, frame: Frame) -> int:
        """One of the edges, the moving ones first; negative where the situation leaves no room at all."""
        count = len(self.moving) + len(self.fixed)
        if count == 0:
            return self.typical
        which %= count
        if which >= len(self.moving):
            return self.fixed[which - len(self.moving)]
        found = self.moving[which](frame)
        return found if isinstance(found, int) else self.typical

    def number(self, way: int, first: int, second: int, frame: Frame) -> int:
        """The number that two bytes stand for in one of the ways."""
        if way == TYPICAL:
            return self.typical
        if way == SMALL:
            return first % 8 if second < 128 else first
        if way == NEAR:
            found = self.edge(second, frame) + DELTAS[first % len(DELTAS)]
        elif way == WRAPPED:
            turn = 1 << WIDTHS[second % len(WIDTHS)]
            found = self.edge(second // len(WIDTHS), frame) + DELTAS[first % len(DELTAS)]
            found = found + turn if first < 128 else turn - found
        elif way == POWER:
            width = WIDTHS[first % len(WIDTHS)] if first < 128 else first % (self.bits + 1)
            found = (1 << width) + second % 3 - 1
        elif way == EXTREME:
            top = 1 << (self.bits - first % 2)
            found = top - 1 - second % 4
        else:
            found = (second + 1) << (first % self.bits)
        return found & ((1 << self.bits) - 1)


def limits_for(function: Function, param: Param) -> Limits:
    """The edges of `param`, read off the guards of `function`."""
    fixed: dict[int, None] = {}
    moving: dict[Any, Callable[[Frame], Any]] = {}
    for clause in function.clauses:
        for this, that in _compared(clause.when, param.name):
            if isinstance(that, ex.Limit | ex.Constant) and this == ex.Name(param.name, ex.INT):
                value = that.value
                if isinstance(value, int):
                    fixed.setdefault(value)
            else:
                moving.setdefault((this, that), _meeting(lenient(this), lenient(that), param.name))
    typical = function.typical.get(param.name)
    return Limits(param.bits, typical.value if isinstance(typical, Int) else 1, tuple(fixed), tuple(moving.values()))


def _compared(tree: object, name: str) -> Iterator[tuple[ex.Expr, ex.Expr]]:
    """Both sides of every comparison of which one side speaks of the parameter `name`, that side first."""
    if isinstance(tree, ex.Compare) and tree.op != "in":
        for this, that in ((tree.left, tree.right), (tree.right, tree.left)):
            if name in names_in(this) and name not in names_in(that):
                yield this, that
    if isinstance(tree, tuple):
        for item in tree:
            yield from _compared(item, name)
    elif hasattr(tree, "__dataclass_fields__"):
        for part in tree.__dataclass_fields__:
            yield from _compared(getattr(tree, part), name)


def _meeting(this: Term, that: Term, name: str) -> Callable[[Frame], Any]:
    """A function that gives the value of the parameter at which both sides meet, where one grows with it."""

    def meet(frame: Frame) -> Any:
        low, other = this(Frame(frame.machine, {**frame.args, name: 0})), that(frame)
        return other - low if isinstance(low, int) and isinstance(other, int) else None

    return meet
