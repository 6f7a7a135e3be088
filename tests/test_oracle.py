"""The oracle: what it says of answers that keep the contract, and of one wrong answer at a time."""

# ruff: noqa: E501 (tables of one case a line)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from oracle_programs import SPEC, Told, complete, ending, names, notes, tell

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.specs.judgement import Strength, Verdict
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import (
    Breach,
    CallRecord,
    Capability,
    End,
    Ending,
    Hit,
    InvokeRecord,
    LiveRecord,
    Phase,
    Ptr,
    SkipRecord,
    TouchRecord,
)

A = "a = aclrtAllocBuf(size=4096)\n"
AB = A + "b = aclrtAllocBuf(size=4096)\n"
LOCATED = A + "aclrtGetBufData(buf=a)\n"
SET = "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 96), size=96, offset=0)\n"
SHOWN = "aclrtGetBufUserData(buf=a, dataPtr=room(96), size=96, offset=0)\n"
COPY = "r = aclrtCopyBufRef(buf=a)\n"
CHAIN = (
    A
    + "b = aclrtAllocBuf(size=256)\nc = aclrtAllocBuf(size=64)\n"
    + "".join(f"aclrtAppendBufChain(headBuf=a, buf={name})\n" for name in "bc")
)
FULL = A + "repeat i in 127:\n    m[i] = aclrtAllocBuf(size=64)\n    aclrtAppendBufChain(headBuf=a, buf=m[i])\n"
REGISTERED = complete("d", 1) + "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n"
GET = "g = aclrtAllocatorGetByStream(stream=s)\n"


def room(told: Told, at: int, which: int = -1) -> Told:
    """The same, one byte of what GetBufUserData wrote changed."""
    data = dict(told.record("GetBufUserData", which).outs)["dataPtr"]
    assert isinstance(data, bytes)
    return told.writing("GetBufUserData", which, dataPtr=data[:at] + bytes((data[at] ^ 0xFF,)) + data[at + 1 :])


def pointer(told: Told, function: str, name: str, which: int = -1) -> Ptr:
    """A pointer that a call wrote."""
    value = dict(told.record(function, which).outs)[name]
    assert isinstance(value, Ptr)
    return value


def touched(byte: int) -> Callable[[Told], Told]:
    return lambda told: told.changed(
        TouchRecord, lambda r: replace(r, data=r.data[:byte] + bytes((r.data[byte] ^ 1,)) + r.data[byte + 1 :])
    )


def elsewhere(function: str, name: str, which: int = -1) -> Callable[[Told], Told]:
    """One output becomes a pointer that nothing else has."""

    def change(told: Told) -> Told:
        wider, fresh = told.fresh()
        return wider.writing(function, which, **{name: fresh})

    return change


def returns(function: str, code: int, which: int = -1) -> Callable[[Told], Told]:
    return lambda told: told.returning(function, code, which)


def writes(function: str, which: int = -1, **outs: object) -> Callable[[Told], Told]:
    return lambda told: told.writing(function, which, **outs)


def takes(
    function: str, name: str, other: str, other_name: str, which: int = -1, source: int = 0
) -> Callable[[Told], Told]:
    """One output becomes the pointer that another call wrote."""
    return lambda told: told.writing(function, which, **{name: pointer(told, other, other_name, source)})


