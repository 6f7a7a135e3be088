"""Scouts: that they tell of what is worth a look, agree with the oracle, accuse no conforming library, and survive."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.core_defects import enumerator
from acl_cts.backends.core_variants import variants
from acl_cts.backends.native.build import LIBRARY, compile_c
from acl_cts.backends.native.session import NativeSession
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.attempt import Attempt
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.patrol import open_patrol
from acl_cts.fuzz.plan import CampaignPlan, Event
from acl_cts.fuzz.scout import AUDIT, BROKEN, DEADLY, LOST, NEW, Scout, Scouted, ScoutLostError, serves
from acl_cts.fuzz.scout_layout import (
    BACK_OPEN,
    BACK_REFUSED,
    BACK_RETURNED,
    OP_CALL,
    OP_CLEAN,
    OP_FAIL,
    OP_RECORD,
    TAG_CELL,
    TAG_HANDLE,
    TAG_NUMBER,
)
from acl_cts.fuzz.scouted import read_transcript
from acl_cts.fuzz.standalone_seed import encode_seed, turns_of
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import FailAllocation, Program
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import Capability

SPEC = load_spec()
NAMES = list(SPEC.functions)
TOUCH = "# acl-cts program 1\nx = aclrtAllocBuf(size=64)\naclrtGetBufData(buf=x)\nread x[0:8]\n"
"""Finds out how data areas are reached, which scouts wait for."""


@contextmanager
def scouting(library: Path | str = "", audit_every: int = 4096, flavour: str = "cover") -> Iterator[Scout]:
    """A scout on a library, the core without one."""
    options = Options(library=str(library), flavour=flavour, call_timeout=1.0)
    with open_backend("core", options) as session:
        assert isinstance(session, NativeSession)
        session.run(parse_program(TOUCH))
        scout = Scout(SPEC, session, "test", audit_every)
        yield scout
        scout.close()


def told(scout: Scout, calls: int, reports: int = 8) -> list[Scouted]:
    """What a scout tells of in so many calls."""
    found: list[Scouted] = []
    until = scout.calls + calls
    while scout.calls < until:
        found += scout.slice(10_000, reports, frozenset())
    return found


@cache
def mender(capabilities: frozenset[Capability], missing: frozenset[str]) -> Mutator:
    return Mutator(SPEC, capabilities, 0, without=missing)


def fails(scout: Scout, program: Program) -> bool:
    """What the oracle says of a program."""
    mended = mender(scout.session.capabilities, scout.session.missing).mend(program)
    trace = scout.session.run(mended)
    return Attempt(trace, judge(SPEC, mended, trace)).failing


def confirmed(scout: Scout, each: Scouted) -> bool:
    """Whether the oracle finds a fault in one of the programs that a scout tells of, or in the very one."""
    if any(fails(scout, program) for program in (each.program, *each.others)):
        return True
    trace = scout.session.run(each.program)
    return Attempt(trace, judge(SPEC, each.program, trace)).failing


def planted(defect: str) -> Path:
    return build_core("cover", (f"CORE_DEFECT={enumerator(defect)}",))


# ------------------------------------------------------------------------------------------- it agrees with the oracle


@pytest.mark.parametrize(("name", "defines"), variants()[:6], ids=lambda value: value if isinstance(value, str) else "")
def test_no_conforming_library_is_accused(name: str, defines: tuple[str, ...]) -> None:
    with scouting(build_core("cover", defines)) as scout:
        kinds = Counter((each.kind, each.clause) for each in told(scout, 150_000))
    assert {kind for kind, _ in kinds} <= {NEW, AUDIT, LOST}, (name, kinds)
    assert kinds[NEW, ""] > 20


def test_on_every_program_oracle_and_scout_say_the_same() -> None:
    defects = ("", "set-user-last-byte-refused", "fresh-length-is-the-size", "object-32-bit")
    for defect in defects:
        with scouting(planted(defect) if defect else "", audit_every=1) as scout:
            seen = [each for _ in range(5) for each in scout.slice(1500, 8, frozenset())]
            assert len(seen) > 25
            for each in seen:
                accused = each.kind in (BROKEN, DEADLY)
                assert confirmed(scout, each) is accused, (defect, each.kind, format_program(each.program))


@pytest.mark.parametrize(
    ("defect", "clause"),
    [
        ("alloc-without-limit", "mbuf.alloc.limit"),
        ("free-of-copy-refused", "mbuf.free.ref"),
        ("data-size-rounded-up", "mbuf.data.size"),
        ("object-32-bit", "allocator.get.object"),
        ("get-of-unknown-writes-nothing", "allocator.get.unregistered"),
        ("unregister-removes-nothing", "allocator.unregister.removes"),
        ("area-one-byte-short", "common.caller-memory"),
    ],
)
def test_a_broken_promise_is_told_with_its_clause_and_shows_to_the_oracle(defect: str, clause: str) -> None:
    with scouting(planted(defect)) as scout:
        found = [each for each in told(scout, 150_000) if each.kind == BROKEN]
        assert clause in {each.clause for each in found}
        assert any(confirmed(scout, each) for each in found)


def test_what_is_never_given_back_is_told_of() -> None:
    with scouting(planted("free-keeps-the-area")) as scout:
        assert any(each.kind == LOST and fails(scout, each.program) for each in told(scout, 20_000))


# --------------------------------------------------------------------------------------------------------- it survives


def test_what_ends_the_process_is_told_and_it_goes_on() -> None:
    with scouting(planted("set-user-offset-signed")) as crashing, scouting(planted("failed-alloc-crashes")) as other:
        for scout in (crashing, other):
            found = told(scout, 100_000)
            deaths = [each for each in found if each.kind in (DEADLY, BROKEN)]
            assert any(confirmed(scout, each) for each in deaths)
            before = scout.calls
            told(scout, 10_000)
            assert scout.calls > before


def test_a_call_that_does_not_return_is_told() -> None:
    with scouting(planted("refused-index-keeps-the-lock")) as scout:
        slices = (scout.slice(5_000, 1, frozenset()) for _ in range(40))
        hanging = next(each for found in slices for each in found if each.kind == DEADLY)
        assert fails(scout, hanging.program)


def test_a_scout_that_was_killed_is_started_again_and_has_kept_what_it_knew() -> None:
    with scouting() as scout:
        told(scout, 20_000)
        edges, first = scout.edges, scout.pid
        assert edges > 100
        assert first is not None
        os.kill(first, signal.SIGKILL)
        told(scout, 20_000)
        assert scout.edges >= edges
        assert scout.pid != first


def test_functions_that_are_avoided_are_not_called() -> None:
    with scouting(audit_every=1) as scout:
        scout.give([])
        found = [each for _ in range(3) for each in scout.slice(2000, 8, frozenset({"aclrtCopyBufRef"}))]
    assert found
    assert not any("aclrtCopyBufRef" in format_program(each.program) for each in found)


def test_nothing_is_left_behind() -> None:
    with scouting() as scout:
        told(scout, 10_000)
        pid = scout.pid
        before = len(os.listdir("/proc/self/fd"))
        scout.close()
        assert len(os.listdir("/proc/self/fd")) == before - 2
    assert pid is not None
    assert not Path(f"/proc/{pid}").exists()


# --------------------------------------------------------------------------------------------------------- transcripts


def op(kind: int, low: int = 0) -> int:
    return kind << 56 | low


def alloc(size: int, number: int) -> list[int]:
    """An allocation that made the object with that number."""
    return [op(OP_CALL, NAMES.index("aclrtAllocBuf")), TAG_CELL, 0, TAG_NUMBER, size, 1, number + 1]


def free(number: int) -> list[int]:
    return [op(OP_CALL, NAMES.index("aclrtFreeBuf")), TAG_HANDLE, number, 1]


def test_equal_calls_of_a_record_become_a_repetition() -> None:
    words = [op(OP_RECORD, 3), *alloc(8, 0), *alloc(8, 1), *alloc(8, 2), op(OP_RECORD, 3), *free(0), *free(1), *free(2)]
    text = format_program(read_transcript(SPEC, words))
    assert "repeat t1 in 3:\n    h1[t1] = aclrtAllocBuf(size=8)" in text
    assert text.count("repeat") == 2
    assert "aclrtFreeBuf(buf=h1[" in text


def test_different_calls_stay_apart() -> None:
    words = [op(OP_RECORD, 3), *alloc(8, 0), *alloc(9, 1), *alloc(8, 2), op(OP_RECORD, 1), *free(2), *free(0)]
    text = format_program(read_transcript(SPEC, words))
    assert "repeat" not in text
    assert text.endswith("aclrtFreeBuf(buf=h3)\naclrtFreeBuf(buf=h1)\n")


def test_what_gives_back_is_left_out_unless_asked_for() -> None:
    words = [*alloc(8, 0), op(OP_FAIL, 2), op(OP_CLEAN), *free(0)]
    assert "aclrtFreeBuf" not in format_program(read_transcript(SPEC, words))
    assert "aclrtFreeBuf" in format_program(read_transcript(SPEC, words, clean_up=True))
    assert FailAllocation(2) in read_transcript(SPEC, words).body


def test_what_follows_an_answer_that_could_be_another_is_done_after_that_answer_only() -> None:
    refused, accepted = free(0), alloc(0, 1)
    refused[-1], accepted[5] = BACK_RETURNED | BACK_REFUSED | BACK_OPEN, BACK_RETURNED | BACK_OPEN
    words = [*alloc(8, 0), *refused, *accepted, *free(0)]
    text = format_program(read_transcript(SPEC, words, answered=True))
    assert (
        "aclrtFreeBuf(buf=h1)\non refusal:\n    h2 = aclrtAllocBuf(size=0)\n    on success:\n        aclrtFreeBuf"
        in text
    )
    assert "on " not in format_program(read_transcript(SPEC, words))


def test_a_program_is_kept_that_is_defined_whatever_is_answered() -> None:
    text = """# acl-cts program 1
