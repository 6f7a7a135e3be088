"""Limit probes of a family that nobody planned for: its table says how, and no Python is added."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from functools import cache
from pathlib import Path

import pytest
from target_build import COMPILE

from acl_cts.backends.backend import Options
from acl_cts.backends.native.session import NativeSession, Place
from acl_cts.conformance.limit_check import limit_problems
from acl_cts.conformance.limit_probe import probe_limits
from acl_cts.conformance.support import SupportProbe
from acl_cts.reports.limit_result import LimitKind, LimitResult, LimitVerdict
from acl_cts.specs.loader import FOLDER, load_spec
from acl_cts.specs.model import Spec

RACK = Path(__file__).parent / "rack"
DOCUMENTED = {
    ("rack_widest", ""): (LimitKind.ABSOLUTE, 512),
    ("rack_narrowest", ""): (LimitKind.ABSOLUTE, 8),
    ("rack_entries", ""): (LimitKind.COUNT, 400),
    ("rack_amount", "width 9"): (LimitKind.RELATIONAL, 1),
    ("rack_amount", "width 512"): (LimitKind.RELATIONAL, 504),
}
Told = dict[tuple[str, str], tuple[LimitVerdict, int | None]]


@cache
def tables(folder: Path) -> Spec:
    """The table of the racks, beside the one of the codes."""
    shutil.copy(FOLDER / "errors.yaml", folder)
    shutil.copy(RACK / "rack.yaml", folder)
    return load_spec(folder)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the tables and the libraries."""
    return tmp_path_factory.mktemp("rack")


def results(place: Path, *defines: str) -> tuple[LimitResult, ...]:
    """All limits of the library with these macros."""
    spec = tables(place)
    library = place / f"librack-{zlib.crc32(repr(defines).encode()):08x}.so"
    command = [*COMPILE, str(RACK / "rack.c"), *(f"-D{define}" for define in defines), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    with NativeSession(Place("rack", library), spec.interface, Options()) as session:
        support = SupportProbe(spec, session.run, session.missing, session.capabilities).table()
        return probe_limits(spec, session, support)


def told(found: tuple[LimitResult, ...]) -> Told:
    """What is not as documented."""
    odd = (result for result in found if result.verdict is not LimitVerdict.AS_DOCUMENTED)
    return {(r.limit, r.context): (r.verdict, r.measured if r.up_to is None else r.up_to) for r in odd}


def test_the_table_agrees_with_its_own_clauses(place: Path) -> None:
    assert [str(problem) for problem in limit_problems(tables(place))] == []


def test_a_library_that_keeps_to_the_table_is_as_documented(place: Path) -> None:
    found = results(place)
    assert told(found) == {}
    assert {(r.limit, r.context): (r.kind, r.measured) for r in found} == DOCUMENTED


DIFFERS, NONE = LimitVerdict.DIFFERS, LimitVerdict.NOT_ENFORCED
PLANTED: list[tuple[str, Told]] = [
    (
        "WIDEST=511",
        {("rack_widest", ""): (DIFFERS, 511), ("rack_amount", "width 512"): (LimitVerdict.INCONCLUSIVE, None)},
    ),
    ("WIDEST=600", {("rack_widest", ""): (DIFFERS, 600)}),
    ("WIDEST=-1", {("rack_widest", ""): (NONE, 2**64 - 1)}),
    ("NARROWEST=9", {("rack_narrowest", ""): (DIFFERS, 9)}),
    ("NARROWEST=3", {("rack_narrowest", ""): (DIFFERS, 3)}),
    ("NARROWEST=1", {("rack_narrowest", ""): (DIFFERS, 1)}),
    ("ENTRIES=399", {("rack_entries", ""): (DIFFERS, 399)}),
    ("ENTRIES=401", {("rack_entries", ""): (DIFFERS, 401)}),
    ("ENTRIES=1500", {("rack_entries", ""): (DIFFERS, 1500)}),
    ("ENTRIES=5000", {("rack_entries", ""): (NONE, 2000)}),
    ("MARGIN=7", {("rack_amount", "width 9"): (DIFFERS, 2), ("rack_amount", "width 512"): (DIFFERS, 505)}),
]


@pytest.mark.parametrize(("define", "found"), PLANTED, ids=[define for define, _ in PLANTED])
def test_a_limit_elsewhere_is_found_there(define: str, found: Told, place: Path) -> None:
    assert told(results(place, define)) == found


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "when: width > limits.rack_widest,",
            "when: width > 600,",
            "513, just beyond the documented value, need not be",
        ),
        ("len(rack.keys) > limits.rack_entries", "len(rack.keys) > 300", "the documented 400 must be refused"),
        ("most: 2000", "most: 400", "not beyond the documented 400"),
        ('relative: "rack.width - 8"', 'relative: "rack.width - 900"', "is no number from 0 after the set-up"),
        ("              rkClose(rack=x)\n", "              rkPut(rack=x, key=1, amount=1)\n", "leaves something alive"),
        (
            "          x = rkOpen(width=64)\n          repeat",
            "          x = rkOpen(width=64)\n          rkClose(rack=x)\n          repeat",
            "undefined",
        ),
    ],
)
def test_a_recipe_that_its_clauses_contradict_is_named(old: str, new: str, problem: str, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "errors.yaml", tmp_path)
    text = (RACK / "rack.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "rack.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    problems = [str(found) for found in limit_problems(load_spec(tmp_path))]
    assert any(problem in found for found in problems), problems
