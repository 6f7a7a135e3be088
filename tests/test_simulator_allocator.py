"""Allocator descriptors on the simulator: registrations, callbacks, and that refusals change nothing."""

from __future__ import annotations

import pytest
from simulator_programs import REQUIRED, accepted, call, calls, descriptor, kind, last, out, raw, ref, run

from acl_cts.backends.simulator.codes import INVALID
from acl_cts.backends.simulator.profile import PROFILES, Profile
from acl_cts.specs.program import Call, Hooks, Int, Invoke, Live, Null, Object, Repeat, Statement
from acl_cts.specs.trace import CallRecord, InvokeRecord, LiveRecord, Ptr, callback_result

CONFORMING = {name: profile for name, profile in PROFILES.items() if not profile.stale_private}
everywhere = pytest.mark.parametrize("profile", CONFORMING.values(), ids=CONFORMING)

CREATE = call("AllocatorCreateDesc", "d")
STREAM = call("CreateStream", "s")
REGISTER = call("AllocatorRegister", stream="s", allocatorDesc="d")
GET = call("AllocatorGetByStream", "g", stream="s")
NAMES = {
    "allocFunc": "aclrtAllocatorAllocFunc",
    "freeFunc": "aclrtAllocatorFreeFunc",
    "allocAdviseFunc": "aclrtAllocatorAllocAdviseFunc",
    "getAddrFromBlockFunc": "aclrtAllocatorGetAddrFromBlockFunc",
}


def registered(number: int) -> dict[str, str]:
    """Kinds of the outputs of GetByStream for the descriptor that `descriptor(..., number)` makes."""
    callbacks = {field: f"callback:{ctype}:{number}" for field, ctype in NAMES.items()}
    return {"allocatorDesc": "other", "allocator": f"object:{number}", **callbacks}


def kinds(profile: Profile, *statements: Statement) -> list[dict[str, str] | None]:
    """Kinds of the outputs of every GetByStream; None for a refused one."""
    trace = run(*statements, profile=profile)
    gets = calls(trace, "GetByStream")
    return [{name: kind(trace, value) for name, value in r.outs} if accepted(r) else None for r in gets]


@everywhere
def test_get_gives_what_was_registered_each_in_its_slot(profile: Profile) -> None:
    trace = run(*descriptor("d", 2), STREAM, REGISTER, GET, profile=profile)
    assert {name: kind(trace, value) for name, value in calls(trace)[-1].outs} == registered(2)
    assert out(calls(trace)[-1], "allocatorDesc") == calls(trace, "CreateDesc")[0].ret


@everywhere
@pytest.mark.parametrize("missing", REQUIRED)
def test_every_required_slot_is_required(profile: Profile, missing: str) -> None:
    other = (*descriptor("e", 3), call("AllocatorRegister", stream="s", allocatorDesc="e"))
    found = kinds(profile, STREAM, *other, *descriptor("d", 1, missing), REGISTER, GET)
    assert found == [registered(3)]
    assert not accepted(last(run(STREAM, *descriptor("d", 1, missing), REGISTER, profile=profile)))


@everywhere
def test_advise_is_optional_and_never_an_invalid_pointer(profile: Profile) -> None:
    (found,) = kinds(profile, *descriptor("d", 1, advise=False), STREAM, REGISTER, GET)
    assert found is not None
    assert found.pop("allocAdviseFunc") in {"null", "executable"}
    assert found == {name: value for name, value in registered(1).items() if name != "allocAdviseFunc"}


@everywhere
def test_the_last_registration_of_a_stream_wins_and_streams_are_separate(profile: Profile) -> None:
    trace = kinds(profile, *descriptor("d", 1), *descriptor("e", 2), STREAM, call("CreateStream", "t"), REGISTER,
                  call("AllocatorRegister", stream="s", allocatorDesc="e"),
                  call("AllocatorRegister", stream="t", allocatorDesc="d"), GET,
                  call("AllocatorGetByStream", stream="t"), REGISTER, call("AllocatorUnregister", stream="t"),
                  GET)  # fmt: skip
    assert trace == [registered(2), registered(1), registered(1)]


@everywhere
def test_unregister_always_succeeds_on_a_stream(profile: Profile) -> None:
    away = call("AllocatorUnregister", stream="s")
    trace = run(STREAM, away, *descriptor("d", 1), REGISTER, away, away, GET, profile=profile)
    assert all(accepted(r) for r in calls(trace, "Unregister"))
    record = calls(trace, "GetByStream")[0]
    nulls = {value for _, value in record.outs}
    assert nulls == {Ptr(0)} if accepted(record) or profile.refused_outputs_null else nulls == {None}


@everywhere
@pytest.mark.parametrize(
    "statement",
    [*(s for s in descriptor("d", 1)[1:]), call("AllocatorRegister", stream="s", allocatorDesc=None),
     call("AllocatorRegister", stream=None, allocatorDesc="d"), call("CreateStream", stream=None)],
)  # fmt: skip
def test_null_handles_are_refused(profile: Profile, statement: Statement) -> None:
    assert isinstance(statement, Call)
    sets = "Set" in statement.function
    args = tuple((name, Null() if sets and name == "allocatorDesc" else value) for name, value in statement.args)
    null = Call(statement.function, args)
    record = last(run(*descriptor("d", 1), STREAM, null, profile=profile))
    assert isinstance(record, CallRecord)
    assert record.ret == INVALID


