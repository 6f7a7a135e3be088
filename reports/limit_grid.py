"""The grid of limits: documented and measured values of several backends side by side, in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acl_cts.reports.limit_result import LimitResult, LimitVerdict

GAP = "  "
"""What stands between two columns."""

Key = tuple[str, str, str, str]


def limit_grid(found: Mapping[str, Sequence[LimitResult]]) -> Iterator[str]:
    """A line for each probe, then one for each result that needs a word. `found`: results by backend."""
    rows: dict[Key, dict[str, LimitResult]] = {}
    for backend, results in found.items():
        for result in results:
            rows.setdefault((result.limit, result.function, result.param, result.context), {})[backend] = result
    table = [["limit", "unit", "where", "documented", *found]]
    for results_by in rows.values():
        first = next(iter(results_by.values()))
        cells = [cell(results_by[backend]) if backend in results_by else "" for backend in found]
        table.append([first.limit, first.unit, where(first), documented(first), *cells])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        yield GAP.join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield from _notes(found)


def where(result: LimitResult) -> str:
    """The call that meets the limit, and in which situation."""
    what = f"{result.function} {result.param}".rstrip()
    return f"{what}, {result.context}" if result.context else what


def documented(result: LimitResult) -> str:
    """The documented value, or each reading of it."""
    if len(result.documented) == 1:
        return str(result.documented[0][1])
    return " or ".join(f"{value} ({reading})" for reading, value in result.documented) or "not known"


def cell(result: LimitResult) -> str:
    """What was measured, in a few words."""
    match result.verdict:
        case LimitVerdict.AS_DOCUMENTED:
            return "none" if result.measured is None else str(result.measured)
        case LimitVerdict.DIFFERS:
            return "differs" if result.measured is None else f"{result.measured}, differs"
        case LimitVerdict.NOT_ENFORCED:
            return f"not enforced up to {result.up_to}"
        case LimitVerdict.INCONCLUSIVE if result.up_to is not None:
            return f"inconclusive, {result.up_to} accepted"
    return result.verdict.value


def _notes(found: Mapping[str, Sequence[LimitResult]]) -> Iterator[str]:
    said = ((name, each) for name, results in found.items() for each in results if each.detail)
    for name, result in said:
        yield f"{name}: {result.limit}, {where(result)}: {result.verdict}: {result.detail}"
