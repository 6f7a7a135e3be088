"""One cell of the table of limits: the probes of one limit on one backend, those that are all alike folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acl_cts.reports.limit_result import LimitResult, LimitVerdict

TOLD = frozenset({LimitVerdict.DIFFERS, LimitVerdict.NOT_ENFORCED, LimitVerdict.INCONCLUSIVE})
"""Verdicts that a reader must see one by one."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Probes with the same quiet verdict. `whole`: there are no others in the cell."""

    verdict: LimitVerdict
    probes: tuple[LimitResult, ...]
    whole: bool

    @property
    def measured(self) -> int | None:
        """The one value that all of them measured, if it is one."""
        found = {probe.measured for probe in self.probes}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class LimitCell:
    """`told`: probes to tell one by one. `folds`: the others, by verdict."""

    told: tuple[LimitResult, ...]
    folds: tuple[Fold, ...]


def astray(probe: LimitResult) -> bool:
    """Whether the edge is where it is documented and the difference lies elsewhere, as beyond a sum that wraps."""
    return probe.verdict is LimitVerdict.DIFFERS and probe.measured in dict(probe.documented).values()


def limit_cell(probes: Sequence[LimitResult]) -> LimitCell:
    """`probes` of one limit on one backend, sorted into a cell."""
    told = tuple(probe for probe in probes if probe.verdict in TOLD)
    quiet = dict.fromkeys(probe.verdict for probe in probes if probe.verdict not in TOLD)
    folds = []
    for verdict in quiet:
        alike = tuple(probe for probe in probes if probe.verdict is verdict)
        folds.append(Fold(verdict, alike, len(alike) == len(probes)))
    return LimitCell(told, tuple(folds))
