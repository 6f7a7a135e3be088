"""Mutants of the core: what is changed, what is left alone, and which of them are the same object code."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from acl_cts.backends.c_tokens import tokens
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.core_equivalents import EquivalentsError, key_of, load_equivalents
from acl_cts.backends.core_mutant_build import MutantBuilder, NoCodeError
from acl_cts.backends.core_mutants import Mutant, mutants, of_source
from acl_cts.backends.native.elf import file_digest

SOURCE = """\
#include <stddef.h> /* 1 < 2 */
#define LIMIT (1 + 2)
static int planted(int a)
{
    if (DEFECT(some_fault)) {
        return a < 3;
    }
    core_enter();
    live_add(sizeof(a) + 4);
    return a <= 5 && a != 0; // a > 7
}
static int act(struct mbuf *buf, const char *text)
{
    buf->size = buf->length + 1;
    if (planted(9) && text) {
        return refuse_parameter("a < b && c");
    }
    if (!DEFECT(other_fault)) {
        buf->size++;
    }
    return ACL_SUCCESS;
}
static int defect_help(int a)
{
    return a + 1;
}
"""


def made(file: str, source: str) -> dict[str, str]:
    """Changed lines by operator and original line."""
    return {f"{m.function}: {m.operator}: {m.before}": m.after for m in of_source(file, source)}


def test_each_operator_changes_what_it_should_and_nothing_else() -> None:
    assert made("x.c", SOURCE) == {
        "planted: <=→<: return a <= 5 && a != 0; // a > 7": "return a < 5 && a != 0; // a > 7",
        "planted: <=→>: return a <= 5 && a != 0; // a > 7": "return a > 5 && a != 0; // a > 7",
        "planted: 5→6: return a <= 5 && a != 0; // a > 7": "return a <= 6 && a != 0; // a > 7",
        "planted: 5→4: return a <= 5 && a != 0; // a > 7": "return a <= 4 && a != 0; // a > 7",
        "planted: &&→||: return a <= 5 && a != 0; // a > 7": "return a <= 5 || a != 0; // a > 7",
        "planted: !=→==: return a <= 5 && a != 0; // a > 7": "return a <= 5 && a == 0; // a > 7",
        "planted: 0→1: return a <= 5 && a != 0; // a > 7": "return a <= 5 && a != 1; // a > 7",
        "act: delete: buf->size = buf->length + 1;": ";",
        "act: size→length: buf->size = buf->length + 1;": "buf->length = buf->length + 1;",
        "act: length→size: buf->size = buf->length + 1;": "buf->size = buf->size + 1;",
        "act: +→-: buf->size = buf->length + 1;": "buf->size = buf->length - 1;",
        "act: 1→2: buf->size = buf->length + 1;": "buf->size = buf->length + 2;",
        "act: 1→0: buf->size = buf->length + 1;": "buf->size = buf->length + 0;",
        "act: negate: if (planted(9) && text) {": "if (!(planted(9) && text)) {",
        "act: &&→||: if (planted(9) && text) {": "if (planted(9) || text) {",
        "act: 9→10: if (planted(9) && text) {": "if (planted(10) && text) {",
        "act: 9→8: if (planted(9) && text) {": "if (planted(8) && text) {",
        'act: fall-through: return refuse_parameter("a < b && c");': ";",
        'act: accept: return refuse_parameter("a < b && c");': "return ACL_SUCCESS;",
        "act: negate: if (!DEFECT(other_fault)) {": "if (!(!DEFECT(other_fault))) {",
        "act: delete: buf->size++;": ";",
        "act: size→length: buf->size++;": "buf->length++;",
        "act: ++→--: buf->size++;": "buf->size--;",
        "act: ACL_SUCCESS→ACL_ERROR_RT_PARAM_INVALID: return ACL_SUCCESS;": "return ACL_ERROR_RT_PARAM_INVALID;",
    }


def test_ids_are_places_and_the_place_holds_the_change() -> None:
    for mutant in of_source("x.c", SOURCE):
        changed = mutant.apply(SOURCE)
        assert changed != SOURCE
        line = changed.splitlines()[mutant.line - 1]
        assert " ".join(line.split()) == mutant.after
        assert mutant.id == f"x.c:{mutant.line}:{mutant.column}:{mutant.operator}"


def test_the_core_has_many_and_each_has_an_id_of_its_own() -> None:
    every = mutants()
    assert len(every) > 400
    assert len({mutant.id for mutant in every}) == len(every)
    assert not any("core_enter" in mutant.before or mutant.function.startswith("defect_") for mutant in every)


@given(st.text(alphabet="ab1 \n\t+-<>=!&|(){};\"'/*\\#.", max_size=60))
def test_tokens_are_pieces_of_the_source_in_its_order(source: str) -> None:
    found = tokens(source)
    assert all(source[token.start : token.end] == token.text for token in found)
    assert all(one.end <= next.start for one, next in pairwise(found))


@pytest.fixture
def builder(tmp_path: Path) -> MutantBuilder:
    """A builder in a folder of its own."""
    return MutantBuilder(tmp_path)


def one(operator: str, file: str, before: str) -> Mutant:
    """The mutant of the core with this operator in the line that starts with `before`."""
    return next(m for m in mutants() if m.operator == operator and m.file == file and m.before.startswith(before))


def test_a_change_of_what_this_build_leaves_out_is_the_same_object_code(builder: MutantBuilder) -> None:
    assert builder.build(one("accept", "mbuf.c", 'return refuse_parameter("len is 0");')) is None


def test_a_change_that_matters_makes_another_library_and_leaves_the_next_alone(builder: MutantBuilder) -> None:
    wider = one("--→++", "chain.c", "head->count--;")
    first = builder.build(wider)
    assert first is not None
    digest = file_digest(first)
    head = builder.build(one("128→129", "chain.h", "enum { CHAIN_LIMIT"))
    assert head is not None
    assert file_digest(head) != digest
    again = builder.build(wider)
    assert again is not None
    assert file_digest(again) == digest


def test_each_defect_is_another_library_and_none_changes_the_next(builder: MutantBuilder) -> None:
    wraps, counts = (next(d for d in load_defects() if d.id == id) for id in ("set-user-sum-wraps", "references-8-bit"))
    digests = [file_digest(builder.build_defect(defect)) for defect in (wraps, counts, wraps)]
    assert digests[0] == digests[2] != digests[1]


def test_what_does_not_compile_is_told_and_the_next_one_does(builder: MutantBuilder) -> None:
    good = one("--→++", "chain.c", "head->count--;")
    bad = Mutant("chain.c", 1, 1, "nonsense", "", "", "", 0, 0, "not C at all\n")
    with pytest.raises(NoCodeError, match="cannot compile"):
        builder.build(bad)
    assert builder.build(good) is not None


def entry(mutant: Mutant, times: int = 1, **other: str) -> str:
    """A file with an entry for `mutant`, given so many times, with other values in some keys."""
    keys = ("file", "function", "before", "after")
    one = {key: getattr(mutant, key) for key in keys} | {"reason": "Same answers."} | other
    return yaml.safe_dump({"equivalent": [dict(one) for _ in range(times)]}, allow_unicode=True)


def test_a_reviewed_mutant_is_found_by_its_text(tmp_path: Path) -> None:
    mutant = one("128→129", "chain.h", "enum { CHAIN_LIMIT")
    path = tmp_path / "equivalent.yaml"
    path.write_text(entry(mutant))
    assert load_equivalents([mutant], path)[key_of(mutant)].reason == "Same answers."


@pytest.mark.parametrize(
    ("other", "message"),
    [({"after": "enum { CHAIN_LIMIT = 7 };"}, "any more; review it anew"), ({"reason": ""}, "reason is not empty")],
)
def test_a_review_that_fits_nothing_is_refused(tmp_path: Path, other: dict[str, str], message: str) -> None:
    mutant = one("128→129", "chain.h", "enum { CHAIN_LIMIT")
    path = tmp_path / "equivalent.yaml"
    path.write_text(entry(mutant, **other))
    with pytest.raises(EquivalentsError, match=message):
        load_equivalents([mutant], path)


def test_a_review_given_twice_or_malformed_is_refused(tmp_path: Path) -> None:
    mutant = one("128→129", "chain.h", "enum { CHAIN_LIMIT")
    path = tmp_path / "equivalent.yaml"
    path.write_text(entry(mutant, times=2))
    with pytest.raises(EquivalentsError, match="twice"):
        load_equivalents([mutant], path)
    path.write_text("equivalent: [{file: chain.h}]\n")
    with pytest.raises(EquivalentsError, match="entry 1"):
        load_equivalents([mutant], path)
    path.write_text("nothing: []\n")
    with pytest.raises(EquivalentsError, match="equivalent"):
        load_equivalents([mutant], path)


def test_a_review_that_fits_several_mutants_is_refused(tmp_path: Path) -> None:
    mutant = one("128→129", "chain.h", "enum { CHAIN_LIMIT")
    path = tmp_path / "equivalent.yaml"
    path.write_text(entry(mutant))
    with pytest.raises(EquivalentsError, match="fits 2 mutants"):
        load_equivalents([mutant, replace(mutant, line=mutant.line + 1)], path)


def test_the_reviews_of_the_core_fit_its_source() -> None:
    load_equivalents(mutants())
