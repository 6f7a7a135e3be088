"""Capsules: threads and watched cycles in fuzzed programs are closed, stay whole, and show what only they can show."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzzed import EVERYTHING, assert_sound, generator, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.capsules import MOST_ROUNDS, disarmed, executed, holds
from acl_cts.fuzz.choices import OPERATION, RECORD, Record, records, rolled
from acl_cts.fuzz.findings import FOLDER, known
from acl_cts.fuzz.follower import closed
from acl_cts.fuzz.generator import Builder, Generator
from acl_cts.fuzz.minimise import Minimiser
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.plan import CampaignPlan
from acl_cts.fuzz.renaming import numbered, variables
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Call, FailAllocation, Parallel, Program, Repeat, Statement, Steady, walk
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import Capability

SPEC = load_spec()
ROUNDS = """\
repeat round in 9:
    a = aclrtAllocBuf(size=64)
    parallel:
        branch:
            aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 8), size=8, offset=0)
            b = aclrtCopyBufRef(buf=a)
        branch:
            aclrtGetBufUserData(buf=a, size=8, offset=0)
    aclrtFreeBuf(buf=b)
    aclrtFreeBuf(buf=a)
"""
CYCLE = """\
steady in 256 to 2**22:
    a = aclrtAllocBuf(size=64)
    fail allocation 1
    b = aclrtCopyBufRef(buf=a)
    fail allocation 0
    aclrtFreeBuf(buf=b)
    aclrtFreeBuf(buf=a)
