"""Hypothesis: programs and a state machine from the tables find a planted fault, and shrink to what shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzzed import EVERYTHING, assert_sound, tables
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.stateful import run_state_machine_as_test

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.simulator.session import SimulatorBackend
from acl_cts.fuzz.check import NonconformingError, check
from acl_cts.fuzz.state_machine import machine
from acl_cts.fuzz.strategies import programs
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Call, Int, Program, walk
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import Capability

QUIET: dict[str, Any] = {
    "database": None,
    "derandomize": True,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}
MBUF = frozenset({"mbuf"})

SEQUENCE = "get-data-clears-the-length"
"""A fault that takes four calls in the right order, on one handle."""


def defective(identifier: str) -> CoreBackend:
    """The core with one planted fault."""
    return CoreBackend(next(d.defines for d in load_defects() if d.id == identifier))


@settings(**{**QUIET, "derandomize": False}, max_examples=60)
@given(programs(tables()))
def test_drawn_programs_are_sound(program: Program) -> None:
    assert_sound(tables(), program)


def test_the_simplest_program_is_one_call() -> None:
    simplest = find(programs(load_spec()), lambda program: True, settings=settings(**QUIET))
    assert len([s for s in walk(simplest.body) if isinstance(s, Call)]) == 1


def test_programs_shrink_to_what_matters() -> None:
    """A refused length, the smallest one, and at most a macro around it, which counts as one decision."""

    def too_long(program: Program) -> bool:
        return any(
            isinstance(value, Int) and value.value >= 4096
            for s in walk(program.body)
            if isinstance(s, Call) and s.function == "aclrtSetBufDataLen"
            for _, value in s.args
        )

    small = find(programs(load_spec(), families=MBUF), too_long, settings=settings(**QUIET, max_examples=500))
    # Where shrinking stops depends on the modules that are loaded, as Hypothesis tries numbers that stand in them.
    assert len([s for s in walk(small.body) if isinstance(s, Call)]) <= 15
    assert "len=4096" in format_program(small)


def test_a_planted_fault_is_found_and_told(tmp_path: Path) -> None:
    spec = load_spec()
    with defective(SEQUENCE).open(Options()) as session:
        # Threads and cycles until memory is steady depend on chance, and so would the way to the shortest program.
        certain = session.capabilities - {Capability.THREAD_SAFE, Capability.MEMORY}

        @settings(**QUIET, max_examples=2500)
        @given(programs(spec, certain, families=MBUF))
        def conforms(program: Program) -> None:
            check(spec, session, program, tmp_path)

        with pytest.raises(NonconformingError) as caught:
            conforms()
    told = str(caught.value)
    assert "mbuf.get-len.last-set" in told
    command = told.splitlines()[-1]
    assert command.startswith("reproduce: acl-cts replay ")
    assert command.endswith("--backend core")
    kept = parse_program(Path(command.split()[3]).read_text(encoding="utf-8"))
    calls = [s.function for s in walk(kept.body) if isinstance(s, Call)]
    assert len(calls) <= 15, told  # a state of the tables, or a probe of five calls, is one decision and stays whole
    assert {"aclrtGetBufData", "aclrtSetBufDataLen", "aclrtGetBufDataLen"} <= set(calls)


def test_the_state_machine_finds_a_planted_fault_too() -> None:
    spec = load_spec()
    found = settings(**QUIET, max_examples=1000, stateful_step_count=20, phases=(Phase.generate,))
    with defective("set-user-last-byte-refused").open(Options()) as session:
        tested = machine(spec, session, families=MBUF)
        with pytest.raises(NonconformingError) as caught:
            run_state_machine_as_test(tested, settings=found)
    assert "mbuf.set-user.succeeds" in str(caught.value)
    assert "# acl-cts program 1" in str(caught.value)
    assert "reproduce (after saving the program above as program.txt): acl-cts replay program.txt" in str(caught.value)


def test_a_conforming_backend_is_not_accused() -> None:
    spec = load_spec()
    with SimulatorBackend().open(Options()) as session:
        run_state_machine_as_test(
            machine(spec, session), settings=settings(**QUIET, max_examples=15, stateful_step_count=15)
        )

        @settings(**QUIET, max_examples=60)
        @given(programs(spec, session.capabilities))
        def conforms(program: Program) -> None:
            check(spec, session, program)

        conforms()


def test_the_state_machine_has_a_rule_for_every_function_of_a_family_that_nobody_knows() -> None:
    class Session:
        capabilities = EVERYTHING
        missing = frozenset({"kvCount"})

    made = machine(tables(), Session(), families=frozenset({"keyed"}))  # type: ignore[arg-type]
    names = {name for name in vars(made) if name.startswith("kv")}
    assert names == set(tables().families["keyed"].functions) - {"kvCount"}
