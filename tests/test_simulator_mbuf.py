"""Shared buffers on the simulator: what must succeed, what must fail, and that refusals change nothing."""

from __future__ import annotations

from itertools import permutations

import pytest
from simulator_programs import accepted, call, calls, last, out, raw, ref, run

from acl_cts.backends.simulator.codes import FULL, INVALID
from acl_cts.backends.simulator.profile import PROFILES, Profile
from acl_cts.specs.program import Fill, Int, Live, Ramp, Read, Repeat, Room, Statement, Write
from acl_cts.specs.trace import CallRecord, LiveRecord, SameRecord, TouchRecord

CONFORMING = {name: profile for name, profile in PROFILES.items() if not profile.stale_private}
UNLIMITED = {name: profile for name, profile in CONFORMING.items() if profile.largest_area is None}

everywhere = pytest.mark.parametrize("profile", CONFORMING.values(), ids=CONFORMING)
unlimited = pytest.mark.parametrize("profile", UNLIMITED.values(), ids=UNLIMITED)

ALLOC = call("AllocBuf", "a", size=4096)
DATA = call("GetBufData", buf="a")
WORD = 1 << 64


def user_data(verb: str, size: int, offset: int) -> CallRecord:
    memory = Fill(0xA5, 256) if verb == "Set" else Room(256)
    record = last(run(ALLOC, call(f"{verb}BufUserData", buf="a", dataPtr=memory, size=size, offset=offset)))
    assert isinstance(record, CallRecord)
    return record


@unlimited
@pytest.mark.parametrize("size", [1, 4095, 65537, 4 * 10**9])
def test_an_area_has_the_size_asked_for_and_every_byte(profile: Profile, size: int) -> None:
    trace = run(call("AllocBuf", "a", size=size), DATA, Write(ref("a"), size - 1, Fill(7, 1)),
                Read(ref("a"), size - 1, 1), Read(ref("a"), size, 1), profile=profile)  # fmt: skip
    assert out(calls(trace)[1], "size") == size
    assert trace.records[3:] == (TouchRecord(3, (), data=b"\x07"), TouchRecord(4, (), "fault"))


@everywhere
@pytest.mark.parametrize("size", [(4 << 30) + 1, 1 << 63, WORD - 64, WORD - 1])
def test_more_than_4g_is_refused(profile: Profile, size: int) -> None:
    record = last(run(call("AllocBuf", "a", size=size), profile=profile))
    assert isinstance(record, CallRecord)
    assert record.ret == INVALID


@everywhere
def test_a_fresh_buffer_has_length_0_also_when_recycled(profile: Profile) -> None:
    trace = run(ALLOC, DATA, call("SetBufDataLen", buf="a", len=50), call("FreeBuf", buf="a"), ALLOC,
                call("GetBufDataLen", buf="a"), profile=profile)  # fmt: skip
    assert out(last(trace), "len") == 0


@everywhere
def test_the_length_stays_below_the_size(profile: Profile) -> None:
    lengths = [4095, 4096, 1, 4097, WORD - 1]
    trace = run(ALLOC, DATA, *(s for n in lengths for s in
                (call("SetBufDataLen", buf="a", len=n), call("GetBufDataLen", buf="a"))), profile=profile)  # fmt: skip
    assert [accepted(r) for r in calls(trace, "SetBufDataLen")] == [True, False, True, False, False]
    assert [out(r, "len") for r in calls(trace, "GetBufDataLen")] == [4095, 4095, 1, 1, 1]


@pytest.mark.parametrize("verb", ["Set", "Get"])
@pytest.mark.parametrize(("size", "offset"), [(96, 0), (1, 95), (95, 1), (48, 48)])
def test_ranges_inside_the_private_area_are_granted(verb: str, size: int, offset: int) -> None:
    assert user_data(verb, size, offset).ret == 0


@pytest.mark.parametrize("verb", ["Set", "Get"])
@pytest.mark.parametrize(
    ("size", "offset"),
    [(97, 0), (96, 1), (1, 96), (50, 50), (0, 97), (10, WORD - 6), (WORD - 1, 1), (1, WORD - 1), (1 << 63, 1 << 63),
     (1 << 32, 0), (8, 1 << 32)],
)  # fmt: skip
def test_ranges_beyond_the_private_area_are_refused(verb: str, size: int, offset: int) -> None:
    assert user_data(verb, size, offset).ret == INVALID


