"""What a finding says it observed: the call with its arguments, and what came of it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from oracle_programs import Told, ending, notes, tell

from acl_cts.specs.answer_text import call_text
from acl_cts.specs.program import Call, Int, Literal, Ref, Room
from acl_cts.specs.program_text import format_line
from acl_cts.specs.trace import CallRecord, End, sentinel

A = "a = aclrtAllocBuf(size=4096)\n"
SHOW = A + "aclrtGetBufUserData(buf=a, dataPtr=room(96), size=96, offset=0)\n"


def observed(told: Told) -> str:
    return told.judged().discrepancies[0].observed


def answered(told: Told, code: int, data: bytes | None) -> Told:
    """The same with another answer of its last GetBufUserData."""
    place = told.calls("GetBufUserData")[-1]
    record = told.trace.records[place]
    assert isinstance(record, CallRecord)
    return told.change(place, replace(record, ret=code, outs=(("dataPtr", data),)))


def test_a_refused_call_is_told_with_its_arguments_and_without_filler() -> None:
    expected = "aclrtGetBufUserData(buf=a, size=96, offset=0) returned 107000, dataPtr untouched"
    assert observed(answered(tell(SHOW), 107000, sentinel(96))) == expected
    assert observed(answered(tell(SHOW), 107000, None)) == expected


def test_a_long_output_is_cut() -> None:
    told = observed(answered(tell(SHOW), 107000, b"\x5a" * 96))
    assert told.endswith(f"returned 107000, dataPtr = {'5a' * 24}… (96 bytes)")


def test_a_loop_counter_is_told_as_the_number_that_it_was() -> None:
    text = A + "repeat i in 3:\n    aclrtGetBufUserData(buf=a, dataPtr=room(8), size=1, offset=i+1)\n"
    assert "(buf=a, size=1, offset=1) returned 107000" in observed(answered(tell(text), 107000, None))


def test_a_crash_is_told_with_the_arguments_of_the_call() -> None:
    told = tell(A + "aclrtSetBufDataLen(buf=a, len=7)\n").cut(1, ending(End.CRASH, 1, "aclrtSetBufDataLen", "SIGSEGV"))
    assert observed(told) == "aclrtSetBufDataLen(buf=a, len=7) crashed: SIGSEGV"


def test_a_note_leaves_the_arguments_out_so_that_alike_notes_are_counted_together() -> None:
    told = tell(A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 97), size=97, offset=0)\n")
    said = told.returning("SetBufUserData", 500000).judged().notes
    assert [note.observed for note in said if note.clause == "common.code-class"] == [
        "aclrtSetBufUserData returned 500000"
    ]
    assert notes(told.judged()) == []


@given(size=st.integers(0, 2**64 - 1), data=st.binary(max_size=8))
def test_a_short_call_is_told_as_in_a_program(size: int, data: bytes) -> None:
    call = Call("f", (("a", Ref("x")), ("b", Int(size)), ("c", Literal(data))))
    assert call_text(call, {}) == format_line(call)
    assert call_text(replace(call, args=(*call.args, ("d", Room(8)))), {}) == format_line(call)
