"""A difference as JSON. Its schema is `diff.schema.json`."""

from __future__ import annotations

from typing import Any

from acl_cts.reports.difference import BackendDifference, CaseChange, Cell, Difference, LimitChange
from acl_cts.reports.standing import Stand
from acl_cts.reports.version import Version

DIFF_FORMAT = 1
"""Version of the JSON form."""


def diff_json(found: Difference) -> dict[str, Any]:
    """JSON of the whole difference."""
    return {
        "format": DIFF_FORMAT,
        "tool": {"name": "acl-cts", "version": found.tool},
        "versions": [version_json(version) for version in found.versions],
        "exit": {
            "code": found.code,
            "holds": [{"code": int(held.code), "reason": held.reason} for held in found.holds],
        },
        "backends": [_backend(backend) for backend in found.backends],
    }


def version_json(version: Version) -> dict[str, Any]:
    """JSON of what a column or a point stands for."""
    return {
        "name": version.name,
        "path": version.path,
        "unreadable": version.unreadable,
        "tool": version.tool,
        "tables": version.tables,
        "started": version.started,
        "partial": version.partial,
        "code": version.code,
        "libraries": {
            name: {"sha256": standing.identity.get("sha256", ""), "version": standing.identity.get("version", "")}
            for name, standing in version.standings.items()
        },
    }


def _backend(backend: BackendDifference) -> dict[str, Any]:
    return {
        "backend": backend.backend,
        "same_library": backend.same_library,
        "totals": {change.value: number for change, number in backend.totals.items()},
        "renamed": backend.renamed,
        "cases": [_case(case) for case in backend.cases],
        "limits": [_limit(limit) for limit in backend.limits],
        "open_points": [
            {
                "clause": point.clause,
                "shift": point.shift.value,
                "changed": point.changed,
                "example": point.example,
                "cells": [[[answer, number] for answer, number in cell] for cell in point.cells],
            }
            for point in backend.points
        ],
        "clauses": [{"clause": row.clause, "broken": list(row.cells)} for row in backend.clauses],
        "support": [
            {"function": row.function, "cells": [cell.value if cell else None for cell in row.cells]}
            for row in backend.support
        ],
    }


def _case(case: CaseChange) -> dict[str, Any]:
    was = {"renamed_from": case.renamed_from} if case.renamed_from else {}
    return {"id": case.id, "change": case.change.value, **was, "cells": [_cell(cell) for cell in case.cells]}


def _cell(cell: Cell) -> dict[str, Any]:
    """A verdict, or why there is none; what is empty is left out."""
    if not isinstance(cell, Stand):
        return {"absent": cell or "no case of this version"}
    more = {"reason": cell.reason, "cause": cell.cause.value, "breach": cell.breach}
    lists = {"clauses": list(cell.clauses), "accepted": list(cell.accepted)}
    return {"verdict": cell.verdict.value} | {name: value for name, value in (more | lists).items() if value}


def _limit(limit: LimitChange) -> dict[str, Any]:
    return {
        "limit": limit.limit,
        "function": limit.function,
        "param": limit.param,
        "context": limit.context,
        "shift": limit.shift.value,
        "cells": [
            None
            if cell is None
            else {"verdict": cell.verdict.value, "measured": cell.measured, "unit": cell.unit}
            | ({"accepted": list(cell.accepted)} if cell.accepted else {})
            for cell in limit.cells
        ],
    }
