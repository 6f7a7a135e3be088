"""Repeats of a case, and what must go before a case for it to fail."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from conftest import Run
from fake_session import Answer, FakeSession, strict_oracle, succeed
from hypothesis import given
from hypothesis import strategies as st

from acl_cts.conformance import culprit as searching
from acl_cts.conformance.case import Case
from acl_cts.conformance.culprit import culprit
from acl_cts.conformance.repeated import repeated
from acl_cts.conformance.runner import Outcome, Runner
from acl_cts.reports.results import CaseResult
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Call, Int, Program

# ------------------------------------------------------------------------------------------------------ repeats

CASE = Case("mbuf/g/a~0", "mbuf", "g", Program(()), frozenset(), frozenset())


def judged(verdicts: str) -> Outcome:
    """What repeating makes of a case with these verdicts, one after the other: p, f (fail), c (crash), y (flaky),
    i (inconclusive), x (not executed)."""
    words = {
        "p": Verdict.PASS,
        "f": Verdict.FAIL,
        "c": Verdict.CRASH,
        "y": Verdict.FLAKY,
        "i": Verdict.INCONCLUSIVE,
        "x": Verdict.BLOCKED,
    }
    turns: Iterator[str] = iter(verdicts)

    def judge(case: Case) -> Outcome:
        turn = next(turns)
        return Outcome(CaseResult(case.id, words[turn], f"reason {turn}", attempts=turn != "x", duration=1.0))

    return repeated(judge, CASE, len(verdicts))


@pytest.mark.parametrize(
    ("verdicts", "verdict", "repeats", "failed"),
    [
        ("p", Verdict.PASS, 0, 0),
        ("ppp", Verdict.PASS, 3, 0),
        ("ff", Verdict.FAIL, 2, 2),
        ("pfp", Verdict.FLAKY, 3, 1),
        ("fpp", Verdict.FLAKY, 3, 1),
        ("pcff", Verdict.FLAKY, 4, 3),
        ("cf", Verdict.CRASH, 2, 2),
        ("yy", Verdict.FLAKY, 2, 2),
        ("ip", Verdict.PASS, 2, 0),
        ("ii", Verdict.INCONCLUSIVE, 2, 0),
        ("fxp", Verdict.FAIL, 1, 1),
        ("xp", Verdict.BLOCKED, 0, 0),
    ],
)
def test_repeats_come_to_one_verdict_with_its_rate(verdicts: str, verdict: Verdict, repeats: int, failed: int) -> None:
    result = judged(verdicts).result
    assert (result.verdict, result.repeats, result.failed) == (verdict, repeats, failed)
    if 0 < failed < repeats:
        assert f"failed in {failed} of {repeats} repeats" in result.reason


@given(st.text("pfcyi", min_size=2, max_size=8))
def test_nothing_that_failed_once_passes(verdicts: str) -> None:
    result = judged(verdicts).result
    failed = sum(turn in "fcy" for turn in verdicts)
    assert (result.repeats, result.failed) == (len(verdicts), failed)
    assert (result.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)) == (failed == 0)
    assert result.duration == len(verdicts)


# ------------------------------------------------------------------------------------------------------ culprits


@given(st.integers(1, 60), st.sets(st.integers(0, 59), min_size=1, max_size=3))
def test_exactly_the_needed_programs_are_found(length: int, needed: set[int]) -> None:
    needed = {place % length for place in needed}
    asked = 0

    def fails_after(history: Sequence[int]) -> bool:
        nonlocal asked
        asked += 1
        assert list(history) == sorted(history), "the order is kept"
        return needed <= set(history)

    assert set(culprit(range(length), fails_after) or ()) == needed
    assert asked <= searching.THINNING + 2 * length.bit_length() + 4


def test_a_history_that_does_not_bring_it_back_has_no_culprit() -> None:
    assert culprit(range(9), lambda history: False) is None


def test_order_counts() -> None:
    def fails_after(history: Sequence[str]) -> bool:
        kept = [word for word in history if word in "ab"]
        return any(pair == ("a", "b") for pair in itertools.pairwise(kept))

    assert list(culprit("xbxaxxbxx", fails_after) or ()) == ["a", "b"]


SPEC = load_spec()


def case(name: str, *functions: str) -> Case:
    body = tuple(Call(function, (("size", Int(len(name))),)) for function in functions or ("aclrtAllocBuf",))
    return Case(f"mbuf/test/{name}~00000000", "mbuf", "test", Program(body), frozenset(), frozenset(functions))


def test_two_programs_far_apart_are_told_without_those_between() -> None:
    others = [case("x" * n) for n in range(1, 30)]
    first, second = others[3].program, others[22].program

    def behave(call: Call, before: list[Program]) -> Answer:
        poisoned = first in before and second in before
        return 500001 if call.function == "aclrtGetBufData" and poisoned else succeed(call, before)

    runner = Runner(SPEC, FakeSession(behave), strict_oracle)
    for each in others:
        assert runner.judge(each).result.verdict is Verdict.PASS
    outcome = runner.judge(case("victim", "aclrtGetBufData"))
    assert outcome.result.verdict is Verdict.FLAKY
    assert outcome.result.after == (others[3].id, others[22].id)
    assert [executed.id for executed in outcome.history] == list(outcome.result.after)
    assert "fails again after 2 program(s)" in outcome.result.reason


# ------------------------------------------------------------------------------------ command line

LENGTH = ("--case", "mbuf/state/aclrtGetBuf*")


def stored(tmp_path: Path, out: str = "acl-cts-out") -> dict[str, list[dict[str, object]]]:
    found = json.loads((tmp_path / "work" / out / "results.json").read_text(encoding="utf-8"))
    return {run["backend"]: run["cases"] for run in found["runs"]}


def test_a_flake_has_its_rate_in_every_form(acl: Run, tmp_path: Path) -> None:
    done = acl("run", "--backend", "odd:once", "--jobs", "1", "--repeat", "3", *LENGTH)
    assert done.returncode == 1, done.stderr
    (cases,) = stored(tmp_path).values()
    assert {case["repeats"] for case in cases} == {3}
    (flaky,) = (case for case in cases if case["failed"])
    assert (flaky["verdict"], flaky["failed"]) == ("flaky", 1)
    assert f"flaky             1 of 3: {flaky['id']}"[:100] in done.stdout
    for name in ("report.html", "report.md"):
        assert str(flaky["id"]) in (tmp_path / "work" / "acl-cts-out" / name).read_text(encoding="utf-8")


def test_only_what_failed_is_run_again_where_it_failed(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:wrong-length", "--backend", "simulator", "--jobs", "1", "--out", "first", *LENGTH)
    failed = [case["id"] for case in stored(tmp_path, "first")["odd:wrong-length"] if case["verdict"] == "fail"]
    done = acl("run", "--rerun-failed", "first", "--jobs", "1", "--out", "second")
    assert done.returncode == 1, done.stderr
    again = stored(tmp_path, "second")
    assert list(again) == ["odd:wrong-length"]
    assert [case["id"] for case in again["odd:wrong-length"]] == failed
    elsewhere = acl("run", "--rerun-failed", "first", "--backend", "simulator", "--out", "third")
    assert elsewhere.returncode == 2
    assert elsewhere.stderr == "acl-cts: first: no case failed there on simulator, so there is nothing to run again\n"
    gone = acl("run", "--rerun-failed", "nowhere")
    assert (gone.returncode, len(gone.stderr.splitlines())) == (2, 1)


def test_a_run_of_what_failed_can_take_the_place_of_its_report(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:wrong-length", "--jobs", "1", *LENGTH)
    done = acl("run", "--rerun-failed", "acl-cts-out", "--jobs", "1", "--max-time", "0.001")
    assert done.returncode == 4, done.stdout
    done = acl("run", "--resume", "--max-time", "600")
    assert done.returncode == 1, done.stderr
    (cases,) = stored(tmp_path).values()
    assert {case["verdict"] for case in cases} == {"fail"}
