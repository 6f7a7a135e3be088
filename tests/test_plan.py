"""Plans: what is known of a program before any library answers it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_programs import SPEC, Told, complete, tell
from test_oracle_properties import PROFILES, texts

from acl_cts.backends.backend import Options
from acl_cts.backends.simulator.session import SimulatorBackend
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.plan import Plan, plan
from acl_cts.specs.program import Call, Program, Repeat, walk
from acl_cts.specs.program_text import format_program, parse_program

A = "a = aclrtAllocBuf(size=4096)\n"
CHAIN = A + "b = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=b)\n"


def planned(text: str, *, robust: bool = False) -> Plan:
    """The plan of a program's text."""
    program = parse_program(text)
    return plan(SPEC, program.body, program.cleanup, robust=robust)


def given_back(text: str) -> list[str]:
    """What the clean-up frees, as text."""
    cleanup = planned(text).cleanup
    return format_program(Program((), cleanup)).split("cleanup:\n")[1].split("\n")[:-1] if cleanup else []


@pytest.mark.parametrize(
    "text",
    [
        A + "aclrtFreeBuf(buf=a)\naclrtGetBufDataLen(buf=a)\n",
        A + "aclrtFreeBuf(buf=a)\naclrtFreeBuf(buf=a)\n",
        CHAIN + "aclrtFreeBuf(buf=a)\naclrtGetBufData(buf=b)\n",
        CHAIN + "aclrtFreeBuf(buf=b)\naclrtGetBufData(buf=a)\n",
        A + "aclrtGetBufData(buf=a)\naclrtFreeBuf(buf=a)\nread a[0:1]\n",
        A + "aclrtGetBufData(buf=a)\nread a[0:4097]\n",
        A + "aclrtGetBufData(buf=a)\nwrite a[4096:4097] = bytes(0x00 * 1)\n",
        "d = aclrtAllocatorCreateDesc()\naclrtGetBufData(buf=d)\n",
    ],
)
def test_a_program_that_some_answer_makes_undefined(text: str) -> None:
    known = planned(text)
    assert known.undefined
    assert known.cleanup == ()


@pytest.mark.parametrize(
    "text",
    [
        A + "b = aclrtCopyBufRef(buf=a)\naclrtFreeBuf(buf=a)\naclrtGetBufData(buf=b)\n",
        CHAIN + "aclrtFreeBuf(buf=a)\n",
        CHAIN + "c = aclrtCopyBufRef(buf=b)\naclrtFreeBuf(buf=a)\n",
        A + "aclrtAppendBufChain(headBuf=a, buf=a)\naclrtGetBufChainNum(headBuf=a)\n",
        A + "aclrtGetBufData(buf=a)\nread a[4095:4096]\n",
        "aclrtGetBufData(buf=null)\n",
        A + "aclrtFreeBuf(buf=a)\nuntil b is a, at most 4: c[k] = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=b)\n",
    ],
)
def test_a_program_that_no_answer_makes_undefined(text: str) -> None:
    assert planned(text).undefined == ""


def test_with_robust_handles_what_is_certainly_gone_is_refused() -> None:
    gone = A + "aclrtFreeBuf(buf=a)\naclrtGetBufDataLen(buf=a)\n"
    assert planned(gone, robust=True).undefined == ""
    unknown = CHAIN + "aclrtFreeBuf(buf=a)\naclrtGetBufData(buf=b)\n"
    assert planned(unknown, robust=True).undefined
    again = (
        A + "aclrtFreeBuf(buf=a)\nuntil b is a, at most 4: c[k] = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\n"
    )
    assert planned(again, robust=True).undefined


