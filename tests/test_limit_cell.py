"""Limits in reports: probes that are alike are folded, those that differ are told with what is documented of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from made_results import PROBED, good, results

from acl_cts.reports import chinese
from acl_cts.reports.exit_code import holding
from acl_cts.reports.html_report import HtmlReport
from acl_cts.reports.limit_result import LimitResult, LimitVerdict
from acl_cts.reports.limit_table import told
from acl_cts.reports.markdown import markdown
from acl_cts.reports.results import BackendRun, CaseResult, Cause, FunctionSupport, Results, Support
from acl_cts.specs.judgement import Verdict


def probe(documented: int, measured: int | None, **more: object) -> LimitResult:
    verdict = LimitVerdict.AS_DOCUMENTED if documented == measured else LimitVerdict.DIFFERS
    usual = {"documented": (("value", documented),), "measured": measured, "verdict": verdict, "context": "size 64"}
    return dataclasses.replace(PROBED, **usual | more)  # type: ignore[arg-type]


def page(found: Results) -> str:
    return HtmlReport(found, Path("."), Path(".")).text()


def test_probes_that_are_all_as_documented_are_one_short_line() -> None:
    eight = tuple(probe(number, number) for number in range(8))
    assert told(eight) == "8 probes, all as documented"
    assert told(eight[:1]) == "1 probe, as documented"
    text = page(results(good(), limits=eight))
    assert "8 probes, all as documented" in text
    assert "8 个探测点，均与文档一致" in text


def test_what_differs_stands_beside_what_is_documented_of_that_situation() -> None:
    found = (probe(96, 96), probe(32, 31))
    assert told(found) == "documented 32 bytes, measured 31 bytes (size 64); 1 probe, as documented"
    text = page(results(good(), limits=found))
    assert "长度 64" in text
    assert "1 probe, as documented" in text


def test_an_edge_in_its_place_is_not_told_as_if_nothing_were_wrong() -> None:
    found = (probe(32, 32, verdict=LimitVerdict.DIFFERS),)
    assert told(found) == "documented 32 bytes, measured 32 bytes, but not everywhere beyond it (size 64)"


def test_no_row_of_a_comment_is_long() -> None:
    found = results(good(), limits=tuple(probe(2**63 + number, 2**63) for number in range(1, 60)))
    row = next(line for line in markdown(found).splitlines() if line.startswith("| `area`"))
    assert "56 more like these" in row
    assert len(row) < 500


def test_the_head_says_what_was_judged() -> None:
    found = results(good())
    run = dataclasses.replace(found.runs[0], identity={"library": "/opt/lib/libx.so", "sha256": "ab" * 32})
    head = page(dataclasses.replace(found, runs=(run,))).partition("</header>")[0]
    for part in ("core", "libx.so", "abababababab<", "dddddddddddd<", "2026-01-01 00:00 UTC"):
        assert part in head, part


@pytest.mark.parametrize(
    "run",
    [
        BackendRun("core", cases=(CaseResult("a", Verdict.ERROR), CaseResult("b", Verdict.FAIL))),
        BackendRun("core", limits=(probe(2, 1),)),
        BackendRun("core", cases=tuple(CaseResult(cause, Verdict.NOT_RUN, cause=cause) for cause in Cause)),
        *(
            BackendRun(
                "core",
                support=(FunctionSupport("aclrtAllocBuf", "mbuf", state, reason),),
                cases=(CaseResult("a", Verdict.PASS, functions=("aclrtAllocBuf",)),),
            )
            for state in Support
            for reason in ("", "it answers 207000")
        ),
    ],
)
def test_every_reason_of_an_exit_code_has_chinese(run: BackendRun) -> None:
    found = dataclasses.replace(results(), runs=(run,), finished=False)
    reasons = [held.reason for held in holding(found)]
    assert len(reasons) > 1
    assert [reason for reason in reasons if not chinese.reason(reason)] == []


def test_what_is_not_ours_stays_as_it_is() -> None:
    assert chinese.reason("core: pytest ended with code 3") == ""
    assert chinese.situation("a jar of size 3") == ""
