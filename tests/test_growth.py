"""Growth: memory that is never given back is told from what a library keeps for later, and never by its own count."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from target_build import TARGETS, build
from target_run import run_here, run_session

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.growth import GROUP
from acl_cts.reports.results import Cause
from acl_cts.specs.growth import STEADY_POOL, growing, leaked
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Steady
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import CallRecord, Capability, MemoryRecord, Sample

CYCLE = """\
steady in {least} to {most}:
    a = aclrtAllocBuf(size=4096)
    aclrtFreeBuf(buf=a)
"""


@cache
def growth_cases(family: str = "") -> tuple[Case, ...]:
    """All cases of growth, or those of one family."""
    return tuple(c for c in cached_cases(load_spec()) if c.group == GROUP and family in ("", c.family))


def simple(function: str, label: str) -> Case:
    """The case of growth with this label."""
    (case,) = (c for c in growth_cases() if c.id.startswith(f"{c.family}/{GROUP}/{function}/{label}~"))
    return case


def samples(*held: int, device: tuple[int, ...] = ()) -> tuple[Sample, ...]:
    """Samples after 32, 64, ... turns."""
    return tuple(Sample(2 ** (5 + k), host, device[k] if device else 0) for k, host in enumerate(held))


# ---- what the samples say


@given(st.integers(32, 2**20), st.integers(0, 2**20))
def test_what_is_lost_in_every_turn_is_a_leak_once_it_is_more_than_a_pool(lost: int, kept: int) -> None:
    held = [kept + lost * 2**k for k in range(5, 23)]
    while len(held) > 6 and held[-2] > STEADY_POOL and 4 * (held[-1] - held[-2]) >= held[-1]:
        held.pop()
    assert leaked(samples(*held)) != ""
    assert growing(samples(*held))


@given(st.integers(1, 2**16), st.integers(1, STEADY_POOL))
def test_a_pool_that_fills_up_is_none(lost: int, room: int) -> None:
    for count in range(1, 20):
        assert leaked(samples(*(min(room, lost * 2**k) for k in range(5, 5 + count)))) == ""


def test_a_table_that_doubles_with_what_is_lost_is_a_leak() -> None:
    assert leaked(samples(*(3 * 2 ** (10 + k) for k in range(17)))) != ""


def test_one_large_block_is_no_leak_and_nothing_grows_after_it() -> None:
    once = samples(0, 0, 0, 2 * STEADY_POOL, 2 * STEADY_POOL)
    assert leaked(once) == ""
    assert not growing(once)
    assert leaked(samples(0, 0, 0, 0, 2 * STEADY_POOL)) == ""


def test_noise_of_less_than_a_byte_a_turn_is_not_growth() -> None:
    assert not growing(samples(*(2**k for k in range(17))))


def test_on_a_device_growth_must_be_regular_as_others_take_memory_there_too() -> None:
    regular = tuple(2**20 * 2**k for k in range(9))
    assert "device" in leaked(samples(*[0] * 9, device=regular))
    assert leaked(samples(*[0] * 9, device=(*regular[:-1], regular[-1] + 2**27))) == ""


# ---- libraries


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the libraries of this process are built."""
    return tmp_path_factory.mktemp("hoarders")


@pytest.mark.parametrize("name", ["hoards-64-mib", "table-doubles"])
def test_what_is_kept_for_later_is_no_leak(name: str, folder: Path) -> None:
    library = build(next(target for target in TARGETS if target.name == name), folder)
    (run,) = run_here(load_spec(), library, growth_cases("mbuf"), whole=False).runs
    judged = [case for case in run.cases if case.verdict is not Verdict.NOT_RUN]
    assert len(judged) > 20
    assert {case.verdict for case in judged} == {Verdict.PASS}
    assert sum("mbuf.free.gives-back" in case.held for case in judged) > 20


def test_what_is_kept_for_ever_is_a_leak_without_a_count_of_the_library(folder: Path) -> None:
    library = build(next(target for target in TARGETS if target.name == "hoards-all"), folder)
    chosen = (simple("aclrtAllocBuf", "mbuf-fresh"), simple("aclrtAllocatorCreateDesc", "desc-complete"))
    (run,) = run_here(load_spec(), library, chosen, whole=False).runs
    assert Capability.LIVE_COUNT not in run.capabilities
    assert [case.verdict for case in run.cases] == [Verdict.LEAK, Verdict.PASS]
    assert [found.clause for found in run.cases[0].discrepancies] == ["mbuf.free.gives-back"]


