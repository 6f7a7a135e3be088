"""Scores: what is missed, accused wrongly or survives is told, and makes the exit code; the forms say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acl_cts.backends.core_defects import Defect, Kind, load_defects
from acl_cts.backends.core_mutants import Mutant, mutants
from acl_cts.commands import score as command
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.crew import Crew
from acl_cts.conformance.score import CLEAN, measure
from acl_cts.conformance.score_plan import DEFECT_COST, ScorePlan, planned
from acl_cts.main import main
from acl_cts.reports import files
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import read_json
from acl_cts.reports.score_html import score_html
from acl_cts.reports.score_result import (
    CoverageScore,
    DefectScore,
    DetectorScore,
    Fate,
    GapScore,
    MutantScore,
    Part,
    Proof,
    Score,
    Shown,
    VariantScore,
    score_from_json,
    score_to_json,
)
from acl_cts.reports.score_text import ratio, score_text
from acl_cts.specs.loader import load_spec

SPEC = load_spec()
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(files.__file__).parent / "score.schema.json").read_text(encoding="utf-8"))
)

HARMLESS = Defect(
    id="NONE",  # the enumerator of a build without a defect
    function="aclrtSetBufUserData",
    clause="mbuf.set-user.sum",
    kind=Kind.WRAP,
    report="",
    flavour="plain",
    why="It changes nothing.",
)
REAL = next(defect for defect in load_defects() if defect.id == "set-user-sum-wraps")


def user_data_cases() -> tuple[Case, ...]:
    """Cases of the limits of aclrtSetBufUserData."""
    return tuple(case for case in cached_cases(SPEC) if case.group == "limit" and "/aclrtSetBufUserData/" in case.id)


def measured(plan: ScorePlan, jobs: int = 1) -> Score:
    """The score over the few cases of `user_data_cases`."""
    return measure(SPEC, user_data_cases(), planned(plan), {}, jobs, "test")


def only(**things: Any) -> ScorePlan:
    """A plan with these things and nothing else."""
    return ScorePlan(**({"clean": False, "coverage": False, "detectors": False} | things))


def mutant_of(operator: str, before: str) -> Mutant:
    """The first mutant with this operator in a line that begins so."""
    return next(m for m in mutants() if m.operator == operator and m.before.startswith(before))


# ------------------------------------------------------------------------------------------------- what is measured


def test_a_defect_is_found_with_its_first_case_and_one_that_is_none_is_missed() -> None:
    score = measured(only(defects=(HARMLESS, REAL)), jobs=2)
    missed, found = score.defects
    assert missed.shown is None
    assert found.shown is not None
    assert found.shown.case in {case.id for case in user_data_cases()}
    assert found.shown.clause == REAL.clause
    assert found.clause_seen
    assert found.shown.calls > 0
    assert score.missed == (missed,)
    assert score.code is ExitCode.DISCREPANCY
    assert "missed: NONE (plain), aclrtSetBufUserData, mbuf.set-user.sum" in score_text(score)


def test_whoever_does_not_conform_among_the_variants_raises_an_alarm() -> None:
    broken = ("broken", REAL.defines)
    score = measured(only(variants=(("alternative", ("ACL_CTS_CORE_ALTERNATIVE",)), broken)), jobs=2)
    alternative, accused = score.variants
    assert alternative.alarms == ()
    assert alternative.cases == accused.cases == len(user_data_cases())
    assert REAL.clause in {alarm.clause for alarm in accused.alarms}
    assert score.code is ExitCode.DISCREPANCY
    assert f"false alarm: broken: fail: {REAL.clause}" in score_text(score)
    assert "built with CORE_DEFECT=CORE_DEFECT_set_user_sum_wraps" in score_text(score)


def test_a_mutant_that_only_a_note_tells_is_killed() -> None:
    stale = [case for case in cached_cases(SPEC) if case.id.startswith("mbuf/scenario/A6/recycled-private-same-size~")]
    mutant = mutant_of("delete", "private_area_clear(buf);")
    score = measure(SPEC, stale, only(mutants=(mutant,)), {}, 1, "test")
    (noticed,) = score.mutants
    assert noticed.fate is Fate.KILLED
    assert noticed.shown is not None
    assert (noticed.shown.verdict, noticed.shown.clause) == ("note", "mbuf.get-user.stale")


def test_a_mutant_is_killed_survives_or_is_the_same_code() -> None:
    killed = mutant_of("<=→>", "return offset <= PRIVATE_AREA_SIZE")
    survivor = next(m for m in mutants() if m.file == "chain.h")
    same = mutant_of("accept", 'return refuse_parameter("buf is in a chain");')
    score = measured(only(mutants=(killed, survivor, same)))
    assert [mutant.fate for mutant in score.mutants] == [Fate.KILLED, Fate.SURVIVED, Fate.EQUIVALENT]
    assert score.mutants[0].shown is not None
    assert score.mutants[2].evidence == "same object code"
    assert score.reasons == ("fewer than 95% of the mutants killed",)
    text = score_text(score)
    assert f"{survivor.id}, outside of functions\n    - {survivor.before}\n    + {survivor.after}" in text
    assert re.search(r"mutants killed +1 of 2 \(50\.0 %\) +1 equivalent, 0 do not compile", text)


def test_coverage_names_what_no_case_reached() -> None:
    score = measured(only(clean=True, coverage=True))
    assert score.coverage is not None
    assert not score.coverage.reason
    assert 0 < score.coverage.lines_reached < score.coverage.lines
    assert not score.coverage.reached
    assert any(
        gap.file == "chain.c" and "the chain would have more than 128" in gap.text for gap in score.coverage.gaps
    )
    assert not any(gap.file == "lifecycle.c" for gap in score.coverage.gaps)
    assert [variant.name for variant in score.variants] == [CLEAN]
    assert score.clauses is not None
    assert "mbuf.set-user.sum" not in score.clauses.unseen
    assert "allocator.create.succeeds" in score.clauses.unseen


def test_a_process_that_fails_is_told_and_nothing_hangs() -> None:
    def fails(task: int) -> Iterator[int]:
        yield task
        raise ValueError(f"task {task}")

    with Crew(2, fails) as crew, pytest.raises(Exception, match="ValueError: task"):
        list(crew.do([1, 2, 3]))


def test_every_task_is_done_once_whatever_the_number_of_processes() -> None:
    def doubled(task: int) -> Iterator[int]:
        yield from (task, -task)

    with Crew(3, doubled) as crew:
        assert sorted(crew.do([1, 2, 3, 4, 5])) == [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
        assert sorted(crew.do([7])) == [-7, 7]


# ---------------------------------------------------------------------------------------------------------- samples


def whole() -> ScorePlan:
    """A plan of everything."""
    builds = tuple((f"v{number}", ()) for number in range(24))
    return ScorePlan(load_defects(), builds, mutants())


@settings(deadline=None, max_examples=50)
@given(st.floats(1, 600), st.none() | st.integers(0, 700))
def test_a_sample_is_a_part_that_keeps_its_order_and_says_its_size(seconds: float, number: int | None) -> None:
    everything = whole()
    plan = planned(everything, number, seconds)
    assert plan == planned(everything, number, seconds)
    for name in ("defects", "variants", "mutants"):
        taken, all_of_them = getattr(plan, name), getattr(everything, name)
        assert [each for each in all_of_them if each in taken] == list(taken)
        assert Part(name, len(taken), len(all_of_them)) in plan.parts
    assert sum(DEFECT_COST[defect.flavour] for defect in plan.defects) <= 2 * seconds


def test_without_a_limit_nothing_is_left_out() -> None:
    assert replace(planned(whole()), parts=()) == whole()
    assert len(planned(whole(), mutants=10).mutants) == 10


# ------------------------------------------------------------------------------------------------------------ forms

words = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
counts = st.integers(0, 10**6)
times = st.floats(0, 10**6)
shown = st.builds(Shown, words, words, words, words, counts, times)
texts = st.lists(words, max_size=3).map(tuple)
scores = st.builds(
    Score,
    version=words,
    tables=words,
    case_list=words,
    cases=counts,
    seed=counts,
    jobs=st.integers(1, 64),
    seconds=times,
    parts=st.lists(st.builds(Part, words, counts, counts), max_size=2).map(tuple),
    defects=st.lists(
        st.builds(
            DefectScore,
            *[words] * 4,
            st.sampled_from(["plain", "asan"]),
            words,
            words,
            st.none() | shown,
            st.booleans(),
            times,
        ),
        max_size=3,
    ).map(tuple),
    variants=st.lists(
        st.builds(VariantScore, words, texts, counts, st.lists(shown, max_size=2).map(tuple), times), max_size=2
    ).map(tuple),
    mutants=st.lists(
        st.builds(
            MutantScore,
            words,
            words,
            st.integers(1, 999),
            *[words] * 4,
            st.sampled_from(Fate),
            st.none() | shown,
            words,
        ),
        max_size=3,
    ).map(tuple),
    coverage=st.none()
    | st.builds(
        CoverageScore,
        *[counts] * 4,
        st.lists(st.builds(GapScore, words, st.integers(1, 999), words, counts), max_size=2).map(tuple),
        words,
    ),
    detectors=st.lists(
        st.builds(DetectorScore, words, words, st.sampled_from(Proof), texts, texts, words), max_size=2
    ).map(tuple),
)


@settings(deadline=None, max_examples=50)
@given(scores)
def test_json_round_trips_and_keeps_to_its_schema(score: Score) -> None:
    data = json.loads(json.dumps(score_to_json(score)))
    SCHEMA.validate(data)
    assert score_from_json(data) == score
    assert data["code"] == score.code


@settings(deadline=None, max_examples=50)
@given(scores)
def test_every_form_can_be_made_and_the_page_holds_no_script(score: Score) -> None:
    assert f"exit code {int(score.code)}" in score_text(score)
    page = score_html(score)
    assert "<script" not in page
    assert not re.search(r"(src|href)=[\"'](?!#)", page)


def test_hostile_text_is_escaped_in_the_page() -> None:
    alarm = Shown("<b>case</b>", "fail", "x", "<script>alert(1)</script>")
    score = Score("v", "t", "c", 1, 1, 1, 1.0, (), variants=(VariantScore("<i>", (), 1, (alarm,)),))
    page = score_html(score)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    "broken", [{"format": 2}, {"cases": -1}, {"parts": {}}, {"coverage": 3}, {"mutants": [{"fate": "eaten"}]}]
)
def test_json_of_another_format_is_refused(broken: dict[str, Any]) -> None:
    score = Score("v", "t", "c", 1, 1, 1, 1.0, ())
    with pytest.raises(ValueError, match=r"\w"):
        score_from_json(json.loads(json.dumps(score_to_json(score))) | broken)


def test_a_share_is_never_rounded_up_to_the_whole() -> None:
    assert ratio(9999, 10000) == "9999 of 10000 (99.9 %)"
    assert ratio(3, 4) == "3 of 4 (75.0 %)"


def test_what_cannot_be_measured_makes_the_score_incomplete() -> None:
    score = Score("v", "t", "c", 1, 1, 1, 1.0, (), coverage=CoverageScore(reason="no gcov"))
    assert score.code is ExitCode.INCOMPLETE
    assert "not measured" in score_text(score)
    assert "no gcov" in score_text(score)


# ------------------------------------------------------------------------------------------------------ the command


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str, catalogue: tuple[Defect, ...] = (HARMLESS, REAL)) -> int:
    """The exit code of `acl-cts score` over a few cases and this catalogue."""
    monkeypatch.setattr(command, "load_defects", lambda: catalogue)
    monkeypatch.setattr(command, "cached_cases", lambda spec: user_data_cases())
    with pytest.raises(SystemExit) as ended:
        main(["score", "-q", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_ends_with_1_when_a_defect_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "--defect", "NONE", "--out", str(tmp_path)) == 1
    assert "exit code 1: 1 of 1 planted defects missed" in capsys.readouterr().out
    data = read_json(tmp_path / "score.json")
    SCHEMA.validate(data)
    assert score_from_json(data).missed[0].id == "NONE"
    assert "1 of 1 planted defects missed" in (tmp_path / "score.html").read_text(encoding="utf-8")


def test_the_command_ends_with_0_when_all_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--defect", REAL.id, "--format", "json") == 0
    assert score_from_json(json.loads(capsys.readouterr().out)).code is ExitCode.AS_EXPECTED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--defect", "set-user-sum-wrap"),
            "no defect is called 'set-user-sum-wrap'; did you mean set-user-sum-wraps?",
        ),
        (("--kind", "race"), "no planted defect is of the kind race"),
        (("--mutants", "many"), "'many' is neither a number from 0 nor 'all'"),
        (("--sample", "0"), "Invalid value for '--sample'"),
    ],
)
def test_wrong_wishes_end_with_2_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(monkeypatch, *arguments) == 2
    assert message in capsys.readouterr().err