BREACHES: list[tuple[str, str, Callable[[Told], Told]]] = [
    # Allocation.
    ("mbuf.alloc.succeeds", A, returns("AllocBuf", 107000)),
    ("mbuf.alloc.null-output", "aclrtAllocBuf(buf=null, size=64)\n", returns("AllocBuf", 0)),
    ("mbuf.alloc.limit", "a = aclrtAllocBuf(size=2**32+1)\n", returns("AllocBuf", 0)),
    ("mbuf.alloc.limit", "a = aclrtAllocBuf(size=2**64-1)\n", returns("AllocBuf", 0)),
    ("mbuf.alloc.handle", A, writes("AllocBuf", buf=Ptr(0))),
    ("mbuf.alloc.handle", A, writes("AllocBuf", buf=None)),
    ("mbuf.alloc.handle", AB, takes("AllocBuf", "buf", "AllocBuf", "buf")),
    ("mbuf.data.size", LOCATED, writes("GetBufData", size=4095)),
    ("mbuf.data.size", "a = aclrtAllocBuf(size=4000000001)\naclrtGetBufData(buf=a)\n", writes("GetBufData", size=4096)),
    # Data area.
    ("mbuf.data.null-handle", "aclrtGetBufData(buf=null)\n", returns("GetBufData", 0)),
    ("mbuf.data.succeeds", LOCATED, returns("GetBufData", 107000)),
    ("mbuf.data.pointer", LOCATED, writes("GetBufData", dataPtr=Ptr(0))),
    ("mbuf.data.pointer", LOCATED, writes("GetBufData", dataPtr=None)),
    ("mbuf.data.same-pointer", LOCATED + "aclrtGetBufData(buf=a)\n", elsewhere("GetBufData", "dataPtr")),
    ("mbuf.data.apart", AB + "aclrtGetBufData(buf=a)\naclrtGetBufData(buf=b)\n", takes("GetBufData", "dataPtr", "GetBufData", "dataPtr")),
    ("mbuf.data.usable", LOCATED + "write a[0:4096] = bytes(0xA5 * 4096)\n", lambda t: t.changed(TouchRecord, lambda r: replace(r, error="fault"))),
    ("mbuf.data.usable", LOCATED + "read a[0:4096]\n", lambda t: t.changed(TouchRecord, lambda r: replace(r, error="copy:107000", data=None))),
    ("mbuf.data.content", LOCATED + "write a[0:4096] = ramp(0, 4096)\nread a[4095:4096]\n", touched(0)),
    ("mbuf.data.content", LOCATED + "write a[0:4096] = ramp(0, 4096)\nwrite a[8:9] = bytes(\"ff\")\nread a[0:4096]\n", touched(8)),
    # Private area.
    ("mbuf.set-user.null-handle", "aclrtSetBufUserData(buf=null, dataPtr=ramp(1, 8), size=8, offset=0)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.size", A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 97), size=97, offset=0)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.offset", A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 1), size=1, offset=97)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.offset", A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 1), size=0, offset=97)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.sum", A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 50), size=50, offset=50)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.offset", A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 10), size=10, offset=2**64-6)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.null-data", A + "aclrtSetBufUserData(buf=a, dataPtr=null, size=1, offset=0)\n", returns("SetBufUserData", 0)),
    ("mbuf.set-user.succeeds", A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 1), size=1, offset=95)\n", returns("SetBufUserData", 107000)),
    ("mbuf.set-user.refused-keeps", A + SET + "aclrtSetBufUserData(buf=a, dataPtr=ramp(9, 97), size=97, offset=0)\n" + SHOWN, lambda t: room(t, 0)),
    ("mbuf.get-user.null-handle", "aclrtGetBufUserData(buf=null, dataPtr=room(8), size=8, offset=0)\n", returns("GetBufUserData", 0)),
    ("mbuf.get-user.size", A + "aclrtGetBufUserData(buf=a, size=97, offset=0)\n", returns("GetBufUserData", 0)),
    ("mbuf.get-user.offset", A + "aclrtGetBufUserData(buf=a, size=1, offset=97)\n", returns("GetBufUserData", 0)),
    ("mbuf.get-user.sum", A + "aclrtGetBufUserData(buf=a, size=1, offset=96)\n", returns("GetBufUserData", 0)),
    ("mbuf.get-user.null-data", A + "aclrtGetBufUserData(buf=a, dataPtr=null, size=1, offset=0)\n", returns("GetBufUserData", 0)),
    ("mbuf.get-user.succeeds", A + "aclrtGetBufUserData(buf=a, size=96, offset=0)\n", returns("GetBufUserData", 107000)),
    ("mbuf.get-user.returns", A + SET + SHOWN, lambda t: room(t, 95)),
    ("mbuf.get-user.returns", A + SHOWN + SHOWN, lambda t: room(t, 40)),
    ("mbuf.get-user.exact", A + "aclrtGetBufUserData(buf=a, dataPtr=room(96), size=8, offset=0)\n", lambda t: room(t, 8)),
    ("mbuf.get-user.exact", A + "aclrtGetBufUserData(buf=a, dataPtr=room(128), size=97, offset=0)\n", lambda t: room(t, 97)),
    # Data length.
    ("mbuf.get-len.null-handle", "aclrtGetBufDataLen(buf=null)\n", returns("GetBufDataLen", 0)),
    ("mbuf.get-len.null-output", A + "aclrtGetBufDataLen(buf=a, len=null)\n", returns("GetBufDataLen", 0)),
    ("mbuf.get-len.succeeds", A + "aclrtGetBufDataLen(buf=a)\n", returns("GetBufDataLen", 107000)),
    ("mbuf.get-len.fresh", A + "aclrtGetBufDataLen(buf=a)\n", writes("GetBufDataLen", len=1)),
    ("mbuf.get-len.last-set", LOCATED + "aclrtSetBufDataLen(buf=a, len=9)\naclrtSetBufDataLen(buf=a, len=5)\naclrtGetBufDataLen(buf=a)\n", writes("GetBufDataLen", len=9)),
    ("mbuf.get-len.ref-last-set", A + COPY + "aclrtGetBufData(buf=r)\naclrtSetBufDataLen(buf=r, len=5)\naclrtGetBufDataLen(buf=r)\n", writes("GetBufDataLen", len=0)),
    ("mbuf.get-len.shared", A + COPY + "aclrtGetBufData(buf=r)\naclrtSetBufDataLen(buf=r, len=5)\naclrtGetBufDataLen(buf=a)\n", writes("GetBufDataLen", len=6)),
    ("mbuf.get-len.ref-initial", LOCATED + "aclrtSetBufDataLen(buf=a, len=5)\n" + COPY + "aclrtGetBufDataLen(buf=r)\n", writes("GetBufDataLen", len=6)),
    ("mbuf.set-len.null-handle", "aclrtSetBufDataLen(buf=null, len=1)\n", returns("SetBufDataLen", 0)),
    ("mbuf.set-len.limit", LOCATED + "aclrtSetBufDataLen(buf=a, len=4096)\n", returns("SetBufDataLen", 0)),
    ("mbuf.set-len.succeeds", LOCATED + "aclrtSetBufDataLen(buf=a, len=4095)\n", returns("SetBufDataLen", 107000)),
    ("mbuf.set-len.refused-keeps", LOCATED + "aclrtSetBufDataLen(buf=a, len=4096)\naclrtGetBufDataLen(buf=a)\n", writes("GetBufDataLen", len=4096)),
    ("mbuf.set-len.refused-keeps", LOCATED + "aclrtSetBufDataLen(buf=a, len=7)\naclrtSetBufDataLen(buf=a, len=2**32)\naclrtGetBufDataLen(buf=a)\n", writes("GetBufDataLen", len=0)),
    # References.
    ("mbuf.copy.null-handle", "aclrtCopyBufRef(buf=null)\n", returns("CopyBufRef", 0)),
    ("mbuf.copy.null-output", A + "aclrtCopyBufRef(buf=a, newBuf=null)\n", returns("CopyBufRef", 0)),
    ("mbuf.copy.succeeds", A + COPY, returns("CopyBufRef", 107000)),
    ("mbuf.copy.of-ref", A + COPY + "q = aclrtCopyBufRef(buf=r)\n", returns("CopyBufRef", 107000)),
    ("mbuf.copy.handle", A + COPY, takes("CopyBufRef", "newBuf", "AllocBuf", "buf")),
    ("mbuf.copy.same-pointer", LOCATED + COPY + "aclrtGetBufData(buf=r)\n", elsewhere("GetBufData", "dataPtr")),
    ("mbuf.copy.one-area", LOCATED + COPY + "aclrtGetBufData(buf=r)\nwrite r[0:64] = ramp(0, 64)\nread a[0:64]\n", touched(3)),
    ("mbuf.copy.outlives", LOCATED + "write a[0:64] = ramp(0, 64)\n" + COPY + "aclrtFreeBuf(buf=a)\naclrtGetBufData(buf=r)\nread r[0:64]\n", touched(3)),
    ("mbuf.copy.private-own", A + SET + COPY + "aclrtSetBufUserData(buf=r, dataPtr=bytes(0x77 * 96), size=96, offset=0)\n" + SHOWN, lambda t: room(t, 0)),
    ("mbuf.free.alloc", A + "aclrtFreeBuf(buf=a)\n", returns("FreeBuf", 107000)),
    ("mbuf.free.ref", A + COPY + "aclrtFreeBuf(buf=r)\n", returns("FreeBuf", 107000)),
    ("mbuf.free.head", CHAIN + "aclrtFreeBuf(buf=a)\n", returns("FreeBuf", 107000)),
    # Chains.
    ("mbuf.append.null-head", A + "aclrtAppendBufChain(headBuf=null, buf=a)\n", returns("AppendBufChain", 0)),
    ("mbuf.append.null-buf", A + "aclrtAppendBufChain(headBuf=a, buf=null)\n", returns("AppendBufChain", 0)),
    ("mbuf.append.succeeds", AB + "aclrtAppendBufChain(headBuf=a, buf=b)\n", returns("AppendBufChain", 107000)),
    ("mbuf.append.refs", A + COPY + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=b, buf=r)\n", returns("AppendBufChain", 107000)),
    ("mbuf.append.limit", FULL + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\n", returns("AppendBufChain", 0)),
    ("mbuf.append.refused-keeps", FULL + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\naclrtGetBufChainNum(headBuf=b)\n", writes("GetBufChainNum", num=2)),
    ("mbuf.append.refused-keeps", FULL + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\naclrtGetBufChainNum(headBuf=a)\n", writes("GetBufChainNum", num=129)),
    ("mbuf.from-chain.null-handle", "aclrtGetBufFromChain(headBuf=null, index=0)\n", returns("GetBufFromChain", 0)),
    ("mbuf.from-chain.null-output", CHAIN + "aclrtGetBufFromChain(headBuf=a, index=0, buf=null)\n", returns("GetBufFromChain", 0)),
    ("mbuf.from-chain.index", CHAIN + "aclrtGetBufFromChain(headBuf=a, index=3)\n", returns("GetBufFromChain", 0)),
    ("mbuf.from-chain.succeeds", CHAIN + "aclrtGetBufFromChain(headBuf=a, index=2)\n", returns("GetBufFromChain", 107000)),
    ("mbuf.from-chain.handle", CHAIN + "aclrtGetBufFromChain(headBuf=a, index=1)\n", writes("GetBufFromChain", buf=None)),
    ("mbuf.from-chain.head-first", CHAIN + "aclrtGetBufFromChain(headBuf=a, index=0)\n", takes("GetBufFromChain", "buf", "AllocBuf", "buf", source=1)),
    ("mbuf.from-chain.order", CHAIN + "aclrtGetBufFromChain(headBuf=a, index=2)\n", takes("GetBufFromChain", "buf", "AllocBuf", "buf", source=1)),
    ("mbuf.from-chain.itself", AB + "aclrtGetBufFromChain(headBuf=a, index=0)\n", takes("GetBufFromChain", "buf", "AllocBuf", "buf", source=1)),
    ("mbuf.chain-num.null-handle", "aclrtGetBufChainNum(headBuf=null)\n", returns("GetBufChainNum", 0)),
    ("mbuf.chain-num.null-output", CHAIN + "aclrtGetBufChainNum(headBuf=a, num=null)\n", returns("GetBufChainNum", 0)),
    ("mbuf.chain-num.succeeds", CHAIN + "aclrtGetBufChainNum(headBuf=a)\n", returns("GetBufChainNum", 107000)),
    ("mbuf.chain-num.count", CHAIN + "aclrtGetBufChainNum(headBuf=a)\n", writes("GetBufChainNum", num=2)),
    ("mbuf.chain-num.alone", A + "aclrtGetBufChainNum(headBuf=a)\n", writes("GetBufChainNum", num=0)),
    # Descriptions.
    ("allocator.create.succeeds", "d = aclrtAllocatorCreateDesc()\n", lambda t: t.returning("AllocatorCreateDesc", Ptr(0))),
    ("allocator.create.distinct", "d = aclrtAllocatorCreateDesc()\ne = aclrtAllocatorCreateDesc()\n", lambda t: t.returning("AllocatorCreateDesc", cast(Ptr, t.record("AllocatorCreateDesc", 0).ret))),
    ("allocator.destroy.succeeds", complete("d", 1) + "aclrtAllocatorDestroyDesc(allocatorDesc=d)\n", returns("AllocatorDestroyDesc", 107000)),
    ("allocator.destroy.no-callback", complete("d", 1) + "aclrtAllocatorDestroyDesc(allocatorDesc=d)\n", lambda t: t.changed(CallRecord, lambda r: replace(r, hits=(Hit("aclrtAllocatorFreeFunc", 1, (Ptr(0), Ptr(0)), None),)))),
    ("allocator.set-obj.null-desc", "aclrtAllocatorSetObjToDesc(allocatorDesc=null, allocator=obj(1))\n", returns("AllocatorSetObjToDesc", 0)),
    ("allocator.set-alloc.null-desc", "aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=null, func=cb(1))\n", returns("AllocatorSetAllocFuncToDesc", 0)),
    ("allocator.set-advise.null-desc", "aclrtAllocatorSetAllocAdviseFuncToDesc(allocatorDesc=null, func=cb(1))\n", returns("AllocatorSetAllocAdviseFuncToDesc", 0)),
    ("allocator.set-free.null-desc", "aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=null, func=cb(1))\n", returns("AllocatorSetFreeFuncToDesc", 0)),
    ("allocator.set-addr.null-desc", "aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc=null, func=cb(1))\n", returns("AllocatorSetGetAddrFromBlockFuncToDesc", 0)),
    ("allocator.set-obj.succeeds", complete("d", 1), returns("AllocatorSetObjToDesc", 107000)),
    ("allocator.set-alloc.succeeds", complete("d", 1), returns("AllocatorSetAllocFuncToDesc", 107000)),
    ("allocator.set-advise.succeeds", complete("d", 1), returns("AllocatorSetAllocAdviseFuncToDesc", 107000)),
    ("allocator.set-free.succeeds", complete("d", 1), returns("AllocatorSetFreeFuncToDesc", 107000)),
    ("allocator.set-addr.succeeds", complete("d", 1), returns("AllocatorSetGetAddrFromBlockFuncToDesc", 107000)),
    # Registration.
    ("allocator.register.null-stream", complete("d", 1) + "aclrtAllocatorRegister(stream=null, allocatorDesc=d)\n", returns("AllocatorRegister", 0)),
    ("allocator.register.null-desc", "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=null)\n", returns("AllocatorRegister", 0)),
    ("allocator.register.succeeds", REGISTERED, returns("AllocatorRegister", 107000)),
    ("allocator.register.again", REGISTERED + "aclrtAllocatorRegister(stream=s, allocatorDesc=d)\n", returns("AllocatorRegister", 107000)),
    ("allocator.get.succeeds", REGISTERED + GET, returns("AllocatorGetByStream", 107000)),
    ("allocator.get.object", REGISTERED + GET, elsewhere("AllocatorGetByStream", "allocator")),
    ("allocator.get.alloc", REGISTERED + GET, elsewhere("AllocatorGetByStream", "allocFunc")),
    ("allocator.get.free", REGISTERED + GET, elsewhere("AllocatorGetByStream", "freeFunc")),
    ("allocator.get.addr", REGISTERED + GET, elsewhere("AllocatorGetByStream", "getAddrFromBlockFunc")),
    ("allocator.get.advise", REGISTERED + GET, writes("AllocatorGetByStream", allocAdviseFunc=Ptr(0))),
    ("allocator.get.free", REGISTERED + GET, takes("AllocatorGetByStream", "freeFunc", "AllocatorGetByStream", "allocAdviseFunc")),
    ("allocator.get.desc", REGISTERED + GET, elsewhere("AllocatorGetByStream", "allocatorDesc")),
    ("allocator.get.unregistered", "s = aclrtCreateStream()\n" + GET, returns("AllocatorGetByStream", 0)),
    ("allocator.get.null-stream", "aclrtAllocatorGetByStream(stream=null)\n", returns("AllocatorGetByStream", 0)),
    ("allocator.unregister.succeeds", REGISTERED + "aclrtAllocatorUnregister(stream=s)\n", returns("AllocatorUnregister", 107000)),
    ("allocator.unregister.unknown", "s = aclrtCreateStream()\naclrtAllocatorUnregister(stream=s)\n", returns("AllocatorUnregister", 107000)),
    ("allocator.unregister.removes", REGISTERED + "aclrtAllocatorUnregister(stream=s)\n" + GET, returns("AllocatorGetByStream", 0)),
]  # fmt: skip


def numbered() -> list[object]:
    return [pytest.param(*row, id=f"{k}-{row[0]}") for k, row in enumerate(BREACHES)]


@pytest.mark.parametrize(("clause", "text", "break_it"), numbered())
def test_one_wrong_answer_is_put_down_to_its_clause(clause: str, text: str, break_it: Callable[[Told], Told]) -> None:
    right = tell(text)
    judged = right.judged()
    assert names(judged) == []
    assert judged.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)
    wrong = break_it(right).judged()
    assert names(wrong) == [clause]
    assert wrong.verdict is Verdict.FAIL
    assert wrong.discrepancies[0].strength is SPEC.clauses[clause].strength
    assert wrong.discrepancies[0].strength is not Strength.ADVISORY


@pytest.mark.parametrize(("clause", "text", "break_it"), numbered())
def test_a_right_answer_keeps_the_clause(clause: str, text: str, break_it: Callable[[Told], Told]) -> None:
    assert clause in tell(text).judged().held | tell(text, "lenient").judged().held


def test_every_required_slot_missing_must_fail() -> None:
    for without, clause in {
        "SetObjToDesc": "needs-object",
        "SetAllocFuncToDesc": "needs-alloc",
        "SetFreeFuncToDesc": "needs-free",
        "SetGetAddrFromBlockFuncToDesc": "needs-addr",
    }.items():
        slots = "".join(line + "\n" for line in complete("d", 1).splitlines() if without not in line)
        told = tell(slots + "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n")
        assert f"allocator.register.{clause}" in told.judged().held
        assert names(told.returning("AllocatorRegister", 0).judged()) == [f"allocator.register.{clause}"]


# ---------------------------------------------------------------------------------------------------- precedence


def outcome(text: str) -> str:
    """What the last call must do, told by how the oracle takes either answer to it."""
    told = tell(text)
    place = max(k for k, r in enumerate(told.trace.records) if isinstance(r, CallRecord))
    last = told.trace.records[place]
    assert isinstance(last, CallRecord)
    short = told.cut(place + 1, Ending(End.COMPLETED))
    frail = Told(told.program, replace(short.trace, capabilities=frozenset()))
    if frail.judged().verdict is Verdict.NOT_RUN:
        return "undefined"
    refusal = short.change(place, replace(last, ret=107000)).judged()
    refused = names(refusal)
    accepted = names(short.change(place, replace(last, ret=0)).judged())
    if refusal.verdict is Verdict.INCONCLUSIVE or any(SPEC.clauses[name].outcome == "success" for name in refused):
        return "must succeed"
    return "must fail" if any(SPEC.clauses[clause].outcome == "error" for clause in accepted) else "open"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A + "aclrtFreeBuf(buf=a)\naclrtSetBufUserData(buf=a, dataPtr=ramp(1, 97), size=97, offset=0)\n", "undefined"),
        (A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 8), size=0, offset=97)\n", "must fail"),
        (A + "aclrtSetBufUserData(buf=a, dataPtr=null, size=0, offset=97)\n", "must fail"),
        (A + "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 8), size=0, offset=96)\n", "open"),
        (A + "aclrtSetBufDataLen(buf=a, len=4096)\n", "must fail"),
        (A + "aclrtSetBufDataLen(buf=a, len=64)\n", "open"),
        (LOCATED + "aclrtSetBufDataLen(buf=a, len=64)\n", "must succeed"),
        (LOCATED + COPY + "aclrtSetBufDataLen(buf=r, len=64)\n", "open"),
        ("a = aclrtAllocBuf(size=4000000000)\n", "must succeed"),
        ("a = aclrtAllocBuf(size=4000000001)\n", "open"),
        ("a = aclrtAllocBuf(size=2**32)\n", "open"),
        ("a = aclrtAllocBuf(size=2**32+1)\n", "must fail"),
        ("a = aclrtAllocBuf(size=0)\n", "open"),
        ("aclrtFreeBuf(buf=null)\n", "open"),
        (CHAIN + "aclrtFreeBuf(buf=b)\n", "open"),
        (CHAIN + "aclrtFreeBuf(buf=a)\n", "must succeed"),
        (CHAIN + "aclrtFreeBuf(buf=a)\naclrtFreeBuf(buf=b)\n", "undefined"),
        (CHAIN + "aclrtAppendBufChain(headBuf=b, buf=c)\n", "open"),
        (A + "aclrtAppendBufChain(headBuf=a, buf=a)\n", "open"),
        (A + "aclrtGetBufData(buf=a, size=null)\n", "open"),
        (REGISTERED + "aclrtAllocatorUnregister(stream=s)\naclrtAllocatorUnregister(stream=s)\n", "must succeed"),
        (REGISTERED + "aclrtAllocatorDestroyDesc(allocatorDesc=d)\naclrtAllocatorGetByStream(stream=s)\n", "open"),
        ("aclrtAllocatorDestroyDesc(allocatorDesc=null)\n", "open"),
    ],
)  # fmt: skip
def test_undefined_then_must_fail_then_open_then_must_succeed(text: str, expected: str) -> None:
    assert outcome(text) == expected


