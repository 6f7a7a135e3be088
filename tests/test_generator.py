"""The case list: large enough, distinct, named well, the same everywhere, and at the edges that the tables state."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acl_cts.conformance.boundary import Edge, SumEdge, around, edges, pairs, sums
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.generator import case_list_hash
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.loader import load_spec
from acl_cts.specs.plan import follow, plan
from acl_cts.specs.program import Call, Int, Null, Program, walk
from acl_cts.specs.program_bytes import decode_program, digest, encode_program
from acl_cts.specs.program_text import format_program, parse_program

SPEC = load_spec()
CASES = cached_cases(SPEC)
GOLDEN = Path(__file__).parent / "case_list.sha256"


def calls(program: Program) -> list[Call]:
    return [s for s in (*walk(program.body), *walk(program.cleanup)) if isinstance(s, Call)]


def test_there_are_enough_distinct_cases_in_few_enough_items() -> None:
    assert len({(digest(c.program), c.clauses) for c in CASES}) == len(CASES) >= 1500
    assert len({c.item for c in CASES}) <= 5000


def test_every_group_has_cases() -> None:
    groups = Counter(c.group for c in CASES)
    for group in (
        "simple",
        "limit",
        "null",
        "state",
        "pair",
        "isolation",
        "related",
        "crowd",
        "sweep",
        "cycle",
        "again",
        "recycled",
        "fault",
        "robustness",
    ):
        assert groups[group] >= 10, group
    assert groups["scenario"] >= 60


def test_ids_are_unique_readable_and_end_in_the_program_digest() -> None:
    assert len({c.id for c in CASES}) == len(CASES)
    for case in CASES:
        assert re.fullmatch(r"[a-z]+/[a-z]+/[^\s~]+~[0-9a-f]{8}", case.id), case.id
        assert case.id.endswith(digest(case.program)[:8])
        assert len(case.id) < 200


def test_ids_name_boundaries() -> None:
    names = "\n".join(c.id for c in CASES)
    for part in (
        "set-user.size/private-set/size=private_area+1~",
        "set-user.offset/private-set/offset=private_area~",
        "get-user.offset/private-set/offset=private_area+1~",
        "set-len.limit/located/len=area.size-1~",
        "set-len.limit/located/len=area.size~",
        "set-len.limit/located/len=area.size+1~",
        "alloc.limit/size=data_area.max~",
        "alloc.limit/size=data_area.max+1~",
        "alloc.between-readings/size=data_area.min+1~",
        "from-chain.index/full-chain/index=chain-1~",
        "from-chain.index/full-chain/index=chain~",
    ):
        assert part in names, part


def test_the_list_is_the_same_for_every_hash_seed() -> None:
    """Made anew in a process of another seed than the one that made what is kept."""
    code = (
        "from acl_cts.specs.loader import load_spec; from acl_cts.conformance.generator import *; "
        "print(case_list_hash(cases(load_spec())))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "4711"}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == case_list_hash(CASES)


def test_the_list_is_the_one_committed() -> None:
    """A changed list is a changed suite: it must be meant. `acl-cts list --hash` prints the new hash."""
    assert case_list_hash(CASES) == GOLDEN.read_text().split()[0]


def test_no_case_is_undefined_in_any_world_of_answers() -> None:
    for case in CASES:
        robust = case.group == "robustness"
        assert plan(SPEC, case.program.body, case.program.cleanup, robust=robust).undefined == "", case.id


def test_undefined_calls_stay_in_the_robustness_group() -> None:
    """That no other case has one is what the test above says."""
    for case in CASES:
        if case.group == "robustness":
            assert plan(SPEC, case.program.body, case.program.cleanup).undefined != "", case.id


def test_every_program_survives_text_and_bytes() -> None:
    for case in CASES[::3]:
        assert parse_program(format_program(case.program)) == case.program, case.id
        assert decode_program(encode_program(case.program)) == case.program, case.id


def test_every_pointer_is_null_somewhere() -> None:
    seen = {
        (call.function, name)
        for case in CASES
        for call in calls(case.program)
        for name, value in call.args
        if isinstance(value, Null)
    }
    for function in SPEC.functions.values():
        for param in function.signature.params:
            if param.out or param.kind is not Kind.INTEGER:
                assert (function.name, param.name) in seen


def test_every_function_meets_every_state() -> None:
    """By program or, where two states come to the same program, by that one."""
    for kind in SPEC.kinds.values():
        for name in kind.states:
            for function in SPEC.functions.values():
                takes = [
                    p
                    for p in function.signature.params
                    if p.kind is Kind.HANDLE and p.handle == kind.name and not p.out
                ]
                if takes:
                    label = f"{kind.family}/state/{function.name}/{kind.name}-{name}"
                    assert any(label in c.id for c in CASES) or _elsewhere(function.name, kind.states[name]), label


def _elsewhere(function: str, state: Program) -> bool:
    return any(
        function in [c.function for c in calls(case.program)] and set(calls(state)) <= set(calls(case.program))
        for case in CASES
    )


def frame_of(function: str, *before: str) -> Frame:
    run = follow(SPEC, parse_program("\n".join(before[:-1])).body)
    call = parse_program(before[-1]).body[0]
    assert isinstance(call, Call)
    assert call.function == function
    return run.frame(call, {})


def test_edges_are_read_off_the_guards() -> None:
    frame = frame_of(
        "aclrtSetBufDataLen",
        "x = aclrtAllocBuf(size=4096)",
        "aclrtGetBufData(buf=x)",
        "aclrtSetBufDataLen(buf=x, len=9)",
    )
    found = edges(SPEC.functions["aclrtSetBufDataLen"], frame)
    assert Edge("len", "mbuf.set-len.limit", "area.size", 4096) in found
    assert {e.value for e in found} == {0, 4096}


def test_sums_are_read_off_the_guards() -> None:
    frame = frame_of(
        "aclrtGetBufUserData", "x = aclrtAllocBuf(size=4096)", "aclrtGetBufUserData(buf=x, size=96, offset=0)"
    )
    assert sums(SPEC.functions["aclrtGetBufUserData"], frame) == [
        SumEdge("offset", "size", "mbuf.get-user.sum", "private_area", 96)
    ]


@given(value=st.integers(2, 2**63), bits=st.sampled_from([32, 64]))
def test_values_around_an_edge(value: int, bits: int) -> None:
    found = {v.value for v in around(Edge("p", "c", "limit", value), bits)}
    assert all(0 <= v < 2**bits for v in found)
    assert {v for v in (value - 1, value, value + 1) if v < 2**bits} <= found
    assert {0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1} <= found


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_pairs_hold_sums_that_wrap_into_the_allowed_range(width: int) -> None:
    found = [(a.value, b.value) for a, b in pairs(SumEdge("a", "b", "c", "limit", 96), 64)]
    assert any(a + b > 96 and (a + b) % 2**width <= 96 for a, b in found)
    assert {(0, 96), (96, 0), (1, 95), (95, 1), (48, 48), (1, 96), (96, 1), (96, 96)} <= set(found)
    assert all(0 <= a < 2**64 and 0 <= b < 2**64 for a, b in found)


def test_limits_are_met_at_minus_one_zero_and_plus_one() -> None:
    """Counted over the calls themselves, so that a case that was lost shows."""
    sizes: Counter[int] = Counter()
    for case in CASES:
        for call in calls(case.program):
            if call.function == "aclrtAllocBuf":
                sizes.update(v.value for n, v in call.args if n == "size" and isinstance(v, Int) and v.loop is None)
    for reading in SPEC.limits["data_area"].readings.values():
        assert all(sizes[reading + k] > 0 for k in (-1, 0, 1))


def test_a_case_says_what_it_needs() -> None:
    by_id: dict[str, Case] = {c.id.rsplit("~", 1)[0]: c for c in CASES}
    assert by_id["mbuf/fault/aclrtAllocBuf/every-allocation"].needs == {"fault-injection"}
    assert all(c.needs == {"robust-handles"} for c in CASES if c.group == "robustness")
