"""Hostile and faulty libraries: each gets the right exit code, the right headline, and one verdict for every case.

The libraries of `WHOLE` meet all cases; with the environment variable ACL_CTS_FULL_TARGETS set, all libraries do.
Otherwise the rest meets a selection: every eighth case by the digest in its id, the simplest call of every function,
and some that are named after a function at fault or the clause that it breaks. What is said of a complete run, every
supported function seen to succeed and a large area granted, must hold for those of `COMPLETE` as well; their selection
has the largest areas.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from target_build import AWKWARD, CONSTANT, STRAY, TARGETS, VIOLENT, WRONG, Target, build
from target_run import run_command, run_here

from acl_cts.conformance.budget import CRASHES
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.reports.results import FAILING, RED, BackendRun, CaseResult, Cause, Results, Support
from acl_cts.specs.judgement import Strength, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Read, Write

EVERYTHING = bool(os.environ.get("ACL_CTS_FULL_TARGETS"))
"""Whether all libraries meet all cases."""

WHOLE = frozenset(
    {
        "crash-in-all",  # how many crashes it costs must not grow with the cases
        "no-streams",  # few cases of registration need no stream
        "plain",  # what others are compared with
    }
)
"""Libraries that meet all cases."""

COMPLETE = WHOLE | {
    "refuses-all",
    "never-supported",
    "never-starts",
    "tables-not-supported",
    "mbuf-not-supported",
    "crash-in-one",
    "sum-wraps",
    "mbuf-only",
    "allocator-only",
    "device-memory",
}
"""Libraries of which a run is judged as a complete one."""

LARGE = "/aclrtAllocBuf/alloc."
"""In the ids of cases of the largest areas."""

SHARE = 8
"""One of so many cases is in the selection."""

NAMED = 120
"""At most so many cases in the selection are there for being named after a function at fault, or after its clause."""

CALL_TIMEOUT = 2.0
"""Seconds that a call may take: each hang costs so much."""

HANGS = 4
"""Hangs of one function that a run waits for."""

BY_NAME = {target.name: target for target in TARGETS}


@cache
def tables() -> tuple[Spec, tuple[Case, ...]]:
    """Tables and cases, once a process."""
    spec = load_spec()
    return spec, cached_cases(spec)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the libraries of this process are built."""
    return tmp_path_factory.mktemp("targets")


def selected(target: Target) -> tuple[Case, ...]:
    """The cases that `target` meets."""
    cases = tables()[1]
    if EVERYTHING or target.name in WHOLE:
        return cases
    named = {case.id for word in (*target.functions, target.clause.partition(".")[2]) for case in about(word)}
    named |= {case.id for case in cases if target.name in COMPLETE and LARGE in case.id}
    return tuple(c for c in cases if int(c.id[-8:], 16) % SHARE == 0 or c.group == "simple" or c.id in named)


def about(word: str) -> tuple[Case, ...]:
    """Some of the cases with `word` in their id, from all over the list."""
    found = [case for case in tables()[1] if word and word in case.id]
    return tuple(found[:: math.ceil(len(found) / NAMED)]) if found else ()


@cache
def judged(target: Target, folder: Path) -> tuple[Results, BackendRun]:
    """The results of a run against `target`, in which every case has its one verdict."""
    cases = selected(target)
    whole = EVERYTHING or target.name in COMPLETE
    results = run_here(tables()[0], build(target, folder), cases, whole, call_timeout=CALL_TIMEOUT)
    (run,) = results.runs
    assert [case.id for case in run.cases] == [case.id for case in cases]
    assert [case.id for case in run.cases if case.verdict in (Verdict.ERROR, Verdict.FLAKY)] == []
    assert not run.notes
    return results, run


def accused(run: BackendRun) -> list[CaseResult]:
    """Cases that accuse the library by what they saw themselves."""
    return [case for case in run.cases if case.verdict in FAILING]


def check_headlines(target: Target, run: BackendRun) -> None:
    """Every accusation has a headline, of a strength that counts; together they name what is at fault."""
    found = accused(run)
    assert {case.verdict.value for case in found} <= target.verdicts
    assert bool(found) == bool(target.verdicts)
    assert all(case.discrepancies and case.discrepancies[0].strength is not Strength.ADVISORY for case in found)
    headlines = [case.discrepancies[0] for case in found]
    assert target.functions <= {headline.function for headline in headlines}
    if target.clause:
        assert any(headline.clause.startswith(target.clause) for headline in headlines)


def check_the_rest(target: Target, run: BackendRun) -> None:
    """What has nothing to do with the fault is judged, and passes."""
    cases = {case.id: case for case in selected(target)}
    for result in run.cases:
        case = cases[result.id]
        elsewhere = bool(target.functions) and case.functions.isdisjoint(target.functions)
        if elsewhere or case.family in target.untouched:
            as_expected = result.verdict is Verdict.PASS
            assert as_expected or (result.verdict is Verdict.NOT_RUN and result.cause.expected), result
        if result.verdict is Verdict.BLOCKED:
            assert any(f"{function} " in result.reason for function in target.functions or case.functions), result
            assert result.reason.startswith(f"blocked by {target.clause or 'common.no-'}"), result


@pytest.mark.parametrize("name", [target.name for target in CONSTANT])
def test_libraries_that_treat_every_call_alike(name: str, folder: Path) -> None:
    target = BY_NAME[name]
    results, run = judged(target, folder)
    assert results.code == target.exit, results.holds
    check_headlines(target, run)


