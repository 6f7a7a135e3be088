"""The byte form: round trips, one encoding a program, a digest that never moves, and refusal of everything else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from programs import programs

from acl_cts.specs.program import Call, Index, Int, Program, Ref, Repeat, Target, UntilSame, When
from acl_cts.specs.program_bytes import decode_program, digest, encode_program
from acl_cts.specs.program_text import ProgramError, parse_program

SAMPLE = """\
a = aclrtAllocBuf(size=4096)
repeat i in 300:
    refs[i] = aclrtCopyBufRef(buf=a)
until b is a, at most 64: c[k] = aclrtAllocBuf(size=64)
aclrtSetBufUserData(buf=refs[3], dataPtr=bytes("0a0b"), size=2, offset=2**64-4)
cleanup:
    aclrtFreeBuf(buf=a)
"""
SAMPLE_DIGEST = "c566deb80875a81e0bc4c78c4f26e35c8cba672f6355fb2b456292e17ec7f65c"


@given(programs())
def test_every_program_round_trips(program: Program) -> None:
    assert decode_program(encode_program(program)) == program


@given(programs(), programs())
def test_equal_digests_mean_equal_programs(one: Program, other: Program) -> None:
    assert (digest(one) == digest(other)) == (one == other)


def test_the_digest_of_a_known_program_never_changes() -> None:
    assert digest(parse_program(SAMPLE)) == SAMPLE_DIGEST


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_the_digest_does_not_depend_on_the_hash_seed(seed: str) -> None:
    script = (
        "import sys; from acl_cts.specs.program_bytes import digest;"
        "from acl_cts.specs.program_text import parse_program;"
        "print(digest(parse_program(sys.stdin.read())))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        input=SAMPLE,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == SAMPLE_DIGEST


def test_the_encoding_is_compact() -> None:
    call = Call("aclrtFreeBuf", (("buf", Ref("a")),))
    one, many = (len(encode_program(Program((call,) * count))) for count in (1, 101))
    assert many - one == 100 * 6
    assert len(encode_program(parse_program(SAMPLE))) < 200


def test_an_attempt_index_does_not_change_the_identity() -> None:
    plain, explicit = (
        Program((UntilSame("b", Ref("a"), 2, Call("f", (), Target("c", index))),)) for index in (None, Index(0))
    )
    assert digest(plain) == digest(explicit)


@pytest.mark.parametrize("number", [-1, 2**64 + 1, 2**200])
def test_a_number_out_of_range_is_not_encoded(number: int) -> None:
    with pytest.raises(ProgramError, match="expected"):
        encode_program(Program((Call("f", (("x", Int(number)),)),)))


def decodes_exactly_or_refuses(data: bytes) -> None:
    refusal = None
    try:
        program = decode_program(data)
    except ProgramError as error:
        refusal = str(error)
    if refusal is None:
        assert encode_program(program) == data
    else:
        assert "expected" in refusal or "allowed" in refusal


@given(st.binary() | st.binary().map(lambda tail: encode_program(Program(()))[:5] + tail))
@example(b"acl\x00\x01" + b"\xff" * 40)
@example(b"acl\x00\x01\x00\xff\xff\xff\x7f")
@example(b"acl\x00\x01\x01\x01a" + b"\x01\x2a" * 5000)
@example(b"acl\x00\x01\x00\x01\x2d" + b"\x01" * 5000)
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    decodes_exactly_or_refuses(data)


@given(st.data())
def test_damaged_bytes_decode_or_are_refused(data: st.DataObject) -> None:
    encoded = data.draw(programs().map(encode_program))
    start = data.draw(st.integers(0, len(encoded)))
    end = data.draw(st.integers(start, min(len(encoded), start + 4)))
    decodes_exactly_or_refuses(encoded[:start] + data.draw(st.binary(max_size=4)) + encoded[end:])


EMPTY = encode_program(Program(()))


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"", "no program"),
        (b"ACL\x00\x01\x00\x00\x00", "no program"),
        (b"acl\x00\x02\x00\x00\x00", "format is unknown"),
        (EMPTY + b"\x00", "canonical"),
        (EMPTY[:-1], "breaks off"),
        (b"acl\x00\x01\x01\x01z\x00\x00", "canonical"),
        (b"acl\x00\x01\x00\x01\x27\x80\x00\x00", "canonical"),
        (b"acl\x00\x01\x00\x01\x20\x07\x00", "not in the table"),
        (b"acl\x00\x01\x00\x01\x7f\x00", "no statement"),
        (b"acl\x00\x01\x01\x02\xc3\xa9\x01\x20\x00\x00\x00", "not ASCII"),
        (b"acl\x00\x01\x01\x02if\x01\x20\x00\x00\x00", "reserved word"),
        (b"\x00" * 2**23, "at most"),
    ],
)
def test_what_is_malformed_is_refused_with_its_reason(data: bytes, hint: str) -> None:
    with pytest.raises(ProgramError, match=hint):
        decode_program(data)


def test_rules_hold_for_bytes_as_for_text() -> None:
    body: Program = Program(())
    for _ in range(9):
        body = Program((When(True, body.body),))
    with pytest.raises(ProgramError, match="nested too deep"):
        decode_program(encode_program(body))
    with pytest.raises(ProgramError, match="repeat count"):
        decode_program(encode_program(Program((Repeat(0, "i", ()),))))
    with pytest.raises(ProgramError, match="not the counter"):
        decode_program(encode_program(Program((Call("f", (("x", Int(0, "i")),)),))))