"""


def program(text: str) -> Program:
    """The program that `text` stands for."""
    return parse_program("# acl-cts program 1\n" + text)


def mended(text: str, capabilities: frozenset[Capability] = EVERYTHING) -> Program:
    """What a mutator makes of a program from elsewhere."""
    return Mutator(SPEC, capabilities, 1).mend(program(text))


def capsules(made: Program) -> list[Statement]:
    """The capsules in a program."""
    return [statement for statement in made.body if holds(statement)]


def decision(operation: str, rest: bytes, made: Generator) -> Record:
    """One record that asks for `operation`."""
    data = bytearray(rest.ljust(RECORD, b"\0"))
    data[OPERATION] = next(k for k, op in enumerate(made.operations) if op is getattr(Builder, operation))
    return Record(bytes(data))


# ------------------------------------------------------------------------------------------------------- generation


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(("mbuf", "allocator", "keyed")), st.sampled_from(("threads", "cycle")), st.binary(max_size=RECORD)
)
def test_any_record_gives_threads_and_cycles_that_are_sound(family: str, operation: str, data: bytes) -> None:
    made = generator(family)
    done = made.program([*records(data), decision(operation, data, made), *records(data[::-1])])
    assert_sound(tables(), done)
    for capsule in capsules(done):
        assert closed(tables(), capsule)
        assert not isinstance(capsule, Parallel)


def test_threads_of_all_sorts_come_up() -> None:
    dice, made = random.Random(3), generator("mbuf")
    numbers, alike, pairs, rounds = set(), False, set(), set()
    for _ in range(120):
        done = made.program([decision("threads", dice.randbytes(RECORD), made)])
        for capsule in capsules(done):
            assert isinstance(capsule, Repeat)
            rounds.add(capsule.count)
            for block in walk(capsule.body):
                if isinstance(block, Parallel):
                    names = [{s.function for s in branch if isinstance(s, Call)} for branch in block.branches]
                    numbers.add(len(names))
                    alike = alike or names[0] == names[1]
                    pairs |= {frozenset((one, other)) for one in names[0] for other in names[1]}
    assert numbers == {2, 3}
    assert alike
    assert len(pairs) > 30
    assert len(rounds) > 3
    assert max(rounds) <= MOST_ROUNDS


def test_cycles_have_failed_allocations_and_refused_calls() -> None:
    dice, made = random.Random(4), generator("mbuf")
    found = [s for _ in range(60) for s in capsules(made.program([decision("cycle", dice.randbytes(RECORD), made)]))]
    assert len(found) > 15
    assert any(isinstance(s, FailAllocation) for s in walk(tuple(found)))
    for cycle in found:
        assert isinstance(cycle, Steady)
        assert executed((cycle,)) < 2**14


def test_without_the_capabilities_there_are_none() -> None:
    bare = Generator(SPEC, EVERYTHING - {Capability.THREAD_SAFE, Capability.MEMORY})
    dice = random.Random(5)
    for _ in range(200):
        assert not capsules(bare.program(rolled(dice, 8)))
    assert not capsules(
        mended(ROUNDS + CYCLE.replace("a ", "c "), EVERYTHING - {Capability.THREAD_SAFE, Capability.MEMORY})
    )


# ----------------------------------------------------------------------------------------------------------- mending


@pytest.mark.parametrize("text", [ROUNDS, CYCLE])
def test_what_is_closed_stays_as_it_is(text: str) -> None:
    assert format_program(mended(text)) == format_program(program(text))


def test_the_conformance_cases_with_threads_and_growth_are_kept() -> None:
    mutator = Mutator(SPEC, EVERYTHING, 1)
    cases = [case for case in cached_cases(SPEC) if case.group in ("threads", "growth")]
    light = [case for case in cases if executed(case.program.body) < 2000 or case.group == "growth"]
    chosen = [case for case in light if int(case.id[-8:], 16) % 8 == 0]
    kept = [case for case in chosen if capsules(mutator.mend(case.program))]
    assert len(kept) > 0.8 * len(chosen) > 4, [case.id for case in chosen if case not in kept]


def test_what_was_not_given_back_is_given_back() -> None:
    (capsule,) = capsules(mended(ROUNDS.replace("    aclrtFreeBuf(buf=b)\n", "")))
    assert isinstance(capsule, Repeat)
    assert closed(SPEC, capsule)
    assert sum(isinstance(s, Call) and s.function == "aclrtFreeBuf" for s in capsule.body) == 2


def test_handles_from_outside_are_replaced_by_own_ones() -> None:
    done = mended(
        "z = aclrtAllocBuf(size=8)\n" + ROUNDS.replace("aclrtGetBufUserData(buf=a", "aclrtGetBufUserData(buf=z")
    )
    (capsule,) = capsules(done)
    assert "z" not in variables((capsule,))


def test_names_that_are_taken_are_changed_and_later_ones_too() -> None:
    done = mended("a = aclrtAllocBuf(size=8)\n" + ROUNDS + "b = aclrtCopyBufRef(buf=a)\n" + ROUNDS)
    inside = [variables((capsule,)) for capsule in capsules(done)]
    outside = variables(tuple(s for s in done.body if not holds(s)))
    assert len(inside) == 2
    assert not inside[0] & inside[1]
    assert not (inside[0] | inside[1]) & outside
    assert_sound(SPEC, done)


@pytest.mark.parametrize(
    "block",
    [
        ROUNDS.replace("aclrtGetBufUserData(buf=a, size=8, offset=0)", "aclrtFreeBuf(buf=a)"),
        "parallel:\n    branch:\n        aclrtGetBufData(buf=z)\n    branch:\n        aclrtGetBufData(buf=z)\n",
        "steady in 9 to 99:\n    aclrtCopyBufRef(buf=z)\n",
    ],
    ids=["one thread frees what another one uses", "handles from outside only", "a cycle about nothing of its own"],
)
def test_what_cannot_be_closed_is_not_kept(block: str) -> None:
    done = mended("z = aclrtAllocBuf(size=8)\n" + block)
    assert_sound(SPEC, done)
    assert not any(isinstance(s, Parallel) and len(s.branches) > 1 and "z" in variables((s,)) for s in walk(done.body))
    assert all("z" not in variables((capsule,)) for capsule in capsules(done))


def test_no_capsule_stands_behind_an_armed_fault() -> None:
    assert not capsules(mended("z = aclrtAllocBuf(size=8)\nfail allocation 3\n" + ROUNDS))


def test_faults_are_taken_back_behind_the_call_that_they_are_for() -> None:
    body = program("fail allocation 2\na = aclrtAllocBuf(size=1)\nb = aclrtAllocBuf(size=1)\nfail allocation 1").body
    assert [type(s) for s in disarmed(body)] == [FailAllocation, Call, FailAllocation, Call]
    assert disarmed(disarmed(body)) == disarmed(body)


def test_only_the_names_of_capsules_do_not_count() -> None:
    (one,), (other,) = program(ROUNDS).body, program(ROUNDS.replace("b = ", "q = ").replace("buf=b", "buf=q")).body
    assert one != other
    assert numbered((one,)) == numbered((other,))


# ---------------------------------------------------------------------------------------------- mutants, minimising


def test_mutants_of_capsules_are_sound_and_of_every_sort() -> None:
    mutator, start = Mutator(SPEC, EVERYTHING, 3), mended(ROUNDS + CYCLE)
    seen: set[tuple[str, int]] = set()
    for turn in range(120):
        made = mutator.mutate(start)
        if turn % 3 == 0:
            assert_sound(SPEC, made)
        for capsule in capsules(made):
            if isinstance(capsule, Repeat):
                (block,) = [s for s in capsule.body if isinstance(s, Parallel)]
                seen |= {("rounds", capsule.count != 9), ("threads", len(block.branches))}
                seen.add(("calls", sum(map(len, block.branches))))
            elif isinstance(capsule, Steady):
                seen.add(("turn", len(capsule.body)))
    assert seen >= {("rounds", True), ("threads", 3), ("calls", 2), ("calls", 4)}
    assert len({length for name, length in seen if name == "turn"}) > 3


def test_threads_are_minimised_to_two_short_ones() -> None:
    mutator, start = Mutator(SPEC, EVERYTHING, 3), mended("z = aclrtAllocBuf(size=8)\n" + ROUNDS)

    def shows(made: Program) -> bool:
        blocks = [s for s in walk(made.body) if isinstance(s, Parallel)]
        return any(
            any(isinstance(s, Call) and s.function == "aclrtCopyBufRef" for branch in b.branches for s in branch)
            for b in blocks
        )

    (capsule,) = Minimiser(mutator, shows, 200).minimise(start).body
    assert isinstance(capsule, Repeat)
    assert capsule.count == 1
    assert max(len(branch) for s in capsule.body if isinstance(s, Parallel) for branch in s.branches) == 1


# ------------------------------------------------------------------------------------------------- what they show


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes generators do nearly nothing but one operation, and keeps triage short."""

    def choose(operation: str) -> None:
        monkeypatch.setattr("acl_cts.fuzz.generator._SHARES", ((operation, 240),))
        monkeypatch.setattr("acl_cts.fuzz.triage.CAPSULE_BUDGET", 6)
        monkeypatch.setattr("acl_cts.fuzz.triage.REPEATS", 2)

    return choose


