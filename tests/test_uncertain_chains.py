"""Chains of which nobody knows any more who belongs to them: what lived in one may be gone with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import LiveRecord

MEMBERS_GO_WITH_THEIR_HEAD = """
x = aclrtAllocBuf(size=1)
m = aclrtCopyBufRef(buf=x)
aclrtAppendBufChain(headBuf=x, buf=m)
n = aclrtCopyBufRef(buf=x)
aclrtAppendBufChain(headBuf=x, buf=n)
aclrtFreeBuf(buf=x)
y = aclrtAllocBuf(size=1)
z = aclrtAllocBuf(size=1)
"""


@pytest.mark.parametrize("backend", ["core", "simulator"])
def test_a_members_handle_may_come_again_after_its_uncertain_chain_was_freed(backend: str) -> None:
    program = parse_program(MEMBERS_GO_WITH_THEIR_HEAD)
    with open_backend(backend, Options()) as session:
        trace = session.run(program)
    judgement = judge(load_spec(), program, trace)
    assert (judgement.verdict, judgement.discrepancies) == (Verdict.PASS, ())


A_HEAD_STAYS_WHEN_ITS_MEMBER_IS_FREED = """
live
a = aclrtAllocBuf(size=1)
b = aclrtAllocBuf(size=1)
aclrtAppendBufChain(headBuf=a, buf=b)
aclrtFreeBuf(buf=a)
live
c = aclrtAllocBuf(size=1)
d = aclrtAllocBuf(size=1)
aclrtAppendBufChain(headBuf=c, buf=d)
aclrtFreeBuf(buf=d)
live
"""


@pytest.mark.parametrize("backend", ["core", "simulator"])
def test_that_members_go_with_a_head_says_nothing_of_a_head_whose_member_was_freed(backend: str) -> None:
    with open_backend(backend, Options()) as session:
        program = parse_program(A_HEAD_STAYS_WHEN_ITS_MEMBER_IS_FREED)
        judgement = judge(load_spec(), program, session.run(program))
    assert (judgement.verdict, judgement.discrepancies) == (Verdict.PASS, ())


def test_members_that_went_with_a_head_once_must_go_with_it_again() -> None:
    text = A_HEAD_STAYS_WHEN_ITS_MEMBER_IS_FREED.replace("FreeBuf(buf=d)", "FreeBuf(buf=c)")
    with open_backend("core", Options()) as session:
        trace = session.run(parse_program(text))
    records = trace.records
    last = records[-1]
    assert isinstance(last, LiveRecord)
    kept = replace(trace, records=(*records[:-1], replace(last, objects=last.objects + 1)))
    assert judge(load_spec(), parse_program(text), trace).verdict is Verdict.PASS
    assert judge(load_spec(), parse_program(text), kept).verdict is Verdict.LEAK