@pytest.mark.parametrize(
    ("text", "cleanup"),
    [
        (A, ["    aclrtFreeBuf(buf=a)"]),
        (A + "aclrtFreeBuf(buf=a)\n", []),
        (A + "b = aclrtCopyBufRef(buf=a)\n", ["    aclrtFreeBuf(buf=b)", "    aclrtFreeBuf(buf=a)"]),
        (CHAIN, ["    aclrtFreeBuf(buf=a)"]),
        (CHAIN + "aclrtFreeBuf(buf=b)\n", []),
        ("a = aclrtAllocBuf(size=0)\n", ["    aclrtFreeBuf(buf=a)"]),
        ("d = aclrtAllocatorCreateDesc()\n", ["    aclrtAllocatorDestroyDesc(allocatorDesc=d)"]),
        (
            "repeat i in 5:\n    m[i] = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=m[2])\n",
            [
                "    repeat i in 2:",
                "        aclrtFreeBuf(buf=m[i+3])",
                "    repeat i in 2:",
                "        aclrtFreeBuf(buf=m[i])",
            ],
        ),
        (
            complete("d", 1) + "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n",
            [
                "    aclrtAllocatorUnregister(stream=s)",
                "    aclrtAllocatorDestroyDesc(allocatorDesc=d)",
                "    aclrtDestroyStream(stream=s)",
            ],
        ),
    ],
)
def test_what_is_certainly_alive_is_given_back(text: str, cleanup: list[str]) -> None:
    assert given_back(text) == cleanup


@pytest.mark.parametrize(("text", "leaves"), [(A, 0), (CHAIN, 1), (CHAIN + "aclrtFreeBuf(buf=b)\n", 2)])
def test_what_may_be_left_over_is_counted(text: str, leaves: int) -> None:
    assert planned(text).leaves == leaves


def test_what_a_later_program_could_see() -> None:
    registered = complete("d", 1) + "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n"
    assert not planned(registered).entangled
    assert planned(registered + "aclrtDestroyStream(stream=s)\n").entangled


def test_both_sides_of_an_open_point_are_followed() -> None:
    known = planned("a = aclrtAllocBuf(size=0)\non success:\n    aclrtGetBufData(buf=a)\non refusal:\n    live\n")
    assert known.opens[0] == 0
    assert {"mbuf.alloc.zero", "mbuf.data.empty", "mbuf.alloc.tidy"} <= known.clauses


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (A, {"mbuf.alloc.succeeds", "mbuf.alloc.handle"}),
        ("a = aclrtAllocBuf(size=2**32+1)\n", {"mbuf.alloc.limit", "mbuf.alloc.tidy"}),
        (A + "aclrtSetBufDataLen(buf=a, len=4096)\n", {"mbuf.set-len.limit", "mbuf.set-len.refused-keeps"}),
        (A + "aclrtGetBufData(buf=a)\nread a[0:1]\n", {"mbuf.data.usable", "mbuf.data.content"}),
        (CHAIN + "aclrtFreeBuf(buf=a)\n", {"mbuf.free.head", "mbuf.free.head-members"}),
    ],
)
def test_the_clauses_that_a_program_exercises(text: str, clauses: set[str]) -> None:
    known = planned(text).clauses
    assert clauses <= known
    assert known <= SPEC.clauses.keys()


def test_the_functions_that_are_called() -> None:
    assert planned(A).functions == {"aclrtAllocBuf", "aclrtFreeBuf"}


@settings(max_examples=150, deadline=None)
@given(texts, st.sampled_from(PROFILES))
def test_a_planned_program_is_defined_whatever_is_answered(text: str, profile: str) -> None:
    """No answer of a conforming library turns a planned program undefined, and its clean-up succeeds."""
    program = parse_program(text)
    known = plan(SPEC, program.body)
    if known.undefined or len(known.opens) > 4:
        return
    whole = Program(program.body, known.cleanup)
    with SimulatorBackend().open(Options(library=profile)) as session:
        told = Told(whole, session.run(whole))
    judged = told.judged()
    assert judged.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE), (format_program(whole), judged)
    given = {statement.function for statement in walk(known.cleanup) if isinstance(statement, Call)}
    others = {
        c.id for c in SPEC.clauses.values() if c.function in given or c.balance or c.touch or c.invoke or not c.function
    }
    others.add("allocator.get.stream-repeated")  # shows when an address comes again, which those of a plan never do
    assert judged.held - others <= known.clauses


def test_every_state_of_the_tables_is_planned() -> None:
    for kind in SPEC.kinds.values():
        for name, program in kind.states.items():
            known = plan(SPEC, (*program.body, *kind.probe))
            assert known.undefined == "", (kind.name, name)
            told = tell(format_program(Program((*program.body, *kind.probe), known.cleanup)))
            assert told.judged().verdict is Verdict.PASS, (kind.name, name)
            assert all(isinstance(s, Call | Repeat) for s in known.cleanup)