@pytest.mark.parametrize("flavour", ["plain", "asan"])
def test_the_core_holds_no_more_after_many_turns(flavour: str) -> None:
    (run,) = run_session(load_spec(), CoreBackend().open(Options(flavour=flavour)), growth_cases(), False).runs
    assert {case.verdict for case in run.cases} == {Verdict.PASS}
    clauses = {"mbuf.free.gives-back", "allocator.destroy.gives-back", "common.fault-clean"}
    assert all(clauses & set(case.held) for case in run.cases)


def test_where_memory_cannot_be_measured_nothing_is_judged() -> None:
    (run,) = run_session(load_spec(), open_backend("simulator", Options()), growth_cases()[:3], False).runs
    assert {(case.verdict, case.cause) for case in run.cases} == {(Verdict.NOT_RUN, Cause.CAPABILITY)}
    assert all("memory" in case.reason for case in run.cases)


# ---- the executor


def told(text: str, *defines: str) -> tuple[tuple[CallRecord, ...], tuple[MemoryRecord, ...], Judgement]:
    """What the core answers to a program: its calls, its measurements, and the judgement."""
    spec, program = load_spec(), parse_program(text)
    with CoreBackend(defines).open(Options()) as session:
        trace = session.run(program)
    calls = tuple(record for record in trace.records if isinstance(record, CallRecord))
    return calls, tuple(r for r in trace.records if isinstance(r, MemoryRecord)), judge(spec, program, trace)


def test_one_turn_is_told_and_memory_whenever_turns_have_doubled() -> None:
    calls, (start, end), judgement = told(CYCLE.format(least=100, most=4096))
    assert [call.function for call in calls] == ["aclrtAllocBuf", "aclrtFreeBuf"]
    assert start.samples == ()
    assert [sample.turns for sample in end.samples] == [32, 64, 128]
    assert judgement.verdict is Verdict.PASS
    assert "mbuf.free.gives-back" in judgement.held


def test_there_are_no_more_turns_than_allowed() -> None:
    _, (_, end), _ = told(CYCLE.format(least=100, most=100))
    assert [sample.turns for sample in end.samples] == [32, 64, 100]


def test_a_turn_that_is_answered_otherwise_is_judged_and_ends_the_block() -> None:
    calls, (_, end), judgement = told(CYCLE.format(least=2**17, most=2**20), "CORE_DEFECT=CORE_DEFECT_alloc_worn_out")
    assert [call.ret for call in calls[:3]][:2] == [0, 0]
    assert calls[2].ret != 0
    assert end.samples[-1].turns == 2**15
    assert [found.clause for found in judgement.discrepancies] == ["mbuf.alloc.succeeds"]


def test_what_a_block_leaves_alive_is_no_leak() -> None:
    text = "a = aclrtAllocBuf(size=4096)\nsteady in 16 to 64:\n    b = aclrtCopyBufRef(buf=a)\ncleanup:\n"
    _, _, judgement = told(text + "    aclrtFreeBuf(buf=a)\n")
    assert judgement.verdict is not Verdict.LEAK


def test_what_threads_keep_is_found_in_whatever_order_they_are_followed() -> None:
    text = """\
a = aclrtAllocBuf(size=4096)
parallel:
    branch:
        b = aclrtCopyBufRef(buf=a)
    branch:
        c = aclrtCopyBufRef(buf=a)
steady in 1024 to 2**22:
    parallel:
        branch:
            d = aclrtAllocBuf(size=4096)
            aclrtFreeBuf(buf=d)
        branch:
            e = aclrtAllocBuf(size=4096)
            aclrtFreeBuf(buf=e)
"""
    _, _, sound = told(text)
    assert sound.verdict is Verdict.PASS
    assert "mbuf.free.gives-back" in sound.held
    _, _, judgement = told(text, "CORE_DEFECT=CORE_DEFECT_uncounted_areas_stay")
    assert [found.clause for found in judgement.discrepancies] == ["mbuf.free.gives-back"]


# ---- the cases


def test_every_function_that_can_be_refused_is_refused_many_times() -> None:
    spec = load_spec()
    refusing = {f.name for f in spec.functions.values() if any(c.outcome == "error" for c in f.clauses)}
    covered = {case.id.split("/")[2] for case in growth_cases() if "/refused~" in case.id}
    assert covered == refusing


def test_every_case_is_one_block_that_needs_measured_memory() -> None:
    for case in growth_cases():
        assert [type(statement) for statement in case.program.body] == [Steady]
        assert Capability.MEMORY in case.needs
        assert not case.program.cleanup
