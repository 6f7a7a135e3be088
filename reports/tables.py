"""Tables: what the contract says, quoted once in the results so that every report can be made from them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acl_cts.reports.clause_text import ClauseText

if TYPE_CHECKING:  # whoever only reads stored results needs none of the tables' own machinery
    from acl_cts.specs.model import Spec


@dataclass(frozen=True, slots=True)
class FamilyText:
    """A family of functions: `status` as in the documents, titles in English and Chinese."""

    status: str
    title: str
    zh: str
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LimitText:
    """A documented number. `readings`: each way to read it with its value in `unit`; none for a limit that is stated in
    terms of another value, which `relative` then tells."""

    family: str
    text: str
    source: str
    unit: str
    readings: tuple[tuple[str, int], ...] = ()
    relative: str = ""


@dataclass(frozen=True, slots=True)
class DefectText:
    """A fault of the documents themselves, in English and Chinese."""

    text: str
    zh: str
    source: str


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything that reports quote of the contract, by id."""

    families: Mapping[str, FamilyText] = field(default_factory=dict)
    clauses: Mapping[str, ClauseText] = field(default_factory=dict)
    limits: Mapping[str, LimitText] = field(default_factory=dict)
    defects: Mapping[str, DefectText] = field(default_factory=dict)


def tables_of(spec: Spec) -> Tables:
    """What reports quote of `spec`."""
    return Tables(
        families={
            name: FamilyText(family.status, family.title_en, family.title_zh, family.functions)
            for name, family in spec.families.items()
        },
        clauses={
            name: ClauseText(
                text=clause.text_en,
                source=str(clause.source),
                zh=clause.text_zh,
                strength=clause.strength.value,
                outcome=clause.outcome,
                family=clause.family,
                function=clause.function,
            )
            for name, clause in spec.clauses.items()
        },
        limits={
            name: LimitText(
                family=limit.family,
                text=limit.text,
                source=str(limit.source),
                unit=limit.unit,
                readings=tuple(limit.readings.items()),
                relative=limit.relative,
            )
            for name, limit in spec.limits.items()
        },
        defects={defect.id: DefectText(defect.text_en, defect.text_zh, str(defect.source)) for defect in spec.defects},
    )
