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
from acl_cts.specs.trace import CallRecord, Trace

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


def test_addresses_alone_decide_nothing(ends: Callable[[str, str], tuple[Ended, Ended]]) -> None:
    for code, told in ends("append-behind-the-head", POINTERS):
        assert code == 0
        assert told.startswith("compare with what the suite saw: expected at step 5, d = aclrtGetBufFromChain(")


def test_a_call_of_a_turn_that_answered_as_the_one_before_is_watched() -> None:
    text = IN_TURNS.replace("len=i", "len=300")
    _, trace, found = judged("length-8-bit", text)
    later = dataclasses.replace(found[0], loops=(299,))
    seen = watched(later, trace, SPEC)
    assert seen is not None
    assert (seen.loops, seen.outs, seen.decides) == ((299,), (("len", 44),), True)
    assert not any(isinstance(record, CallRecord) and record.loops == (299,) for record in trace.records)


def test_what_no_call_answered_is_not_watched() -> None:
    _, trace, found = judged("length-8-bit", IN_TURNS)
    assert watched(dataclasses.replace(found[0], step=1, loops=()), trace, SPEC) is None
    assert watched(dataclasses.replace(found[0], clause="common.caller-memory"), trace, SPEC) is None
