"""The table of limits: what the documents say of each, and what each backend was measured to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acl_cts.reports.limit_cell import Fold, astray, limit_cell
from acl_cts.reports.limit_result import LimitResult
from acl_cts.reports.results import Results
from acl_cts.reports.tables import LimitText
from acl_cts.reports.wording import WORDS
from acl_cts.reports.words import counted

SHOWN = 3
"""Probes of one limit on one backend that a line tells one by one."""


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One limit. `documented`: its readings or its rule, with the unit. `results`: by backend, none when not probed."""

    limit: str
    text: LimitText | None
    documented: str
    results: Mapping[str, tuple[LimitResult, ...]]


def limit_table(results: Results) -> tuple[LimitRow, ...]:
    """A row for each limit of the tables, and for each one that was probed without standing there."""
    texts = results.tables.limits
    probed = dict.fromkeys(result.limit for run in results.runs for result in run.limits)
    rows = []
    for limit in dict.fromkeys((*texts, *probed)):
        found = {run.backend: tuple(r for r in run.limits if r.limit == limit) for run in results.runs}
        rows.append(LimitRow(limit, texts.get(limit), _documented(texts.get(limit), found), found))
    return tuple(rows)


def told(results: Sequence[LimitResult]) -> str:
    """What the probes of one limit on one backend found, in a line that stays short."""
    cell = limit_cell(results)
    phrases = [measured(result) for result in cell.told[:SHOWN]]
    if len(cell.told) > SHOWN:
        phrases.append(f"{len(cell.told) - SHOWN} more like these")
    return "; ".join([*phrases, *map(folded, cell.folds)]) or "not probed"


def measured(result: LimitResult) -> str:
    """What one probe found beside what is documented of its situation."""
    found: str = result.verdict
    if result.measured is not None:
        found = f"measured {units(result.measured, result.unit)}"
        if astray(result):
            found += WORDS["astray"][0]
    elif result.up_to is not None:
        found = f"{result.verdict} up to {units(result.up_to, result.unit)}"
    told = f"documented {readings(result.documented, result.unit)}, {found}"
    return f"{told} ({result.context})" if result.context else told


def folded(fold: Fold) -> str:
    """Probes that are all alike, in a few words."""
    every = "all " if fold.whole and len(fold.probes) > 1 else ""
    return f"{counted(len(fold.probes), 'probe')}, {every}{fold.verdict}"


def units(number: int, unit: str) -> str:
    """`number` with its unit, as `96 bytes`."""
    return counted(number, unit) if unit else str(number)


def _documented(text: LimitText | None, found: Mapping[str, tuple[LimitResult, ...]]) -> str:
    if text is not None and text.relative:
        return f"{text.relative} ({text.unit})" if text.unit else text.relative
    if text is not None:
        return readings(text.readings, text.unit)
    first = next(result for results in found.values() for result in results)
    return readings(first.documented, first.unit)


def readings(values: tuple[tuple[str, int], ...], unit: str) -> str:
    """The number of each reading with its unit."""
    if len(values) == 1:
        return units(values[0][1], unit)
    return " or ".join(f"{units(value, unit)} ({reading})" for reading, value in values) or "no number"