@everywhere
def test_private_bytes_change_exactly_where_they_are_set(profile: Profile) -> None:
    def setting(data: Fill | Ramp, size: int, offset: int) -> Statement:
        return call("SetBufUserData", buf="a", dataPtr=data, size=size, offset=offset)

    trace = run(ALLOC, setting(Ramp(1, 96), 96, 0), setting(Fill(0xEE, 4), 4, 90), setting(Fill(0xDD, 4), 4, 93),
                call("GetBufUserData", buf="a", dataPtr=Room(100), size=96, offset=0), profile=profile)  # fmt: skip
    expected = bytes([*range(1, 91), 0xEE, 0xEE, 0xEE, 0xEE, 95, 96])
    content = out(last(trace), "dataPtr")
    assert isinstance(content, bytes)
    assert content[:96] == expected
    untouched = out(last(run(call("GetBufUserData", buf=None, dataPtr=Room(100), size=96, offset=0))), "dataPtr")
    assert isinstance(untouched, bytes)
    assert content[96:] == untouched[96:]


@everywhere
@pytest.mark.parametrize("order", list(permutations("abcd"))[::5], ids="".join)
def test_an_area_lives_as_long_as_one_reference(profile: Profile, order: tuple[str, ...]) -> None:
    trace = run(ALLOC, call("CopyBufRef", "b", buf="a"), call("CopyBufRef", "c", buf="b"),
                call("CopyBufRef", "d", buf="a"), *(call("GetBufData", buf=n) for n in "abcd"),
                Write(ref(order[-1]), 9, Ramp(3, 5)),
                *(s for n in order for s in (Read(ref(order[-1]), 9, 5), call("FreeBuf", buf=n))),
                Read(ref(order[-1]), 9, 5), profile=profile)  # fmt: skip
    assert len({raw(trace, out(r, "dataPtr")) for r in calls(trace, "GetBufData")}) == 1
    assert all(accepted(r) for r in calls(trace))
    reads = [r for r in trace.records if isinstance(r, TouchRecord)][1:]
    assert [r.data for r in reads] == [bytes([3, 4, 5, 6, 7])] * 4 + [None]
    assert reads[-1].error == "fault"


@everywhere
def test_a_reference_has_a_private_area_of_its_own(profile: Profile) -> None:
    trace = run(ALLOC, call("CopyBufRef", "b", buf="a"),
                *(call("SetBufUserData", buf=n, dataPtr=Fill(ord(n), 96), size=96, offset=0) for n in "ab"),
                *(call("GetBufUserData", buf=n, size=96, offset=0) for n in "ab"), profile=profile)  # fmt: skip
    assert [out(r, "dataPtr") for r in calls(trace, "GetBufUserData")] == [b"a" * 96, b"b" * 96]


CHAIN = (ALLOC, Repeat(127, "i", (call("AllocBuf", "m[i]", size=64), call("AppendBufChain", headBuf="a", buf="m[i]"))))


@everywhere
def test_a_chain_takes_128_in_order_and_no_more(profile: Profile) -> None:
    trace = run(*CHAIN, call("AllocBuf", "b", size=64), call("AppendBufChain", headBuf="a", buf="b"),
                call("GetBufChainNum", headBuf="a"),
                *(call("GetBufFromChain", headBuf="a", index=k) for k in (0, 1, 127, 128, 255, 256, (1 << 32) - 1)),
                profile=profile)  # fmt: skip
    assert all(accepted(r) for r in calls(trace, "AppendBufChain")[:-1])
    assert calls(trace, "AppendBufChain")[-1].ret == FULL
    assert out(calls(trace, "GetBufChainNum")[0], "num") == 128
    handles = [out(r, "buf") for r in calls(trace, "AllocBuf")]
    found = calls(trace, "GetBufFromChain")
    assert [out(r, "buf") for r in found[:3]] == [handles[0], handles[1], handles[127]]
    assert not any(accepted(r) for r in found[3:])


@everywhere
@pytest.mark.parametrize("first", [1, 64, 128])
def test_joining_chains_never_gives_more_than_128(profile: Profile, first: int) -> None:
    def chain(head: str, members: str, count: int) -> tuple[Statement, ...]:
        join = (call("AllocBuf", f"{members}[i]", size=64), call("AppendBufChain", headBuf=head, buf=f"{members}[i]"))
        return (call("AllocBuf", head, size=64), *((Repeat(count - 1, "i", join),) if count > 1 else ()))

    trace = run(*chain("h", "m", first), *chain("t", "n", 129 - first), call("AppendBufChain", headBuf="h", buf="t"),
                call("GetBufChainNum", headBuf="h"), call("GetBufChainNum", headBuf="t"), profile=profile)  # fmt: skip
    assert not accepted(calls(trace, "AppendBufChain")[-1])
    for record, count in zip(calls(trace, "GetBufChainNum"), (first, 129 - first), strict=True):
        assert not accepted(record) if count == 1 and not profile.count_unchained else out(record, "num") == count


