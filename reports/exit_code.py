"""Exit codes: what a finished run means for the one who called it, from its results alone."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.reports.exit_codes import PRECEDENCE as PRECEDENCE
from acl_cts.reports.exit_codes import ExitCode as ExitCode
from acl_cts.reports.expected import BaselineUse, Expected, Use
from acl_cts.reports.limit_result import BROKEN, LimitResult
from acl_cts.reports.profile_use import Claim
from acl_cts.reports.results import DISCREPANCY, BackendRun, CaseResult, Cause, FunctionSupport, Held, Results, Support
from acl_cts.reports.words import counted
from acl_cts.specs.judgement import Strength, Verdict

SIZED = "aclrtAllocBuf"
"""The function that must be seen granting a large area before a run counts as complete."""

FLOOR = 64 * 1024
"""Bytes above which one area must have been granted."""

ALWAYS = frozenset({Verdict.CRASH, Verdict.TIMEOUT, Verdict.LEAK, Verdict.FLAKY})
"""Verdicts that no `--fail-on` takes out of account."""


def counts(case: CaseResult, fail_on: frozenset[Strength]) -> bool:
    """Whether `case` is a discrepancy for somebody who fails on the strengths `fail_on`, and nobody expects it."""
    return not case.accepted and disagrees(case, fail_on)


def disagrees(case: CaseResult, fail_on: frozenset[Strength]) -> bool:
    """Whether `case` is a discrepancy for somebody who fails on the strengths `fail_on`, expected or not."""
    if case.verdict in ALWAYS or case.breach:
        return True
    if case.verdict in (Verdict.FAIL, Verdict.BLOCKED):
        return not case.discrepancies or any(finding.strength in fail_on for finding in case.discrepancies)
    return False


def counts_limit(limit: LimitResult, fail_on: frozenset[Strength]) -> bool:
    """Whether the probe `limit` is a discrepancy for somebody who fails on the strengths `fail_on`. A probe does not
    tell the strength, so it only is for one who fails on all."""
    return not limit.accepted and fail_on == DISCREPANCY and limit.verdict in BROKEN


def holding(results: Results, fail_on: frozenset[Strength] = DISCREPANCY) -> tuple[Held, ...]:
    """Every exit code that holds for `results`, each with its reasons, in order of precedence."""
    found: list[Held] = [] if results.finished else [Held(ExitCode.INTERRUPTED, "interrupted; the results are partial")]
    for run in results.runs:
        found.extend(Held(code, f"{run.backend}: {reason}") for code, reason in _of_run(run, results.partial, fail_on))
    if results.expected is not None:
        found.extend(Held(ExitCode.STALE, reason) for reason in stale(results.expected))
    return tuple(sorted(found, key=lambda held: PRECEDENCE.index(ExitCode(held.code))))


def final(holds: tuple[Held, ...]) -> int:
    """The code to return."""
    return holds[0].code if holds else int(ExitCode.AS_EXPECTED)


def _of_run(run: BackendRun, filtered: bool, fail_on: frozenset[Strength]) -> Iterator[tuple[ExitCode, str]]:
    errors = sum(case.verdict is Verdict.ERROR for case in run.cases)
    if run.trouble or errors:
        yield ExitCode.HARNESS, run.trouble or f"{counted(errors, 'case')} met a fault of the suite itself"
    accused = sum(counts(case, fail_on) for case in run.cases)
    if accused:
        yield ExitCode.DISCREPANCY, f"{counted(accused, 'case disagrees', 'cases disagree')} with the documents"
    elif moved := sum(counts_limit(limit, fail_on) for limit in run.limits):
        yield (
            ExitCode.DISCREPANCY,
            f"{counted(moved, 'limit probe disagrees', 'limit probes disagree')} with the documents",
        )
    asked = run.asked
    for entry in run.support:
        if broken_claim(entry) and entry.function in asked:
            yield ExitCode.DISCREPANCY, f"{entry.function} is claimed by the profile and not supported ({entry.reason})"
    yield from ((ExitCode.INCOMPLETE, reason) for reason in incomplete(run, filtered))


def incomplete(run: BackendRun, filtered: bool) -> Iterator[str]:
    """Every reason why something selected was not judged."""
    for cause in Cause:
        number = sum(case.verdict is Verdict.NOT_RUN and case.cause is cause for case in run.cases)
        if number and not cause.expected and cause is not Cause.INTERRUPTED:
            yield f"{counted(number, 'case')} not run ({cause or 'no reason given'})"
    selected = run.asked
    succeeded = {function for case in run.cases for function in case.succeeded}
    # Judged it was, and somebody answers for what came of it.
    answered_for = {found.function for case in run.cases if case.accepted for found in case.discrepancies}
    for entry in run.support:
        if entry.function in selected and not entry.auxiliary:
            yield from _of_function(entry, succeeded, answered_for, filtered)
    if run.must_pass is not None and run.must_pass.missing and not filtered:
        cases = counted(run.must_pass.missing, "case")
        yield f"{cases} of the must-pass list not judged (first: {run.must_pass.first})"
    yield from _of_sizes(run, selected, filtered)


def broken_claim(entry: FunctionSupport) -> bool:
    """Whether the profile claims a function that is not supported, and nobody expects that."""
    return entry.claim is Claim.SUPPORTED and entry.state is Support.NOT_SUPPORTED and not entry.accepted


def stale(expected: Expected) -> Iterator[str]:
    """Every reason why baseline or waivers are out of date, a line for each waiver, one for each kind of the rest."""
    for waiver in expected.waivers:
        if waiver.stale:
            yield f"{waiver.place}: waiver {waiver.id}: {waiver.told}"
    if expected.baseline is not None:
        yield from _stale_baseline(expected.baseline)


PASSES = {
    "failures": "known failures of the baseline pass",
    "skips": "skips of the baseline are judged",
    "limits": "limits of the baseline are as documented",
    "unsupported": "unsupported functions of the baseline are supported",
}
"""What is told of expectations that do not come true, by their kind."""


def _stale_baseline(baseline: BaselineUse) -> Iterator[str]:
    for kind in dict.fromkeys(item.kind for item in baseline.stale):
        for use in (Use.PASSED, Use.NOTHING):
            items = [item for item in baseline.stale if (item.kind, item.use) == (kind, use)]
            if items:
                told = PASSES.get(kind, "") if use is Use.PASSED else f"{kind} of the baseline name nothing there is"
                yield f"{items[0].place}: {len(items)} {told}, first {items[0].name}"


def _of_function(entry: FunctionSupport, succeeded: set[str], answered_for: set[str], filtered: bool) -> Iterator[str]:
    if entry.accepted:
        return
    if entry.state is Support.NOT_SUPPORTED:
        # A claim that is broken is more than incomplete, and told as that.
        if entry.claim is Claim.NONE and not entry.reserved:
            yield f"{entry.function} is not supported ({entry.reason})"
    elif not filtered and entry.function not in succeeded | answered_for:
        why = f" ({entry.reason})" if entry.reason else ""
        yield f"{entry.function}: no call that must succeed was judged and succeeded{why}"


def _of_sizes(run: BackendRun, selected: frozenset[str], filtered: bool) -> Iterator[str]:
    """Without one large area, all that was judged above the floor may have been resources."""
    supported = {entry.function for entry in run.support if entry.state is Support.SUPPORTED}
    if SIZED not in supported or SIZED not in selected or run.granted > FLOOR:
        return
    # A filtered run may hold small areas only; there the rule speaks when a case was left inconclusive.
    if not filtered or any(case.verdict is Verdict.INCONCLUSIVE for case in run.cases):
        yield f"no {SIZED} above {FLOOR // 1024} KiB succeeded (largest granted: {run.granted} bytes)"
