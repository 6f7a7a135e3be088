"""Acceptance: baseline and waivers, applied to the results of a run."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date, datetime

from acl_cts.reports.baseline import Baseline
from acl_cts.reports.expected import Expected
from acl_cts.reports.matching import Matching
from acl_cts.reports.results import Results
from acl_cts.reports.universe import Universe
from acl_cts.reports.waivers import WaiverFile
from acl_cts.reports.waiving import Waiving


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a run is told to expect; None where it is not told."""

    baseline: Baseline | None = None
    waivers: WaiverFile | None = None

    def __bool__(self) -> bool:
        return self.baseline is not None or self.waivers is not None


def accepted(results: Results, expectations: Expectations, universe: Universe) -> Results:
    """`results` with everything that is expected marked, and what became of the expectations. Waivers come first: a
    failure that both know is told as waived. A waiver holds to the end of its last day, by the day on which the run
    began."""
    if not expectations:
        return results
    runs, expected = results.runs, Expected()
    if expectations.waivers is not None:
        waiving = Waiving(expectations.waivers, universe, results.fail_on, _day(results.started))
        runs = tuple(map(waiving.apply, runs))
        written = expectations.waivers.written
        expected = Expected(waiving.uses(runs), str(written.path), written.sha256)
    if expectations.baseline is not None:
        matching = Matching(expectations.baseline, universe)
        runs = tuple(map(matching.apply, runs))
        expected = dataclasses.replace(expected, baseline=matching.use())
    return dataclasses.replace(results, runs=runs, expected=expected)


def _day(started: str) -> date:
    return datetime.fromisoformat(started).date()
