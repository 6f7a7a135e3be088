"""Open points: what each backend answers where the documents leave the answer open, side by side."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from acl_cts.reports.clause_text import ClauseText
from acl_cts.reports.results import Results


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """One open clause. `answers`: for each run in order, every answer with its number, most frequent first."""

    clause: str
    text: ClauseText
    answers: tuple[tuple[tuple[str, int], ...], ...]

    @property
    def differs(self) -> bool:
        """Whether two backends that answered gave different sets of answers."""
        return len({frozenset(answer for answer, _ in found) for found in self.answers if found}) > 1


def open_points(results: Results) -> tuple[OpenPoint, ...]:
    """Every open point that some backend answered, those first at which backends differ."""
    seen: list[dict[str, Counter[str]]] = []
    for run in results.runs:
        found: dict[str, Counter[str]] = {}
        for case in run.cases:
            for observation in case.observations:
                found.setdefault(observation.clause, Counter())[observation.answer] += 1
        seen.append(found)
    names = sorted({name for found in seen for name in found})
    texts = results.tables.clauses
    points = [
        OpenPoint(
            name,
            texts.get(name, ClauseText("", "")),
            tuple(tuple(found.get(name, Counter()).most_common()) for found in seen),
        )
        for name in names
    ]
    return tuple(sorted(points, key=lambda point: not point.differs))
