"""Shares: which part of the work each of several test processes takes, so that they end at about the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from acl_cts.conformance.case import Case
from acl_cts.specs.program import BLOCKS, Program, Repeat, Statement, Steady, UntilSame, children, counts

OVERHEAD = 14
"""What a case costs besides its statements, in statements executed and judged; measured."""

SOLO = 150
"""What a new process for a case costs, in the same measure."""

ALIKE = 16
"""Turns of a repeat that cost something when all are alike: the executor tells the others by their number."""

T = TypeVar("T")


def weight(case: Case) -> int:
    """What a case may cost, in statements executed and judged."""
    return work(case.program) + SOLO * case.solo


def work(program: Program) -> int:
    """What a program may cost, in statements executed and judged."""
    return OVERHEAD + sum(_executed(s) for s in (*program.body, *program.cleanup))


def _executed(statement: Statement) -> int:
    if not isinstance(statement, BLOCKS):
        return 1
    inner = sum(_executed(child) for child in children(statement))
    if isinstance(statement, UntilSame):
        return statement.at_most * inner
    if isinstance(statement, Repeat):
        turns = statement.count if counts(statement) else min(statement.count, ALIKE)
        return turns * inner
    if isinstance(statement, Steady):
        return ALIKE * inner
    return 1 + inner


def share(items: Sequence[T], number: int, parts: int, cost: Callable[[T], int]) -> list[T]:
    """Part `number` of `parts`: heaviest first, each to the part that has least so far; in the order of `items`.

    Every process that is given the same items comes to the same parts; together they are all items, once each.
    """
    loads = [0] * parts
    mine: list[int] = []
    costs = [cost(item) for item in items]
    for place in sorted(range(len(items)), key=lambda k: (-costs[k], k)):
        part = min(range(parts), key=lambda k: (loads[k], k))
        loads[part] += costs[place]
        if part == number:
            mine.append(place)
    return [items[place] for place in sorted(mine)]
