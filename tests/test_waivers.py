"""Waivers: what they cover, when they are out of date, that they hide nothing, and how wrong files are told."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from expectations import A, B, held, waiver, waiver_file
from made_results import ALLOC, PROBED, SUPPORTED, TABLES, bad, finding, good, not_run, results

import acl_cts.reports
from acl_cts.reports.exit_code import ExitCode, final, holding
from acl_cts.reports.expected import Use
from acl_cts.reports.files import ReportError
from acl_cts.reports.html_report import HtmlReport
from acl_cts.reports.junit import junit
from acl_cts.reports.markdown import markdown
from acl_cts.reports.profile_use import Claim, MustPass
from acl_cts.reports.results import CaseResult, Cause, FunctionSupport, Results, Support, from_json, to_json
from acl_cts.reports.summary import Summary
from acl_cts.reports.waivers import load_waivers
from acl_cts.specs.judgement import Strength, Verdict

SCHEMA = json.loads((Path(acl_cts.reports.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
X = {"clauses": ["mbuf.x"]}

PASSED = CaseResult(B, Verdict.PASS, clauses=("mbuf.x",), functions=(ALLOC,), succeeded=(ALLOC,), granted=1 << 20)
"""The case of `bad()`, when it does not fail."""

SKIPPED = not_run(Cause.PLANNED)


def whole(*cases: CaseResult, **more: Any) -> Results:
    """Results of a run of everything there is."""
    return results(good(), SKIPPED, *cases, **more)


# ------------------------------------------------------------------------------------------------------ what is covered


@pytest.mark.parametrize(
    "scope",
    [
        X,
        {"clauses": ["mbuf.*"]},
        {"cases": [B]},
        {"cases": ["mbuf/g/*"], "clauses": ["mbuf.x"]},
        {"cases": ["mbuf/*"], "verdicts": ["fail", "crash"]},
    ],
)
def test_a_failure_in_scope_is_accepted(tmp_path: Path, scope: dict[str, Any]) -> None:
    found = held(whole(bad()), waiver_file(tmp_path, waiver(scope)))
    assert found.code == 0
    assert found.runs[0].cases[-1].accepted == ("W-1",)
    assert found.expected is not None
    (used,) = found.expected.waivers
    assert (used.use, used.cases, used.stale) == (Use.USED, 1, False)


@pytest.mark.parametrize(
    ("scope", "more"),
    [
        ({"clauses": ["mbuf.y"]}, {}),
        ({"cases": [A]}, {}),
        ({"cases": [A], "clauses": ["mbuf.x"]}, {}),
        ({**X, "verdicts": ["crash"]}, {}),
        ({"limits": ["area"]}, {}),
        (X, {"backend": "acl"}),
        (X, {"version": "8.*"}),
    ],
)
def test_a_failure_out_of_scope_counts(tmp_path: Path, scope: dict[str, Any], more: dict[str, str]) -> None:
    found = held(whole(bad()), waiver_file(tmp_path, waiver(scope, **more)))
    assert found.code == ExitCode.DISCREPANCY
    assert found.runs[0].cases[-1].accepted == ()


@pytest.mark.parametrize(("version", "code"), [("1.2.*", 0), ("ab12*", 0), ("cafe", 0), ("1.3", 1), ("*", 0)])
def test_a_library_is_told_by_version_digest_or_build(tmp_path: Path, version: str, code: int) -> None:
    made = whole(bad())
    identity = {"sha256": "ab12cd", "build_id": "cafe", "details": {"version": "1.2.3"}}
    made = dataclasses.replace(made, runs=(dataclasses.replace(made.runs[0], identity=identity),))
    assert held(made, waiver_file(tmp_path, waiver(X, version=version))).code == code


def test_every_clause_that_a_case_accuses_must_be_covered(tmp_path: Path) -> None:
    two = bad(discrepancies=(finding(), finding(clause="mbuf.y")))
    one = held(whole(two), waiver_file(tmp_path, waiver(X)))
    assert one.code == ExitCode.DISCREPANCY
    assert one.expected is not None
    assert one.expected.waivers[0].use is Use.USED, "it is needed, if not enough"
    both = waiver_file(tmp_path, waiver(X), waiver({"clauses": ["mbuf.y"]}, "W-2"))
    assert held(whole(two), both).runs[0].cases[-1].accepted == ("W-1", "W-2")


def test_a_crash_is_not_covered_by_what_covers_a_fail(tmp_path: Path) -> None:
    crash = bad(Verdict.CRASH)
    found = held(whole(crash), waiver_file(tmp_path, waiver(X)))
    assert found.code == ExitCode.DISCREPANCY
    assert any("1 case in its scope failed otherwise (crash)" in each.reason for each in found.holds)
    assert held(whole(crash), waiver_file(tmp_path, waiver({**X, "verdicts": ["crash"]}))).code == 0


def test_a_fault_of_the_suite_is_never_accepted(tmp_path: Path) -> None:
    error = CaseResult(B, Verdict.ERROR, "protocol broken", clauses=("mbuf.x",))
    assert held(whole(error), waiver_file(tmp_path, waiver({"cases": ["*"]}))).code == ExitCode.HARNESS


def test_a_limit_and_a_function_are_accepted_by_name(tmp_path: Path) -> None:
    scope = {"limits": ["area"], "functions": ["aclrtFree*"]}
    lacking = FunctionSupport("aclrtFreeBuf", "mbuf", Support.NOT_SUPPORTED, "207000", claim=Claim.SUPPORTED)
    asked = good(functions=(ALLOC, "aclrtFreeBuf"))
    made = results(asked, limits=(PROBED,), support=(SUPPORTED, lacking))
    assert [each.code for each in held(made).holds] == [1, 1]
    found = held(made, waiver_file(tmp_path, waiver(scope)))
    assert found.code == 0
    assert found.expected is not None
    assert (found.expected.waivers[0].limits, found.expected.waivers[0].functions) == (1, 1)


def test_only_strengths_that_count_need_a_waiver(tmp_path: Path) -> None:
    made = whole(bad(discrepancies=(finding(), finding(Strength.IMPLIED, "mbuf.y"))))
    made = dataclasses.replace(made, fail_on=frozenset({Strength.EXPLICIT}))
    assert held(made, waiver_file(tmp_path, waiver(X))).code == 0


def test_a_function_that_only_fails_and_is_answered_for_leaves_nothing_incomplete(tmp_path: Path) -> None:
    big = good(functions=(), succeeded=())
    found = held(results(big, SKIPPED, bad()), waiver_file(tmp_path, waiver(X)))
    assert found.code == 0


# ------------------------------------------------------------------------------------------------------ what is stale


def use(found: Results) -> Use:
    assert found.expected is not None
    return found.expected.waivers[0].use


@pytest.mark.parametrize(
    ("scope", "more", "told"),
    [
        ({"cases": ["mbuf/gone/*"]}, {}, "cases: 'mbuf/gone/*' matches nothing"),
        ({"cases": [B, "nowhere"]}, {}, "cases: 'nowhere' matches nothing"),
        ({"clauses": ["mbuf.gone"]}, {}, "clauses: 'mbuf.gone' matches nothing"),
        ({"limits": ["gone"]}, {}, "limits: 'gone' matches nothing"),
        ({"functions": ["gone"]}, {}, "functions: 'gone' matches nothing"),
        (X, {"backend": "cor"}, "backend: 'cor' names no backend"),
    ],
)
def test_a_pattern_that_matches_nothing_is_5(
    tmp_path: Path, scope: dict[str, Any], more: dict[str, str], told: str
) -> None:
    path = waiver_file(tmp_path, waiver(scope, **more))
    found = held(whole(PASSED), path)
    assert [each.code for each in found.holds] == [ExitCode.STALE]
    assert told in found.holds[0].reason
    wanted = told.split("'")[1]
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if wanted in text)
    assert found.holds[0].reason.startswith(f"{path}:{line}: waiver W-1: ")


@pytest.mark.parametrize("scope", [X, {"cases": [B]}, {"cases": ["mbuf/g/b*"], "clauses": ["mbuf.x"]}])
def test_an_unexpected_pass_is_5(tmp_path: Path, scope: dict[str, Any]) -> None:
    found = held(whole(PASSED), waiver_file(tmp_path, waiver(scope)))
    assert found.code == ExitCode.STALE
    assert use(found) is Use.PASSED


def test_a_limit_that_is_as_documented_again_is_5(tmp_path: Path) -> None:
    from acl_cts.reports.limit_result import LimitVerdict

    fine = dataclasses.replace(PROBED, verdict=LimitVerdict.AS_DOCUMENTED)
    path = waiver_file(tmp_path, waiver({"limits": ["area"]}))
    assert held(whole(PASSED, limits=(fine,)), path).code == ExitCode.STALE
    assert use(held(whole(PASSED), path)) is Use.UNJUDGED, "limits were not probed"


@pytest.mark.parametrize(("day", "code"), [("2026-01-01", 0), ("2025-12-31", 5), ("2027-01-01", 0)])
def test_the_last_day_still_counts_and_the_next_is_5(tmp_path: Path, day: str, code: int) -> None:
    found = held(whole(bad()), waiver_file(tmp_path, waiver(X, expires=day)))
    assert found.code == code
    assert found.runs[0].cases[-1].accepted == ("W-1",), "the failure stays told as waived"
    assert not code or f"expired on {day}" in found.holds[0].reason


def test_what_was_not_judged_says_nothing_of_a_waiver(tmp_path: Path) -> None:
    path = waiver_file(tmp_path, waiver(X))
    assert use(held(results(good(), filtered=True), path)) is Use.UNJUDGED
    late = CaseResult(B, Verdict.NOT_RUN, "late", Cause.TIME_LIMIT)
    assert use(held(whole(late), path)) is Use.UNJUDGED
    lacking = tuple(CaseResult(id, Verdict.NOT_SUPPORTED, "207000") for id in (A, B))
    assert use(held(results(*lacking, SKIPPED), path)) is Use.UNJUDGED


def test_a_selection_that_holds_all_of_a_waivers_cases_judges_it(tmp_path: Path) -> None:
    found = held(results(PASSED, filtered=True), waiver_file(tmp_path, waiver({"cases": [B]})))
    assert use(found) is Use.PASSED


def test_a_flake_that_passes_is_as_expected(tmp_path: Path) -> None:
    path = waiver_file(tmp_path, waiver({"cases": [B], "verdicts": ["flaky"]}))
    assert (held(whole(PASSED), path).code, use(held(whole(PASSED), path))) == (0, Use.QUIET)
    assert held(whole(bad(Verdict.FLAKY)), path).code == 0


def test_a_waiver_of_another_backend_is_no_concern_of_this_run(tmp_path: Path) -> None:
    found = held(whole(PASSED), waiver_file(tmp_path, waiver(X, backend="acl")))
    assert (found.code, use(found)) == (0, Use.ELSEWHERE)


def test_a_waiver_that_one_of_two_backends_needs_is_not_stale(tmp_path: Path) -> None:
    made = whole(bad())
    other = dataclasses.replace(whole(PASSED).runs[0], backend="acl")
    found = held(dataclasses.replace(made, runs=(*made.runs, other)), waiver_file(tmp_path, waiver(X)))
    assert found.code == 0


def test_no_waivers_and_their_order_change_nothing(tmp_path: Path) -> None:
    assert held(whole(bad()), waiver_file(tmp_path)).code == ExitCode.DISCREPANCY
    entries = [waiver(X), waiver({"cases": ["mbuf/gone"]}, "W-2"), waiver({"clauses": ["mbuf.y"]}, "W-3")]
    codes = {held(whole(bad()), waiver_file(tmp_path, *order)).code for order in itertools.permutations(entries)}
    assert codes == {ExitCode.STALE}


# ------------------------------------------------------------------------------------------------------ precedence


HARNESS = CaseResult("mbuf/g/e~00000003", Verdict.ERROR, "protocol broken")


@pytest.mark.parametrize(
    "wanted", [codes for number in range(5) for codes in itertools.combinations((3, 1, 4, 5), number)]
)
def test_every_code_that_holds_is_told_and_the_first_is_returned(tmp_path: Path, wanted: tuple[int, ...]) -> None:
    cases = [PASSED]
    cases += [HARNESS] if 3 in wanted else []
    cases += [bad(id="mbuf/g/new~00000004")] if 1 in wanted else []
    cases += [CaseResult("mbuf/g/l~00000005", Verdict.NOT_RUN, "late", Cause.TIME_LIMIT)] if 4 in wanted else []
    path = waiver_file(tmp_path, waiver({"cases": [B]})) if 5 in wanted else None
    found = held(whole(*cases), path)
    assert tuple(dict.fromkeys(each.code for each in found.holds)) == wanted
    assert found.code == (wanted[0] if wanted else 0)
    stored = to_json(found)["exit"]
    assert [each["code"] for each in stored["holds"]] == [each.code for each in found.holds]


# ------------------------------------------------------------------------------------------------------ visible


@pytest.fixture
def waived(tmp_path: Path) -> Results:
    made = dataclasses.replace(whole(bad(), bad(id="mbuf/g/c~00000009")), tables=TABLES)
    return held(made, waiver_file(tmp_path, waiver({"cases": [B]}, reason="mended in 9", owner="Ann Lee")))


def test_a_waived_failure_stands_in_every_total(waived: Results) -> None:
    run = waived.runs[0]
    assert run.totals["fail"] == 2
    assert run.by_strength["explicit"] == 2
    assert run.accepted == {"waived": 1, "baseline": 0}
    suite = ElementTree.fromstring(junit(waived)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")


def test_a_waived_failure_is_seen_in_every_form(waived: Results, tmp_path: Path) -> None:
    for text in (
        Summary(waived).text(),
        markdown(waived),
        HtmlReport(waived, tmp_path, tmp_path).text(),
        json.dumps(to_json(waived)),
    ):
        for word in ("W-1", "mended in 9", "Ann Lee", "2026-01-01", "tracker.example/1"):
            assert word in text, word
        assert "mbuf.x" in text
    case = next(e for e in ElementTree.fromstring(junit(waived)).iter("testcase") if e.get("name") == "b~00000001")
    (child,) = case
    assert (child.tag, child.get("type")) == ("skipped", "fail")
    assert str(child.get("message")).startswith("accepted (W-1): fail: ")


def test_a_run_with_known_failures_only_ends_with_their_number(tmp_path: Path) -> None:
    found = held(whole(bad()), waiver_file(tmp_path, waiver(X)))
    assert Summary(found).text().splitlines()[-1] == "exit code 0: as expected; 1 failure waived"


def test_expectations_survive_json_and_keep_to_the_schema(waived: Results) -> None:
    lacking = FunctionSupport("f", "mbuf", Support.NOT_SUPPORTED, "no", claim=Claim.SUPPORTED, accepted=("W-1",))
    run = dataclasses.replace(
        waived.runs[0],
        support=(SUPPORTED, lacking),
        limits=(dataclasses.replace(PROBED, accepted=("W-1",)),),
        must_pass=MustPass(3, 1, 0, 1, 1, 0, ""),
        cases=(*waived.runs[0].cases, good("r", repeats=5, failed=2, after=("x", "y"))),
    )
    found = dataclasses.replace(waived, runs=(run,))
    holds = holding(found, found.fail_on)
    found = dataclasses.replace(found, holds=holds, code=final(holds))
    stored = json.loads(json.dumps(to_json(found))) | {"seal": "0" * 64}
    jsonschema.Draft202012Validator(SCHEMA).validate(stored)
    del stored["seal"]
    assert from_json(stored) == found


def test_totals_of_accepted_failures_that_are_not_theirs_are_refused(waived: Results) -> None:
    stored = to_json(waived)
    stored["runs"][0]["accepted"]["waived"] = 2
    with pytest.raises(ValueError, match="accepted failures"):
        from_json(stored)


# ------------------------------------------------------------------------------------------------------ wrong files

GOOD = """\
format: 1
waivers:
  - id: W-1
    reason: known
    owner: Ann
    link: https://tracker.example/1
    expires: 2027-03-31
    scope:
      clauses: [mbuf.x]
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("format: 1", "format: 2", 1, "1 was expected"),
        ("waivers:", "waivers: x\nothers:", 3, "others"),
        ("    owner: Ann\n", "", 3, "'owner' is missing"),
        ("    owner: Ann", "    owner: 7", 5, "not of type 'string'"),
        ("    owner: Ann", "    owner: ' '", 5, "who answers for it"),
        ("    owner: Ann", "    ower: Ann", 5, "no key 'ower'"),
        ("    owner: Ann", "    owner: Ann\n    owner: Bob", 6, "given twice"),
        ("2027-03-31", "soon", 7, "last day on which it holds"),
        ("2027-03-31", "2027-02-30", 7, "no day of the calendar"),
        ("https://tracker.example/1", "see the tracker", 6, "address of the issue"),
        ("id: W-1", "id: baseline", 3, "another id"),
        ("id: W-1", "id: two words", 3, "a short name"),
        ("clauses: [mbuf.x]", "clauses: mbuf.x", 9, "not of type 'array'"),
        ("clauses: [mbuf.x]", "clauses: []", 9, "non-empty"),
        ("clauses: [mbuf.x]", "verdicts: [fail]", 8, "scope"),
        ("clauses: [mbuf.x]", "clauses: [mbuf.x]\n      verdicts: [pass]", 10, "'pass' is not one of"),
        ("clauses: [mbuf.x]", "clauses: [mbuf.x", 10, "is not valid YAML"),
        ("clauses: [mbuf.x]", "clauses: &a [mbuf.x]\n      cases: *a", 10, "write that part out"),
        (GOOD, "just words", 1, "no mapping"),
        (GOOD, "", 1, "no mapping"),
        (GOOD, "a: [" * 20000, 1, "is not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    path = tmp_path / "w.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        load_waivers(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:{line}: "), message
    assert told in message


def test_an_id_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"the id 'W-1' is taken \(line 3\)"):
        load_waivers(waiver_file(tmp_path, waiver(X), waiver(X)))


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be read"):
        load_waivers(tmp_path / "none.yaml")
    (tmp_path / "binary").write_bytes(b"format: 1\n\xff\xfe")
    with pytest.raises(ReportError, match="binary:2: is not UTF-8"):
        load_waivers(tmp_path / "binary")
