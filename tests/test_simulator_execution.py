"""How the simulator executes programs and what its traces say: blocks, skips, injection, endings."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import pytest
from simulator_programs import accepted, call, calls, descriptor, last, new_process, out, raw, ref, run

from acl_cts.backends.backend import BackendError, HarnessError, Options
from acl_cts.backends.simulator.execution import execute
from acl_cts.backends.simulator.profile import PROFILES
from acl_cts.backends.simulator.session import CAPABILITIES, SimulatorBackend, SimulatorSession
from acl_cts.specs.program import (
    Callback,
    Exit,
    FailAllocation,
    Fill,
    Hooks,
    Int,
    Invoke,
    Literal,
    Live,
    Parallel,
    Program,
    Ramp,
    Read,
    Repeat,
    Room,
    Statement,
    UntilSame,
    When,
    Write,
)
from acl_cts.specs.trace import (
    CallRecord,
    End,
    Ending,
    LiveRecord,
    Phase,
    SameRecord,
    SkipRecord,
    TouchRecord,
    Trace,
    sentinel,
)

ALLOC = call("AllocBuf", "a", size=4096)
DATA = call("GetBufData", buf="a")
FREE = call("FreeBuf", buf="a")


def session(profile: str = "") -> SimulatorSession:
    return SimulatorBackend().open(Options(library=profile))


def skips(trace: Trace) -> list[SkipRecord]:
    return [r for r in trace.records if isinstance(r, SkipRecord)]


def ending(*statements: Statement) -> Ending:
    return execute(new_process(), Program(statements), CAPABILITIES).ending


# ------------------------------------------------------------------------------------------------------- records


def test_outputs_come_in_parameter_order_and_null_ones_not_at_all() -> None:
    trace = run(*descriptor("d", 1), call("CreateStream", "s"),
                call("AllocatorRegister", stream="s", allocatorDesc="d"),
                call("AllocatorGetByStream", stream="s", allocFunc=None), get_null_output=True)  # fmt: skip
    record = last(trace)
    assert isinstance(record, CallRecord)
    names = ["allocatorDesc", "allocator", "freeFunc", "allocAdviseFunc", "getAddrFromBlockFunc"]
    assert [name for name, _ in record.outs] == names


@pytest.mark.parametrize(
    ("size", "room", "length"), [(96, None, 96), (4, 10, 10), (5000, None, 256), (4096, None, 4096)]
)
def test_a_room_is_recorded_whole(size: int, room: int | None, length: int) -> None:
    given = {} if room is None else {"dataPtr": Room(room)}
    record = last(run(ALLOC, call("GetBufUserData", buf="a", size=size, offset=0, **given)))
    written = size if size <= 96 else 0
    assert out(record, "dataPtr") == bytes(written) + sentinel(length)[written:]


def test_data_left_out_is_as_long_as_the_call_says() -> None:
    trace = run(ALLOC, *(call(f"{verb}BufUserData", buf="a", size=96, offset=0) for verb in ("Set", "Get")))
    assert out(last(trace), "dataPtr") == sentinel(96)


def test_integers_lose_what_does_not_fit_and_add_their_loop() -> None:
    trace = run(ALLOC, call("GetBufFromChain", headBuf="a", index=1 << 32),
                Repeat(2, "i", (call("GetBufFromChain", headBuf="a", index=Int((1 << 32) - 1, "i")),)))  # fmt: skip
    assert [accepted(r) for r in calls(trace, "GetBufFromChain")] == [True, False, True]


def test_the_same_address_is_the_same_symbol_and_reuse_shows() -> None:
    trace = run(ALLOC, DATA, DATA, FREE, ALLOC)
    first, data, again, _, recycled = calls(trace)
    assert out(data, "dataPtr") == out(again, "dataPtr") != out(first, "buf")
    assert out(first, "buf") == out(recycled, "buf")


@pytest.mark.parametrize("name", PROFILES)
def test_a_program_gives_the_same_trace_every_time(name: str) -> None:
    program = Program((ALLOC, DATA, Write(ref("a"), 0, Ramp(0, 99)), Read(ref("a"), 0, 4096), *descriptor("d", 4),
                       call("CopyBufRef", "b", buf="a"), call("AppendBufChain", headBuf="a", buf="b"), Live()),
                      (FREE, call("FreeBuf", buf="b")))  # fmt: skip
    with session(name) as one, session(name) as other:
        trace = one.run(program)
        assert trace == other.run(program) == one.run(program, solo=True)
    assert trace.ending == Ending(End.COMPLETED)


# --------------------------------------------------------------------------------------------------------- skips


def test_what_was_never_given_is_skipped() -> None:
    trace = run(call("FreeBuf", buf="x"), Read(ref("x"), 0, 1), Write(ref("x"), 0, Fill(1, 1)), Invoke(ref("x.f"), ()),
                call("AllocBuf", "a", size=1 << 40), call("FreeBuf", buf="a"), ALLOC, DATA,
                call("CopyBufRef", "a", buf="x"), DATA)  # fmt: skip
    assert skips(trace) == [SkipRecord(step, (), "unset") for step in (0, 1, 2, 3, 5, 8, 9)]


def test_a_null_handle_counts_as_never_given() -> None:
    trace = run(call("CreateStream", "s"), call("AllocatorGetByStream", "g", stream="s"),
                call("AllocatorRegister", stream="s", allocatorDesc="g"), get_unregistered=True)  # fmt: skip
    assert skips(trace) == [SkipRecord(2, (), "unset")]


def test_a_data_area_is_known_by_the_name_that_asked() -> None:
    trace = run(ALLOC, call("CopyBufRef", "b", buf="a"), DATA, Read(ref("b"), 0, 1), Read(ref("a"), 0, 1), ALLOC,
                Read(ref("a"), 0, 1))  # fmt: skip
    assert skips(trace) == [SkipRecord(3, (), "unlocated"), SkipRecord(6, (), "unlocated")]
    assert TouchRecord(4, (), data=b"\0") in trace.records


def test_long_reads_give_a_checksum_and_touches_outside_a_fault() -> None:
    trace = run(call("AllocBuf", "a", size=9000), DATA, Write(ref("a"), 8998, Literal(b"yz")), Read(ref("a"), 0, 4096),
                Read(ref("a"), 0, 9000), Read(ref("a"), 8999, 2), Write(ref("a"), (1 << 64) - 1, Fill(0, 1)), FREE,
                Read(ref("a"), 0, 1))  # fmt: skip
    assert trace.records[2:7] == (
        TouchRecord(2, ()),
        TouchRecord(3, (), data=bytes(4096)),
        TouchRecord(4, (), crc=crc32(bytes(8998) + b"yz")),
        TouchRecord(5, (), "fault"),
        TouchRecord(6, (), "fault"),
    )
    assert last(trace) == TouchRecord(8, (), "fault")


# -------------------------------------------------------------------------------------------------------- blocks


def test_iterations_that_answer_alike_are_folded() -> None:
    trace = run(Repeat(1000, "i", (ALLOC, FREE)))
    assert [type(r) for r in trace.records] == [CallRecord, CallRecord, SameRecord]
    assert last(trace) == SameRecord(0, (), 999)


def test_iterations_that_differ_are_all_there() -> None:
    trace = run(ALLOC, Repeat(4, "i", (call("SetBufDataLen", buf="a", len=Int(4094, "i")),)))
    assert [(r.loops, accepted(r)) for r in calls(trace)[1:]] == [((0,), True), ((2,), False)]
    assert [r for r in trace.records if isinstance(r, SameRecord)] == [SameRecord(1, (), 1), SameRecord(1, (), 1)]


def test_repeats_in_repeats_fold_from_the_inside() -> None:
    trace = run(Repeat(3, "i", (Repeat(5, "j", (call("FreeBuf", buf=None),)), ALLOC, FREE)))
    assert [(r.step, r.loops) for r in trace.records] == [(2, (0, 0)), (1, (0,)), (3, (0,)), (4, (0,)), (0, ())]
    assert [r.count for r in trace.records if isinstance(r, SameRecord)] == [4, 2]


def test_arrays_are_indexed_by_the_loop() -> None:
    trace = run(Repeat(3, "i", (call("AllocBuf", "m[i]", size=Int(10, "i")),)), call("GetBufData", buf="m[2]"))
    assert out(last(trace), "size") == 12


def test_when_looks_at_the_last_call() -> None:
    refuse, accept = call("FreeBuf", buf=None), call("AllocBuf", "a", size=8)
    trace = run(When(True, (Live(),)), When(False, (Live(),)), refuse, When(True, (Live(),)), When(False, (Live(),)),
                accept, When(False, (Live(),)), When(True, (Live(),)))  # fmt: skip
    assert [r.step for r in trace.records if isinstance(r, LiveRecord)] == [8, 13]


def test_until_same_finds_a_freed_handle_again() -> None:
    trace = run(ALLOC, call("AllocBuf", "b", size=8), FREE, call("FreeBuf", buf="b"),
                UntilSame("f", ref("a"), 5, call("AllocBuf", "n", size=8)), call("SetBufDataLen", buf="n[1]", len=3),
                call("GetBufDataLen", buf="f"))  # fmt: skip
    attempts = [r for r in calls(trace) if r.step == 5]
    assert [r.loops for r in attempts] == [(0,), (1,)]
    assert out(attempts[1], "buf") == out(calls(trace)[0], "buf")
    assert out(last(trace), "len") == 3


def test_until_same_gives_up() -> None:
    until = UntilSame("f", ref("a"), 3, call("AllocBuf", "n", size=8))
    trace = run(ALLOC, until, call("FreeBuf", buf="f"), call("FreeBuf", buf="n[2]"))
    assert [r.loops for r in calls(trace)[1:4]] == [(0,), (1,), (2,)]
    assert skips(trace) == [SkipRecord(1, (), "not-repeated"), SkipRecord(3, (), "unset")]
    assert accepted(last(trace))


def test_until_same_ends_with_a_refused_attempt() -> None:
    trace = run(ALLOC, UntilSame("f", ref("a"), 3, call("AllocBuf", "n", size=1 << 40)))
    assert len(calls(trace)) == 2
    assert skips(trace) == [SkipRecord(1, (), "not-repeated")]
    assert skips(run(UntilSame("f", ref("x"), 3, ALLOC))) == [SkipRecord(0, (), "unset")]


# ----------------------------------------------------------------------------------------------------- injection

TAKING = {
    "AllocBuf": ((), call("AllocBuf", "x", size=64)),
    "CopyBufRef": ((ALLOC,), call("CopyBufRef", "x", buf="a")),
    "AppendBufChain": ((ALLOC, call("AllocBuf", "b", size=8)), call("AppendBufChain", headBuf="a", buf="b")),
    "CreateDesc": ((), call("AllocatorCreateDesc", "x")),
    "Register": (
        (*descriptor("d", 1), *descriptor("e", 2), call("CreateStream", "s"),
         call("AllocatorRegister", stream="s", allocatorDesc="e")),
        call("AllocatorRegister", stream="s", allocatorDesc="d"),
    ),
    "CreateStream": ((), call("CreateStream", "x")),
}  # fmt: skip

LOOKS = (Live(), call("GetBufChainNum", headBuf="a"), call("GetBufChainNum", headBuf="b"),
         call("GetBufDataLen", buf="a"), call("AllocatorGetByStream", stream="s"))  # fmt: skip


@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("function", TAKING)
def test_every_inner_allocation_can_fail_and_leaves_everything_as_it_was(function: str, null: bool) -> None:
    before, taking = TAKING[function]
    fired = 0
    for nth in range(1, 10):
        trace = run(*before, *LOOKS, FailAllocation(nth), taking, FailAllocation(0), *LOOKS, refused_outputs_null=null)
        record = next(r for r in calls(trace) if r.step == len(before) + len(LOOKS) + 1)
        looks = [replace(r, step=0) for r in trace.records if r is not record]
        looks = looks[len(before) :]
        if not record.fault_fired:
            assert accepted(record) or function == "CreateDesc"
            break
        fired += 1
        assert record.ret == 207001 or (function == "CreateDesc" and raw(trace, record.ret) == 0)
        assert all(v is None or (null and raw(trace, v) == 0) for _, v in record.outs)
        assert looks[: len(LOOKS)] == looks[len(LOOKS) :]
    assert fired >= 1
    assert not record.fault_fired


def test_an_injection_ends_with_its_program() -> None:
    with session() as s:
        s.run(Program((FailAllocation(1), Hooks())))
        trace = s.run(Program((ALLOC,)))
        assert accepted(trace.records[0])


# ------------------------------------------------------------------------------------------- endings and sessions


def test_exit_ends_the_program_at_once() -> None:
    with session() as s:
        trace = s.run(Program((ALLOC, Repeat(5, "i", (Live(), When(True, (Exit(),)))), Live()), (FREE,)))
        assert trace.ending == Ending(End.EXIT, 4, (0,), Phase.CALL, detail="0")
        assert [type(r) for r in trace.records] == [CallRecord, LiveRecord]
        assert s.run(Program((Live(),))).records == (LiveRecord(0, (), 0, 0),)
        assert s.startups == 2


def test_steps_go_on_in_the_clean_up() -> None:
    trace = execute(new_process(), Program((ALLOC, Repeat(1, "i", (DATA,))), (FREE, Exit())), CAPABILITIES)
    assert [r.step for r in trace.records] == [0, 2, 3]
    assert trace.ending == Ending(End.EXIT, 4, (), Phase.CLEAN_UP, detail="0")


def test_threads_take_turns_and_are_told_one_after_the_other() -> None:
    one = (call("AllocBuf", "b", size=8), call("FreeBuf", buf="b"))
    other = (call("AllocBuf", "c", size=8), call("FreeBuf", buf="c"))
    trace = execute(new_process(), Program((Parallel((one, other)), When(True, (ALLOC,)))), CAPABILITIES)
    assert trace.ending == Ending(End.COMPLETED)
    assert [(r.step, r.ret) for r in trace.records if isinstance(r, CallRecord)] == [(1, 0), (2, 0), (3, 0), (4, 0)]
    handles = [dict(r.outs)["buf"] for r in trace.records if isinstance(r, CallRecord) and r.outs]
    assert handles[0] != handles[1], "the second thread allocated before the first one freed"


def test_a_single_thread_makes_no_sense() -> None:
    trace = execute(new_process(), Program((ALLOC, Parallel(((FREE,),)))), CAPABILITIES)
    assert (trace.ending.kind, trace.ending.step, trace.records) == (End.ERROR, 1, ())
    assert "two or more threads" in trace.ending.detail


def test_an_unknown_function_is_unsupported_by_its_name() -> None:
    end = ending(ALLOC, call("MbufFly", buf="a"))
    assert (end.kind, end.step, end.detail) == (End.UNSUPPORTED, 1, "aclrtMbufFly")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (call("AllocBuf"), "argument size is missing"),
        (call("AllocBuf", size=1, colour=2), "no parameter is called colour"),
        (call("AllocBuf", buf=3, size=1), "argument buf is a Int"),
        (call("FreeBuf", buf=Fill(1, 1)), "argument buf is a Fill"),
        (call("FreeBuf", buf=Callback(1)), "argument buf is a Callback"),
        (UntilSame("f", ref("a"), 2, call("AllocBuf", size=1)), "no array"),
        (Invoke(ref("a"), (Fill(1, 1),)), "no argument of a callback"),
    ],
)
def test_programs_that_make_no_sense_are_errors_of_the_harness(statement: Statement, said: str) -> None:
    end = ending(statement)
    assert end.kind is End.ERROR
    assert said in end.detail


def test_a_caller_whose_memory_is_too_short_crashes() -> None:
    end = ending(ALLOC, call("SetBufUserData", buf="a", dataPtr=Fill(1, 4), size=5, offset=0))
    assert end == Ending(End.CRASH, 1, (), Phase.CALL, "aclrtSetBufUserData", "SIGSEGV")
    end = ending(ALLOC, call("GetBufUserData", buf="a", dataPtr=Room(4), size=5, offset=0))
    assert end == Ending(End.CRASH, 1, (), Phase.CALL, "aclrtGetBufUserData", "SIGSEGV")


def test_state_lasts_over_programs_until_a_restart() -> None:
    with session() as s:
        s.run(Program((ALLOC,)))
        assert s.run(Program((Live(),)), solo=True).records == (LiveRecord(0, (), 0, 0),)
        assert s.run(Program((Live(),))).records == (LiveRecord(0, (), 2, 4096 + 176),)
        s.restart()
        assert s.run(Program((Live(),))).records == (LiveRecord(0, (), 0, 0),)
        assert s.startups == 3


def test_residue_of_earlier_programs_does_not_use_up_tight_resources() -> None:
    with session("tight-resources") as s:
        leave = Program((Repeat(1000, "i", (call("AllocBuf", "m[i]", size=8),)),))
        for _ in range(3):
            assert all(accepted(r) for r in calls(s.run(leave)))


def test_a_profile_that_does_not_exist_is_a_users_error() -> None:
    with pytest.raises(BackendError, match=r"no profile 'nosuch'; choose one of default, opposite, .*stale-private"):
        session("nosuch")


def test_a_closed_session_runs_nothing() -> None:
    s = session()
    s.close()
    with pytest.raises(HarnessError, match="closed"):
        s.run(Program((ALLOC,)))


def test_a_session_says_who_answers() -> None:
    with session("dirty") as s:
        assert (s.identity.backend, s.identity.details["profile"]) == ("simulator", "dirty")
        assert s.capabilities == CAPABILITIES == s.run(Program(())).capabilities
        assert s.missing == frozenset()


def test_a_long_repeat_stays_small() -> None:
    body = (ALLOC, DATA, call("SetBufDataLen", buf="a", len=5), call("GetBufDataLen", buf="a"),
            call("GetBufChainNum", headBuf="a"), FREE)  # fmt: skip
    trace = run(Repeat(20_000, "i", body))
    assert len(trace.records) == 7
    assert last(trace) == SameRecord(0, (), 19_999)
