"""What was kept of a run is judged again: limits from the answers, cases that were left out, made-up traces."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import programs

from acl_cts.backends.backend import HarnessError, Options
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.limit_probe import probe_limits
from acl_cts.conformance.plugin import everything
from acl_cts.conformance.rejudging import Rejudging
from acl_cts.conformance.support import SupportProbe
from acl_cts.conformance.trace_file import (
    DamagedTraceError,
    KeptProbe,
    KeptQuestions,
    KeptTrace,
    Recorded,
    Stored,
    TraceFile,
    in_order,
    kept_text,
    parse_kept,
    trace_file,
    whole_lines,
)
from acl_cts.reports.inconsistency import Inconsistency
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.results import BackendRun
from acl_cts.specs.model import Limit
from acl_cts.specs.program import Program
from acl_cts.specs.recipe import Recipe
from acl_cts.specs.trace import End, Ending, Trace

EMPTY = Trace((), Ending(End.COMPLETED))


@dataclasses.dataclass
class Searched:
    """What a search for one limit gave, and what was kept of it."""

    run: BackendRun
    questions: KeptQuestions
    probes: list[KeptProbe]


def of_private_area(limit: Limit, recipe: Recipe) -> bool:
    return recipe.function == "aclrtGetBufUserData"


@pytest.fixture(scope="module")
def searched() -> Searched:
    spec = everything(())[0]
    asked: list[tuple[Program, Trace]] = []
    answers: list[tuple[Program, Trace]] = []
    with open_backend("simulator", Options()) as session:
        recorded = Recorded(session, lambda program, trace: asked.append((program, trace)))
        support = SupportProbe(spec, recorded.run, session.missing, session.capabilities).table()
        recorded = Recorded(session, lambda program, trace: answers.append((program, trace)))
        limits = probe_limits(spec, recorded, support, choice=of_private_area)
        capabilities = session.capabilities
    assert limits
    assert all(limit.verdict is LimitVerdict.AS_DOCUMENTED for limit in limits)
    run = BackendRun("simulator", {}, tuple(sorted(capabilities)), tuple(support.values()), limits=limits)
    probes = [KeptProbe(number, program, trace) for number, (program, trace) in enumerate(answers)]
    return Searched(run, KeptQuestions(frozenset(), capabilities, tuple(asked)), probes)


def rejudged(run: BackendRun, searched: Searched, probes: list[KeptProbe]) -> list[tuple[str, str]]:
    """Kind and place of what does not follow."""
    found: list[Inconsistency] = []
    again = Rejudging(everything(())[0], {}, run, found.append)
    again.take(searched.questions)
    for probe in probes:
        again.take(probe)
    again.finish(of_private_area)
    return [(str(problem.kind), problem.where) for problem in found]


def test_limits_follow_from_their_answers(searched: Searched) -> None:
    assert rejudged(searched.run, searched, searched.probes) == []


def test_a_limit_that_is_stated_otherwise_is_named(searched: Searched) -> None:
    first, *rest = searched.run.limits
    moved = dataclasses.replace(first, measured=(first.measured or 0) + 1)
    run = dataclasses.replace(searched.run, limits=(moved, *rest))
    assert rejudged(run, searched, searched.probes) == [("limit", f"simulator: {first.limit} of {first.function}")]
    assert rejudged(dataclasses.replace(run, limits=()), searched, searched.probes) == [("limit", "simulator")]


def test_a_limit_that_time_ran_out_for_is_counted(searched: Searched) -> None:
    first, *rest = searched.run.limits
    run = dataclasses.replace(
        searched.run, limits=(dataclasses.replace(first, verdict=LimitVerdict.NOT_PROBED, measured=None), *rest)
    )
    found: list[Inconsistency] = []
    again = Rejudging(everything(())[0], {}, run, found.append)
    again.take(searched.questions)
    for probe in searched.probes:
        again.take(probe)
    again.finish(of_private_area, hurried=True)
    assert (found, again.hurried_limits) == ([], 1)
    assert rejudged(run, searched, searched.probes) == [("limit", f"simulator: {first.limit} of {first.function}")]


def test_answers_that_are_missing_or_of_other_questions_are_named(searched: Searched) -> None:
    assert rejudged(searched.run, searched, searched.probes[1:])[0][0] == "limit"
    assert rejudged(searched.run, searched, searched.probes[:-1])[0][0] == "limit"
    first, *rest = searched.probes
    other = dataclasses.replace(first, program=Program(()))
    assert {kind for kind, _ in rejudged(searched.run, searched, [other, *rest])} == {"limit"}


def test_stored_answers_answer_nothing_else() -> None:
    session = Stored([(Program(()), EMPTY)])
    assert session.run(Program(())) == EMPTY
    with pytest.raises(HarnessError):
        session.run(Program(()))


# ---------------------------------------------------------------------------------------------------------- files


@given(programs(), st.text(), st.lists(st.text(), max_size=2).map(tuple))
def test_what_is_kept_is_read_as_it_was(program: Program, id: str, without: tuple[str, ...]) -> None:
    for kept in (
        KeptTrace(id, EMPTY, without),
        KeptProbe(3, program, EMPTY),
        KeptQuestions(frozenset({"f"}), frozenset(), ((program, EMPTY),)),
    ):
        assert parse_kept(kept_text(kept)) == kept


@pytest.mark.parametrize("line", ["", "[]", "{}", "7", '{"id": 7}', '{"probe": true}', '{"id": "x", "trace": {}}', "["])
def test_what_was_not_kept_is_refused(line: str) -> None:
    with pytest.raises(DamagedTraceError):
        parse_kept(line)


def test_of_two_runs_in_one_file_the_later_one_stands(tmp_path: Path) -> None:
    """As after a run that was cut off and gone on with: lines that were torn are left out, later ones stand."""
    path = trace_file(tmp_path, "core:asan")
    assert path.name == "core-asan.jsonl"
    file = TraceFile(path)
    crash = Trace((), Ending(End.CRASH))
    kept = [
        *(KeptTrace("b", crash), KeptProbe(0, Program(()), crash), KeptProbe(1, Program(()), crash)),
        KeptQuestions(frozenset(), frozenset(), ()),
        *(KeptTrace("b", EMPTY), KeptTrace("a", EMPTY), KeptTrace("c", EMPTY), KeptProbe(0, Program(()), EMPTY)),
    ]
    for each in kept:
        file.keep(each)
    file.close()
    with path.open("ab") as end:
        end.write(b'12345678 {"id": "a", "tra')
    lines = list(in_order(whole_lines(path), ["a", "b"]))
    expected = [kept[3], KeptTrace("a", EMPTY), KeptTrace("b", EMPTY), KeptProbe(0, Program(()), EMPTY)]
    assert [parse_kept(line) for line in lines] == expected
    assert all(json.loads(line) for line in lines)
