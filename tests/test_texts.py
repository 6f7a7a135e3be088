"""Texts of the tables: everything that people read of a clause is there in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from acl_cts import specs
from acl_cts.specs.loader import load_spec, optional_tables

LONGEST = 300
"""Characters of one text; longer ones don't fit the line of a report."""

CJK = re.compile("[\u4e00-\u9fff]")
NOT_ENGLISH = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


def _table_texts() -> Iterator[tuple[str, str, str]]:
    spec = load_spec(more=optional_tables())
    for clause in spec.clauses.values():
        yield clause.id, clause.text_en, clause.text_zh
    for defect in spec.defects:
        yield defect.id, defect.text_en, defect.text_zh
    for family in spec.families.values():
        yield family.name, family.title_en, family.title_zh


def _code_texts() -> Iterator[tuple[str, str, str]]:
    path = Path(specs.__path__[0]) / "errors.yaml"
    codes = yaml.safe_load(path.read_text(encoding="utf-8"))["codes"]
    for code, data in codes.items():
        yield str(code), data["en"], data.get("zh", "")


TEXTS = [*_table_texts(), *_code_texts()]


@pytest.mark.parametrize(("english", "chinese"), [t[1:] for t in TEXTS], ids=[t[0] for t in TEXTS])
def test_both_languages(english: str, chinese: str) -> None:
    assert english.strip() == english != ""
    assert chinese.strip() == chinese != ""
    assert not NOT_ENGLISH.search(english)
    assert CJK.search(chinese)
    assert len(english) <= LONGEST
    assert len(chinese) <= LONGEST


def test_every_clause_defect_family_and_code_is_looked_at() -> None:
    spec = load_spec(more=optional_tables())
    assert len(TEXTS) == len(spec.clauses) + len(spec.defects) + len(spec.families) + len(spec.codes)
    assert {name for name, _, _ in TEXTS} >= {str(code) for code in spec.codes} | set(spec.clauses)


def test_chinese_sentences_end_as_chinese_ones() -> None:
    spec = load_spec(more=optional_tables())
    sentences = [*(c.text_zh for c in spec.clauses.values()), *(d.text_zh for d in spec.defects)]
    assert [text for text in sentences if not text.endswith("。")] == []


@pytest.mark.parametrize("number", ["0", "128", "4294967296"])
def test_numbers_of_english_texts_stand_in_the_chinese_ones_too(number: str) -> None:
    word = re.compile(rf"(?<![0-9]){number}(?![0-9])")
    spec = load_spec(more=optional_tables())
    missing = [c.id for c in spec.clauses.values() if word.search(c.text_en) and not word.search(c.text_zh)]
    assert missing == []
