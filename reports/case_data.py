"""All cases of a run as compact data for the page, which makes its rows from it when they are looked at."""

from __future__ import annotations

from typing import Any

from acl_cts.reports.results import Results
from acl_cts.specs.judgement import Verdict

VERDICTS = tuple(Verdict)


class Pool:
    """Values that are stored once and named by their number."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """The number of `value`."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Any]:
        """All values, in order of their numbers."""
        return list(self._numbers)


def case_data(results: Results) -> dict[str, Any]:
    """Cases by id: `[id, functions, clauses, [[verdict, reason, milliseconds] or 0 for each backend]]`; behind the time
    stands who accepts a failure, where somebody does.

    Functions and clauses of a case are the number of a list in `sets`, whose entries are numbers in `names`; verdicts
    and reasons are numbers in the lists of those names.
    """
    names, sets, reasons = Pool(), Pool(), Pool()
    rows: dict[str, list[Any]] = {}
    for place, run in enumerate(results.runs):
        for case in run.cases:
            row = rows.get(case.id)
            if row is None:
                functions = sets.number(tuple(names.number(name) for name in case.functions))
                clauses = sets.number(tuple(names.number(name) for name in case.clauses))
                row = rows[case.id] = [case.id, functions, clauses, [0] * len(results.runs)]
            time = round(case.duration * 1000, 1)
            accepted = [", ".join(case.accepted)] if case.accepted else []
            row[3][place] = [VERDICTS.index(case.verdict), reasons.number(case.reason), time, *accepted]
    return {
        "backends": [run.backend for run in results.runs],
        "verdicts": [verdict.value for verdict in VERDICTS],
        "names": names.values,
        "sets": sets.values,
        "reasons": reasons.values,
        "cases": list(rows.values()),
    }
