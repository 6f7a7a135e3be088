"""Every open point on the simulator, answered both ways; and the profiles that combine the answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import pytest
from simulator_programs import accepted, call, calls, descriptor, kind, last, out, raw, run

from acl_cts.backends.simulator.profile import OPEN_POINTS, PROFILES, Profile
from acl_cts.specs.program import Fill, Ramp, Read, Ref, Repeat, Statement, UntilSame
from acl_cts.specs.trace import CallRecord, SkipRecord, TouchRecord, Trace

ALLOC = call("AllocBuf", "a", size=4096)
OTHER = call("AllocBuf", "b", size=4096)
THIRD = call("AllocBuf", "c", size=4096)
CHAIN = (ALLOC, OTHER, THIRD, call("AppendBufChain", headBuf="a", buf="b"))
PRIVATE = call("SetBufUserData", buf="a", dataPtr=Ramp(1, 96), size=96, offset=0)
STREAM = call("CreateStream", "s")
REGISTER = call("AllocatorRegister", stream="s", allocatorDesc="d")
GET = call("AllocatorGetByStream", "g", stream="s")
REGISTERED = (*descriptor("d", 1), STREAM, REGISTER)
SLOT = call("AllocatorSetFreeFuncToDesc", allocatorDesc="d", func=None)


def private(name: str) -> Statement:
    return call("GetBufUserData", buf=name, size=96, offset=0)


def verdict(trace: Trace) -> object:
    """The last record in brief: refused, or what it gave."""
    record = last(trace)
    if isinstance(record, TouchRecord):
        return record.data
    if isinstance(record, SkipRecord):
        return record.reason
    if not accepted(record):
        return "refused"
    assert isinstance(record, CallRecord)
    given = [kind(trace, v) if hasattr(v, "id") else v for _, v in record.outs]
    return given[0] if len(given) == 1 else given or "accepted"


@dataclass(frozen=True)
class Point:
    """A program whose last answer is `yes` where the profile's field is true and `no` where it is false."""

    program: tuple[Statement, ...]
    yes: object
    no: object
    beside: tuple[str, ...] = ()


def point(*program: Statement, yes: object = "accepted", no: object = "refused", beside: str = "") -> Point:
    return Point(program, yes, no, tuple(beside.split()))


USED = bytes((0x9E + 29 * k) & 0xFF for k in range(96))
NULLS = ["null"] * 6
ONE = ["other", "object:1", "callback:aclrtAllocatorAllocFunc:1", "callback:aclrtAllocatorFreeFunc:1",
       "callback:aclrtAllocatorAllocAdviseFunc:1", "callback:aclrtAllocatorGetAddrFromBlockFunc:1"]  # fmt: skip
NO_ADVISE = descriptor("d", 1, advise=False)