@pytest.mark.parametrize("handle", ["f", Int(0x1234), "s"], ids=str)
def test_dead_and_foreign_handles_are_refused_without_effect(handle: str | Int) -> None:
    trace = run(STREAM, *descriptor("d", 1), REGISTER, call("AllocatorCreateDesc", "f"),
                call("AllocatorDestroyDesc", allocatorDesc="f"), call("CreateStream", "z"),
                call("DestroyStream", stream="z"), call("AllocatorDestroyDesc", allocatorDesc=handle),
                call("AllocatorSetObjToDesc", allocatorDesc=handle, allocator=Object(2)),
                call("AllocatorRegister", stream="s", allocatorDesc=handle),
                call("AllocatorRegister", stream="z", allocatorDesc="d"), call("AllocatorUnregister", stream="z"),
                call("AllocatorGetByStream", stream="z"), call("DestroyStream", stream="z"), GET)  # fmt: skip
    assert [r.ret for r in calls(trace)[-8:]] == [INVALID] * 7 + [0]
    assert {name: kind(trace, value) for name, value in calls(trace)[-1].outs} == registered(1)


@everywhere
def test_a_destroyed_descriptor_never_gives_a_mixture(profile: Profile) -> None:
    found = kinds(profile, *descriptor("d", 1), STREAM, REGISTER, call("AllocatorDestroyDesc", allocatorDesc="d"),
                  *descriptor("e", 2), GET)  # fmt: skip
    assert found == [registered(1) if profile.get_after_destroy else None]


@everywhere
def test_returned_pointers_reach_the_registered_functions_with_unchanged_arguments(profile: Profile) -> None:
    word = (1 << 64) - 1
    trace = run(*descriptor("d", 3), STREAM, REGISTER, GET,
                Invoke(ref("g.allocFunc"), (Object(3), Int(word))), Invoke(ref("g.allocFunc"), (Object(3), Int(0))),
                Invoke(ref("g.freeFunc"), (ref("g.allocator"), Int(0x77))),
                Invoke(ref("g.allocAdviseFunc"), (Object(1), Int(5), Null())),
                Invoke(ref("g.getAddrFromBlockFunc"), (Int(0x88),)), profile=profile)  # fmt: skip
    records = [r for r in trace.records if isinstance(r, InvokeRecord)]
    hits = [hit for r in records for hit in r.hits]
    assert [(h.ctype, h.number) for h in hits] == [
        (NAMES[n], 3) for n in ("allocFunc", "allocFunc", "freeFunc", "allocAdviseFunc", "getAddrFromBlockFunc")
    ]
    args = [tuple(raw(trace, a) if isinstance(a, Ptr) else a for a in h.args) for h in hits]
    mine, other = raw(trace, hits[0].args[0]), raw(trace, hits[3].args[0])
    assert args == [(mine, word), (mine, 0), (mine, 0x77), (other, 5, 0), (0x88,)]
    sizes = (word, 0, None, 5, 0)
    expected = [None if s is None else callback_result(h.ctype, 3, s) for s, h in zip(sizes, hits, strict=True)]
    assert [None if r.ret is None else raw(trace, r.ret) for r in records] == expected


def test_pointers_that_are_no_functions_are_not_called() -> None:
    trace = run(*descriptor("d", 1, advise=False), STREAM, REGISTER, GET, Invoke(ref("g.allocAdviseFunc"), ()),
                Invoke(ref("g.allocator"), (Int(1),)))  # fmt: skip
    assert [r.error for r in trace.records if isinstance(r, InvokeRecord)] == ["invalid", "invalid"]


def test_the_default_advise_function_can_be_called() -> None:
    trace = run(*descriptor("d", 1, advise=False), STREAM, REGISTER, GET,
                Invoke(ref("g.allocAdviseFunc"), (Object(1), Int(64), Null())), default_advise=True)  # fmt: skip
    record = last(trace)
    assert isinstance(record, InvokeRecord)
    assert (record.error, record.ret, record.hits) == ("", Ptr(0), ())


@everywhere
def test_no_callback_is_called_unasked(profile: Profile) -> None:
    trace = run(*descriptor("d", 1), STREAM, REGISTER, GET, call("AllocatorDestroyDesc", allocatorDesc="d"),
                call("DestroyStream", stream="s"), profile=profile)  # fmt: skip
    assert [r.hits for r in calls(trace) if r.hits] == []


@everywhere
def test_hooks_are_called_from_inside_and_may_call_the_api(profile: Profile) -> None:
    trace = run(Hooks(), Live(), *descriptor("d", 4), STREAM, REGISTER, GET, call("AllocatorUnregister", stream="s"),
                call("DestroyStream", stream="s"), call("AllocatorDestroyDesc", allocatorDesc="d"), Live(),
                profile=profile)  # fmt: skip
    for record in (*calls(trace, "Register")[:1], *calls(trace, "GetByStream")):
        assert accepted(record)
        alloc, free = record.hits
        assert (alloc.ctype, free.ctype) == (NAMES["allocFunc"], NAMES["freeFunc"])
        assert free.args == (alloc.args[0], alloc.ret)
    first, after = (r for r in trace.records if isinstance(r, LiveRecord))
    assert (first.objects, first.bytes) == (after.objects, after.bytes)


@everywhere
def test_cycles_give_everything_back_also_failing_ones(profile: Profile) -> None:
    cycle = Repeat(30, "i", (
        STREAM, *descriptor("d", 1), REGISTER, call("AllocatorCreateDesc", "x"),
        call("AllocatorRegister", stream="s", allocatorDesc="x"), call("AllocatorDestroyDesc", allocatorDesc="x"),
        GET, call("AllocatorUnregister", stream="s"), call("AllocatorDestroyDesc", allocatorDesc="d"),
        call("DestroyStream", stream="s"), Live()))  # fmt: skip
    trace = run(cycle, profile=profile)
    assert {(r.objects, r.bytes) for r in trace.records if isinstance(r, LiveRecord)} == {(0, 0)}
