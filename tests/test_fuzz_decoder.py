"""The decoder: total, sound, deterministic, local; and it reaches every clause of every family."""

from __future__ import annotations

import difflib
import os
import random
import subprocess
import sys

import pytest
from fuzzed import EVERYTHING, FAMILIES, assert_sound, generator, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from acl_cts.fuzz.choices import COUNT, MOST, NULLS, OPERATION, RECORD, TAG, Record, records, rolled
from acl_cts.fuzz.decoder import decode
from acl_cts.fuzz.generator import VERY_MANY, Generator
from acl_cts.specs.loader import load_spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import (
    Call,
    FailAllocation,
    Int,
    Invoke,
    Live,
    Null,
    Program,
    Read,
    Repeat,
    UntilSame,
    Write,
    children,
    walk,
)
from acl_cts.specs.program_bytes import digest
from acl_cts.specs.trace import Capability

HOSTILE = {
    "zeros": bytes(160),
    "ones": b"\xff" * 160,
    "half": b"\x80" * 160,
    "counting": bytes(range(256)),
    "one byte": b"\xf0",
    "all null": bytes([0, 7, 255, 255]) + bytes(12),
    "text": b"# acl-cts program 1\na = aclrtAllocBuf(size=4096)\naclrtFreeBuf(buf=a)\naclrtFreeBuf(buf=a)\n",
}

NEVER = {"mbuf.free.gives-back", "allocator.destroy.gives-back", "keyed.close.gives-back"}
"""Clauses that counts of live objects put to the test, which a plan does not tell."""


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=12 * RECORD))
def test_any_bytes_are_a_program_without_undefined_calls(data: bytes) -> None:
    assert_sound(tables(), decode(tables(), data))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_bytes_are_a_program_too(name: str, family: str) -> None:
    assert_sound(tables(), generator(family).program(records(HOSTILE[name])))


def test_no_bytes_are_the_empty_program() -> None:
    assert decode(tables(), b"") == Program(())


def test_very_long_input_is_cut() -> None:
    data = random.Random(1).randbytes(RECORD * MOST)
    assert decode(tables(), data + bytes(100_000)) == decode(tables(), data)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_of_every_family_are_sound(seed: int) -> None:
    dice = random.Random(seed)
    for family in ("", *FAMILIES):
        for _ in range(60):
            assert_sound(tables(), generator(family).program(rolled(dice, dice.randint(1, 12))))


def test_the_same_bytes_give_the_same_program_everywhere() -> None:
    script = (
        "import random; from acl_cts.fuzz.decoder import decode; from acl_cts.specs.loader import load_spec;"
        "from acl_cts.specs.program_bytes import digest; dice = random.Random(4); spec = load_spec();"
        "print([digest(decode(spec, dice.randbytes(200))) for _ in range(30)])"
    )
    dice = random.Random(4)
    expected = str([digest(decode(load_spec(), dice.randbytes(200))) for _ in range(30)])
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.stdout.strip() == expected


# ------------------------------------------------------------------------------------------------- small changes


def likeness(one: Program, other: Program) -> float:
    """How much of two bodies is the same, in the same order: 0 to 1."""
    return difflib.SequenceMatcher(None, one.body, other.body, autojunk=False).ratio()


def test_a_small_change_in_bytes_is_a_small_change_in_the_program() -> None:
    dice, changed, inserted = random.Random(2), [], []
    for _ in range(150):
        data = dice.randbytes(RECORD * 10)
        program, place = decode(tables(), data), dice.randrange(len(data))
        other = data[:place] + bytes([(data[place] + 1) % 256]) + data[place + 1 :]
        changed.append(likeness(program, decode(tables(), other)))
        start = place - place % RECORD
        inserted.append(likeness(program, decode(tables(), data[:start] + dice.randbytes(RECORD) + data[start:])))
    assert sum(changed) / len(changed) > 0.9
    assert sum(inserted) / len(inserted) > 0.75


def test_a_record_does_not_borrow_from_its_neighbour() -> None:
    dice = random.Random(3)
    for _ in range(50):
        first, second = dice.randbytes(RECORD), dice.randbytes(RECORD)
        alone = decode(tables(), first).body
        assert decode(tables(), first + second).body[: len(alone)] == alone


# ---------------------------------------------------------------------------------------------------- what is reached


@pytest.mark.parametrize(("family", "programs"), [("mbuf", 1400), ("allocator", 1400), ("keyed", 700)])
def test_every_clause_is_reached(family: str, programs: int) -> None:
    dice, spec = random.Random(7), tables()
    wanted = {clause.id for clause in spec.clauses.values() if clause.family == family} - NEVER
    for _ in range(programs):
        program = generator(family).program(rolled(dice, 7))
        wanted -= plan(spec, program.body, program.cleanup).clauses
        if not wanted:
            break
    assert wanted == set()


def test_every_sort_of_statement_comes_up() -> None:
    dice = random.Random(5)
    seen = {type(s) for _ in range(300) for s in walk(generator("mbuf").program(rolled(dice, 8)).body)}
    seen |= {type(s) for _ in range(100) for s in walk(generator("allocator").program(rolled(dice, 8)).body)}
    assert seen >= {Call, Repeat, UntilSame, Write, Read, Invoke, FailAllocation, Live}