POINTS = {
    "alloc_zero": point(call("AllocBuf", size=0), yes="other"),
    "alloc_between_readings": point(call("AllocBuf", size=4 << 30), yes="other"),
    "free_null": point(call("FreeBuf", buf=None)),
    "free_head_frees_members": point(
        *CHAIN, call("FreeBuf", buf="a"), call("GetBufDataLen", buf="b"), yes="refused", no=0
    ),
    "free_member": point(*CHAIN, call("FreeBuf", buf="b"), call("GetBufChainNum", headBuf="a"), yes=1, no=2),
    "fresh_data_zero": point(ALLOC, call("GetBufData", buf="a"), Read(Ref("a"), 4, 3), yes=bytes(3), no=USED[4:7]),
    "fresh_private_zero": point(ALLOC, private("a"), yes=bytes(96), no=USED),
    "handle_reuse": point(
        ALLOC, call("FreeBuf", buf="a"), UntilSame("f", Ref("a"), 3, call("AllocBuf", "n", size=64)),
        yes="other", no="not-repeated",
    ),
    "data_one_output": point(ALLOC, call("GetBufData", buf="a", dataPtr=None), yes=4096),
    "user_data_zero": point(ALLOC, call("SetBufUserData", buf="a", dataPtr=Fill(1, 1), size=0, offset=96)),
    "user_data_null_zero": point(ALLOC, call("SetBufUserData", buf="a", dataPtr=None, size=0, offset=0)),
    "length_zero": point(ALLOC, call("SetBufDataLen", buf="a", len=0)),
    "length_before_data": point(ALLOC, call("SetBufDataLen", buf="a", len=1)),
    "ref_length_original": point(
        ALLOC, call("SetBufDataLen", buf="a", len=7), call("CopyBufRef", "b", buf="a"), call("GetBufDataLen", buf="b"),
        yes=7, no=0,
    ),
    "length_shared": point(
        ALLOC, call("CopyBufRef", "b", buf="a"), call("SetBufDataLen", buf="b", len=7), call("GetBufDataLen", buf="a"),
        yes=7, no=0,
    ),
    "ref_private_copied": point(
        ALLOC, PRIVATE, call("CopyBufRef", "b", buf="a"), private("b"), yes=bytes(range(1, 97)), no=bytes(96)
    ),
    "copy_chained": point(*CHAIN, call("CopyBufRef", "r", buf="b"), yes="other"),
    "append_to_member": point(
        *CHAIN, call("AppendBufChain", headBuf="b", buf="c"), call("GetBufChainNum", headBuf="a"), yes=3, no=2
    ),
    "append_self": point(ALLOC, call("AppendBufChain", headBuf="a", buf="a")),
    "append_member": point(
        *CHAIN, call("AppendBufChain", headBuf="c", buf="b"), call("GetBufChainNum", headBuf="a"), yes=1, no=2
    ),
    "append_chain": point(
        *CHAIN, call("AppendBufChain", headBuf="c", buf="a"), call("GetBufFromChain", headBuf="c", index=2),
        yes="other",
    ),
    "index_unchained": point(ALLOC, call("GetBufFromChain", headBuf="a", index=0), yes="other"),
    "index_member": point(*CHAIN, call("GetBufFromChain", headBuf="b", index=1), yes="other"),
    "count_unchained": point(ALLOC, call("GetBufChainNum", headBuf="a"), yes=1),
    "count_member": point(*CHAIN, call("GetBufChainNum", headBuf="b"), yes=2),
    "destroy_null": point(call("AllocatorDestroyDesc", allocatorDesc=None)),
    "set_again": point(*descriptor("d", 1), *descriptor("d", 2)[-1:]),
    "set_null_function": point(call("AllocatorCreateDesc", "d"), SLOT),
    "set_null_object": point(
        call("AllocatorCreateDesc", "d"), call("AllocatorSetObjToDesc", allocatorDesc="d", allocator=None)
    ),
    "null_counts_as_set": point(
        *descriptor("d", 1, "FreeFunc"), SLOT, STREAM, REGISTER, beside="set_null_function"
    ),
    "set_after_register": point(
        *NO_ADVISE, STREAM, REGISTER, *descriptor("d", 1)[-1:], GET, yes=ONE, no=[*ONE[:4], "null", ONE[5]]
    ),
    "get_unregistered": point(STREAM, GET, yes=NULLS),
    "get_null_stream": point(call("AllocatorGetByStream", stream=None), yes=NULLS),
    "get_null_output": point(*REGISTERED, call("AllocatorGetByStream", stream="s", freeFunc=None),
                             yes=ONE[:3] + ONE[4:]),
    "get_after_destroy": point(*REGISTERED, call("AllocatorDestroyDesc", allocatorDesc="d"), GET, yes=ONE),
    "default_advise": point(
        *NO_ADVISE, STREAM, REGISTER, GET, yes=[*ONE[:4], "executable", ONE[5]], no=[*ONE[:4], "null", ONE[5]]
    ),
    "unregister_null": point(call("AllocatorUnregister", stream=None)),
    "registration_survives": point(
        *REGISTERED, call("DestroyStream", stream="s"), call("CreateStream", "s"), GET, yes=ONE
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_an_open_point_is_answered_either_way(name: str) -> None:
    asked = POINTS[name]
    for answer, expected in ((True, asked.yes), (False, asked.no)):
        profile = replace(Profile(), **dict.fromkeys(asked.beside, True), **{name: answer})
        assert verdict(run(*asked.program, profile=profile)) == expected


def test_every_open_point_is_asked_for() -> None:
    assert set(POINTS) | {"data_aligned", "refused_outputs_null"} == set(OPEN_POINTS)


@pytest.mark.parametrize(("aligned", "rest"), [(True, 0), (False, 4)])
def test_data_areas_are_aligned_or_not(aligned: bool, rest: int) -> None:
    trace = run(ALLOC, call("GetBufData", buf="a"), data_aligned=aligned)
    assert raw(trace, out(last(trace), "dataPtr")) % 64 == rest


@pytest.mark.parametrize("null", [True, False])
def test_refused_calls_leave_pointers_untouched_or_null(null: bool) -> None:
    refused = [call("AllocBuf", size=1 << 40), call("GetBufData", buf=None), call("CopyBufRef", buf=None),
               call("GetBufFromChain", headBuf=None, index=0), call("AllocatorGetByStream", stream=None),
               call("GetBufDataLen", buf=None), call("GetBufChainNum", headBuf=None)]  # fmt: skip
    trace = run(*refused, refused_outputs_null=null)
    for record in calls(trace):
        for name, value in record.outs:
            expected = "null" if null and name not in {"size", "len", "num"} else None
            assert (kind(trace, value) if value is not None else None) == expected, (record.function, name)


def test_setting_a_slot_again_after_registering_shows_old_or_new_value() -> None:
    again = (*REGISTERED, *descriptor("d", 2)[2:3], GET)
    for new, number in ((True, 2), (False, 1)):
        trace = run(*again, set_after_register=new)
        assert kind(trace, out(last(trace), "allocFunc")) == f"callback:aclrtAllocatorAllocFunc:{number}"


@pytest.mark.parametrize("original", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_lengths_of_references(shared: bool, original: bool) -> None:
    def get(name: str) -> Statement:
        return call("GetBufDataLen", buf=name)

    trace = run(ALLOC, call("SetBufDataLen", buf="a", len=5), call("CopyBufRef", "b", buf="a"), get("b"),
                call("SetBufDataLen", buf="a", len=6), get("b"), call("SetBufDataLen", buf="b", len=7), get("a"),
                get("b"), length_shared=shared, ref_length_original=original)  # fmt: skip
    first = 5 if original else 0
    lengths = [out(r, "len") for r in calls(trace, "GetBufDataLen")]
    assert lengths == [first, *((6, 7, 7) if shared else (first, 6, 7))]


def test_a_member_moves_to_the_end_of_its_own_chain_and_no_cycle_comes_about() -> None:
    third = call("AppendBufChain", headBuf="a", buf="c")
    accepting = Profile(append_member=True, append_to_member=True, append_chain=True)
    trace = run(*CHAIN, third, call("AppendBufChain", headBuf="a", buf="b"),
                call("AppendBufChain", headBuf="b", buf="a"), call("GetBufChainNum", headBuf="a"),
                *(call("GetBufFromChain", headBuf="a", index=k) for k in range(3)), profile=accepting)  # fmt: skip
    assert [accepted(r) for r in calls(trace, "AppendBufChain")] == [True, True, True, False]
    a, b, c = (out(r, "buf") for r in calls(trace, "AllocBuf"))
    assert [out(r, "buf") for r in calls(trace, "GetBufFromChain")] == [a, c, b]
    assert out(calls(trace, "GetBufChainNum")[0], "num") == 3


STALE = (ALLOC, call("SetBufUserData", buf="a", dataPtr=Fill(0xA5, 96), size=96, offset=0),
         call("FreeBuf", buf="a"), UntilSame("f", Ref("a"), 3, call("AllocBuf", "n", size=64)),
         call("GetBufUserData", buf="f", size=96, offset=0))  # fmt: skip


@pytest.mark.parametrize("name", PROFILES)
def test_only_the_stale_profile_shows_an_earlier_owners_private_bytes(name: str) -> None:
    shown = verdict(run(*STALE, profile=PROFILES[name]))
    if name == "stale-private":
        assert shown == b"\xa5" * 96
    else:
        assert shown in (bytes(96), USED, "unset")


def test_there_are_enough_conforming_profiles_and_all_differ() -> None:
    conforming = [p for p in PROFILES.values() if not p.stale_private]
    assert len(conforming) >= 14
    assert len(set(conforming)) == len(conforming)


def test_opposite_answers_everything_otherwise_than_default() -> None:
    default, opposite = PROFILES["default"], PROFILES["opposite"]
    assert all(getattr(default, name) != getattr(opposite, name) for name in OPEN_POINTS)


def test_any_two_open_points_meet_in_all_four_combinations() -> None:
    points = [name for name in OPEN_POINTS if name != "handle_reuse"]
    for one, other in combinations(points, 2):
        assert len({(getattr(p, one), getattr(p, other)) for p in PROFILES.values()}) == 4, (one, other)


RESOURCES = PROFILES["tight-resources"]


def test_tight_resources_refuse_one_byte_above_64_kib() -> None:
    trace = run(call("AllocBuf", size=65536), call("AllocBuf", size=65537), profile=RESOURCES)
    assert [r.ret for r in calls(trace)] == [0, 207001]


def test_tight_resources_refuse_above_1024_live_objects_and_recover() -> None:
    trace = run(ALLOC, Repeat(1024, "i", (call("CopyBufRef", "r[i]", buf="a"),)), call("CopyBufRef", buf="a"),
                call("AppendBufChain", headBuf="a", buf="r[0]"), call("FreeBuf", buf="r[5]"),
                call("CopyBufRef", buf="a"), profile=RESOURCES)  # fmt: skip
    assert all(accepted(r) for r in calls(trace)[:1025])
    assert [r.ret for r in calls(trace)[1025:]] == [207001, 207001, 0, 0]
