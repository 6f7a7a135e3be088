"""Results, their schema, exit codes, JUnit XML and the summary, from results made by hand."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import ALLOC, EVIDENCE, PROBED, TABLES, bad, finding, full, good, not_run, results

import acl_cts.reports
from acl_cts.reports.exit_code import ExitCode, final, holding
from acl_cts.reports.files import ReportError, make_folder, read_json, write_json, write_text
from acl_cts.reports.junit import junit
from acl_cts.reports.limit_result import LimitKind, LimitResult, LimitVerdict, limit_from_json, limit_to_json
from acl_cts.reports.results import (
    DISCREPANCY,
    CaseResult,
    Cause,
    FunctionSupport,
    Results,
    Support,
    from_json,
    to_json,
)
from acl_cts.reports.summary import Summary
from acl_cts.specs.judgement import Strength, Verdict

OPEN: dict[str, object] = {"required": [], "properties": {}, "additionalProperties": True}
"""Leaves of the schema nothing but its definitions."""

SCHEMA = json.loads((Path(acl_cts.reports.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))


def code(found: Results, fail_on: frozenset[Strength] = DISCREPANCY) -> int:
    return final(holding(found, fail_on))


# ------------------------------------------------------------------------------------------------------ exit codes


def test_all_as_expected_is_0() -> None:
    assert code(results(good())) == 0


@pytest.mark.parametrize("cause", [Cause.PLANNED, Cause.CAPABILITY, Cause.STREAM, Cause.NOT_REACHED])
def test_what_was_declared_not_run_is_as_expected(cause: Cause) -> None:
    assert code(results(good(), not_run(cause))) == 0


@pytest.mark.parametrize("cause", [Cause.TIME_LIMIT, Cause.BACKEND_LOST])
def test_what_was_cut_short_is_incomplete(cause: Cause) -> None:
    assert code(results(good(), not_run(cause))) == ExitCode.INCOMPLETE


@pytest.mark.parametrize(
    "verdict", [Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.LEAK, Verdict.FLAKY, Verdict.BLOCKED]
)
def test_every_accusing_verdict_is_1(verdict: Verdict) -> None:
    assert code(results(good(), bad(verdict))) == ExitCode.DISCREPANCY


@pytest.mark.parametrize(
    ("verdict", "strength", "breach", "expected"),
    [
        (Verdict.FAIL, Strength.EXPLICIT, False, 1),
        (Verdict.FAIL, Strength.IMPLIED, False, 0),
        (Verdict.FAIL, Strength.IMPLIED, True, 1),
        (Verdict.CRASH, Strength.IMPLIED, False, 1),
        (Verdict.FLAKY, Strength.IMPLIED, False, 1),
    ],
)
def test_fail_on_narrows_strengths_but_never_violence(
    verdict: Verdict, strength: Strength, breach: bool, expected: int
) -> None:
    found = results(good(), bad(verdict, strength, breach=breach))
    assert code(found, frozenset({Strength.EXPLICIT})) == expected


def test_a_fault_of_the_suite_outranks_a_discrepancy_and_both_are_listed() -> None:
    error = CaseResult("e", Verdict.ERROR, "protocol broken")
    holds = holding(results(good(), error, bad(), not_run(Cause.TIME_LIMIT)))
    assert [held.code for held in holds] == [3, 1, 4]


def test_trouble_of_a_backend_is_3() -> None:
    found = results()
    run = dataclasses.replace(found.runs[0], trouble="no compiler: install gcc")
    assert code(dataclasses.replace(found, runs=(run,))) == ExitCode.HARNESS


@pytest.mark.parametrize("verdict", LimitVerdict)
def test_a_limit_that_only_its_probe_found_elsewhere_is_1(verdict: LimitVerdict) -> None:
    limit = LimitResult("chain", ALLOC, "", "buffer", LimitKind.COUNT, (("", 128),), verdict)
    found = results(good())
    found = dataclasses.replace(found, runs=tuple(dataclasses.replace(run, limits=(limit,)) for run in found.runs))
    moved = verdict in (LimitVerdict.DIFFERS, LimitVerdict.NOT_ENFORCED)
    assert code(found) == (ExitCode.DISCREPANCY if moved else ExitCode.AS_EXPECTED)


def test_an_interrupted_run_is_130() -> None:
    assert code(results(good(), bad(), finished=False)) == ExitCode.INTERRUPTED


def test_a_supported_function_that_never_succeeded_leaves_the_run_incomplete() -> None:
    assert code(results(good(succeeded=()))) == ExitCode.INCOMPLETE
    assert code(results(good(succeeded=()), filtered=True)) == 0


@pytest.mark.parametrize(("reserved", "auxiliary", "expected"), [(True, False, 0), (False, False, 4), (False, True, 0)])
def test_not_supported_is_expected_of_reserved_functions_only(reserved: bool, auxiliary: bool, expected: int) -> None:
    entry = FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "207000", "", reserved, auxiliary)
    case = CaseResult("c", Verdict.NOT_SUPPORTED, functions=(ALLOC,))
    assert code(results(case, support=(entry,))) == expected


def test_without_a_large_area_the_run_is_incomplete() -> None:
    assert code(results(good(granted=65536))) == ExitCode.INCOMPLETE
    assert code(results(good(granted=65537))) == 0
    inconclusive = CaseResult("i", Verdict.INCONCLUSIVE, functions=(ALLOC,))
    assert code(results(good(granted=64), filtered=True)) == 0
    assert code(results(good(granted=64), inconclusive, filtered=True)) == ExitCode.INCOMPLETE


# ------------------------------------------------------------------------------------------------------------ JSON


def test_results_survive_json_and_keep_to_the_schema(tmp_path: Path) -> None:
    write_json(tmp_path / "results.json", to_json(full()))
    stored = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(stored)
    assert from_json(read_json(tmp_path / "results.json")) == full()


def test_the_schema_refuses_what_it_does_not_know() -> None:
    stored = to_json(full()) | {"seal": "0" * 64}
    jsonschema.Draft202012Validator(SCHEMA).validate(stored)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(stored | {"surprise": 1})


def test_totals_add_up() -> None:
    run = to_json(full())["runs"][0]
    assert sum(run["totals"].values()) == len(run["cases"]) == 4
    assert run["discrepancies"] == {"explicit": 2, "obligation": 0, "implied": 0}


def test_only_failures_carry_evidence() -> None:
    cases = to_json(full())["runs"][0]["cases"]
    assert ["evidence" in case for case in cases] == [False, True, False, True]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("totals", {}),
        ("granted", 7),
        ("discrepancies", {"explicit": 0, "obligation": 0, "implied": 0}),
        ("identity", {"library": 3}),
        ("identity", {"details": ["a"]}),
    ],
)
def test_results_that_contradict_themselves_are_refused(name: str, value: object) -> None:
    stored = to_json(full())
    stored["runs"][0][name] = value
    with pytest.raises(ValueError, match=r"runs\[0\]"):
        from_json(stored)


def test_an_exit_code_that_does_not_follow_is_refused() -> None:
    with pytest.raises(ValueError, match="exit"):
        from_json(to_json(full()) | {"exit": {"code": 0, "holds": [{"code": 1, "reason": "why"}]}})


def test_a_case_that_stands_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        from_json(to_json(results(good(), good())))


LIMIT_RESULTS = st.builds(
    LimitResult,
    limit=st.text(),
    function=st.text(),
    param=st.text(),
    unit=st.text(),
    kind=st.sampled_from(LimitKind),
    documented=st.lists(st.tuples(st.text(), st.integers(0, 2**64))).map(tuple),
    verdict=st.sampled_from(LimitVerdict),
    measured=st.none() | st.integers(0, 2**64),
    up_to=st.none() | st.integers(0, 2**64),
    detail=st.text(),
    context=st.text(),
    steps=st.integers(0, 10**9),
)


@given(LIMIT_RESULTS)
def test_results_of_limit_probes_survive_json(result: LimitResult) -> None:
    stored = json.loads(json.dumps(limit_to_json(result)))
    jsonschema.Draft202012Validator(SCHEMA | {"$ref": "#/$defs/probed"} | OPEN).validate(stored)
    assert limit_from_json(stored) == result


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 99"):
        from_json(to_json(full()) | {"format": 99})


# ----------------------------------------------------------------------------------------------------------- files


def test_files_are_replaced_wholly_and_nothing_is_left_beside_them(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "one")
    write_json(tmp_path / "a", {"two": "二"})
    assert read_json(tmp_path / "a") == {"two": "二"}
    assert os.listdir(tmp_path) == ["a"]


def test_what_utf_8_cannot_hold_breaks_no_file(tmp_path: Path) -> None:
    name = os.fsdecode(b"lib\xff.so") + "\ud800"
    path = tmp_path / "results.json"
    write_json(path, {"library": name, name: [name]})
    assert read_json(path) == {"library": name, name: [name]}
    write_text(path, name)
    assert path.read_bytes().decode("utf-8").startswith("lib")


def test_a_full_disk_is_one_clear_line() -> None:
    with pytest.raises(ReportError) as error:
        write_text(Path("/proc/self/nothing/x"), "text")
    assert "\n" not in str(error.value)
    assert "/proc/self/nothing/x" in str(error.value)


def test_a_file_in_the_way_of_the_folder_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ReportError, match="choose another folder"):
        make_folder(tmp_path / "out" / "failures")


# ------------------------------------------------------------------------------------------------------- renderers


def test_junit_has_every_case_once_and_survives_control_characters() -> None:
    found = results(
        good(), bad(discrepancies=(dataclasses.replace(finding(), observed="a\x00b"),)), not_run(Cause.PLANNED)
    )
    suite = ElementTree.fromstring(junit(found).encode()).find("testsuite")
    assert suite is not None
    assert [len(case) for case in suite.iter("testcase")] == [0, 1, 1]
    assert suite.attrib["tests"] == "3"
    assert suite.attrib["failures"] == "1"
    assert suite.attrib["skipped"] == "1"


@pytest.mark.parametrize(
    ("verdict", "child"),
    [
        (LimitVerdict.AS_DOCUMENTED, ""),
        (LimitVerdict.DIFFERS, "failure"),
        (LimitVerdict.NOT_ENFORCED, "failure"),
        (LimitVerdict.INCONCLUSIVE, "skipped"),
        (LimitVerdict.NOT_SUPPORTED, "skipped"),
    ],
)
def test_junit_is_as_red_as_the_exit_code_when_only_a_probe_accuses(verdict: LimitVerdict, child: str) -> None:
    limits = (dataclasses.replace(PROBED, verdict=verdict),)
    found = results(good(), limits=limits)
    document = ElementTree.fromstring(junit(found).encode())
    check_junit(document)
    suite = document.findall("testsuite")[1]
    assert suite.attrib["name"] == "acl-cts.core.limits"
    assert [[each.tag for each in case] for case in suite.iter("testcase")] == [[child] if child else []]
    assert (document.attrib["tests"], document.attrib["failures"]) == ("2", str(int(child == "failure")))
    assert (document.attrib["failures"] != "0") == (final(holding(found)) == 1)
    narrow = dataclasses.replace(found, fail_on=frozenset({Strength.EXPLICIT}))
    assert ElementTree.fromstring(junit(narrow).encode()).attrib["failures"] == "0"


TIME = re.compile(r"\d+\.\d{3}")
"""The form of times that Surefire's schema allows."""

JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
        ["properties", "testcase"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "time"}, ["failure", "error", "skipped"]),
    "failure": ({"message", "type"}, []),
    "error": ({"message", "type"}, []),
    "skipped": ({"message", "type"}, []),
}
"""What the schemas of Jenkins and of Surefire both know: attributes of each element, and its children in order."""


def check_junit(element: ElementTree.Element) -> None:
    attributes, children = JUNIT[element.tag]
    assert set(element.attrib) == attributes
    places = [children.index(child.tag) for child in element]
    assert places == sorted(places)
    for name in {"tests", "failures", "errors", "skipped"} & attributes:
        assert element.attrib[name].isdigit()
    assert TIME.fullmatch(element.attrib.get("time", "0.000"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.attrib.get("timestamp", "2026-01-01T00:00:00"))
    if element.tag == "testcase":
        assert len(element) <= 1
    for child in element:
        check_junit(child)


def test_junit_keeps_to_what_its_readers_agree_upon() -> None:
    error = CaseResult("mbuf/g/e~00000003", Verdict.ERROR, "protocol broken")
    root = ElementTree.fromstring(junit(results(good(), bad(), not_run(Cause.PLANNED), error)).encode())
    check_junit(root)
    assert root.attrib["tests"] == "4"


def test_junit_tells_how_to_reproduce() -> None:
    failure = ElementTree.fromstring(junit(results(good(), bad())).encode()).find(".//failure")
    assert failure is not None
    assert "reproduce: acl-cts replay failures/b/program.txt" in (failure.text or "")
    assert "a = aclrtAllocBuf(size=1)" in (failure.text or "")


def summary(found: Results) -> str:
    holds = holding(found)
    return Summary(dataclasses.replace(found, holds=holds, code=final(holds), tables=TABLES)).text()


def test_the_summary_tells_a_failure_wholly() -> None:
    text = summary(results(good(), bad()))
    for part in (
        "mbuf.x",
        "expected   an error",
        "observed   success",
        "Above the limit it must fail. (chapter 20)",
        "a = aclrtAllocBuf(size=1)",
        "acl-cts replay failures/b/program.txt --backend core",
        "1 explicit · 0 obligation · 0 implied",
        "exit code 1",
    ):
        assert part in text


def test_the_summary_stays_short_whatever_fails() -> None:
    cases = [bad(discrepancies=(finding(clause=f"mbuf.c{n}"),)) for n in range(500)]
    assert len(summary(results(*cases)).splitlines()) < 64


def test_every_root_cause_that_is_told_has_its_command() -> None:
    def case(number: int) -> CaseResult:
        command = f"acl-cts replay failures/{number}/program.txt --backend core"
        evidence = dataclasses.replace(EVIDENCE, command=command)
        return bad(id=f"c{number}", discrepancies=(finding(clause=f"mbuf.c{number}"),), evidence=evidence)

    lines = summary(results(*map(case, range(12)))).splitlines()
    assert [line.split()[3] for line in lines if line.startswith("   reproduce  ")] == [
        f"failures/{number}/program.txt" for number in range(8)
    ]
    assert sum(line == "   |  a = aclrtAllocBuf(size=1)" for line in lines) == 3 * 5
    assert "and 4 more root causes: see results.json" in lines


def test_what_a_selection_does_not_ask_for_is_not_told_as_unsupported() -> None:
    lacking = [
        FunctionSupport(name, family, Support.NOT_SUPPORTED, "207000")
        for name, family in ((ALLOC, "mbuf"), ("aclrtFreeBuf", "mbuf"), ("aclrtAllocatorRegister", "allocator"))
    ]
    case = CaseResult("c", Verdict.NOT_SUPPORTED, functions=(ALLOC,))
    found = results(case, support=tuple(lacking), filtered=True)
    assert [line for line in summary(found).splitlines() if "not supported" in line][:-1] == [
        "  not supported     mbuf (1 of 1): all functions"
    ]
    assert [entry.function for entry in found.runs[0].lacking] == [ALLOC]


def test_the_summary_names_what_is_not_supported() -> None:
    entry = FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "207000", "", True)
    text = summary(results(CaseResult("c", Verdict.NOT_SUPPORTED, functions=(ALLOC,)), support=(entry,)))
    assert "not supported     mbuf (1 of 1, reserved by the documents)" in text
