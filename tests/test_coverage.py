"""The coverage check: it finds nothing where every clause is put to the test, and each gap that there is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracle_programs import SPEC, Told, complete, names, notes, tell

from acl_cts.backends.backend import Options
from acl_cts.backends.simulator.session import SimulatorBackend, SimulatorSession
from acl_cts.conformance.case import Case
from acl_cts.conformance.coverage import Problem, check, coverage
from acl_cts.conformance.falsify import falsify
from acl_cts.specs.oracle import judge
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Program
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import CallRecord, End, Ptr, Trace

A = "a = aclrtAllocBuf(size=4096)\n"
LENGTHS = A + "aclrtGetBufData(buf=a)\n" + "".join(f"aclrtSetBufDataLen(buf=a, len={n})\n" for n in (4094, 4095, 4096))


def session(profile: str = "default") -> SimulatorSession:
    return SimulatorBackend().open(Options(library=profile))


def case(text: str, planned: str = "") -> Case:
    """A case of a program's text, with its clean-up."""
    body = parse_program(text).body
    known = plan(SPEC, body)
    program = Program(body, known.cleanup)
    return Case(f"test~{abs(hash(text))}", "mbuf", "test", program, known.clauses, known.functions, planned=planned)


def found(*texts: str) -> dict[str, list[str]]:
    """What the check says of cases of these texts, by subject."""
    with session() as opened:
        problems = check(SPEC, [case(text) for text in texts], opened)
    said: dict[str, list[str]] = {}
    for problem in problems:
        said.setdefault(problem.subject, []).append(problem.what)
    return said


# ------------------------------------------------------------------------------------------------------------ gaps


def test_without_cases_everything_is_missing() -> None:
    said = found()
    assert set(SPEC.functions) <= said.keys()
    assert {c.id for c in SPEC.clauses.values() if not c.unobservable} <= said.keys()
    assert "no case where its guard is true" in said["mbuf.alloc.limit"]
    assert "no case where its guard is false" in said["mbuf.alloc.limit"]
    assert said["mbuf.alloc.zero"][-1] == "no case observes the answer at this open point"


def test_what_one_case_shows_is_no_longer_missing() -> None:
    said = found(A)
    assert "aclrtAllocBuf" not in said
    assert "aclrtFreeBuf" not in said
    assert "mbuf.alloc.succeeds" not in said
    assert "mbuf.alloc.handle" not in said
    assert said["mbuf.alloc.limit"][0] == "no case where its guard is true"
    assert "no case where its guard is false" not in said["mbuf.alloc.limit"]


def test_a_limit_needs_calls_below_at_and_above_it() -> None:
    lines = LENGTHS.splitlines(keepends=True)
    assert not any("at the limit" in what for what in found(LENGTHS).get("mbuf.set-len.limit", ()))
    for line, place in ((2, "at the limit -1"), (3, "at the limit"), (4, "at the limit +1")):
        said = found("".join(lines[:line] + lines[line + 1 :]))["mbuf.set-len.limit"]
        assert [w for w in said if "at the limit" in w] == [f"len >= buf.area.size: no case {place}"]


def test_an_open_point_is_observed() -> None:
    assert "mbuf.set-len.order" not in found(A + "aclrtSetBufDataLen(buf=a, len=1)\n", LENGTHS)


def test_a_reading_of_a_limit_that_no_guard_uses() -> None:
    limits = {**SPEC.limits, "depth": replace(SPEC.limits["chain"], name="depth")}
    with session() as opened:
        problems = check(replace(SPEC, limits=limits), [], opened)
    assert Problem("limit depth", "no guard compares anything with it") in problems
    assert not [p for p in problems if p.subject in ("limit chain", "limit data_area.max", "limit data_length")]


def test_a_clause_that_nothing_breaks() -> None:
    """A postcondition that holds whatever is answered is one that no falsified trace breaks."""
    clauses = dict(SPEC.clauses)
    empty = replace(clauses["mbuf.alloc.handle"], id="mbuf.alloc.idle")
    clauses[empty.id] = empty
    with session() as opened:
        problems = check(replace(SPEC, clauses=clauses), [case(A)], opened)
    assert Problem("mbuf.alloc.idle", "no falsified trace makes the oracle name it") in problems


def test_a_declared_case_shows_nothing() -> None:
    with session() as opened:
        problems = check(SPEC, [case(A, planned="threads")], opened)
    assert Problem("aclrtAllocBuf", "no case with a call that must succeed and does") in problems


def test_a_conforming_answer_that_is_flagged_is_a_fault_of_the_tables() -> None:
    class Wrong(SimulatorSession):
        def run(self, program: Program, *, solo: bool = False) -> Trace:
            told = Told(program, super().run(program, solo=solo))
            return told.writing("GetBufDataLen", len=3).trace

    text = A + "aclrtGetBufDataLen(buf=a)\n"
    with session() as plain:
        wrong = Wrong("default", plain._profile)
    with wrong as opened:
        problems = check(SPEC, [case(text)], opened)
    assert problems[0].subject == case(text).id
    assert "mbuf.get-len.fresh" in problems[0].what


