"""Repeats: one case judged several times, and the one verdict that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from acl_cts.conformance.case import Case
from acl_cts.conformance.runner import Outcome
from acl_cts.reports.results import FAILING
from acl_cts.specs.judgement import Verdict

ACCUSING = FAILING | {Verdict.FLAKY}
"""Verdicts of a repeat that count as failed."""


def repeated(judge: Callable[[Case], Outcome], case: Case, times: int) -> Outcome:
    """What `judge` says of `case` in `times` repeats. A case that fails in some of them only is flaky, with its rate;
    one that fails in all keeps its verdict. Repeating ends with one that is not executed, as when a budget or the time
    is used up: only what was executed counts."""
    first = judge(case)
    if times < 2 or not first.result.attempts:
        return first
    outcomes = [first]
    while len(outcomes) < times:
        outcome = judge(case)
        if not outcome.result.attempts:
            break
        outcomes.append(outcome)
    return _together(outcomes)


def _together(outcomes: list[Outcome]) -> Outcome:
    failed = [outcome for outcome in outcomes if outcome.result.verdict in ACCUSING]
    passed = [outcome for outcome in outcomes if outcome.result.verdict is Verdict.PASS]
    told = (failed or passed or outcomes)[0]
    verdict, reason = told.result.verdict, told.result.reason
    if failed and (len(failed) < len(outcomes) or any(one.result.verdict is Verdict.FLAKY for one in failed)):
        verdict = Verdict.FLAKY
        reason = f"{reason} (failed in {len(failed)} of {len(outcomes)} repeats)"
    result = replace(
        told.result,
        verdict=verdict,
        reason=reason,
        duration=sum(outcome.result.duration for outcome in outcomes),
        attempts=sum(outcome.result.attempts for outcome in outcomes),
        repeats=len(outcomes),
        failed=len(failed),
    )
    return replace(told, result=result)