h1 = aclrtAllocBuf(size=64)
h2 = aclrtAllocBuf(size=64)
aclrtAppendBufChain(headBuf=h1, buf=h2)
aclrtFreeBuf(buf=h2)
"""
    looks = "aclrtGetBufChainNum(headBuf=h1)\n"
    mends = mender(frozenset(), frozenset()).mend
    after = mends(parse_program(f"{text}on refusal:\n    {looks}"))
    assert "on refusal:" in format_program(after)
    assert "on success:" not in format_program(mends(parse_program(f"{text}on success:\n    aclrtFreeBuf(buf=h2)\n")))


def test_a_call_that_did_not_return_ends_the_program() -> None:
    words = [*alloc(8, 0), op(OP_CALL, NAMES.index("aclrtFreeBuf")), TAG_HANDLE, 0, 0]
    assert format_program(read_transcript(SPEC, words)).endswith("aclrtFreeBuf(buf=h1)\n")


@pytest.mark.parametrize("words", [[op(77)], [op(OP_CALL, 10_000)], alloc(8, 0)[:3]])
def test_a_damaged_transcript_is_told_apart(words: list[int]) -> None:
    with pytest.raises((ValueError, IndexError)):
        read_transcript(SPEC, words)


def test_building_up_to_a_limit_is_a_few_records() -> None:
    text = """# acl-cts program 1
