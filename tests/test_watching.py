"""Reproducers decide: they show a fault in the core that has it, not in the good one, or leave it to be compared."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend, build_core
from acl_cts.backends.core_defects import load_defects
from acl_cts.conformance.failures import reproducer
from acl_cts.conformance.watching import watched
from acl_cts.reports.results import CaseResult
from acl_cts.specs.judgement import Finding
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.source_watch import Same
from acl_cts.specs.trace import CallRecord, Pointer, Ptr, Trace

SPEC = load_spec()

Ended = tuple[int, str]
"""Exit code and last line."""

REFUSED_AT_THE_END = """\
a = aclrtAllocBuf(size=64)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0x5A * 4), size=4, offset=92)
aclrtFreeBuf(buf=a)
"""
ACCEPTED = """\
a = aclrtAllocBuf(size=64)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0xA5 * 4), size=4, offset=2**64-4)
"""
COUNTED = """\
a = aclrtAllocBuf(size=64)
b = aclrtAllocBuf(size=64)
aclrtAppendBufChain(headBuf=a, buf=b)
aclrtGetBufChainNum(headBuf=a)
"""
FILLED = """\
a = aclrtAllocBuf(size=64)
aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 96), size=96, offset=0)
aclrtGetBufUserData(buf=a, dataPtr=room(4), size=4, offset=8)
"""
KEPT = """\
a = aclrtAllocBuf(size=64)
aclrtSetBufDataLen(buf=a, len=8)
aclrtSetBufDataLen(buf=a, len=65)
aclrtGetBufDataLen(buf=a)
"""
IN_TURNS = """\
a = aclrtAllocBuf(size=4096)
repeat i in 300:
    aclrtSetBufDataLen(buf=a, len=i)
    aclrtGetBufDataLen(buf=a)
"""
OVERLAP = """\
a = aclrtAllocBuf(size=64)
b = aclrtAllocBuf(size=64)
aclrtGetBufData(buf=a)
aclrtGetBufData(buf=b)
"""
CONTRADICTED = """\
a = aclrtAllocBuf(size=64)
aclrtSetBufUserData(buf=a, dataPtr=ramp(38, 1), size=1, offset=0)
aclrtGetBufUserData(buf=a, size=1, offset=1)
aclrtGetBufUserData(buf=a, dataPtr=room(96), size=2, offset=0)
"""
ANYTHING = """\
a = aclrtAllocBuf(size=64)
aclrtGetBufUserData(buf=a, size=96, offset=0)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0x5A * 4), size=4, offset=92)
"""
COPIED = """\
a = aclrtAllocBuf(size=64)
b = aclrtCopyBufRef(buf=a)
"""
SHARED = """\
a = aclrtAllocBuf(size=64)
b = aclrtCopyBufRef(buf=a)
aclrtGetBufData(buf=a)
aclrtGetBufData(buf=b)
"""
POINTERS_IN_TURNS = """\
a = aclrtAllocBuf(size=64)
repeat i in 2:
    m[i] = aclrtAllocBuf(size=64)
    aclrtAppendBufChain(headBuf=a, buf=m[i])
