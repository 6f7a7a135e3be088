"""A difference as Markdown, for a comment on a code host."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.reports.diff_words import (
    DIFF_MEANING,
    accused,
    answers,
    breaking,
    compared,
    detail,
    gaps,
    measured,
    probe,
    remarks,
    way,
)
from acl_cts.reports.difference import ALARMING, GAPS, UNCOMPARED, BackendDifference, Change, Difference
from acl_cts.reports.markdown_text import code, fitted, prose, table
from acl_cts.reports.words import counted

SHOWN = 60
"""Cases of one category that are listed."""

GROUPS = 10
"""Reasons of one category of what is not compared."""


def diff_markdown(found: Difference) -> str:
    """The comment. What does not fit is left out from the end, and the number of parts left out is told."""
    return fitted(_parts(found), "diff.html and diff.json hold all")


def _parts(found: Difference) -> Iterator[str]:
    last, first = found.versions[-1], found.versions[0]
    yield f"## {prose(first.name)} → {prose(last.name)}: exit code {found.code}, {DIFF_MEANING[found.code]}\n"
    yield "\n".join([*(f"- {prose(remark)}" for remark in remarks(found)), ""])
    yield _versions(found)
    yield _totals(found)
    for backend in found.backends:
        for change in Change:
            if backend.totals.get(change) and change not in UNCOMPARED and change is not Change.UNCHANGED:
                yield _cases(backend, change)
        yield _limits(found, backend)
        yield _points(found, backend)
        yield _clauses(found, backend)
        yield _gaps(backend)


def _versions(found: Difference) -> str:
    rows = [
        [
            prose(version.name),
            prose(version.started[:16].replace("T", " ")),
            code(version.tables[:12]),
            prose(", ".join(f"{name} {version.of_library(name)}".strip() for name in version.standings)) or "–",
        ]
        for version in found.versions
    ]
    return table(["run", "started", "tables", "judged"], rows)


def _totals(found: Difference) -> str:
    changes = [change for change in Change if found.total(change)]
    rows = [
        [prose(backend.backend), *(str(backend.totals.get(change, 0)) for change in changes), str(backend.renamed)]
        for backend in found.backends
    ]
    return table(["backend", *map(str, changes), "renamed"], rows) if rows else ""


def _cases(backend: BackendDifference, change: Change) -> str:
    cases = backend.of(change)
    lines = [
        f"<details{' open' if change in ALARMING else ''}>",
        f"<summary>{prose(backend.backend)}: {len(cases)} {change}</summary>",
        "",
    ]
    for case in cases[:SHOWN]:
        clauses = f" {', '.join(map(code, accused(case)[:3]))}" if accused(case) else ""
        was = f" (was {code(case.renamed_from)})" if case.renamed_from else ""
        lines.append(f"- {prose(way(case))}: {code(case.id)}{was}{clauses}")
    if len(cases) > SHOWN:
        lines.append(f"- {counted(len(cases) - SHOWN, 'more case')}")
    return "\n".join([*lines, "", "</details>", ""])


def _limits(found: Difference, backend: BackendDifference) -> str:
    rows = [
        [
            prose(limit.shift),
            prose(probe(limit)),
            *(prose(measured(cell)) for cell in limit.cells),
            prose(detail(limit)),
        ]
        for limit in compared(backend.moved_limits)
    ]
    head = ["limit", "probe", *(prose(version.name) for version in found.versions), "detail"]
    return f"### {prose(backend.backend)}: limits that moved\n\n{table(head, rows)}" if rows else ""


def _points(found: Difference, backend: BackendDifference) -> str:
    rows = [
        [code(point.clause), *(prose(answers(cell)) for cell in point.cells), str(point.changed)]
        for point in compared(backend.moved_points)
    ]
    head = ["open point", *(prose(version.name) for version in found.versions), "cases"]
    return f"### {prose(backend.backend)}: open points answered differently\n\n{table(head, rows)}" if rows else ""


def _clauses(found: Difference, backend: BackendDifference) -> str:
    rows = [[code(row.clause), *map(breaking, row.cells)] for row in backend.clauses if any(row.cells)]
    head = ["cases that break", *(prose(version.name) for version in found.versions)]
    return f"### {prose(backend.backend)}: clauses\n\n{table(head, rows)}" if rows else ""


def _gaps(backend: BackendDifference) -> str:
    """What is not compared, by reason."""
    lines = []
    for change in (change for change in Change if change in UNCOMPARED):
        found = gaps(backend, change)
        for told, reason, cases in found[:GROUPS]:
            lines.append(f"- {len(cases)} × {change}, {prose(told)}: {prose(reason) or 'no reason told'}")
        if len(found) > GROUPS:
            lines.append(f"- {change}: {counted(len(found) - GROUPS, 'further reason')}")
    lines += [f"- limit {row.shift}: {prose(probe(row))}" for row in backend.limits if row.shift in GAPS]
    lines += [f"- open point {row.shift}: {code(row.clause)}" for row in backend.points if row.shift in GAPS]
    return "\n".join([f"### {prose(backend.backend)}: not compared", "", *lines, ""]) if lines else ""