x = aclrtAllocBuf(size=64)
repeat i in 127:
    b[i] = aclrtAllocBuf(size=64)
    aclrtAppendBufChain(headBuf=x, buf=b[i])
"""
    assert 127 in turns_of(SPEC)
    assert len(encode_seed(SPEC, parse_program(text))) == 3 * 24
    with scouting(planted("append-one-too-many")) as scout:
        scout.give([parse_program(f"{text}y = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=x, buf=y)\n")])
        assert any(each.clause == "mbuf.append.limit" for each in told(scout, 30_000))


# ----------------------------------------------------------------------------------------------------------- campaigns


def campaign(tmp_path: Path, seconds: float, library: Path | str = "", **more: object) -> list[Event]:
    options = Options(library=str(library), call_timeout=2.0)
    plan = CampaignPlan(("core",), options, tmp_path, seed=1, deadline=time.monotonic() + seconds, empty=True)
    made = Campaign(dataclasses.replace(plan, **more))  # type: ignore[arg-type]
    found: list[Event] = []
    made.stopped = lambda: any(event.kind == "finding" for event in found)
    for event in made.run():
        found.append(event)
    return found


def test_a_campaign_finds_through_its_scout_what_it_then_confirms(tmp_path: Path) -> None:
    events = campaign(tmp_path, 60, planted("data-size-rounded-up"))
    kinds = [event.kind for event in events]
    assert "finding" in kinds
    assert kinds.index("failing") < kinds.index("finding")
    assert events[0].data["scouts"] == 1
    figures = events[-1].figures
    assert figures is not None
    assert figures.scouted > 0
    assert not figures.unconfirmed


@pytest.mark.parametrize(("more", "reason"), [({"scout": False}, "not asked for"), ({"runs": 60}, "bound of programs")])
def test_there_is_none_where_nobody_wants_one(tmp_path: Path, more: dict[str, object], reason: str) -> None:
    events = campaign(tmp_path, 3, **more)
    assert events[0].data["scouts"] == 0
    assert reason in events[0].data["no_scout"]
    assert events[-1].figures is not None
    assert not events[-1].figures.scouted


def test_who_cannot_have_one_is_told_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert list(serves(object())) == ["it is no library"]
    with open_backend("core", Options()) as session:
        assert not list(serves(session))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

        class _Lane:
            class target:
                session = None

        lane = _Lane()
        lane.target.session = session  # type: ignore[assignment]
        with ExitStack() as stack:
            told_why = open_patrol(stack, SPEC, lane, "x")  # type: ignore[arg-type]
    assert isinstance(told_why, str)
    assert "compiler" in told_why


# ---------------------------------------------------------------------------------------------------- hostile libraries


def hostile(body: str) -> Path:
    """A library whose aclrtAllocBuf always refuses, behind `body`."""
    source = f"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
{body}
__attribute__((visibility("default"))) int aclrtAllocBuf(void **buf, size_t size)
{{
    act();
    return 107002;
}}
"""
    return compile_c("libhostile.so", {"hostile.c": source}, (*LIBRARY, "-w"))


