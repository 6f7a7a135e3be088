"""Cases with threads: which there are, that they are valid in every order, and that they run clean."""

from __future__ import annotations

import functools

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend, build_core
from acl_cts.backends.core_defects import Defect, Kind, load_defects
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.gate import declared
from acl_cts.reports.results import Cause
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Call, Parallel, Repeat, walk
from acl_cts.specs.trace import Capability

SPEC = load_spec()
RACES = [defect for defect in load_defects() if defect.kind is Kind.RACE]


@functools.cache
def threaded() -> tuple[Case, ...]:
    return tuple(case for case in cached_cases(SPEC) if Capability.THREAD_SAFE in case.needs)


def pairs() -> set[tuple[str, str]]:
    """Functions that some case calls at the same time."""
    found = set()
    for case in threaded():
        for block in walk(case.program.body):
            if isinstance(block, Parallel):
                names = [{s.function for s in branch if isinstance(s, Call)} for branch in block.branches]
                found |= {(a, b) for k, one in enumerate(names) for other in names[k + 1 :] for a in one for b in other}
    return found


@pytest.mark.parametrize("family", ["mbuf", "allocator"])
def test_every_function_meets_every_other_of_its_handle(family: str) -> None:
    met = pairs() | {(b, a) for a, b in pairs()}
    for kind in (kind for kind in SPEC.kinds.values() if kind.family == family and kind.states):
        takers = [
            f
            for f in SPEC.functions.values()
            if any(p.handle == kind.name and not p.out for p in f.signature.params) and not f.auxiliary
        ]
        lasting = [f.name for f in takers if f.name not in ("aclrtFreeBuf", "aclrtAllocatorDestroyDesc")]
        assert {(a, b) for a in lasting for b in lasting} <= met


def test_what_has_threads_says_so() -> None:
    for case in cached_cases(SPEC):
        blocks = [s for s in walk(case.program.body) if isinstance(s, Parallel)]
        assert bool(blocks) == (Capability.THREAD_SAFE in case.needs) == ("common.threads" in case.clauses), case.id


def test_blocks_are_repeated_wherever_what_was_made_can_be_given_back() -> None:
    for case in threaded():
        repeats = [s.count for s in case.program.body if isinstance(s, Repeat) and _holds(s)]
        assert all(count >= 40 for count in repeats) or case.leaves, case.id


def _holds(repeat: Repeat) -> bool:
    return any(isinstance(s, Parallel) for s in walk(repeat.body))


def test_without_the_capability_they_are_not_run() -> None:
    settled = declared(threaded()[0], frozenset({Capability.STREAMS, Capability.DATA_ACCESS}))
    assert settled is not None
    assert (settled.verdict, settled.cause) == (Verdict.NOT_RUN, Cause.CAPABILITY)
    assert "several threads" in settled.reason


@pytest.mark.parametrize("backend", ["core", "core:asan", "core:tsan", "simulator"])
def test_what_conforms_is_not_accused(backend: str) -> None:
    with open_backend(backend, Options()) as session:
        for case in threaded():
            judgement = judge(SPEC, case.program, session.run(case.program, solo=case.solo))
            assert (case.id, judgement.verdict, judgement.reason) == (case.id, Verdict.PASS, "")


@pytest.mark.parametrize("defect", RACES, ids=lambda defect: defect.id)
def test_a_planted_race_is_found(defect: Defect) -> None:
    family = SPEC.functions[defect.function].family
    library = build_core(defect.flavour, defect.defines)
    with CoreBackend().open(Options(library=str(library), flavour=defect.flavour, call_timeout=2.0)) as session:
        for case in (case for case in threaded() if case.family == family):
            judgement = judge(SPEC, case.program, session.run(case.program, solo=case.solo))
            if judgement.discrepancies:
                return
    pytest.fail("no case with threads accuses it")
