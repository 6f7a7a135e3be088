"""Shares: complete, disjoint, balanced, the same in every process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acl_cts.conformance.case import Case
from acl_cts.conformance.share import ALIKE, OVERHEAD, share, weight
from acl_cts.specs.program_text import parse_program


@given(costs=st.lists(st.integers(1, 1000), max_size=60), parts=st.integers(1, 5))
def test_parts_are_all_items_once_in_their_order(costs: list[int], parts: int) -> None:
    items = list(enumerate(costs))
    found = [share(items, k, parts, lambda item: item[1]) for k in range(parts)]
    assert sorted(item for part in found for item in part) == items
    assert all(part == sorted(part) for part in found)


@given(costs=st.lists(st.integers(1, 1000), min_size=1, max_size=60), parts=st.integers(2, 5))
def test_no_part_has_more_than_the_fair_share_and_the_heaviest_item(costs: list[int], parts: int) -> None:
    loads = [sum(share(costs, k, parts, lambda cost: cost)) for k in range(parts)]
    assert max(loads) <= sum(costs) / parts + max(costs)


def test_turns_that_are_alike_weigh_little() -> None:
    text = "repeat i in 300:\n    a = aclrtAllocBuf(size=64)\n    aclrtFreeBuf(buf=a)\n"
    case = Case("x~0", "mbuf", "limit", parse_program(text), frozenset(), frozenset())
    assert weight(case) == OVERHEAD + 2 * ALIKE


def test_weight_counts_what_is_executed() -> None:
    text = (
        "a = aclrtAllocBuf(size=64)\nrepeat i in 300:\n    r[i] = aclrtCopyBufRef(buf=a)\n    aclrtFreeBuf(buf=r[i])\n"
    )
    case = Case("x~0", "mbuf", "limit", parse_program(text), frozenset(), frozenset())
    assert weight(case) == OVERHEAD + 1 + 600
