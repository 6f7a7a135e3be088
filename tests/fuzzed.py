"""What the tests of the fuzzer share: tables, generators, and what must hold of every program."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from acl_cts.fuzz.generator import Generator
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import decode_program, encode_program
from acl_cts.specs.program_rules import check_program
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import Capability

EVERYTHING = frozenset(Capability)
KEYED = Path(__file__).resolve().parent / "families" / "keyed.yaml"
"""A family that no line of Python knows."""

FAMILIES = ("mbuf", "allocator", "keyed")


@cache
def tables() -> Spec:
    """All three families."""
    return load_spec(more=(str(KEYED),))


@cache
def generator(family: str = "") -> Generator:
    """A generator for one family, or for all."""
    return Generator(tables(), EVERYTHING, families=frozenset((family,)) if family else frozenset())


def assert_sound(spec: Spec, program: Program) -> None:
    """It is well formed, goes through both of its forms, and no call is undefined in any world."""
    check_program(program)
    assert parse_program(format_program(program)) == program
    assert decode_program(encode_program(program)) == program
    planned = plan(spec, program.body, program.cleanup)
    assert planned.undefined == "", f"{planned.undefined}\n{format_program(program)}"