@pytest.mark.parametrize("name", [target.name for target in (*VIOLENT, *STRAY, *WRONG)])
def test_libraries_with_one_fault(name: str, folder: Path) -> None:
    target = BY_NAME[name]
    results, run = judged(target, folder)
    assert results.code == target.exit, results.holds
    check_headlines(target, run)
    check_the_rest(target, run)


@pytest.mark.parametrize("name", [target.name for target in AWKWARD])
def test_libraries_that_are_awkward_and_right(name: str, folder: Path) -> None:
    target = BY_NAME[name]
    results, run = judged(target, folder)
    assert results.code == target.exit, results.holds
    assert [case.id for case in run.cases if case.verdict in RED] == []
    assert {note.clause for case in run.cases for note in case.notes} == set()
    if name in ("device-memory", "slow-noisy"):
        core = {case.id: case.verdict for case in judged(BY_NAME["plain"], folder)[1].cases}
        assert {case.id: case.verdict for case in run.cases} == {case.id: core[case.id] for case in run.cases}


def test_unmapped_areas_are_reached_by_the_copy_function(folder: Path) -> None:
    cases = tuple(case for case in tables()[1] if case.group == "simple")
    (run,) = run_here(tables()[0], build(BY_NAME["device-memory"], folder), cases, whole=False).runs
    assert run.identity["details"]["data access"] in ("auto", "copy")
    direct = run_here(
        tables()[0], build(BY_NAME["device-memory"], folder), touching(), whole=False, data_access="direct"
    )
    assert direct.code == 1
    assert {case.discrepancies[0].clause for case in accused(direct.runs[0])} == {"mbuf.data.usable"}


def touching() -> tuple[Case, ...]:
    """A few cases that touch a data area."""
    found = [case for case in tables()[1] if any(isinstance(s, Read | Write) for s in case.program.body)]
    return tuple(found[:3])


def test_hangs_and_crashes_cost_a_bounded_number_of_executions(folder: Path) -> None:
    _, hanging = judged(BY_NAME["hang-in-one"], folder)
    assert 0 < sum(case.attempts for case in hanging.cases if case.verdict is Verdict.TIMEOUT) <= HANGS
    _, crashing = judged(BY_NAME["crash-in-all"], folder)
    by_function = Counter(case.discrepancies[0].function for case in crashing.cases if case.verdict is Verdict.CRASH)
    assert max(by_function.values()) <= CRASHES


def test_a_refused_start_is_a_warning(folder: Path) -> None:
    _, run = judged(BY_NAME["refuses-all"], folder)
    warning = run.identity["details"]["warning"]
    assert warning.startswith("aclInit answered 500001; aclrtSetDevice answered 500001; a missing device")


def test_without_streams_what_needs_none_is_judged(folder: Path) -> None:
    _, run = judged(BY_NAME["no-streams"], folder)
    cases = {case.id: case for case in selected(BY_NAME["no-streams"])}
    registering = [result for result in run.cases if "aclrtAllocatorRegister" in result.functions]
    needing = [result for result in registering if "aclrtCreateStream" in cases[result.id].functions]
    assert {result.verdict for result in needing} == {Verdict.NOT_RUN}
    assert Cause.STREAM in {result.cause for result in needing}
    assert Verdict.PASS in {result.verdict for result in registering}


# ------------------------------------------------------------------------------------------------ the command line


def test_the_command_line_judges_a_library_that_refuses_everything(folder: Path, tmp_path: Path) -> None:
    results = run_command(build(BY_NAME["never-starts"], folder), tmp_path)
    (run,) = results.runs
    assert results.code == 4
    assert sorted(case.id for case in run.cases) == sorted(case.id for case in tables()[1])
    summary = (tmp_path / "summary.txt").read_text(encoding="utf-8")
    assert "warning           aclInit answered 207000" in summary
    assert "mbuf (11 of 11, reserved by the documents): all functions" in summary


def test_the_command_line_shows_a_missing_family_as_not_supported(folder: Path, tmp_path: Path) -> None:
    results = run_command(build(BY_NAME["allocator-only"], folder), tmp_path)
    (run,) = results.runs
    assert results.code == 0
    mbuf = [entry for entry in run.support if entry.family == "mbuf"]
    assert {entry.state for entry in mbuf} == {Support.NOT_SUPPORTED}
    assert {case.verdict for case in run.cases if case.id.startswith("mbuf/")} <= {
        Verdict.NOT_SUPPORTED,
        Verdict.NOT_RUN,
    }


def test_the_command_line_keeps_what_a_crash_needs_to_be_seen_again(folder: Path, tmp_path: Path) -> None:
    library = build(BY_NAME["crash-in-one"], folder)
    results = run_command(library, tmp_path, "--group", "simple", "--family", "mbuf")
    (run,) = results.runs
    assert results.code == 1
    found = accused(run)
    assert {case.discrepancies[0].function for case in found} == {"aclrtGetBufDataLen"}
    for case in found:
        assert {path.name for path in (tmp_path / case.files).iterdir()} >= {"program.txt", "repro.c", "trace.json"}
    replay = [sys.executable, "-m", "acl_cts.main", "replay", str(tmp_path / found[0].files / "program.txt")]
    done = subprocess.run(
        [*replay, "--backend", "acl", "--library", str(library)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "aclrtGetBufDataLen" in done.stdout