@everywhere
def test_members_keep_what_is_theirs(profile: Profile) -> None:
    sizes = {"a": 16, "b": 65536, "c": 64}
    trace = run(*(call("AllocBuf", n, size=size) for n, size in sizes.items()),
                *(call("AppendBufChain", headBuf="a", buf=n) for n in "bc"),
                *(s for n in "abc" for s in (
                    call("GetBufData", buf=n), call("SetBufDataLen", buf=n, len=sizes[n] - 1),
                    call("SetBufUserData", buf=n, dataPtr=Fill(ord(n), 96), size=96, offset=0))),
                *(s for n in "abc" for s in (
                    call("GetBufDataLen", buf=n), call("GetBufUserData", buf=n, size=96, offset=0))),
                profile=profile)  # fmt: skip
    assert all(accepted(r) for r in calls(trace))
    assert [out(r, "size") for r in calls(trace, "GetBufData")] == [16, 65536, 64]
    assert [out(r, "len") for r in calls(trace, "GetBufDataLen")] == [15, 65535, 63]
    assert [out(r, "dataPtr") for r in calls(trace, "GetBufUserData")] == [b"a" * 96, b"b" * 96, b"c" * 96]


@everywhere
@pytest.mark.parametrize(
    "statement",
    [call("AllocBuf", buf=None, size=64), call("GetBufData", buf=None), call("CopyBufRef", buf=None),
     call("GetBufData", buf="a", dataPtr=None, size=None),
     call("SetBufUserData", buf=None, dataPtr=Fill(1, 4), size=4, offset=0),
     call("SetBufUserData", buf="a", dataPtr=None, size=4, offset=0),
     call("GetBufUserData", buf=None, size=4, offset=0),
     call("GetBufUserData", buf="a", dataPtr=None, size=4, offset=0),
     call("GetBufDataLen", buf=None), call("GetBufDataLen", buf="a", len=None), call("SetBufDataLen", buf=None, len=1),
     call("CopyBufRef", buf="a", newBuf=None), call("AppendBufChain", headBuf=None, buf="a"),
     call("AppendBufChain", headBuf="a", buf=None), call("GetBufFromChain", headBuf=None, index=0),
     call("GetBufFromChain", headBuf="a", index=0, buf=None), call("GetBufChainNum", headBuf=None),
     call("GetBufChainNum", headBuf="a", num=None)],
)  # fmt: skip
def test_null_is_refused(profile: Profile, statement: Statement) -> None:
    record = last(run(ALLOC, statement, profile=profile))
    assert isinstance(record, CallRecord)
    assert record.ret == INVALID


@pytest.mark.parametrize("handle", ["f", Int(0x1234), "d.dataPtr", "s"], ids=str)
def test_dead_and_foreign_handles_are_refused_without_effect(handle: str | Int) -> None:
    uses = [call("GetBufData", buf=handle), call("CopyBufRef", buf=handle), call("GetBufDataLen", buf=handle),
            call("SetBufDataLen", buf=handle, len=1), call("GetBufUserData", buf=handle, size=1, offset=0),
            call("SetBufUserData", buf=handle, dataPtr=Fill(1, 1), size=1, offset=0), call("FreeBuf", buf=handle),
            call("AppendBufChain", headBuf=handle, buf="a"), call("AppendBufChain", headBuf="a", buf=handle),
            call("GetBufFromChain", headBuf=handle, index=0), call("GetBufChainNum", headBuf=handle)]  # fmt: skip
    start = (ALLOC, call("GetBufData", "d", buf="a"), call("AllocBuf", "f", size=8), call("FreeBuf", buf="f"),
             call("CreateStream", "s"))  # fmt: skip
    trace = run(*start, *uses, call("GetBufChainNum", headBuf="a"), call("GetBufDataLen", buf="a"))
    assert [r.ret for r in calls(trace)[5:]] == [INVALID] * len(uses) + [0, 0]
    assert (out(calls(trace)[-2], "num"), out(calls(trace)[-1], "len")) == (1, 0)


@everywhere
def test_cycles_give_everything_back(profile: Profile) -> None:
    cycle = Repeat(
        50,
        "i",
        (call("AllocBuf", "a", size=512), call("CopyBufRef", "b", buf="a"), call("AllocBuf", "c", size=8),
         call("AppendBufChain", headBuf="a", buf="b"), call("FreeBuf", buf="c"), call("FreeBuf", buf="a"),
         *(() if profile.free_head_frees_members else (call("FreeBuf", buf="b"),)), Live()),
    )  # fmt: skip
    live = {(r.objects, r.bytes) for r in run(cycle, profile=profile).records if isinstance(r, LiveRecord)}
    assert live == {(0, 0)}


def test_65600_references_keep_the_area() -> None:
    trace = run(ALLOC, DATA, Write(ref("a"), 0, Fill(9, 4)),
                Repeat(65600, "i", (call("CopyBufRef", "r[i]", buf="a"),)), call("FreeBuf", buf="a"),
                Repeat(65599, "i", (call("FreeBuf", buf="r[i]"),)), call("GetBufData", buf="r[65599]"),
                Read(ref("r[65599]"), 0, 4))  # fmt: skip
    record = last(trace)
    assert isinstance(record, TouchRecord)
    assert record.data == b"\x09" * 4
    assert SameRecord(6, (), 65598) in trace.records
