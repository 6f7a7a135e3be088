"""A difference as one self-contained page: rows are made by its script when they are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acl_cts.reports.case_data import Pool
from acl_cts.reports.diff_wording import DIFF_WORDS
from acl_cts.reports.diff_words import (
    accused,
    answers,
    breaking,
    compared,
    detail,
    gaps,
    measured,
    probe,
    remarks,
    verdict,
    way,
    why,
)
from acl_cts.reports.difference import (
    ALARMING,
    UNCOMPARED,
    BackendDifference,
    CaseChange,
    Cell,
    Change,
    Difference,
    Shift,
)
from acl_cts.reports.html_report import GROUPS, embedded
from acl_cts.reports.page import page
from acl_cts.reports.standing import Stand
from acl_cts.specs.judgement import Verdict

LOOKS: Mapping[str, str] = {
    **dict.fromkeys((Change.NEWLY, Change.WORSE, Change.STILL, Shift.BROKE), "bad"),
    **dict.fromkeys((Change.NEWLY_ACCEPTED, Change.STILL_ACCEPTED, Change.WAVERED, Shift.BROKE_ACCEPTED), "warn"),
    **dict.fromkeys((Change.LOST, Change.GAINED, Shift.MOVED), "warn"),
    **dict.fromkeys((Change.FIXED, Change.UNCHANGED, Shift.MENDED), "good"),
    **dict.fromkeys((Change.UNJUDGED, Change.ADDED, Change.REMOVED), "idle"),
}
"""How a change looks."""

NOSCRIPT = 200
"""Cases that are told where no script runs."""

VERDICTS = tuple(Verdict)
GONE, NOT_THERE = -1, -2
"""What stands for a verdict where there is none, and where there is no such case."""


def diff_html(found: Difference) -> str:
    """The whole page."""
    alarming = [(b, case) for b in found.backends for case in b.cases if case.change in ALARMING]
    return page(
        "diff.html.j2",
        DIFF_WORDS,
        ("report.css", "diff.css"),
        ("switches.js", "diff.js"),
        found=found,
        remarks=list(remarks(found)),
        backends=[_backend(backend) for backend in found.backends],
        alarming=alarming[:NOSCRIPT],
        looks=LOOKS,
        way=way,
        measured=measured,
        answers=answers,
        breaking=breaking,
        probe=probe,
        detail=detail,
        data=embedded(_data(found)),
    )


def _backend(backend: BackendDifference) -> dict[str, Any]:
    left = [
        (change, told, reason, cases)
        for change in Change
        if change in UNCOMPARED
        for told, reason, cases in gaps(backend, change)
    ]
    limits, points = compared(backend.moved_limits), compared(backend.moved_points)
    return {
        "view": backend,
        "limits": limits,
        "points": points,
        "clauses": [row for row in backend.clauses if any(row.cells)],
        "gaps": left,
        "lost_limits": [row for row in backend.moved_limits if row not in limits],
        "lost_points": [row for row in backend.moved_points if row not in points],
    }


def _data(found: Difference) -> dict[str, Any]:
    """Every case that is not simply unchanged, what repeats named by its number."""
    reasons, clauses, accepted = Pool(), Pool(), Pool()
    reasons.number("")
    accepted.number("")

    def cell(one: Cell) -> list[int]:
        if not isinstance(one, Stand):
            return [NOT_THERE if one == "" else GONE, reasons.number(one), 0, 0]
        names = accepted.number(", ".join(one.accepted))
        stray = int(verdict(one).startswith("stray"))
        return [VERDICTS.index(one.verdict), reasons.number(why(one)), names, stray]

    def row(place: int, case: CaseChange) -> list[Any]:
        numbers = [clauses.number(clause) for clause in accused(case)]
        change = list(Change).index(case.change)
        return [place, case.id, change, case.renamed_from, list(map(cell, case.cells)), numbers]

    rows = [row(place, case) for place, backend in enumerate(found.backends) for case in backend.cases]
    return {
        "words": {name: DIFF_WORDS[name] for name in DIFF_WORDS if name.startswith(("verdict-", "change-"))}
        | {name: DIFF_WORDS[name] for name in ("any", "range", "nothing", "reason", "clause", "was")}
        | {name: DIFF_WORDS[name] for name in ("not there", "no verdict", "accepted", "stray", "clauses")},
        "groups": [GROUPS[verdict] for verdict in VERDICTS],
        "looks": [LOOKS[change] for change in Change],
        "verdicts": VERDICTS,
        "changes": list(Change),
        "versions": [version.name for version in found.versions],
        "backends": [backend.backend for backend in found.backends],
        "reasons": reasons.values,
        "clauses": clauses.values,
        "accepted": accepted.values,
        "rows": rows,
    }