DAMAGE = """
static void act(void)
{
    static int calls;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (++calls > 40 && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (strstr(line, "acl-cts-scout") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            for (unsigned long at = start + 4096; at + 8 <= end; at += 8 * 37)
                *(volatile uint64_t *)at = at * 0x9E3779B97F4A7C15ull;
    }
    fclose(maps);
}
"""
SLOW = "static void act(void) { usleep(20000); }"
ONCE = """
static void act(void) {}
__attribute__((visibility("default"))) int aclInit(const char *config)
{
    return getenv("ACL_CTS_TEST_SECOND") || setenv("ACL_CTS_TEST_SECOND", "1", 1) ? 500000 : 0;
}
"""


def test_a_library_that_writes_into_the_scouts_memory_ends_nothing() -> None:
    with scouting(hostile(DAMAGE), flavour="plain") as scout:
        for _ in range(4):
            scout.slice(2_000, 4, frozenset())


def test_a_slow_library_is_left_when_time_is_up() -> None:
    with scouting(hostile(SLOW), flavour="plain") as scout:
        asked: list[int] = []
        scout.slice(1_000_000, 4, frozenset(), lambda: asked.append(0) or len(asked) > 3)  # type: ignore[func-returns-value]
        assert 0 < scout.calls < 1000


def test_a_campaign_goes_on_without_a_scout_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = hostile(ONCE)

    def refuse(self: Scout, ends: object) -> None:
        raise ScoutLostError("in use")

    monkeypatch.setattr(Scout, "_start", refuse)
    events = campaign(tmp_path, 3, library)
    assert [event.data["reason"] for event in events if event.kind == "no_scout"] == ["in use"]
    assert events[-1].kind == "end"


def test_a_library_that_refuses_to_start_twice_has_no_scout(monkeypatch: pytest.MonkeyPatch) -> None:
    with scouting(hostile(ONCE), flavour="plain") as scout:
        monkeypatch.setenv("ACL_CTS_TEST_SECOND", "1")
        with pytest.raises(ScoutLostError, match="second time"):
            scout.slice(100, 4, frozenset())
