"""Baselines: what they know, when they are out of date, how they are brought up to date, and wrong files."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from expectations import A, B, baseline_file, held, waiver, waiver_file
from hypothesis import given
from hypothesis import strategies as st
from made_results import ALLOC, PROBED, SUPPORTED, bad, finding, good, not_run, results

from acl_cts.reports import chinese
from acl_cts.reports.baseline import Baseline, Entry, KnownFailure, baseline_text, limit_name, load_baseline
from acl_cts.reports.baseline_update import folded, updated
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import ReportError
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.profile_use import Claim
from acl_cts.reports.results import CaseResult, Cause, FunctionSupport, Results, Support
from acl_cts.specs.judgement import Verdict

PASSED = CaseResult(B, Verdict.PASS, clauses=("mbuf.x",), functions=(ALLOC,), succeeded=(ALLOC,), granted=1 << 20)
PLANNED = not_run(Cause.PLANNED)
FAILS = {B: {"verdict": "fail", "clauses": ["mbuf.x"]}}
LACKING = FunctionSupport("aclrtFreeBuf", "mbuf", Support.NOT_SUPPORTED, "207000")


def core(**kinds: Any) -> dict[str, Any]:
    return {"backend": "core", **kinds}


def code(folder: Path, made: Results, *entries: dict[str, Any]) -> int:
    return held(made, baseline=baseline_file(folder, *entries)).code


# ------------------------------------------------------------------------------------------------------ what is known


def test_a_known_failure_is_as_expected_and_counted(tmp_path: Path) -> None:
    found = held(results(good(), bad()), baseline=baseline_file(tmp_path, core(failures=FAILS)))
    assert found.code == 0
    assert found.runs[0].accepted == {"waived": 0, "baseline": 1}
    assert found.expected is not None
    assert found.expected.baseline is not None
    assert found.expected.baseline.failures == 1


@pytest.mark.parametrize(
    "case",
    [
        bad(Verdict.CRASH),
        bad(Verdict.FLAKY),
        bad(discrepancies=(finding(clause="mbuf.y"),)),
        bad(discrepancies=(finding(), finding(clause="mbuf.y"))),
        bad(id="mbuf/g/other~00000007"),
    ],
)
def test_a_failure_that_is_not_the_known_one_is_1(tmp_path: Path, case: CaseResult) -> None:
    assert code(tmp_path, results(good(), case), core(failures=FAILS)) == ExitCode.DISCREPANCY


def test_what_is_known_to_crash_may_just_fail(tmp_path: Path) -> None:
    known = {B: {"verdict": "crash", "clauses": ["mbuf.x"]}}
    assert code(tmp_path, results(good(), bad()), core(failures=known)) == 0


@pytest.mark.parametrize("entry", [{"backend": "acl"}, {"backend": "core", "version": "9.*"}])
def test_entries_for_other_libraries_know_nothing(tmp_path: Path, entry: dict[str, str]) -> None:
    assert code(tmp_path, results(good(), bad()), {**entry, "failures": FAILS}) == ExitCode.DISCREPANCY


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.FLAKY])
def test_a_flake_may_pass_or_fail(tmp_path: Path, verdict: Verdict) -> None:
    case = PASSED if verdict is Verdict.PASS else bad(verdict)
    assert code(tmp_path, results(good(), case), core(flakes=["mbuf/g/b*"])) == 0


def test_a_flake_may_not_crash(tmp_path: Path) -> None:
    assert code(tmp_path, results(good(), bad(Verdict.CRASH)), core(flakes=["mbuf/g/b*"])) == ExitCode.DISCREPANCY


def test_known_limits_and_functions_are_as_expected(tmp_path: Path) -> None:
    asked = good(functions=(ALLOC, "aclrtFreeBuf"))
    made = results(asked, limits=(PROBED,), support=(SUPPORTED, LACKING))
    assert held(made).code == ExitCode.DISCREPANCY
    known = core(limits={limit_name(PROBED): "differs"}, unsupported=["aclrtFreeBuf"])
    assert code(tmp_path, made, known) == 0


def test_a_function_that_the_profile_claims_may_be_known_to_be_missing(tmp_path: Path) -> None:
    claimed = dataclasses.replace(LACKING, claim=Claim.SUPPORTED)
    made = results(good(functions=(ALLOC, "aclrtFreeBuf")), support=(SUPPORTED, claimed))
    assert held(made).code == ExitCode.DISCREPANCY
    assert code(tmp_path, made, core(unsupported=["aclrtFreeBuf"])) == 0


def test_a_waiver_comes_before_the_baseline(tmp_path: Path) -> None:
    files = waiver_file(tmp_path, waiver({"cases": [B]})), baseline_file(tmp_path, core(failures=FAILS))
    found = held(results(good(), PLANNED, bad()), *files)
    assert (found.code, found.runs[0].accepted) == (0, {"waived": 1, "baseline": 0})


# ------------------------------------------------------------------------------------------------------ what is stale


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (core(failures=FAILS), "1 known failures of the baseline pass"),
        (core(failures={"gone~00": {"verdict": "fail"}}), "1 failures of the baseline name nothing"),
        (core(flakes=["gone/*"]), "1 flakes of the baseline name nothing"),
        (core(skips={"gone/*": "not-run"}), "1 skips of the baseline name nothing"),
        (core(skips={B: "not-run"}), "1 skips of the baseline are judged"),
        (core(skips={"mbuf/g/[ab]*": "not-supported"}), "1 skips of the baseline are judged"),
        (core(limits={"gone f": "differs"}), "1 limits of the baseline name nothing"),
        (core(limits={limit_name(PROBED): "differs"}), "1 limits of the baseline are as documented"),
        (core(unsupported=["gone"]), "1 unsupported of the baseline name nothing"),
        (core(unsupported=[ALLOC]), "1 unsupported functions of the baseline are supported"),
        ({"backend": "cor", "flakes": [B]}, "1 backend of the baseline name nothing"),
    ],
)
def test_what_is_out_of_date_is_5_with_its_place(tmp_path: Path, entry: dict[str, Any], told: str) -> None:
    fine = dataclasses.replace(PROBED, verdict=LimitVerdict.AS_DOCUMENTED)
    path = baseline_file(tmp_path, entry)
    found = held(results(good(), PLANNED, PASSED, limits=(fine,)), baseline=path)
    assert [each.code for each in found.holds] == [ExitCode.STALE]
    place, _, reason = found.holds[0].reason.partition(": ")
    assert reason.startswith(told)
    assert re.fullmatch(rf"{re.escape(str(path))}:[3-9]", place)
    assert chinese.reason(found.holds[0].reason), "the page tells it in Chinese too"


@pytest.mark.parametrize(
    "entry",
    [
        core(failures=FAILS),
        core(skips={B: "not-run"}),
        core(skips={B: "inconclusive"}),
        core(unsupported=["aclrtFreeBuf"]),
    ],
)
def test_what_was_not_judged_makes_nothing_stale(tmp_path: Path, entry: dict[str, Any]) -> None:
    late = CaseResult(B, Verdict.NOT_RUN, "late", Cause.TIME_LIMIT)
    reasons = held(results(good(), late), baseline=baseline_file(tmp_path, entry)).holds
    assert {each.code for each in reasons} == {ExitCode.INCOMPLETE}
    assert code(tmp_path, results(good(), filtered=True), entry) == 0


def test_what_one_of_two_backends_needs_is_not_stale(tmp_path: Path) -> None:
    made = results(good(), bad())
    other = dataclasses.replace(results(good(), PASSED).runs[0], backend="acl")
    made = dataclasses.replace(made, runs=(*made.runs, other))
    assert code(tmp_path, made, {"backend": "*", "failures": FAILS}) == 0


# ------------------------------------------------------------------------------------------------------ updating


def updated_text(folder: Path, old: Baseline, made: Results) -> Path:
    path = folder / "made.yaml"
    path.write_text(baseline_text(updated(old, made, "*")[0]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "made",
    [
        results(good(), bad(), PLANNED),
        results(good(), bad(Verdict.CRASH), PLANNED),
        results(good(), bad(Verdict.FLAKY), PLANNED),
        results(good(), bad(Verdict.BLOCKED, discrepancies=()), PLANNED),
        results(good(), PLANNED, PASSED, limits=(PROBED,)),
        results(good(functions=(ALLOC, "aclrtFreeBuf")), PLANNED, PASSED, support=(SUPPORTED, LACKING)),
    ],
)
def test_the_state_that_was_taken_over_is_as_expected(tmp_path: Path, made: Results) -> None:
    assert held(made, baseline=updated_text(tmp_path, Baseline(), made)).code == 0


def test_an_update_tells_what_it_did_and_doing_it_again_does_nothing() -> None:
    first, changes = updated(Baseline(), results(good(), bad(), PLANNED), "*")
    assert [(each.added, each.removed) for each in changes] == [({"failures": 1, "skips": 1}, {})]
    second, changes = updated(first, results(good(), bad(), PLANNED), "*")
    assert (second.entries, changes[0].added, changes[0].removed) == (first.entries, {}, {})
    third, changes = updated(second, results(good(), PASSED, PLANNED), "*")
    assert changes[0].removed == {"failures": 1}
    assert third.entries[0].failures == {}


def test_a_selection_changes_only_what_it_judged() -> None:
    old = Baseline((Entry("core", failures={A: KnownFailure(Verdict.FAIL), B: KnownFailure(Verdict.FAIL)}),))
    new, _ = updated(old, results(PASSED, filtered=True), "*")
    assert set(new.entries[0].failures) == {A}
    new, _ = updated(old, results(PASSED), "*")
    assert set(new.entries[0].failures) == set(), "of a whole run nothing else is left"


def test_what_was_not_judged_keeps_its_place() -> None:
    old = Baseline((Entry("core", failures={B: KnownFailure(Verdict.FAIL)}),))
    late = CaseResult(B, Verdict.NOT_RUN, "late", Cause.TIME_LIMIT)
    assert set(updated(old, results(good(), late), "*")[0].entries[0].failures) == {B}


def test_other_entries_are_left_alone() -> None:
    old = Baseline((Entry("acl", flakes=("x",)), Entry("core", "8.*", flakes=("y",))))
    new, _ = updated(old, results(good(), bad()), "*")
    assert new.entries[:2] == old.entries
    assert (new.entries[2].backend, new.entries[2].version) == ("core", "*")


def test_a_known_flake_stays_one_when_it_fails() -> None:
    old = Baseline((Entry("core", flakes=("mbuf/g/b*",)),))
    for case in (bad(), PASSED, bad(Verdict.FLAKY)):
        (entry,) = updated(old, results(good(), case), "*")[0].entries
        assert (entry.flakes, entry.failures) == (("mbuf/g/b*",), {})
    (entry,) = updated(old, results(good(), bad(Verdict.CRASH)), "*")[0].entries
    assert set(entry.failures) == {B}, "a crash is more than a flake"


def test_what_a_waiver_covers_is_left_to_it(tmp_path: Path) -> None:
    found = held(results(good(), bad()), waiver_file(tmp_path, waiver({"cases": [B]})))
    assert updated(Baseline(), found, "*")[0].entries[0].failures == {}


def test_results_of_a_broken_suite_are_not_taken_over() -> None:
    made = results(good())
    made = dataclasses.replace(made, runs=(dataclasses.replace(made.runs[0], trouble="no compiler"),))
    with pytest.raises(ReportError, match="no compiler"):
        updated(Baseline(), made, "*")


def test_whole_branches_are_folded_into_one_pattern() -> None:
    def case(id: str, verdict: Verdict = Verdict.NOT_SUPPORTED) -> CaseResult:
        return CaseResult(id, verdict)

    cases = [case("a/g/1"), case("a/g/2"), case("a/h/3"), case("b/g/4"), case("b/g/5", Verdict.PASS), case("b/h/6")]
    skips = {each.id: each.verdict for each in cases if each.verdict is not Verdict.PASS}
    assert set(folded(skips, cases)) == {"a/*", "b/g/4", "b/h/6"}


# ------------------------------------------------------------------------------------------------------ YAML

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
known = st.builds(
    KnownFailure,
    st.sampled_from([Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.LEAK, Verdict.BLOCKED]),
    st.frozensets(names, max_size=3),
)
skip = st.sampled_from([Verdict.NOT_SUPPORTED, Verdict.NOT_RUN, Verdict.INCONCLUSIVE])
moved = st.sampled_from([LimitVerdict.DIFFERS, LimitVerdict.NOT_ENFORCED])
sets = st.frozensets(names, max_size=3).map(lambda found: tuple(sorted(found)))
entries = st.builds(
    Entry,
    names,
    names,
    st.dictionaries(names, known, max_size=3),
    sets,
    st.dictionaries(names, skip, max_size=3),
    st.dictionaries(names, moved, max_size=3),
    sets,
)


@given(st.lists(entries, max_size=3))
def test_a_baseline_survives_yaml(tmp_path_factory: pytest.TempPathFactory, made: list[Entry]) -> None:
    path = tmp_path_factory.mktemp("yaml") / "b.yaml"
    path.write_text(baseline_text(Baseline(tuple(made))), encoding="utf-8")
    assert load_baseline(path).entries == tuple(made)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("format: 1\nbackends:\n  - flakes: [x]\n", 3, "'backend' is missing"),
        ("format: 1\nbackends:\n  - backend: core\n    fails: [x]\n", 4, "no key 'fails'"),
        ("format: 1\nbackends:\n  - backend: core\n    skips: {x: pass}\n", 4, "'pass' is not one of"),
        ("format: 1\nbackends:\n  - backend: core\n    flakes:\n    - a\n    - 7\n", 6, "not of type 'string'"),
        (
            "format: 1\nbackends:\n  - backend: core\n    failures:\n      a/b~1: {verdict: flaky}\n",
            5,
            "'flaky' is not one of",
        ),
        ("format: 1\nbackends: {}\n", 2, "not of type 'array'"),
        ("- a\n", 1, "no mapping"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_place(tmp_path: Path, text: str, line: int, told: str) -> None:
    path = tmp_path / "b.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        load_baseline(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: "), message
    assert told in message
    assert "\n" not in message
