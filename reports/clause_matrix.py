"""The clause by backend matrix: how often each clause was kept, broken or answered on each backend."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from acl_cts.reports.clause_text import ClauseText
from acl_cts.reports.results import BackendRun, Results


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one clause on one backend: cases that kept it, cases that broke it, advisory notes about it, and answers that
    were recorded because it leaves the point open."""

    kept: int = 0
    broken: int = 0
    notes: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class ClauseRow:
    """One clause with a tally for each run, in the order of the runs."""

    clause: str
    text: ClauseText
    tallies: tuple[Tally, ...]


def clause_matrix(results: Results) -> tuple[ClauseRow, ...]:
    """A row for each clause of the tables, and for each accused one that does not stand there."""
    tallies = [_tallies(run) for run in results.runs]
    texts = results.tables.clauses
    unknown = dict.fromkeys(
        name for tally in tallies for name, one in tally.items() if one.broken and name not in texts
    )
    none = ClauseText("", "")
    return tuple(
        ClauseRow(name, texts.get(name, none), tuple(tally.get(name, Tally()) for tally in tallies))
        for name in [*texts, *unknown]
    )


def _tallies(run: BackendRun) -> dict[str, Tally]:
    kept, broken, notes, answers = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for case in run.cases:
        kept.update(case.held)
        broken.update({finding.clause for finding in case.discrepancies})
        notes.update({finding.clause for finding in case.notes})
        answers.update([observation.clause for observation in case.observations])
    names = kept.keys() | broken.keys() | notes.keys() | answers.keys()
    return {name: Tally(kept[name], broken[name], notes[name], answers[name]) for name in names}