def test_macros_do_not_starve_plain_calls() -> None:
    """Also where every record asks for a macro."""
    builder = generator("mbuf").begin()
    macro = next(k for k, op in enumerate(generator("mbuf").operations) if op.__name__ == "macro")
    before = 0
    sizes = []
    for k in range(12):
        builder.decide(Record(bytes([macro, k]) + bytes(11) + bytes([k, 7 * k, 0])))
        sizes.append(len(builder.follower.body) - before)
        before = len(builder.follower.body)
    assert len([size for size in sizes if size > 3]) <= 6


def test_deep_states_are_one_decision() -> None:
    form = next(k for k, op in enumerate(generator("mbuf").operations) if op.__name__ == "call")
    counts = set()
    for byte in range(240, 256):
        for mark in range(6):
            data = bytearray(RECORD)
            data[OPERATION], data[COUNT], data[TAG] = form, byte, mark
            body = generator("mbuf").program(records(bytes(data))).body
            counts |= {s.count for s in walk(body) if isinstance(s, Repeat)}
    assert counts >= {2, 3, 5, 127, 128, 129, 300}
    copy = [*generator("mbuf").forms].index("aclrtCopyBufRef")
    many = generator("mbuf").program([Record(bytes([copy, 255, 255]) + bytes(13))])
    assert [s.count for s in many.body if isinstance(s, Repeat)] == [VERY_MANY]


def test_null_comes_up_in_the_place_of_every_pointer() -> None:
    wanted = {(f.name, p) for f in generator().forms.values() for p in f.pointers}
    dice = random.Random(6)
    for _ in range(3000):
        data = bytearray(dice.randbytes(RECORD))
        data[NULLS] = dice.randint(232, 255)
        for statement in walk(generator().program(records(bytes(data))).body):
            if isinstance(statement, Call):
                wanted -= {(statement.function, name) for name, value in statement.args if isinstance(value, Null)}
    assert wanted == set()


def test_numbers_lie_at_the_limits_and_wrap_around_them() -> None:
    dice, sums, lengths = random.Random(8), set(), set()
    for _ in range(4000):
        for statement in walk(generator("mbuf").program(rolled(dice, 3)).body):
            if isinstance(statement, Call):
                args = {n: v.value for n, v in statement.args if isinstance(v, Int)}
                if statement.function == "aclrtSetBufUserData" and {"size", "offset"} <= args.keys():
                    sums.add(args["size"] + args["offset"])
                if statement.function == "aclrtSetBufDataLen" and "len" in args:
                    lengths.add(args["len"])
    assert {95, 96, 97} <= sums
    assert any(2**64 <= total <= 2**64 + 96 for total in sums), "no sum that wraps into the allowed range"
    assert {4095, 4096, 4097} <= lengths
    assert any(length % 2**32 < 4096 <= length for length in lengths), "no length that 32 bits take for a short one"


# ------------------------------------------------------------------------------------------------------ capabilities


def test_what_a_backend_cannot_do_is_not_asked_of_it() -> None:
    bare = Generator(load_spec(), frozenset(), without=frozenset({"aclrtCopyBufRef"}))
    dice = random.Random(9)
    for _ in range(300):
        program = bare.program(rolled(dice, 6))
        for statement in (*walk(program.body), *walk(program.cleanup)):
            assert not isinstance(statement, Write | Read | FailAllocation | Live)
            if isinstance(statement, Call):
                assert statement.function != "aclrtCopyBufRef"
                assert not load_spec().functions[statement.function].auxiliary


def test_a_function_whose_handles_nobody_makes_is_not_called() -> None:
    less = Generator(load_spec(), EVERYTHING, without=frozenset({"aclrtAllocBuf", "aclrtAllocatorGetByStream"}))
    assert not any(form.facts.function.family == "mbuf" for form in less.forms.values())
    dice = random.Random(12)
    for _ in range(200):
        for statement in walk(less.program(rolled(dice, 6)).body):
            assert not isinstance(statement, Call) or statement.function in less.forms


def test_the_clean_up_gives_back_what_is_certainly_alive() -> None:
    """A new buffer, with a count of what is live before and after."""
    spec = load_spec()
    alone = Generator(spec, EVERYTHING - {Capability.STREAMS}, families=frozenset({"mbuf"}))
    program = alone.program([Record(bytes(RECORD))])
    assert isinstance(program.body[0], Live)
    assert isinstance(program.cleanup[-1], Live)
    freed = [s for s in program.cleanup if isinstance(s, Call)]
    made = [s for s in program.body if isinstance(s, Call) and spec.functions[s.function].creates]
    assert len(freed) == len(made) == 1


def test_blocks_hold_something() -> None:
    dice = random.Random(10)
    for _ in range(300):
        for statement in walk(generator().program(rolled(dice, 6)).body):
            assert not isinstance(statement, Repeat) or children(statement)
