"""Joined programs: one that does what several do, one after the other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.fuzz.choices import RECORD
from acl_cts.fuzz.decoder import decode
from acl_cts.fuzz.joining import joined
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Parallel, Program, Steady, UntilSame, walk
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import CallRecord, End, Trace

SAME_NAMES = """\
repeat i in 3:
    a[i] = aclrtAllocBuf(size=i+1)
    aclrtGetBufData(buf=a[i])
b = aclrtAllocBuf(size=9)
cleanup:
    aclrtFreeBuf(buf=b)
    repeat i in 3:
        aclrtFreeBuf(buf=a[i])
"""
CROSSED = """\
i = aclrtAllocBuf(size=7)
repeat a in 2:
    b[a] = aclrtCopyBufRef(buf=i)
aclrtGetBufDataLen(buf=b[1])
"""


def answers(*traces: Trace) -> list[tuple[str, object]]:
    """What was called, and what was answered but for addresses."""
    return [
        (record.function, record.ret if isinstance(record.ret, int) else None)
        for trace in traces
        for record in trace.records
        if isinstance(record, CallRecord)
    ]


def executed(*programs: Program) -> list[Trace]:
    with open_backend("simulator", Options()) as session:
        return [session.run(program) for program in programs]


def test_names_that_both_use_are_told_apart() -> None:
    first, second = parse_program(SAME_NAMES), parse_program(CROSSED)
    whole = joined((first, second, first))
    assert parse_program(format_program(whole)) == whole
    assert answers(*executed(whole)) == answers(*executed(first, second, first))
    assert len(whole.cleanup) == len(first.cleanup) > 0


def test_one_program_is_itself_and_none_is_the_empty_one() -> None:
    program = parse_program(SAME_NAMES)
    assert joined((program,)) == program
    assert joined(()) == Program(())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=8 * RECORD), st.binary(max_size=8 * RECORD))
def test_it_does_what_they_do_one_after_the_other(first: bytes, second: bytes) -> None:
    spec = load_spec()
    programs = [decode(spec, data) for data in (first, second)]
    inside = [s for program in programs for s in walk((*program.body, *program.cleanup))]
    if any(isinstance(s, Parallel | Steady | UntilSame) for s in inside):
        return  # what these answer depends on chance, memory and addresses
    whole = joined(programs)
    assert parse_program(format_program(whole)) == whole
    traces = executed(*programs)
    if all(trace.ending.kind is End.COMPLETED for trace in traces):
        assert answers(*executed(whole)) == answers(*traces)
