"""The table of limits: what the documents say of each, and what each backend was measured to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acl_cts.reports.limit_result import LimitResult
from acl_cts.reports.results import Results
from acl_cts.reports.tables import LimitText
from acl_cts.reports.words import counted


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


def measured(result: LimitResult) -> str:
    """What was measured, in one phrase."""
    told: str = result.verdict
    if result.measured is not None:
        told = f"measured {units(result.measured, result.unit)}, {told}"
    elif result.up_to is not None:
        told = f"{told} up to {units(result.up_to, result.unit)}"
    return f"{told} ({result.context})" if result.context else told


def units(number: int, unit: str) -> str:
    """`number` with its unit, as `96 bytes`."""
    return counted(number, unit) if unit else str(number)


def _documented(text: LimitText | None, found: Mapping[str, tuple[LimitResult, ...]]) -> str:
    if text is not None and text.relative:
        return f"{text.relative} ({text.unit})" if text.unit else text.relative
    if text is not None:
        return _readings(text.readings, text.unit)
    first = next(result for results in found.values() for result in results)
    return _readings(first.documented, first.unit)


def _readings(readings: tuple[tuple[str, int], ...], unit: str) -> str:
    if len(readings) == 1:
        return units(readings[0][1], unit)
    return " or ".join(f"{units(value, unit)} ({reading})" for reading, value in readings) or "no number"
