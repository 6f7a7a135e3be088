"""The catalogue of defects: its form, that it is whole, that the normal core has nothing of it, that some are found."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import FOLDER, CoreBackend, build_core
from acl_cts.backends.core_defects import CATALOGUE, Defect, DefectsError, Kind, Shows, enumerator, load_defects
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge

SOURCES = FOLDER / "src"
SCENARIOS = Path(__file__).resolve().parent.parent / "conformance" / "scenarios"


OPEN = {"B9"}
"""Field reports of what the documents leave open: whatever a library does there is no fault."""


def named(identifier: str) -> Defect:
    """The defect with this id."""
    return next(defect for defect in load_defects() if defect.id == identifier)


def reports() -> set[str]:
    """Ids of all field reports that the scenarios retell."""
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(SCENARIOS.glob("*.yaml"))]
    return {scenario["id"] for scenarios in files for scenario in scenarios}


# ---- the form


def test_the_catalogue_is_as_large_as_it_must_be() -> None:
    defects = load_defects()
    shared_buffers = [defect for defect in defects if not defect.function.startswith("aclrtAllocator")]
    assert len(defects) >= 85
    assert len(shared_buffers) >= 58


def test_the_sources_name_the_defects_of_the_catalogue_in_its_order() -> None:
    header = (SOURCES / "defects.h").read_text(encoding="utf-8")
    enumerators = re.findall(r"^    (CORE_DEFECT_\w+)(?: = 0)?,", header, re.MULTILINE)
    assert enumerators == ["CORE_DEFECT_NONE", *(enumerator(defect.id) for defect in load_defects())]


def test_every_defect_has_code_and_all_code_has_a_defect() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("*.c"))
    coded = {f"CORE_DEFECT_{name}" for name in re.findall(r"\bDEFECT\((\w+)\)", text)}
    assert coded == {enumerator(defect.id) for defect in load_defects()}


def test_every_kind_of_fault_is_there() -> None:
    assert {defect.kind for defect in load_defects()} == set(Kind)


def test_every_field_report_of_a_library_is_there() -> None:
    known = reports()
    told = {defect.report for defect in load_defects()} - {""}
    assert told <= known
    assert known - told == OPEN


def test_the_clause_of_a_defect_is_of_its_family() -> None:
    spec = load_spec()
    for defect in load_defects():
        family = spec.functions[defect.function].family
        assert defect.clause.split(".")[0] in (family, "common"), defect.id


# ---- what is wrong with a catalogue

ENTRY = """\
  - {id: one, function: aclrtAllocBuf, clause: mbuf.alloc.limit, kind: wrap, report: A11, flavour: plain, why: "It is."}
"""

WRONG = (
    ("format: 2\ndefects:\n" + ENTRY, "format: 1 was expected"),
    ("format: 1\ndefects: []\n", "defects: "),
    ("format: 1\ndefects:\n" + ENTRY + ENTRY, "one: is given twice"),
    ("format: 1\ndefects:\n" + ENTRY.replace("AllocBuf", "AllocBag"), "one: the tables have no function aclrtAllocBag"),
    (
        "format: 1\ndefects:\n" + ENTRY.replace("report: A11", "report: A11, shows: note"),
        "one: shows: mbuf.alloc.limit is obligation, 'discrepancy' was expected",
    ),
    (
        "format: 1\ndefects:\n" + ENTRY.replace("mbuf.alloc.limit", "mbuf.get-user.stale"),
        "one: shows: mbuf.get-user.stale is advisory, 'note' was expected",
    ),
    (
        "format: 1\ndefects:\n" + ENTRY.replace("alloc.limit", "alloc.edge"),
        "one: the tables have no clause mbuf.alloc.edge",
    ),
    ("format: 1\ndefects:\n" + ENTRY.replace("wrap", "bent"), "one: kind: 'bent' is not one of"),
    ("format: 1\ndefects:\n" + ENTRY.replace("plain", "mild"), "one: flavour: 'mild' is not one of"),
    ("format: 1\ndefects:\n" + ENTRY.replace("A11", "C1"), "one: report: 'C1' does not match"),
    ("format: 1\ndefects:\n" + ENTRY.replace("id: one", "id: One"), "One: id: 'One' does not match"),
    ("format: 1\ndefects:\n" + ENTRY.replace("kind: wrap, ", ""), "one: 'kind' is a required property"),
    ("format: [1\n", "is not YAML"),
)


@pytest.mark.parametrize(("text", "complaint"), WRONG, ids=[complaint for _, complaint in WRONG])
def test_a_wrong_catalogue_is_refused_in_one_line(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "defects.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DefectsError) as caught:
        load_defects(path)
    message = str(caught.value)
    assert message.startswith("defects.yaml: ")
    assert complaint in message
    assert "\n" not in message


def test_a_catalogue_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DefectsError, match="cannot be read"):
        load_defects(tmp_path / "none.yaml")


def test_the_kinds_of_the_schema_are_those_of_the_code() -> None:
    schema = yaml.safe_load(CATALOGUE.with_name("defects.schema.json").read_text(encoding="utf-8"))
    assert schema["$defs"]["defect"]["properties"]["kind"]["enum"] == [kind.value for kind in Kind]


# ---- the normal core


def symbols(library: Path) -> set[str]:
    """Names of all functions and objects in a library, local ones too."""
    listed = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if line}


def test_the_normal_core_has_nothing_of_the_defects() -> None:
    normal = build_core()
    assert normal.read_bytes() == build_core("plain", ("CORE_WITHOUT_DEFECTS",)).read_bytes()
    assert [name for name in symbols(normal) if name.startswith("defect_")] == []


def test_a_defect_is_something_else_than_the_normal_core() -> None:
    """So that the comparison above can fail."""
    assert build_core("plain", named("append-one-too-many").defines).read_bytes() != build_core().read_bytes()
    account = build_core("plain", named("copy-of-copy-refused").defines)
    assert [name for name in symbols(account) if name.startswith("defect_")] != []


# ---- some are found here; the whole catalogue is what `acl-cts score` measures

FOUND = (
    "alloc-rounding-wraps",
    "recycled-private-area-shows",
    "failed-alloc-loses-the-buffer",
    "set-user-sum-wraps",
    "get-user-writes-a-word-more",
    "set-length-up-to-the-size",
    "copy-takes-two-references",
    "append-to-itself-makes-a-ring",
    "index-signed",
    "fresh-advise-uninitialised",
    "free-loses-memory",
    "freed-areas-are-kept",
    "uncounted-areas-stay",
    "refused-append-is-noted",
    "register-256-refused",
    "exit-calls-the-free-function",
)


@pytest.mark.parametrize("identifier", FOUND)
def test_a_defect_is_found(identifier: str) -> None:
    """By a case of its function, of the scenarios of its field report, or that puts its clause to the test."""
    defect, spec = named(identifier), load_spec()
    advisory = defect.shows is Shows.NOTE
    places = [f"/{defect.function}/"] + [f"/scenario/{defect.report}/"] * bool(defect.report)
    related = [c for c in cached_cases(spec) if defect.clause in c.clauses or any(place in c.id for place in places)]
    cases = [case for case in related if not case.planned]
    with CoreBackend(defect.defines).open(Options(flavour=defect.flavour, call_timeout=2.0)) as session:
        for case in cases:
            if case.needs <= session.capabilities:
                judgement = judge(spec, case.program, session.run(case.program, solo=case.solo))
                if judgement.notes if advisory else judgement.discrepancies:
                    return
    pytest.fail(f"none of {len(cases)} cases finds {identifier}")
