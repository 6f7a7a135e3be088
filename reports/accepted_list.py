"""Accepted failures, grouped so that a reader sees each thing once, with who answers for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acl_cts.reports.expected import Use, WaiverUse
from acl_cts.reports.limit_grid import where
from acl_cts.reports.results import BackendRun, CaseResult, Results
from acl_cts.reports.words import counted, first_line


@dataclass(frozen=True, slots=True)
class Accepted:
    """`number` failures of one cause that `names` (waivers, or `baseline`) cover. `kind`: `cases`, `limits` or
    `functions`. `verdict` and `what` tell the failure, `example` is one of them."""

    kind: str
    names: tuple[str, ...]
    verdict: str
    what: str
    number: int
    example: str


def accepted_list(run: BackendRun) -> tuple[Accepted, ...]:
    """Everything that is accepted of `run`, what is most first."""
    groups: dict[tuple[tuple[str, ...], str, str], list[CaseResult]] = {}
    for case in run.cases:
        if case.accepted:
            groups.setdefault((case.accepted, case.verdict.value, _what(case)), []).append(case)
    found = [Accepted("cases", *told, len(cases), cases[0].id) for told, cases in groups.items()]
    found += [
        Accepted("limits", limit.accepted, limit.verdict.value, limit.limit, 1, where(limit))
        for limit in run.limits
        if limit.accepted
    ]
    found += [
        Accepted("functions", entry.accepted, entry.state.value, entry.function, 1, entry.reason)
        for entry in run.support
        if entry.accepted
    ]
    return tuple(sorted(found, key=lambda each: (each.kind != "cases", -each.number)))


def _what(case: CaseResult) -> str:
    if not case.discrepancies:
        return first_line(case.reason)
    headline = case.discrepancies[0]
    return f"{headline.clause} ({headline.strength}), {headline.function}"


def total_accepted(results: Results) -> dict[str, int]:
    """Failing cases of all backends that a waiver covers, and those that only the baseline does."""
    total: dict[str, int] = {}
    for run in results.runs:
        for name, number in run.accepted.items():
            total[name] = total.get(name, 0) + number
    return total


USES: Mapping[Use, str] = {
    Use.USED: "in use",
    Use.PASSED: "out of date",
    Use.NOTHING: "out of date",
    Use.QUIET: "not needed this time",
    Use.UNJUDGED: "not judged",
    Use.ELSEWHERE: "for another backend",
}
"""What became of a waiver, in a word."""


def state(waiver: WaiverUse) -> str:
    """What became of `waiver`: its number of failures, or why it has none."""
    numbers = [
        counted(number, noun)
        for number, noun in ((waiver.cases, "case"), (waiver.limits, "limit probe"), (waiver.functions, "function"))
        if number
    ]
    told = ", ".join(numbers) or USES[waiver.use]
    return f"{told}; {waiver.told}" if waiver.told else told


def flaky_list(run: BackendRun) -> tuple[CaseResult, ...]:
    """Cases that failed in some of their repeats only, those that fail most often first."""
    found = [case for case in run.cases if case.repeats and 0 < case.failed < case.repeats]
    return tuple(sorted(found, key=lambda case: (-case.failed / case.repeats, case.id)))
