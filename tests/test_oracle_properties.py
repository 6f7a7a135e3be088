"""Properties of the oracle over many programs: stored traces, folded repeats, falsified answers, profiles."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_programs import SPEC, Told, complete, names, tell

from acl_cts.conformance.falsify import falsify
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import size, steps
from acl_cts.specs.program_text import format_program
from acl_cts.specs.trace import CallRecord, LiveRecord, Record, SameRecord
from acl_cts.specs.trace_json import trace_from_json, trace_to_json

PROFILES = ("default", "opposite", "lenient", "strict", "no-reuse", "shared-length", "dirty")

BUFFERS = ("a", "b", "c", "r")
CALLS = (
    "{0} = aclrtAllocBuf(size=4096)",
    "{0} = aclrtAllocBuf(size=0)",
    "{0} = aclrtAllocBuf(size=2**32+1)",
    "{0} = aclrtCopyBufRef(buf={1})",
    "aclrtGetBufData(buf={0})",
    "aclrtSetBufDataLen(buf={0}, len=7)",
    "aclrtSetBufDataLen(buf={0}, len=4096)",
    "aclrtGetBufDataLen(buf={0})",
    "aclrtSetBufUserData(buf={0}, dataPtr=ramp(1, 50), size=50, offset=46)",
    "aclrtSetBufUserData(buf={0}, dataPtr=ramp(1, 50), size=50, offset=47)",
    "aclrtGetBufUserData(buf={0}, dataPtr=room(96), size=96, offset=0)",
    "aclrtAppendBufChain(headBuf={0}, buf={1})",
    "aclrtGetBufChainNum(headBuf={0})",
    "{0} = aclrtGetBufFromChain(headBuf={1}, index=1)",
    "aclrtFreeBuf(buf={0})",
    "write {0}[0:64] = ramp(3, 64)",
    "read {0}[0:64]",
    "live",
)
DESCRIBED = (
    *complete("d", 1).split("\n")[1:-1],
    *complete("e", 2).split("\n")[1:-1],
    "s = aclrtCreateStream()",
    "t = aclrtCreateStream()",
    "aclrtAllocatorRegister(stream=s, allocatorDesc=d)",
    "aclrtAllocatorRegister(stream=s, allocatorDesc=e)",
    "aclrtAllocatorRegister(stream=t, allocatorDesc=d)",
    "aclrtAllocatorRegister(stream=null, allocatorDesc=d)",
    "aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=cb(3))",
    "aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=null)",
    "g = aclrtAllocatorGetByStream(stream=s)",
    "aclrtAllocatorGetByStream(stream=t)",
    "invoke g.allocFunc(obj(1), 64)",
    "aclrtAllocatorUnregister(stream=s)",
    "aclrtAllocatorDestroyDesc(allocatorDesc=d)",
    "aclrtDestroyStream(stream=t)",
)

buffer_lines = st.builds(str.format, st.sampled_from(CALLS), st.sampled_from(BUFFERS), st.sampled_from(BUFFERS))
buffer_texts = st.lists(buffer_lines, min_size=1, max_size=25)
description_texts = st.lists(st.sampled_from(DESCRIBED), max_size=25).map(lambda more: [*DESCRIBED[:14], *more])
looped = st.lists(buffer_lines, min_size=1, max_size=6).map(
    lambda body: ["a = aclrtAllocBuf(size=4096)", "repeat i in 9:", *("    " + line for line in body)]
)
texts = (buffer_texts | description_texts | looped).map(lambda lines: "\n".join(lines) + "\n")


@settings(max_examples=250, deadline=None)
@given(texts, st.sampled_from(PROFILES))
def test_a_stored_trace_gets_the_verdict_that_it_got(text: str, profile: str) -> None:
    told = tell(text, profile)
    stored = trace_from_json(json.loads(json.dumps(trace_to_json(told.trace))))
    assert judge(SPEC, told.program, stored) == told.judged() == told.judged()


@settings(max_examples=400, deadline=None)
@given(texts, st.sampled_from(PROFILES))
def test_a_conforming_library_is_never_flagged(text: str, profile: str) -> None:
    judged = tell(text, profile).judged()
    assert names(judged) == [], judged
    assert judged.notes == ()
    assert judged.verdict is not Verdict.ERROR


@settings(max_examples=60, deadline=None)
@given(texts, st.data())
def test_any_falsified_trace_is_judged(text: str, data: st.DataObject) -> None:
    """Whatever a library answers, the oracle comes to a judgement, at most one headline a call."""
    told = tell(text)
    falsified = list(falsify(SPEC, told.program, told.trace))
    if not falsified:
        return
    for made in data.draw(st.lists(st.sampled_from(falsified), max_size=20)):
        judged = judge(SPEC, told.program, made.trace)
        places = [(f.step, f.loops) for f in judged.discrepancies if not f.blocked_by]
        assert len(places) == len(set(places)), (made.what, judged)


@settings(max_examples=60, deadline=None)
@given(texts)
def test_a_library_that_always_answers_success_is_followed(text: str) -> None:
    told = tell(text)
    records = tuple(
        replace(record, ret=0) if isinstance(record, CallRecord) and isinstance(record.ret, int) else record
        for record in told.trace.records
    )
    judge(SPEC, told.program, replace(told.trace, records=records))


def unfold(told: Told) -> Told:
    """The same trace with every folded iteration written out."""
    return Told(told.program, replace(told.trace, records=_unfold(told)))


def _unfold(told: Told) -> tuple[Record, ...]:
    made: list[Record] = []
    statements = steps(told.program)
    for record in told.trace.records:
        if not isinstance(record, SameRecord):
            made.append(record)
            continue
        depth = len(record.loops)
        last = made[-1].loops[depth]
        inside = range(record.step, record.step + size(statements[record.step]))
        block = [r for r in made if r.step in inside and r.loops[: depth + 1] == (*record.loops, last)]
        for k in range(1, record.count + 1):
            made.extend(replace(r, loops=(*record.loops, last + k, *r.loops[depth + 1 :])) for r in block)
    return tuple(made)


REPEATS = [
    "a = aclrtAllocBuf(size=64)\nrepeat i in 40:\n    aclrtGetBufDataLen(buf=a)\n",
    "repeat i in 40:\n    a = aclrtAllocBuf(size=64)\n    aclrtGetBufData(buf=a)\n"
    "    aclrtSetBufDataLen(buf=a, len=7)\n    aclrtFreeBuf(buf=a)\n    live\n",
    "a = aclrtAllocBuf(size=64)\nrepeat i in 40:\n    r[i] = aclrtCopyBufRef(buf=a)\n"
    "repeat i in 40:\n    aclrtGetBufData(buf=r[i])\nrepeat i in 40:\n    aclrtSetBufDataLen(buf=r[i], len=7)\n"
    "aclrtGetBufDataLen(buf=r[39])\nwrite r[30][0:8] = ramp(0, 8)\nread r[31][0:8]\n"
    "repeat i in 40:\n    aclrtFreeBuf(buf=r[i])\naclrtGetBufDataLen(buf=a)\n",
    "a = aclrtAllocBuf(size=64)\nrepeat i in 20:\n    m[i] = aclrtAllocBuf(size=64)\n"
    "    aclrtAppendBufChain(headBuf=a, buf=m[i])\naclrtGetBufChainNum(headBuf=a)\n",
    "a = aclrtAllocBuf(size=64)\nrepeat i in 5:\n    repeat j in 6:\n        aclrtGetBufChainNum(headBuf=a)\n"
    "    aclrtGetBufDataLen(buf=a)\n",
    "a = aclrtAllocBuf(size=64)\nrepeat i in 1:\n    aclrtGetBufDataLen(buf=a)\nrepeat j in 9:\n"
    "    aclrtGetBufChainNum(headBuf=a)\n",
    "a = aclrtAllocBuf(size=64)\nrepeat i in 30:\n    aclrtSetBufDataLen(buf=a, len=64)\naclrtGetBufDataLen(buf=a)\n",
    complete("d", 1) + "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n"
    "repeat i in 9:\n    g[i] = aclrtAllocatorGetByStream(stream=s)\ninvoke g[8].allocFunc(obj(1), 3)\n",
]


@cache
def folded(number: int) -> Told:
    told = tell(REPEATS[number])
    assert any(isinstance(r, SameRecord) for r in told.trace.records) or number == 3
    return told


@pytest.mark.parametrize("number", range(len(REPEATS)))
def test_a_folded_trace_is_judged_like_the_unfolded_one(number: int) -> None:
    told = folded(number)
    assert unfold(told).judged() == told.judged()
    assert told.judged().verdict is Verdict.PASS


@pytest.mark.parametrize("number", range(len(REPEATS)))
def test_a_falsified_folded_trace_is_judged_like_the_unfolded_one(number: int) -> None:
    told = folded(number)
    for made in list(falsify(SPEC, told.program, told.trace))[:150]:
        wrong = Told(told.program, made.trace)
        short, long = wrong.judged(), unfold(wrong).judged()
        assert names(short)[:1] == names(long)[:1], made.what
        assert short.verdict is long.verdict, made.what
        assert short.held == long.held, made.what


def test_a_hundred_thousand_cycles_alike_are_one_cycle() -> None:
    text = "live\nrepeat i in 100000:\n    a = aclrtAllocBuf(size=64)\n    aclrtFreeBuf(buf=a)\nlive\n"
    told = tell(text)
    assert len(told.trace.records) < 12
    assert "mbuf.free.gives-back" in told.judged().held
    grown = told.changed(LiveRecord, lambda r: replace(r, bytes=r.bytes + 1)).judged()
    assert grown.verdict is Verdict.LEAK


def test_the_programs_of_the_tables_pass_everywhere() -> None:
    programs = [p for f in SPEC.functions.values() for p in f.simplest]
    for kind in SPEC.kinds.values():
        programs += [replace(p, body=(*p.body, *kind.probe)) for p in kind.states.values()]
    for profile in PROFILES:
        for program in programs:
            judged = tell(format_program(program), profile).judged()
            assert (judged.verdict, judged.notes) == (Verdict.PASS, ()), (profile, format_program(program), judged)
    assert sum(len(steps(p)) for p in programs) > 300
