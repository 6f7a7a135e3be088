"""Exit codes one by one, and which is returned when several hold; every form of a report says the same."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from made_results import ALLOC, PROBED, bad, good, not_run, results

from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.exit_codes import PRECEDENCE, ExitCode
from acl_cts.reports.expected import BaselineUse, Expected, Use, WaiverUse
from acl_cts.reports.files import ReportError, write_json
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.profile_use import Claim
from acl_cts.reports.renderings import RENDERINGS, Place
from acl_cts.reports.results import Cause, FunctionSupport, Results, Support, from_json, to_json
from acl_cts.reports.shard import Shard
from acl_cts.reports.stored import read_results
from acl_cts.specs.judgement import Verdict

ROOT = Path(__file__).resolve().parent.parent
NOWHERE = Place(Path("/nowhere"), Path("/nowhere"))

STALE = WaiverUse("W", "known", "Ann", "https://tracker.example/1", "2025-01-01", "w.yaml:3", Use.PASSED, cases=1)


def spoilt(found: Results, code: int) -> Results:
    """`found` with a reason for `code`."""
    run = found.runs[0]
    match code:
        case ExitCode.DISCREPANCY:
            run = dataclasses.replace(run, cases=(*run.cases, bad()))
        case ExitCode.HARNESS:
            fault = dataclasses.replace(not_run(Cause.NONE), id="mbuf/e~00000007", verdict=Verdict.ERROR)
            run = dataclasses.replace(run, cases=(*run.cases, fault))
        case ExitCode.INCOMPLETE:
            run = dataclasses.replace(run, cases=(*run.cases, not_run(Cause.TIME_LIMIT)))
        case ExitCode.STALE:
            return dataclasses.replace(found, expected=Expected((STALE,), "w.yaml", "a" * 64))
        case ExitCode.INTERRUPTED:
            return dataclasses.replace(found, finished=False)
    return dataclasses.replace(found, runs=(run,))


def judged(found: Results) -> Results:
    holds = holding(found, found.fail_on)
    return dataclasses.replace(found, holds=holds, code=final(holds))


CODES = (ExitCode.INTERRUPTED, ExitCode.HARNESS, ExitCode.DISCREPANCY, ExitCode.INCOMPLETE, ExitCode.STALE)
"""Codes of a finished run, the one that outranks all others first."""


@pytest.mark.parametrize("code", CODES)
def test_every_code_alone(code: ExitCode) -> None:
    found = judged(spoilt(results(good()), code))
    assert (found.code, {held.code for held in found.holds}) == (code, {code})


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_the_first_in_rank_is_returned_and_all_are_listed(number: int) -> None:
    for codes in itertools.combinations(CODES, number):
        for order in (codes, codes[::-1]):
            found = results(good())
            for code in order:
                found = spoilt(found, code)
            found = judged(found)
            assert found.code == codes[0]
            assert [held.code for held in found.holds] == list(codes)
            assert from_json(to_json(found)) == found


def test_the_ranks_are_those_of_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "3 outranks 1, 1 outranks 4, 4 outranks 5" in text
    ranks = [int(code) for code in PRECEDENCE]
    assert [code for code in ranks if code in (3, 1, 4, 5)] == [3, 1, 4, 5]
    listed = {int(code) for code in re.findall(r"^\| (\d+) \| ", text, re.MULTILINE)}
    assert {0, *map(int, CODES), 2} <= listed


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (results(good()), 0),
        (results(good(), not_run(Cause.CAPABILITY)), 0),
        (results(good(), not_run(Cause.BACKEND_LOST)), 4),
        (results(good(), bad(accepted=("W-1",))), 0),
        (results(good(), bad(Verdict.CRASH, accepted=("baseline",))), 0),
        (results(good(), bad(breach=True)), 1),
        (results(good(), bad(Verdict.FLAKY)), 1),
        (results(good(), limits=(PROBED,)), 1),
        (results(good(), limits=(dataclasses.replace(PROBED, accepted=("W-1",)),)), 0),
        (results(good(), limits=(dataclasses.replace(PROBED, verdict=LimitVerdict.INCONCLUSIVE),)), 0),
        (results(good(granted=4096)), 4),
        (dataclasses.replace(results(good(granted=4096)), filtered=True), 0),
        (dataclasses.replace(results(good(granted=4096)), shard=Shard(1, 2)), 0),
        (results(good(succeeded=())), 4),
        (dataclasses.replace(results(good(succeeded=())), shard=Shard(1, 2)), 0),
        (results(good(), support=(FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "no", reserved=True),)), 0),
        (results(good(), support=(FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "no"),)), 4),
        (
            results(
                good(), support=(FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "no", claim=Claim.SUPPORTED),)
            ),
            1,
        ),
        (dataclasses.replace(results(good()), expected=Expected(baseline=BaselineUse("b.yaml", "b" * 64))), 0),
    ],
)
def test_what_brings_which_code(found: Results, code: int) -> None:
    assert judged(found).code == code


@pytest.mark.parametrize("code", [0, *CODES])
def test_every_form_says_the_same(code: int) -> None:
    found = judged(spoilt(results(good()), code))
    texts = {name: made.text(found, NOWHERE) for name, made in RENDERINGS.items()}
    assert f"exit code {code}:" in texts["text"].splitlines()[-1]
    assert f"exit code {code}," in texts["markdown"].splitlines()[0]
    assert f"</span> {code}</strong>" in texts["html"]
    assert json.loads(texts["sarif"])["runs"][0]["invocations"][0]["exitCode"] == code
    failures = int(ElementTree.fromstring(texts["junit"].encode()).attrib["failures"])
    assert (failures > 0) == (code == ExitCode.DISCREPANCY)


def test_a_stored_code_that_does_not_follow_is_refused(tmp_path: Path) -> None:
    wrong = dataclasses.replace(results(bad()), holds=(), code=0)
    write_json(tmp_path / "results.json", to_json(wrong))
    with pytest.raises(ReportError, match="its exit leaves out code 1"):
        read_results(tmp_path)
