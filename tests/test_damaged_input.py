"""Damaged tables and programs: a file cut off, a flipped bit, an edit by hand; a clear line, or what they now mean."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

import acl_cts.specs
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.main import main
from acl_cts.specs.faults import SpecError
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program_bytes import decode_program, encode_program
from acl_cts.specs.program_text import ProgramError, format_program, parse_program

NUMBER = int(os.environ.get("ACL_CTS_DAMAGES", "1000"))
"""Damaged inputs of each kind."""

TABLES = 120 if NUMBER == 1000 else NUMBER
"""Damaged tables: each is read with all others, which takes a third of a second."""

Given = TypeVar("Given")
Made = TypeVar("Made")

SPECS = Path(acl_cts.specs.__file__).parent


def damaged(data: bytes, chance: random.Random) -> bytes:
    """`data` with one fault of a file, or one of an editor."""
    place = chance.randrange(len(data))
    match chance.randrange(6):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
        case 2:
            return data[:place] + chance.choice(WORDS) + data[place:]
        case 3:
            lines = data.split(b"\n")
            del lines[chance.randrange(len(lines))]
            return b"\n".join(lines)
        case 4:
            lines = data.split(b"\n")
            one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            return b"\n".join(lines)
        case _:
            end = min(len(data), place + chance.randrange(1, 9))
            return data[:place] + data[end:]


WORDS = (
    b"0",
    b"9" * 25,
    b"-1",
    b" ",
    b"\n",
    b"  ",
    b"\t",
    b"\x00",
    b"\xff",
    b"'",
    b'"',
    b"{",
    b"]",
    b": ",
    b"# ",
    b"x",
)


def said(read: Callable[[Given], Made], given: Given) -> tuple[str, Made | None]:
    """What `read` makes of `given`, or the one line that refuses it."""
    try:
        return "", read(given)
    except (ProgramError, SpecError) as error:
        told = str(error)
    assert len(told.splitlines()) == 1, told
    return told, None


def programs() -> Iterator[tuple[str, bytes]]:
    """Texts of cases of every group, with the case's id."""
    chosen = cached_cases(load_spec())[::37]
    while True:
        for case in chosen:
            yield case.id, format_program(case.program).encode()


def test_damaged_program_texts_are_refused_in_a_line_or_read_as_what_they_say() -> None:
    chance, texts, refused = random.Random(1), programs(), 0
    for _ in range(NUMBER):
        text = damaged(next(texts)[1], chance).decode("utf-8", errors="replace")
        told, program = said(parse_program, text)
        refused += program is None
        assert program is None or parse_program(format_program(program)) == program
        assert program is not None or told.startswith("line ")
    assert NUMBER // 5 < refused < NUMBER


def test_damaged_program_bytes_are_refused_or_read_as_what_they_say() -> None:
    chance, texts, refused = random.Random(2), programs(), 0
    for _ in range(NUMBER):
        data = damaged(encode_program(parse_program(next(texts)[1].decode())), chance)
        _, program = said(decode_program, data)
        refused += program is None
        assert program is None or decode_program(encode_program(program)) == program
    assert NUMBER // 5 < refused < NUMBER


def test_damaged_programs_never_accuse_a_conforming_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance, texts, path = random.Random(3), programs(), tmp_path / "program.txt"
    codes = set()
    for _ in range(NUMBER // 5):
        path.write_bytes(damaged(next(texts)[1], chance))
        with pytest.raises(SystemExit) as left:
            main(["replay", str(path), "--backend", "simulator"])
        told = capsys.readouterr()
        codes.add(left.value.code)
        assert left.value.code in (0, 2, 4), (path.read_text(errors="replace"), told.out, told.err)
        if left.value.code == 2:
            assert len(told.err.splitlines()) == 1, told.err
            assert str(path) in told.err
    assert {0, 2} <= codes


def test_damaged_tables_are_refused_with_their_line_or_read(tmp_path: Path) -> None:
    chance, refused = random.Random(4), 0
    names = sorted(path.name for path in SPECS.glob("*.yaml"))
    for name in names:
        shutil.copy(SPECS / name, tmp_path)
    for number in range(TABLES):
        name = names[number % len(names)]
        whole = (SPECS / name).read_bytes()
        (tmp_path / name).write_bytes(damaged(whole, chance))
        told, spec = said(load_spec.__wrapped__, tmp_path)
        (tmp_path / name).write_bytes(whole)
        refused += spec is None
        assert spec is not None or any(told.startswith(f"{table}:") for table in names), told
    assert refused > TABLES // 4


def test_no_damage_to_the_tables_of_the_suite_is_judged_by(tmp_path: Path) -> None:
    for path in (*SPECS.glob("*.yaml"), SPECS / "tables.sha256"):
        shutil.copy(path, tmp_path)
    assert load_spec.__wrapped__(tmp_path).digest == load_spec().digest
    limit = (tmp_path / "mbuf.yaml").read_text(encoding="utf-8").replace("value: 96", "value: 97")
    (tmp_path / "mbuf.yaml").write_text(limit, encoding="utf-8")
    told, spec = said(load_spec.__wrapped__, tmp_path)
    assert spec is None
    assert told.startswith("mbuf.yaml:1: is not the table that this version ships; put it back")