def test_others_are_asked_for_what_the_first_leaves_open() -> None:
    zero = case("a = aclrtAllocBuf(size=0)\naclrtGetBufData(buf=a)\n")
    for others, missing in (([], True), (["lenient"], False)):
        with session() as opened:
            problems = check(SPEC, [zero], opened, [session(name) for name in others])
        said = [p for p in problems if p.subject == "mbuf.data.empty" and "observes" in p.what]
        assert bool(said) is missing


def test_the_table_counts_cases() -> None:
    counted = coverage(SPEC, [case(A), case(A + "aclrtGetBufDataLen(buf=a)\n")])
    assert counted.keys() == SPEC.clauses.keys()
    assert counted["mbuf.alloc.succeeds"] == 2
    assert counted["mbuf.get-len.fresh"] == 1
    assert counted["mbuf.append.limit"] == 0


# -------------------------------------------------------------------------------------------------- falsifications

WIDE = (
    "live\n" + A + "aclrtGetBufData(buf=a)\nwrite a[0:64] = ramp(0, 64)\nread a[0:64]\n"
    "aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 96), size=96, offset=0)\n"
    "aclrtGetBufUserData(buf=a, dataPtr=room(96), size=96, offset=0)\naclrtSetBufDataLen(buf=a, len=4096)\n"
    "aclrtGetBufDataLen(buf=a)\nb = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=b)\nlive\n"
)
REGISTERED = complete("d", 1) + (
    "s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n"
    "g = aclrtAllocatorGetByStream(stream=s)\ninvoke g.allocFunc(obj(1), 64)\nexit\n"
)


@pytest.mark.parametrize("text", [WIDE, REGISTERED])
def test_each_falsification_changes_one_answer(text: str) -> None:
    told = tell(text)
    seen = set()
    for made in falsify(SPEC, told.program, told.trace):
        assert made.trace != told.trace, made.what
        seen.add(made.what)
        changed = [k for k, (a, b) in enumerate(zip(made.trace.records, told.trace.records, strict=False)) if a != b]
        assert changed in ([], [made.place])
        if not changed:
            assert made.trace.ending != told.trace.ending
        assert made.trace.pointers[: len(told.trace.pointers)] == told.trace.pointers
        for record in made.trace.records:
            given = [v for _, v in record.outs] if isinstance(record, CallRecord) else []
            assert all(v.id < len(made.trace.pointers) for v in given if isinstance(v, Ptr))
    assert len(seen) > 60


@pytest.mark.parametrize(
    ("text", "what", "clause"),
    [
        (WIDE, "aclrtSetBufDataLen: returns 0", "mbuf.set-len.limit"),
        (WIDE, "aclrtSetBufDataLen: returns 500001", "common.code-class"),
        (WIDE, "aclrtAllocBuf: returns 107000", "mbuf.alloc.succeeds"),
        (WIDE, "aclrtAllocBuf: buf is NULL", "mbuf.alloc.handle"),
        (WIDE, "aclrtAllocBuf: crash", "common.no-crash"),
        (WIDE, "aclrtGetBufData: size is 4097", "mbuf.data.size"),
        (WIDE, "aclrtGetBufData: size is 4095", "mbuf.data.size"),
        (WIDE, "aclrtGetBufData: dataPtr is not written", "mbuf.data.pointer"),
        (WIDE, "aclrtGetBufUserData: dataPtr has another last byte", "mbuf.get-user.returns"),
        (WIDE, "aclrtGetBufUserData: write before dataPtr", "common.caller-memory"),
        (WIDE, "aclrtGetBufDataLen: len is 1", "mbuf.set-len.refused-keeps"),
        (WIDE, "the data area reads otherwise", "mbuf.data.content"),
        (WIDE, "the data area cannot be touched", "mbuf.data.usable"),
        (REGISTERED, "aclrtAllocatorCreateDesc: returns NULL", "allocator.create.succeeds"),
        (REGISTERED, "aclrtAllocatorGetByStream: allocFunc is another pointer", "allocator.get.alloc"),
        (REGISTERED, "no callback is reached", "allocator.get.arguments"),
        (REGISTERED, "argument 1 arrives changed", "allocator.get.arguments"),
        (REGISTERED, "another callback is reached", "allocator.get.arguments"),
        (REGISTERED, "crash on exit", "common.clean-exit"),
    ],
)
def test_a_falsified_trace_is_put_down_to_its_clause(text: str, what: str, clause: str) -> None:
    told = tell(text)
    judgements = [judge(SPEC, told.program, m.trace) for m in falsify(SPEC, told.program, told.trace) if m.what == what]
    assert judgements
    assert all(clause in (*names(j), *notes(j)) for j in judgements)


def test_a_live_count_is_falsified() -> None:
    told = tell("live\n" + A + "aclrtFreeBuf(buf=a)\nlive\n")
    grown = [m for m in falsify(SPEC, told.program, told.trace) if m.what in ("one object more", "one byte more")]
    verdicts = {names(judge(SPEC, told.program, m.trace))[0] for m in grown}
    assert (len(grown), verdicts) == (4, {"mbuf.free.gives-back"})


def test_an_ending_is_falsified_in_every_call() -> None:
    told = tell(A)
    kinds = {m.trace.ending.kind for m in falsify(SPEC, told.program, told.trace)}
    assert kinds == {End.COMPLETED, End.CRASH, End.EXIT, End.TIMEOUT}
