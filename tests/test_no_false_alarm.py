"""No false alarm: what conforms is never accused, however it answers where the documents leave a point open.

Every profile of the simulator and every variant of the C core. The opposite variant meets all cases, as the defaults
do in `make qualify`. The opposite profile and the two that something is special about meet a half of them each, by the
digest in the case's id, each of the other profiles a sixth, each mixed variant its share; together those of each kind
meet them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from target_run import run_session

from acl_cts.backends.backend import Options, Session
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.core_variants import variants
from acl_cts.backends.registry import open_backend
from acl_cts.backends.simulator.profile import PROFILES
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.reports.results import RED, BackendRun, Results
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec

STALE = "stale-private"
"""Breaks the advisory clause on an earlier owner's bytes, and nothing else."""

TIGHT = "tight-resources"
"""Has little of everything, so that refusals above the floor may be lack of resources."""

SPECIAL = ("opposite", TIGHT, STALE)
"""Profiles of which a run is judged as a complete one."""

PART = tuple(name for name in PROFILES if name not in SPECIAL)
PARTS = 6
MIXED = len(variants()) - 2
"""Variants of the core besides its default answers and all the other ones."""


@cache
def tables() -> tuple[Spec, tuple[Case, ...]]:
    """Tables and cases, once a process."""
    spec = load_spec()
    return spec, cached_cases(spec)


def part(number: int, parts: int = PARTS) -> tuple[Case, ...]:
    """The cases of one part out of `parts`."""
    return tuple(case for case in tables()[1] if int(case.id[-8:], 16) % parts == number % parts)


def judged(session: Session, cases: Sequence[Case], *, whole: bool) -> Results:
    """The results of a run in which nothing is accused, whatever else is to be said of it."""
    results = run_session(tables()[0], session, cases, whole)
    (run,) = results.runs
    assert len(run.cases) == len(cases)
    red = [f"{case.verdict} {case.id}: {case.reason}" for case in run.cases if case.verdict in RED]
    assert red == []
    assert [case.id for case in run.cases if case.discrepancies or case.blocked] == []
    assert [(note.clause, note.key, note.answers) for note in run.notes] == []
    undeclared = [case.id for case in run.cases if case.verdict is Verdict.NOT_RUN and not case.cause.expected]
    assert undeclared == []
    return results


def noted(run: BackendRun) -> set[str]:
    """Clauses of all notes."""
    return {note.clause for case in run.cases for note in case.notes}


def other_verdicts(run: BackendRun) -> set[Verdict]:
    """Verdicts besides pass and not-run."""
    return {case.verdict for case in run.cases} - {Verdict.PASS, Verdict.NOT_RUN}


@pytest.mark.parametrize("name", SPECIAL)
def test_no_case_of_a_half_accuses_a_profile(name: str) -> None:
    results = judged(open_backend(f"simulator:{name}", Options()), part(SPECIAL.index(name), 2), whole=True)
    (run,) = results.runs
    assert noted(run) == ({"mbuf.get-user.stale"} if name == STALE else set())
    assert other_verdicts(run) == ({Verdict.INCONCLUSIVE} if name == TIGHT else set())
    # Where no large area is ever granted, a refusal of one cannot be told from a lack of resources.
    assert results.code == (4 if name == TIGHT else 0), results.holds


@pytest.mark.parametrize("name", PART)
def test_no_case_of_a_part_accuses_a_profile(name: str) -> None:
    results = judged(open_backend(f"simulator:{name}", Options()), part(PART.index(name)), whole=False)
    assert (noted(results.runs[0]), other_verdicts(results.runs[0]), results.code) == (set(), set(), 0)


def test_the_parts_together_are_all_cases() -> None:
    assert len(SPECIAL) >= 2
    assert len(PART) >= PARTS
    for parts in (2, PARTS, MIXED):
        assert sorted(case.id for k in range(parts) for case in part(k, parts)) == [case.id for case in tables()[1]]


@pytest.mark.parametrize(("name", "defines"), variants()[1:2])
def test_no_case_accuses_the_core(name: str, defines: tuple[str, ...]) -> None:
    results = judged(CoreBackend(defines).open(Options()), tables()[1], whole=True)
    assert (noted(results.runs[0]), other_verdicts(results.runs[0]), results.code) == (set(), set(), 0)


@pytest.mark.parametrize("row", range(MIXED))
def test_no_case_of_a_part_accuses_a_mixed_variant(row: int) -> None:
    defines = variants()[2 + row][1]
    results = judged(CoreBackend(defines).open(Options()), part(row, MIXED), whole=False)
    assert (noted(results.runs[0]), other_verdicts(results.runs[0]), results.code) == (set(), set(), 0)