def hunted(corpus: Path, defect: str, flavour: str, runs: int) -> set[str]:
    """Clauses of the findings of a campaign up to the first one."""
    (planted,) = [each for each in load_defects() if each.id == defect]
    backend = "core:tsan" if flavour == "tsan" else "core"
    options = Options(library=str(build_core(flavour, planted.defines)), call_timeout=5.0)
    campaign = Campaign(CampaignPlan((backend,), options, corpus, 1, runs, empty=True))
    for event in campaign.run():
        if event.kind == "finding":
            campaign.stopped = lambda: True
    return {found.bucket.root.clause for found in known(corpus / FOLDER)}


def test_a_race_is_found_and_confirmed(tmp_path: Path, only: Callable[[str], None]) -> None:
    only("threads")
    assert "common.threads" in hunted(tmp_path, "alloc-without-the-lock", "tsan", 300)


def test_memory_that_grows_is_found(tmp_path: Path, only: Callable[[str], None]) -> None:
    only("cycle")
    assert hunted(tmp_path, "freed-areas-are-kept", "plain", 300) & {"mbuf.free.gives-back", "common.fault-clean"}


@pytest.mark.parametrize("backend", ["core", "simulator"])
def test_what_conforms_is_not_accused(backend: str) -> None:
    dice = random.Random(11)
    with open_backend(backend, dataclasses.replace(Options(), call_timeout=5.0)) as session:
        made = Generator(SPEC, session.capabilities, families=frozenset(("mbuf",)))
        other = Generator(SPEC, session.capabilities, families=frozenset(("allocator",)))
        sorts = ["threads", "cycle"] if Capability.MEMORY in session.capabilities else ["threads"]
        for turn in range(40):
            kind = (made, other)[turn % 2]
            done = kind.program([decision(sorts[turn // 2 % len(sorts)], dice.randbytes(RECORD), kind)])
            trace = session.run(done)
            attempt = Attempt(trace, judge(SPEC, done, trace))
            assert not attempt.failing, f"{attempt.reason}\n{format_program(done)}"
            assert attempt.judgement.verdict.value != "error", attempt.judgement.reason
