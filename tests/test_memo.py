"""The memo of judgements: it never answers otherwise than the oracle, whatever the addresses, and saves its work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_programs import SPEC, Told, tell
from test_oracle_properties import PROFILES, texts

from acl_cts.conformance.memo import KEPT, Memo
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.oracle import judge
from acl_cts.specs.trace import Pointer, Trace, callback_result

TWO_AREAS = """
a = aclrtAllocBuf(size=4096)
b = aclrtAllocBuf(size=4096)
aclrtGetBufData(buf=a)
aclrtGetBufData(buf=b)
"""

RETURNED = callback_result("aclrtAllocatorAllocFunc", 1, 64) >> 44
"""What the highest bits are of all that built-in callbacks return."""

addresses = st.lists(st.integers(1, 40) | st.integers(1, 2**20) | st.integers(1, 2**47), min_size=1, max_size=12)


def placed(trace: Trace, raws: list[int], unit: int) -> Trace:
    """`trace` with its addresses that are nobody's in particular laid out anew: multiples of `unit`, in turn."""
    pointers = tuple(
        replace(pointer, raw=raws[number % len(raws)] * unit) if pointer.kind == "other" else pointer
        for number, pointer in enumerate(trace.pointers)
    )
    return replace(trace, pointers=pointers)


def moved(trace: Trace, distance: int) -> Trace:
    """`trace` as it were if everything that is nobody's in particular lay `distance` bytes further on; what a built-in
    callback returns is no place, but the same number wherever things lie."""
    pointers = tuple(
        replace(p, raw=p.raw + distance) if p.kind == "other" and p.raw >> 44 != RETURNED else p for p in trace.pointers
    )
    return replace(trace, pointers=pointers)


def areas(trace: Trace) -> list[int]:
    """Places in `trace.pointers` of what the calls of aclrtGetBufData gave as start of an area."""
    told = Told(program=None, trace=trace)  # type: ignore[arg-type]
    return [dict(told.record("GetBufData", which).outs)["dataPtr"].id for which in (0, 1)]  # type: ignore[union-attr]


@settings(max_examples=200, deadline=None)
@given(texts, st.sampled_from(PROFILES), addresses, st.sampled_from([1, 8, 16, 64, 4096, 2**20]))
def test_judges_as_the_oracle_wherever_things_lie(text: str, profile: str, raws: list[int], unit: int) -> None:
    told, memo = tell(text, profile), Memo(SPEC)
    for trace in (told.trace, placed(told.trace, raws, unit), moved(told.trace, unit), told.trace):
        assert memo.judge(SPEC, told.program, trace) == judge(SPEC, told.program, trace)


@settings(max_examples=50, deadline=None)
@given(texts, st.sampled_from(PROFILES), st.integers(1, 2**20))
def test_a_trace_that_only_lies_elsewhere_is_not_judged_again(text: str, profile: str, pages: int) -> None:
    told, memo = tell(text, profile), Memo(SPEC)
    first = memo.judge(SPEC, told.program, told.trace)
    assert memo.judge(SPEC, told.program, moved(told.trace, 4096 * pages)) is first
    assert (memo.hits, memo.misses) == (1, 1)


def test_areas_that_come_to_overlap_are_judged_anew() -> None:
    told, memo = tell(TWO_AREAS), Memo(SPEC)
    assert memo.judge(SPEC, told.program, told.trace).verdict is Verdict.PASS
    low, high = areas(told.trace)
    pointers = list(told.trace.pointers)
    pointers[high] = Pointer(pointers[low].raw + 4095, pointers[high].kind)
    overlapping = memo.judge(SPEC, told.program, replace(told.trace, pointers=tuple(pointers)))
    assert [found.clause for found in overlapping.discrepancies] == ["mbuf.data.apart"]
    pointers[high] = Pointer(pointers[low].raw + 4096, pointers[high].kind)
    assert memo.judge(SPEC, told.program, replace(told.trace, pointers=tuple(pointers))).verdict is Verdict.PASS


def test_alignment_is_asked_of_the_address_itself() -> None:
    told, memo = tell(TWO_AREAS), Memo(SPEC)
    answers = {}
    for unit in (4096, 16, 8, 1):
        trace = placed(told.trace, [100_001 + 5_000 * k for k in range(len(told.trace.pointers))], unit)
        judgement = memo.judge(SPEC, told.program, trace)
        answers[unit] = {seen.answer for seen in judgement.observations if seen.clause == "mbuf.data.aligned"} or {
            seen.answer for seen in judgement.observations
        }
        assert judgement == judge(SPEC, told.program, trace)
    assert len({frozenset(each) for each in answers.values()}) > 1


def test_what_a_library_prints_is_not_looked_at() -> None:
    told, memo = tell(TWO_AREAS), Memo(SPEC)
    memo.judge(SPEC, told.program, told.trace)
    memo.judge(SPEC, told.program, replace(told.trace, output="chatter"))
    assert memo.hits == 1


def test_equal_programs_are_told_apart_and_both_right() -> None:
    first, second, memo = tell(TWO_AREAS), tell(TWO_AREAS), Memo(SPEC)
    assert memo.judge(SPEC, first.program, first.trace) == memo.judge(SPEC, second.program, second.trace)


def test_more_traces_than_are_kept_are_judged_all_the_same() -> None:
    told, memo = tell(TWO_AREAS), Memo(SPEC)
    record = told.record("AllocBuf", 0)
    place = told.calls("AllocBuf")[0]
    for code in (*range(1, KEPT + 20), 1, KEPT + 5):
        failed = told.change(place, replace(record, ret=code))
        assert memo.judge(SPEC, failed.program, failed.trace) == failed.judged()
    assert memo.hits == 1


def test_other_tables_are_refused() -> None:
    told = tell(TWO_AREAS)
    with pytest.raises(ValueError, match="tables"):
        Memo(SPEC).judge(replace(SPEC), told.program, told.trace)
