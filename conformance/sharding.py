"""Sharding: which cases each of several runs takes, so that they take about as long and judge every case once."""

from __future__ import annotations

from collections.abc import Sequence

from acl_cts.conformance.case import Case
from acl_cts.conformance.selection import SelectionError
from acl_cts.conformance.share import share, weight


def sharded(cases: Sequence[Case], number: int, of: int) -> tuple[Case, ...]:
    """Part `number`, from 1, of `of` parts of `cases`, in their order. Cases that share an item stay together. It
    depends on ids and weights alone, so every machine comes to the same parts. Raises SelectionError when the part has
    no case."""
    groups: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.id):
        groups.setdefault(case.item or case.id, []).append(case)
    if of == 1:
        return tuple(cases)
    taken = share(list(groups.values()), number - 1, of, lambda group: sum(map(weight, group)))
    mine = {case.id for group in taken for case in group}
    if not mine:
        raise SelectionError(f"shard {number} of {of} has no case: there are only {len(groups)} to share out; use less")
    return tuple(case for case in cases if case.id in mine)
