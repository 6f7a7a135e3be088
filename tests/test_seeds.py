"""Seeds: that a campaign takes all of them once, however often it is cut short."""

from __future__ import annotations

from pathlib import Path

import pytest

from acl_cts.fuzz.corpus import Corpus
from acl_cts.fuzz.seeds import Seeds
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Live, Program

PROGRAMS = [Program((Live(),) * count) for count in range(1, 11)]


def seeds(folder: Path, tables: str = "t", job: int = 0, jobs: int = 1) -> Seeds:
    made = Seeds(folder, tables, job, jobs)
    made.begin(PROGRAMS)
    return made


def test_each_campaign_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    first = seeds(tmp_path)
    assert first.next(4) == PROGRAMS[:4]
    first.took(4)
    again = seeds(tmp_path)
    assert (again.next(4), again.left) == (PROGRAMS[4:8], 6)
    again.took(6)
    assert (seeds(tmp_path).next(4), seeds(tmp_path).left) == ([], 0)


def test_processes_share_them_out(tmp_path: Path) -> None:
    shares = [seeds(tmp_path, job=job, jobs=3).next(10) for job in range(3)]
    assert sorted(shares[0] + shares[1] + shares[2], key=lambda p: len(p.body)) == PROGRAMS


@pytest.mark.parametrize("text", ["", "x", "{}", '{"tables": "t"}', '{"tables": "t", "taken": []}', "[]"])
def test_what_cannot_be_read_means_from_the_start(tmp_path: Path, text: str) -> None:
    seeds(tmp_path).took(3)
    next(tmp_path.glob("seeds-*")).write_text(text)
    assert seeds(tmp_path).left == 10


def test_other_tables_have_other_seeds(tmp_path: Path) -> None:
    seeds(tmp_path).took(3)
    assert seeds(tmp_path, "u").left == 10


def test_programs_that_led_somewhere_are_read_first_then_short_ones(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.open()
    for program, leading in zip(PROGRAMS, (False, False, True, False, True), strict=False):
        corpus.add(program, 1, leading)
    (tmp_path / "leading.txt").write_text((tmp_path / "leading.txt").read_text() + "gone.txt\n")
    read = [len(program.body) for program in Corpus(tmp_path).unread(load_spec().interface)]
    assert read == [3, 5, 1, 2, 4]