d = aclrtGetBufFromChain(headBuf=a, index=1)
"""
COMPLETE = """\
d = aclrtAllocatorCreateDesc()
aclrtAllocatorSetObjToDesc(allocatorDesc=d, allocator=obj(1))
aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc=d, func=cb(1))
s = aclrtCreateStream()
"""
DESTROYED = f"""\
{COMPLETE}aclrtAllocatorSetAllocAdviseFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorRegister(stream=s, allocatorDesc=d)
aclrtAllocatorDestroyDesc(allocatorDesc=d)
aclrtAllocatorGetByStream(stream=s)
"""
REACHED = """\
d = aclrtAllocatorCreateDesc()
aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorDestroyDesc(allocatorDesc=d)
"""
FRESH = """\
a = aclrtAllocBuf(size=64)
aclrtGetBufDataLen(buf=a)
"""
POINTERS = """\
a = aclrtAllocBuf(size=64)
b = aclrtAllocBuf(size=64)
c = aclrtAllocBuf(size=64)
aclrtAppendBufChain(headBuf=a, buf=b)
aclrtAppendBufChain(headBuf=a, buf=c)
d = aclrtGetBufFromChain(headBuf=a, index=1)
"""


def judged(defect: str, text: str) -> tuple[Program, Trace, tuple[Finding, ...]]:
    """A program on the core with `defect`, and what the oracle makes of it."""
    program = parse_program(text)
    defines = next(each.defines for each in load_defects() if each.id == defect)
    with CoreBackend(defines).open(Options()) as session:
        trace = session.run(program)
    found = judge(SPEC, program, trace)
    assert found.discrepancies
    return program, trace, found.discrepancies


@pytest.fixture
def ends(tmp_path: Path) -> Callable[[str, str], tuple[Ended, Ended]]:
    """How the reproducer of what `defect` breaks ends on the core with it, and on the good one."""

    def both(defect: str, text: str) -> tuple[Ended, Ended]:
        program, trace, found = judged(defect, text)
        result = CaseResult("case", judge(SPEC, program, trace).verdict, discrepancies=found)
        (tmp_path / "repro.c").write_text(reproducer(program, result, trace, SPEC), encoding="utf-8")
        flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ldl"]
        subprocess.run(["gcc", tmp_path / "repro.c", "-o", tmp_path / "repro", *flags], check=True)
        defines = next(each.defines for each in load_defects() if each.id == defect)
        return ended(tmp_path / "repro", build_core("plain", defines)), ended(tmp_path / "repro", build_core())

    return both


def ended(binary: Path, library: Path) -> Ended:
    done = subprocess.run([binary, library], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("defect", "text"),
    [
        ("set-user-last-byte-refused", REFUSED_AT_THE_END),
        ("set-user-sum-wraps", ACCEPTED),
        ("chain-num-without-the-head", COUNTED),
        ("get-user-ignores-offset", FILLED),
        ("refused-length-is-kept", KEPT),
        ("length-8-bit", IN_TURNS),
        ("append-behind-the-head", POINTERS),
        ("append-behind-the-head", POINTERS_IN_TURNS),
        ("copy-is-the-original", COPIED),
        ("fresh-length-uninitialised", FRESH),
        ("destroy-clears-one-registered-slot", DESTROYED),
        ("destroy-calls-the-free-function", REACHED),
        ("copy-has-its-own-area", SHARED),
    ],
)
def test_the_fault_shows_where_it_is(ends: Callable[[str, str], tuple[Ended, Ended]], defect: str, text: str) -> None:
    (code, told), (other, denied) = ends(defect, text)
    assert code == 1
    assert told.startswith("shown here: expected at step ")
    assert other == 0
    assert denied.startswith("not shown here: the call answered otherwise; expected at step ")


LEFT = """\
live
a = aclrtAllocBuf(size=64)
aclrtFreeBuf(buf=a)
live
"""


def test_memory_that_is_not_given_back_shows_by_the_count(ends: Callable[[str, str], tuple[Ended, Ended]]) -> None:
    (code, told), (other, denied) = ends("free-keeps-the-area", LEFT)
    assert code == 1
    assert told.startswith("shown here: expected at step 3")
    assert other == 0
    assert denied.startswith("not shown here: all was given back; expected at step 3")


def test_an_area_in_the_place_of_another_shows_and_one_that_reaches_into_it_decides_nothing() -> None:
    program, trace, found = judged("areas-of-a-size-overlap", OVERLAP)
    same = watched(found[0], program, trace, SPEC)
    assert same is not None
    assert (same.decides, same.pointers) == (True, (Same("dataPtr", like=(2, (), "dataPtr")),))
    *records, last = trace.records
    assert isinstance(last, CallRecord)
    outs = tuple((name, Ptr(len(trace.pointers)) if name == "dataPtr" else value) for name, value in last.outs)
    first = next(value for name, value in records[2].outs if name == "dataPtr")  # type: ignore[union-attr]
    pointers = (*trace.pointers, Pointer(trace.pointers[first.id].raw + 8))
    beside = dataclasses.replace(trace, records=(*records, dataclasses.replace(last, outs=outs)), pointers=pointers)
    judged_anew = judge(SPEC, program, beside).discrepancies
    assert [each.clause for each in judged_anew] == ["mbuf.data.apart"]
    other = watched(judged_anew[0], program, beside, SPEC)
    assert other is not None
    assert (other.decides, other.pointers) == (False, ())


def test_what_shows_only_beside_an_earlier_answer_is_left_open_after_another(
    ends: Callable[[str, str], tuple[Ended, Ended]],
) -> None:
    """The last answer is right by itself: it contradicts what was read before."""
    (code, told), (other, left) = ends("get-user-ignores-offset", CONTRADICTED)
    assert (code, other) == (1, 0)
    assert told.startswith("shown here: expected at step 3")
    assert left.startswith("compare with what the suite saw: expected at step 3")


def test_content_that_has_no_part_in_it_is_not_compared() -> None:
    """It is anything: what a fresh private area holds is not promised."""
    program, trace, found = judged("set-user-last-byte-refused", ANYTHING)
    seen = watched(found[0], program, trace, SPEC)
    assert seen is not None
    assert [(each.step, each.ret, each.rooms) for each in seen.seen] == [(0, 0, ()), (1, 0, ())]
    program, trace, found = judged("get-user-ignores-offset", CONTRADICTED)
    seen = watched(found[0], program, trace, SPEC)
    assert seen is not None
    assert [len(each.rooms) for each in seen.seen] == [0, 0, 1]


def test_a_call_of_a_turn_that_answered_as_the_one_before_is_watched() -> None:
    text = IN_TURNS.replace("len=i", "len=300")
    program, trace, found = judged("length-8-bit", text)
    later = dataclasses.replace(found[0], loops=(299,))
    seen = watched(later, program, trace, SPEC)
    assert seen is not None
    assert (seen.loops, seen.outs, seen.decides) == ((299,), (("len", 44),), True)
    assert not any(isinstance(record, CallRecord) and record.loops == (299,) for record in trace.records)


def test_what_no_call_answered_is_not_watched() -> None:
    program, trace, found = judged("length-8-bit", IN_TURNS)
    assert watched(dataclasses.replace(found[0], step=1, loops=()), program, trace, SPEC) is None
    assert watched(dataclasses.replace(found[0], clause="common.threads"), program, trace, SPEC) is None