def test_without_robust_handles_nothing_after_an_undefined_call_is_judged() -> None:
    told = tell(A + "aclrtFreeBuf(buf=a)\naclrtGetBufDataLen(buf=a)\n")
    assert "common.robust-refusal" in told.judged().held
    accepted = told.returning("GetBufDataLen", 0)
    assert names(accepted.judged()) == ["common.robust-refusal"]
    frail = Told(told.program, replace(accepted.trace, capabilities=frozenset()))
    assert (frail.judged().verdict, names(frail.judged())) == (Verdict.NOT_RUN, [])


def test_a_freed_handle_whose_value_was_handed_out_again_is_not_judged() -> None:
    told = tell(A + "aclrtFreeBuf(buf=a)\nb = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\n")
    assert told.record("AllocBuf", 0).outs == told.record("AllocBuf", 1).outs
    assert told.judged().verdict is Verdict.NOT_RUN


# ----------------------------------------------------------------------------------------- codes and resources


@pytest.mark.parametrize("code", [107000, 200000, 200001, 200006, 207000, -1])
def test_any_other_code_than_success_is_a_failure(code: int) -> None:
    assert names(tell(A).returning("AllocBuf", code).judged()) == ["mbuf.alloc.succeeds"]


@pytest.mark.parametrize(
    ("text", "function", "code", "note"),
    [
        ("aclrtGetBufDataLen(buf=null)\n", "GetBufDataLen", 107000, False),
        ("aclrtGetBufDataLen(buf=null)\n", "GetBufDataLen", 200004, False),
        ("aclrtGetBufDataLen(buf=null)\n", "GetBufDataLen", 200000, True),
        ("a = aclrtAllocBuf(size=2**33)\n", "AllocBuf", 100000, False),
        ("a = aclrtAllocBuf(size=2**33)\n", "AllocBuf", 200004, True),
        ("a = aclrtAllocBuf(size=2**33)\n", "AllocBuf", 507899, True),
        (FULL + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\n", "AppendBufChain", 207012, False),
        (FULL + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\n", "AppendBufChain", 300000, False),
        (FULL + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\n", "AppendBufChain", 500001, True),
    ],
)
def test_a_code_of_an_unsuitable_class_is_a_note(text: str, function: str, code: int, note: bool) -> None:
    judged = tell(text).returning(function, code).judged()
    assert judged.verdict is Verdict.PASS
    assert notes(judged) == (["common.code-class"] if note else [])


MANY = "m[0] = aclrtAllocBuf(size=64)\nrepeat i in {count}:\n    r[i] = aclrtCopyBufRef(buf=m[0])\n"
"""Leaves {count} + 1 objects live."""


@pytest.mark.parametrize(
    ("text", "function", "short"),
    [
        ("a = aclrtAllocBuf(size=65536)\n", "AllocBuf", False),
        ("a = aclrtAllocBuf(size=65537)\n", "AllocBuf", True),
        (MANY.format(count=1023) + A, "AllocBuf", False),
        (MANY.format(count=1024) + A, "AllocBuf", True),
        (MANY.format(count=1023) + "x = aclrtCopyBufRef(buf=m[0])\n", "CopyBufRef", False),
        (MANY.format(count=1024) + "x = aclrtCopyBufRef(buf=m[0])\n", "CopyBufRef", True),
        (MANY.format(count=1022) + A + "aclrtAppendBufChain(headBuf=m[0], buf=a)\n", "AppendBufChain", False),
        (MANY.format(count=1023) + A + "aclrtAppendBufChain(headBuf=m[0], buf=a)\n", "AppendBufChain", True),
        (MANY.format(count=1024) + "s = aclrtCreateStream()\n", "CreateStream", True),
        (MANY.format(count=1024) + REGISTERED, "AllocatorRegister", True),
        (REGISTERED, "AllocatorRegister", False),
        (MANY.format(count=1024) + "aclrtGetBufDataLen(buf=m[0])\n", "GetBufDataLen", False),
        ("b = aclrtAllocBuf(size=2**26)\n" + A, "AllocBuf", False),
        ("b = aclrtAllocBuf(size=2**26+1)\n" + A, "AllocBuf", True),
        ("b = aclrtAllocBuf(size=2**26+1)\nr = aclrtCopyBufRef(buf=b)\n", "CopyBufRef", True),
        ("b = aclrtAllocBuf(size=2**27)\naclrtFreeBuf(buf=b)\n" + A, "AllocBuf", False),
    ],
)
def test_a_lack_of_resources_excuses_only_above_the_floor(text: str, function: str, short: bool) -> None:
    told = tell(text)
    place = told.calls(function)[-1]
    judged = told.returning(function, 207001).cut(place + 1, Ending(End.COMPLETED)).judged()
    assert judged.verdict is (Verdict.INCONCLUSIVE if short else Verdict.FAIL)
    assert bool(names(judged)) is not short


def test_a_description_that_is_null_may_lack_resources_too() -> None:
    told = tell(MANY.format(count=1024) + "d = aclrtAllocatorCreateDesc()\n")
    assert told.returning("AllocatorCreateDesc", Ptr(0)).judged().verdict is Verdict.INCONCLUSIVE


def test_the_largest_area_granted_is_told() -> None:
    assert tell("a = aclrtAllocBuf(size=70000)\nb = aclrtAllocBuf(size=64)\n").judged().granted == 70000


# ------------------------------------------------------------------------------------------------ injected faults


FAULT = LOCATED + "aclrtSetBufDataLen(buf=a, len=7)\nfail allocation 1\nr = aclrtCopyBufRef(buf=a)\nfail allocation 0\n"


def test_an_injected_fault_excuses_any_refusal() -> None:
    told = tell(FAULT)
    assert told.record("CopyBufRef").fault_fired
    assert told.judged().verdict is Verdict.PASS
    assert "common.fault-clean" in told.judged().held
    assert told.returning("CopyBufRef", 500001).judged().verdict is Verdict.PASS


def test_a_fault_must_change_nothing_and_leak_nothing() -> None:
    told = tell(FAULT + "aclrtGetBufDataLen(buf=a)\n").writing("GetBufDataLen", len=0)
    assert names(told.judged()) == ["common.fault-clean"]
    told = tell("live\nfail allocation 1\na = aclrtAllocBuf(size=64)\nfail allocation 0\nlive\n")
    assert told.judged().verdict is Verdict.PASS
    leaking = told.changed(LiveRecord, lambda r: replace(r, objects=r.objects + 1)).judged()
    assert (leaking.verdict, names(leaking)) == (Verdict.LEAK, ["common.fault-clean"])


def test_memory_that_was_lost_is_a_leak_though_the_counts_agree() -> None:
    told = tell("live\na = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\nlive\n")
    losing = told.changed(LiveRecord, lambda r: replace(r, lost=True))
    assert (losing.judged().verdict, names(losing.judged())) == (Verdict.LEAK, ["mbuf.free.gives-back"])
    before = losing.changed(LiveRecord, lambda r: replace(r, lost=True), 0)
    assert before.judged().verdict is Verdict.PASS


def test_a_fault_that_never_fired_is_not_reached() -> None:
    judged = tell(A + "fail allocation 900\naclrtGetBufDataLen(buf=a)\n").judged()
    assert judged.verdict is Verdict.NOT_RUN
    assert "never fired" in judged.reason


# ------------------------------------------------------------------------------------- surprising answers followed


def test_an_accepted_length_of_the_whole_size_is_one_fault() -> None:
    told = tell(LOCATED + "aclrtSetBufDataLen(buf=a, len=4096)\naclrtGetBufDataLen(buf=a)\n")
    accepted = told.returning("SetBufDataLen", 0).writing("GetBufDataLen", len=4096).judged()
    assert names(accepted) == ["mbuf.set-len.limit"]
    assert accepted.blocked == ()
    odd = told.returning("SetBufDataLen", 0).writing("GetBufDataLen", len=5).judged()
    assert names(odd) == ["mbuf.set-len.limit"]
    assert [(f.clause, f.blocked_by) for f in odd.blocked] == [("mbuf.get-len.last-set", "mbuf.set-len.limit")]


def test_a_chain_that_grew_too_long_is_one_fault() -> None:
    more = "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\naclrtGetBufChainNum(headBuf=a)\n"
    told = tell(FULL + more).returning("AppendBufChain", 0).writing("GetBufChainNum", num=129)
    judged = told.judged()
    assert names(judged) == ["mbuf.append.limit"]
    assert {f.blocked_by for f in judged.blocked} == {"mbuf.append.limit"}


def test_too_large_an_area_granted_is_one_fault() -> None:
    text = "a = aclrtAllocBuf(size=2**64-1)\naclrtGetBufData(buf=a)\n"
    told = tell(A + "aclrtGetBufData(buf=a)\n").writing("GetBufData", size=64)
    judged = Told(parse_program(text), told.trace).judged()
    assert names(judged) == ["mbuf.alloc.limit"]
    assert [f.clause for f in judged.blocked] == ["mbuf.data.size"]


def test_one_call_with_several_faults_has_one_headline() -> None:
    told = tell("aclrtGetBufUserData(buf=null, dataPtr=room(8), size=8, offset=0)\n").returning("GetBufUserData", 0)
    judged = told.changed(CallRecord, lambda r: replace(r, breaches=(Breach("dataPtr", 8),))).judged()
    assert len(judged.discrepancies) == 1
    assert len(judged.blocked) == 1


def test_two_independent_faults_are_both_told() -> None:
    told = tell(AB + "aclrtGetBufDataLen(buf=a)\naclrtGetBufChainNum(headBuf=b)\n")
    judged = told.writing("GetBufDataLen", len=1).writing("GetBufChainNum", num=9).judged()
    assert names(judged) == ["mbuf.get-len.fresh", "mbuf.chain-num.alone"]


NULLS = {
    "AllocBuf": "aclrtAllocBuf(buf=null, size=64)\n",
    "CopyBufRef": "x = aclrtCopyBufRef(buf=null)\n",
    "AppendBufChain": A + "aclrtAppendBufChain(headBuf=a, buf=null)\naclrtGetBufChainNum(headBuf=a)\naclrtFreeBuf(buf=a)\n",
    "SetBufUserData": "aclrtSetBufUserData(buf=null, dataPtr=ramp(1, 8), size=8, offset=0)\n",
    "SetBufDataLen": "aclrtSetBufDataLen(buf=null, len=1)\n",
    "AllocatorRegister": complete("d", 1) + "aclrtAllocatorRegister(stream=null, allocatorDesc=d)\naclrtAllocatorGetByStream(stream=null)\n",
    "AllocatorSetObjToDesc": "aclrtAllocatorSetObjToDesc(allocatorDesc=null, allocator=obj(1))\n",
}  # fmt: skip


@pytest.mark.parametrize("function", NULLS)
def test_null_accepted_is_followed(function: str) -> None:
    told = tell(NULLS[function]).returning(function, 0)
    judged = told.judged()
    assert len(judged.discrepancies) == 1
    assert SPEC.clauses[names(judged)[0]].outcome == "error"


def test_a_registration_without_description_is_followed() -> None:
    text = "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=null)\n" + GET
    judged = tell(text).returning("AllocatorRegister", 0).judged()
    assert names(judged) == ["allocator.register.null-desc"]


def test_another_handle_for_a_member_is_the_same_buffer() -> None:
    text = CHAIN + "x = aclrtGetBufFromChain(headBuf=a, index=1)\naclrtGetBufData(buf=b)\naclrtGetBufData(buf=x)\n"
    told, alias = tell(text).fresh()
    judged = told.writing("GetBufFromChain", buf=alias).judged()
    assert names(judged) == []
    assert notes(judged) == ["mbuf.from-chain.same-handle"]
    wrong = elsewhere("GetBufData", "dataPtr")(told.writing("GetBufFromChain", buf=alias)).judged()
    assert names(wrong) == ["mbuf.data.same-pointer"]


# ----------------------------------------------------------------------------------------------------------- notes


def test_an_earlier_owners_bytes_are_a_note() -> None:
    text = A + SET + "aclrtFreeBuf(buf=a)\nuntil b is a, at most 8: c[k] = aclrtAllocBuf(size=4096)\n"
    text += "aclrtGetBufUserData(buf=b, dataPtr=room(96), size=96, offset=0)\n"
    clean = tell(text).judged()
    assert (names(clean), notes(clean)) == ([], [])
    assert "mbuf.get-user.stale" in clean.held
    stale = tell(text, "stale-private").judged()
    assert (names(stale), notes(stale)) == ([], ["mbuf.get-user.stale"])


@pytest.mark.parametrize(("copied", "note"), [(0, False), (12, False), (1, True), (11, True)])
def test_a_copy_of_some_of_the_private_bytes_is_a_note(copied: int, note: bool) -> None:
    text = A + SHOWN + SET + COPY + "aclrtGetBufUserData(buf=r, dataPtr=room(96), size=96, offset=0)\n"
    shown = bytes(range(1, 97))[: 8 * copied] + bytes(96 - 8 * copied)
    judged = tell(text).writing("GetBufUserData", dataPtr=shown).judged()
    assert names(judged) == []
    assert notes(judged) == (["mbuf.copy.private-whole"] if note else [])


def test_written_outputs_of_a_refused_call_are_a_note() -> None:
    told, fresh = tell("aclrtCopyBufRef(buf=null)\n").fresh()
    assert notes(told.writing("CopyBufRef", newBuf=Ptr(0)).judged()) == []
    assert notes(told.writing("CopyBufRef", newBuf=fresh).judged()) == ["mbuf.copy.tidy"]


def test_different_answers_to_the_same_open_question_are_a_note() -> None:
    told = tell("aclrtAllocBuf(size=0)\naclrtAllocBuf(size=0)\n", "lenient")
    assert "common.same-answer" in told.judged().held
    mixed = told.returning("AllocBuf", 107000).judged()
    assert (mixed.verdict, notes(mixed)[-1:]) == (Verdict.PASS, ["common.same-answer"])


# ------------------------------------------------------------------------------------------------- open points


@pytest.mark.parametrize("answer", [0, 5])
def test_a_reference_starts_with_either_length(answer: int) -> None:
    text = LOCATED + "aclrtSetBufDataLen(buf=a, len=5)\n" + COPY + "aclrtGetBufDataLen(buf=r)\n"
    judged = tell(text).writing("GetBufDataLen", len=answer).judged()
    assert judged.verdict is Verdict.PASS
    assert ("mbuf.get-len.ref-initial", "original" if answer else "zero") in {
        (o.clause, o.answer) for o in judged.observations
    }


@pytest.mark.parametrize(("first", "second", "same"), [(7, 7, True), (5, 5, True), (7, 5, False)])
def test_a_length_set_through_another_handle_is_shared_or_own(first: int, second: int, same: bool) -> None:
    text = LOCATED + COPY + "aclrtGetBufData(buf=r)\naclrtSetBufDataLen(buf=a, len=7)\n"
    text += "aclrtSetBufDataLen(buf=r, len=5)\naclrtGetBufDataLen(buf=a)\naclrtGetBufDataLen(buf=a)\n"
    told = tell(text).writing("GetBufDataLen", 0, len=first).writing("GetBufDataLen", 1, len=second)
    judged = told.judged()
    assert judged.verdict is Verdict.PASS
    assert notes(judged) == ([] if same else ["common.same-answer"])


def test_after_destroy_the_registered_values_or_an_error_never_a_mixture() -> None:
    told = tell(REGISTERED + "aclrtAllocatorDestroyDesc(allocatorDesc=d)\n" + GET)
    assert names(told.judged()) == []
    assert names(told.returning("AllocatorGetByStream", 107000).judged()) == []
    assert names(elsewhere("AllocatorGetByStream", "freeFunc")(told).judged()) == ["allocator.get.destroyed"]


TWO = complete("d", 1) + complete("e", 2) + "s = aclrtCreateStream()\nt = aclrtCreateStream()\n"


def test_the_last_registration_wins_whole() -> None:
    text = (
        TWO + "aclrtAllocatorRegister(stream=s, allocatorDesc=d)\naclrtAllocatorRegister(stream=s, allocatorDesc=e)\n"
    )
    told = tell(text + GET)
    assert "allocator.register.last-wins" in told.judged().held
    told, first = told.fresh("callback:aclrtAllocatorAllocFunc:1")
    mixture = told.writing("AllocatorGetByStream", allocFunc=first).judged()
    assert names(mixture) == ["allocator.register.last-wins"]


def test_a_refused_registration_leaves_the_earlier_one() -> None:
    half = "e = aclrtAllocatorCreateDesc()\naclrtAllocatorSetObjToDesc(allocatorDesc=e, allocator=obj(2))\n"
    told = tell(REGISTERED + half + "aclrtAllocatorRegister(stream=s, allocatorDesc=e)\n" + GET)
    assert "allocator.register.refused-keeps" in told.judged().held
    told, other = told.fresh("object:2")
    assert names(told.writing("AllocatorGetByStream", allocator=other).judged()) == ["allocator.register.refused-keeps"]


def test_a_set_after_the_registration_may_show_or_not() -> None:
    late = "aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=d, func=cb(2))\n"
    for profile in ("default", "opposite", "lenient"):
        judged = tell(REGISTERED + late + GET, profile).judged()
        assert judged.verdict is Verdict.PASS
    told, third = tell(REGISTERED + late + GET).fresh("callback:aclrtAllocatorAllocFunc:3")
    assert len(told.writing("AllocatorGetByStream", allocFunc=third).judged().discrepancies) == 1


def test_an_advise_never_set_is_null_or_callable() -> None:
    slots = "".join(line + "\n" for line in complete("d", 1).splitlines() if "Advise" not in line)
    told = tell(slots + "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n" + GET)
    assert "allocator.register.optional-advise" in told.judged().held
    assert "allocator.get.advise-unset" in told.judged().held
    told, good = told.fresh("executable")
    assert names(told.writing("AllocatorGetByStream", allocAdviseFunc=good).judged()) == []
    told, bad = told.fresh()
    judged = told.writing("AllocatorGetByStream", allocAdviseFunc=bad).judged()
    assert names(judged) == ["allocator.get.advise-unset"]


# --------------------------------------------------------------------------------------- callbacks, live counts


INVOKED = REGISTERED + GET + "invoke g.allocFunc(obj(1), 2**64-1)\n"


def test_a_returned_function_reaches_the_registered_one_unchanged() -> None:
    told = tell(INVOKED)
    assert "allocator.get.arguments" in told.judged().held
    changes: list[Callable[[InvokeRecord], InvokeRecord]] = [
        lambda r: replace(r, hits=()),
        lambda r: replace(r, hits=(replace(r.hits[0], args=(r.hits[0].args[0], 2**32 - 1)),)),
        lambda r: replace(r, hits=(replace(r.hits[0], number=2),)),
        lambda r: replace(r, hits=(r.hits[0], r.hits[0])),
        lambda r: replace(r, ret=Ptr(0)),
    ]
    for change in changes:
        assert names(told.changed(InvokeRecord, change).judged()) == ["allocator.get.arguments"]


def test_more_live_objects_than_before_are_a_leak_told_once() -> None:
    text = A + "live\nrepeat i in 3:\n    b = aclrtAllocBuf(size=64)\n    aclrtFreeBuf(buf=b)\nlive\nlive\n"
    told = tell(text)
    assert "mbuf.free.gives-back" in told.judged().held
    _, second, _ = (r for r in told.trace.records if isinstance(r, LiveRecord))
    for more in (replace(second, objects=9), replace(second, bytes=9 << 20)):
        grown = told.change(told.trace.records.index(second, 1), more).judged()
        assert grown.verdict is Verdict.LEAK
        assert names(grown) == ["mbuf.free.gives-back"]


@pytest.mark.parametrize("again", ["", "s = aclrtCreateStream()\n"])
@pytest.mark.parametrize("variant", ["simulator", "simulator:no-reuse"])
def test_a_registration_may_go_with_its_stream(variant: str, again: str) -> None:
    """Whether it does, nothing says; whether the handle comes again makes no difference to that."""
    text = (
        complete("d", 1) + "s0 = aclrtCreateStream()\naclrtAllocatorRegister(stream=s0, allocatorDesc=d)\nlive\n"
        f"e = aclrtAllocatorCreateDesc()\naclrtDestroyStream(stream=s0)\n{again}"
        "aclrtAllocatorDestroyDesc(allocatorDesc=e)\nlive\n"
    )
    program = parse_program(text)
    with open_backend(variant, Options()) as session:
        trace = session.run(program)
    assert judge(SPEC, program, trace).verdict is Verdict.PASS
    last = trace.records[-1]
    assert isinstance(last, LiveRecord)
    kept = replace(trace, records=(*trace.records[:-1], replace(last, objects=last.objects + 1)))
    assert judge(SPEC, program, kept).verdict is Verdict.PASS


def test_a_refused_call_that_leaks_is_a_leak() -> None:
    told = tell("live\na = aclrtAllocBuf(size=2**33)\nlive\n")
    assert told.judged().verdict is Verdict.PASS
    assert told.changed(LiveRecord, lambda r: replace(r, objects=r.objects + 1)).judged().verdict is Verdict.LEAK


def test_what_is_kept_may_grow_the_count() -> None:
    told = tell("live\na = aclrtAllocBuf(size=64)\nlive\n")
    assert told.changed(LiveRecord, lambda r: replace(r, objects=r.objects + 5)).judged().verdict is Verdict.PASS


@pytest.mark.parametrize(("offset", "param"), [(-1, "dataPtr"), (8, "dataPtr")])
def test_a_write_outside_the_callers_memory(offset: int, param: str) -> None:
    told = tell(A + "aclrtGetBufUserData(buf=a, dataPtr=room(8), size=8, offset=0)\n")
    judged = told.changed(CallRecord, lambda r: replace(r, breaches=(Breach(param, offset),))).judged()
    assert names(judged) == ["common.caller-memory"]


def test_a_touch_beyond_the_data_area_is_the_programs_fault() -> None:
    judged = tell("a = aclrtAllocBuf(size=64)\naclrtGetBufData(buf=a)\nread a[0:65]\n").judged()
    assert (judged.verdict, names(judged)) == (Verdict.NOT_RUN, [])
    assert "beyond" in judged.reason


# ------------------------------------------------------------------------------------------------------- endings


@pytest.mark.parametrize(
    ("kind", "clause", "verdict"),
    [
        (End.CRASH, "common.no-crash", Verdict.CRASH),
        (End.TIMEOUT, "common.no-hang", Verdict.TIMEOUT),
        (End.EXIT, "common.no-exit", Verdict.CRASH),
    ],
)
@pytest.mark.parametrize(("place", "phase"), [(1, Phase.CALL), (2, Phase.TOUCH), (3, Phase.CLEAN_UP)])
def test_the_process_must_survive(kind: End, clause: str, verdict: Verdict, place: int, phase: Phase) -> None:
    told = tell(LOCATED + "write a[0:8] = ramp(0, 8)\ncleanup:\n    aclrtFreeBuf(buf=a)\n")
    judged = told.cut(place, ending(kind, place, "aclrtGetBufData" if place == 1 else "", phase=phase)).judged()
    assert names(judged) == [clause]
    assert judged.verdict is verdict


def test_a_crash_of_an_undefined_call_is_not_judged_where_handles_are_not_robust() -> None:
    told = tell(A + "aclrtFreeBuf(buf=a)\naclrtGetBufDataLen(buf=a)\n")
    crashed = told.cut(2, ending(End.CRASH, 2, "aclrtGetBufDataLen", "SIGSEGV"))
    assert names(crashed.judged()) == ["common.no-crash"]
    frail = Told(crashed.program, replace(crashed.trace, capabilities=frozenset({Capability.DATA_ACCESS})))
    assert frail.judged().verdict is Verdict.NOT_RUN


def test_a_crash_after_a_discrepancy_keeps_both() -> None:
    told = tell(LOCATED + "aclrtGetBufDataLen(buf=a)\n").writing("GetBufData", size=1)
    judged = told.cut(2, ending(End.CRASH, 2, "aclrtGetBufDataLen", "SIGSEGV")).judged()
    assert names(judged) == ["mbuf.data.size", "common.no-crash"]
    assert judged.discrepancies[1].blocked_by == "mbuf.data.size"
    assert judged.verdict is Verdict.CRASH


def test_an_exit_on_purpose_must_be_clean() -> None:
    told = tell(REGISTERED + "exit\n")
    assert told.trace.ending.kind is End.EXIT
    assert told.judged().verdict is Verdict.PASS
    assert "common.clean-exit" in told.judged().held
    for bad in (replace(told.trace.ending, kind=End.CRASH, detail="SIGSEGV"), replace(told.trace.ending, detail="1")):
        judged = told.cut(len(told.trace.records), bad).judged()
        assert names(judged) == ["common.clean-exit"]
        assert judged.verdict is Verdict.CRASH
    hung = told.cut(len(told.trace.records), replace(told.trace.ending, kind=End.TIMEOUT)).judged()
    assert hung.verdict is Verdict.TIMEOUT


def test_faults_of_the_harness_and_missing_functions_are_no_judgement_of_the_library() -> None:
    told = tell(A)
    assert told.cut(0, Ending(End.ERROR, detail="pipe broken")).judged().verdict is Verdict.ERROR
    judged = told.cut(0, ending(End.UNSUPPORTED, 0, detail="aclrtAllocBuf")).judged()
    assert (judged.verdict, "aclrtAllocBuf" in judged.reason) == (Verdict.NOT_RUN, True)


# ---------------------------------------------------------------------------------------------- repeats, mismatch


def test_a_handle_that_did_not_come_again_is_not_reached() -> None:
    told = tell(A + "aclrtFreeBuf(buf=a)\nuntil b is a, at most 4: c[k] = aclrtAllocBuf(size=64)\n", "no-reuse")
    assert any(isinstance(r, SkipRecord) and r.reason == "not-repeated" for r in told.trace.records)
    judged = told.judged()
    assert judged.verdict is Verdict.NOT_RUN
    assert "not reached" in judged.reason


def test_a_trace_that_does_not_fit_the_program_is_an_error() -> None:
    told = tell(AB + "aclrtGetBufDataLen(buf=b)\n")
    for text in ("live\nlive\nlive\n", A, AB.replace("b =", "c =") + "aclrtGetBufDataLen(buf=b)\n"):
        judged = Told(parse_program(text), told.trace).judged()
        assert judged.verdict is Verdict.ERROR
        assert "does not fit" in judged.reason
