"""Detours: what is left of a case when a function that it only looks through is not executed any more."""

from __future__ import annotations

import pytest

from acl_cts.conformance.case import Case
from acl_cts.conformance.detour import around
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Call, Program, walk
from acl_cts.specs.program_text import format_program, parse_program

SPEC = load_spec()
LOOK = "aclrtGetBufDataLen"


def case(text: str, id: str = "mbuf/limit/aclrtSetBufUserData/size~00000000", group: str = "limit") -> Case:
    program = parse_program(text)
    functions = frozenset(s.function for s in walk((*program.body, *program.cleanup)) if isinstance(s, Call))
    clauses = frozenset({"mbuf.get-len.fresh", "mbuf.alloc.succeeds"})
    return Case(id, "mbuf", group, program, clauses, functions)


def rest(text: str, function: str = LOOK) -> Program | None:
    shorter = around(SPEC, case(text), function)
    return None if shorter is None else shorter.program


def test_a_look_is_left_out_and_all_else_stays() -> None:
    text = "a = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\ncleanup:\n    aclrtFreeBuf(buf=a)\n"
    shorter = around(SPEC, case(text), LOOK)
    assert shorter is not None
    left = "a = aclrtAllocBuf(size=64)\ncleanup:\n    aclrtFreeBuf(buf=a)\n"
    assert format_program(shorter.program) == format_program(parse_program(left))
    assert shorter.functions == {"aclrtAllocBuf", "aclrtFreeBuf"}
    assert shorter.clauses == {"mbuf.alloc.succeeds"}
    assert shorter.id == case(text).id


def test_an_answer_that_nobody_uses_is_a_look() -> None:
    text = "a = aclrtAllocBuf(size=64)\nb = aclrtGetBufFromChain(headBuf=a, index=0)\n"
    assert rest(text, "aclrtGetBufFromChain") == parse_program("a = aclrtAllocBuf(size=64)\n")


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("a = aclrtAllocBuf(size=64)\naclrtSetBufDataLen(buf=a, len=1)\n", "aclrtSetBufDataLen"),
        ("a = aclrtAllocBuf(size=64)\n", "aclrtAllocBuf"),
        ("a = aclrtAllocBuf(size=64)\naclrtGetBufData(buf=a)\nread a[0:1]\n", "aclrtGetBufData"),
        (
            "a = aclrtAllocBuf(size=64)\nb = aclrtGetBufFromChain(headBuf=a, index=0)\naclrtGetBufData(buf=b)\n",
            "aclrtGetBufFromChain",
        ),
        ("a = aclrtAllocBuf(size=64)\nrepeat k in 2:\n    aclrtGetBufDataLen(buf=a)\n", LOOK),
        ("a = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\non refusal:\n    aclrtFreeBuf(buf=a)\n", LOOK),
        ("a = aclrtAllocBuf(size=64)\nnosuch()\n", "nosuch"),
    ],
    ids=["changes", "creates", "locates", "used", "in-a-block", "decides", "unknown"],
)
def test_a_call_that_others_rest_on_is_no_look(text: str, function: str) -> None:
    assert rest(text, function) is None


def test_a_case_about_the_function_itself_has_no_detour() -> None:
    text = "a = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\n"
    about = case(text, id=f"mbuf/state/{LOOK}/fresh~00000000", group="state")
    assert around(SPEC, about, LOOK) is None
    by_hand = case(text, id="mbuf/scenario/A1/size~00000000", group="scenario")
    assert around(SPEC, by_hand, LOOK) is None
