"""Notes and what was not judged, grouped so that a reader sees each thing once with its number."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.reports.results import BackendRun
from acl_cts.specs.judgement import Finding, Verdict

UNJUDGED = (Verdict.NOT_RUN, Verdict.INCONCLUSIVE, Verdict.BLOCKED)
"""Verdicts that say why there is none about the library."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One advisory finding, the number of cases that show it, and the first of them."""

    finding: Finding
    number: int
    example: str


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Cases that were not judged for one reason, and the first of them."""

    verdict: Verdict
    reason: str
    number: int
    example: str


def advice(run: BackendRun) -> tuple[Advice, ...]:
    """Notes of all cases, grouped by clause, function and observation; the most frequent first."""
    groups: dict[tuple[str, str, str], list[tuple[Finding, str]]] = {}
    for case in run.cases:
        for note in case.notes:
            groups.setdefault((note.clause, note.function, note.observed), []).append((note, case.id))
    found = [Advice(group[0][0], len(group), group[0][1]) for group in groups.values()]
    return tuple(sorted(found, key=lambda entry: -entry.number))


def unjudged(run: BackendRun) -> tuple[Unjudged, ...]:
    """Why cases were not judged, the most frequent reason first."""
    groups: dict[tuple[Verdict, str], list[str]] = {}
    for case in run.cases:
        if case.verdict in UNJUDGED:
            groups.setdefault((case.verdict, case.reason), []).append(case.id)
    found = [Unjudged(verdict, reason, len(ids), ids[0]) for (verdict, reason), ids in groups.items()]
    return tuple(sorted(found, key=lambda entry: -entry.number))
