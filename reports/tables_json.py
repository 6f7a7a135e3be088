"""JSON of what reports quote of the contract."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from acl_cts.reports.clause_text import ClauseText
from acl_cts.reports.tables import DefectText, FamilyText, LimitText, Tables
from acl_cts.reports.typed import Typed


def tables_to_json(tables: Tables) -> dict[str, Any]:
    """JSON of `tables`."""
    return {
        "families": {
            name: asdict(family) | {"functions": list(family.functions)} for name, family in tables.families.items()
        },
        "clauses": {name: asdict(clause) for name, clause in tables.clauses.items()},
        "limits": {
            name: asdict(limit) | {"readings": [list(reading) for reading in limit.readings]}
            for name, limit in tables.limits.items()
        },
        "defects": {name: asdict(defect) for name, defect in tables.defects.items()},
    }


def tables_from_json(read: Typed) -> Tables:
    """The tables that `tables_to_json` gave. Raises ValueError for anything else."""
    return Tables(
        families=read.named("families", _family),
        clauses=read.named("clauses", _clause),
        limits=read.named("limits", _limit),
        defects=read.named("defects", _defect),
    )


def _family(read: Typed) -> FamilyText:
    return FamilyText(read.text("status"), read.text("title"), read.text("zh"), read.texts("functions"))


def _clause(read: Typed) -> ClauseText:
    return ClauseText(
        text=read.text("text"),
        source=read.text("source"),
        zh=read.text("zh"),
        strength=read.text("strength"),
        outcome=read.text("outcome"),
        family=read.text("family"),
        function=read.text("function"),
    )


def _limit(read: Typed) -> LimitText:
    return LimitText(
        family=read.text("family"),
        text=read.text("text"),
        source=read.text("source"),
        unit=read.text("unit"),
        readings=read.tuples("readings", str, int),
        relative=read.text("relative"),
    )


def _defect(read: Typed) -> DefectText:
    return DefectText(read.text("text"), read.text("zh"), read.text("source"))
