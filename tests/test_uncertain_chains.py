"""Chains of which nobody knows any more who belongs to them: what lived in one may be gone with it."""

from __future__ import annotations

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_text import parse_program

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
