"""Consistency: an open point answered in different ways within one run is worth a note, never more."""

from __future__ import annotations

from collections.abc import Iterable

from acl_cts.reports.results import CaseResult, RunNote
from acl_cts.specs.model import Spec


def inconsistent(spec: Spec, cases: Iterable[CaseResult]) -> tuple[RunNote, ...]:
    """A note for every situation of a clause marked `consistent` that was not answered the same way throughout."""
    seen: dict[tuple[str, str], dict[str, tuple[int, str]]] = {}
    for case in cases:
        for observation in case.observations:
            clause = spec.clauses.get(observation.clause)
            if clause is None or not clause.consistent:
                continue
            answers = seen.setdefault((observation.clause, observation.key), {})
            count, first = answers.get(observation.answer, (0, case.id))
            answers[observation.answer] = (count + 1, first)
    return tuple(
        RunNote(clause, key, tuple((answer, count, first) for answer, (count, first) in sorted(answers.items())))
        for (clause, key), answers in sorted(seen.items())
        if len(answers) > 1
    )
