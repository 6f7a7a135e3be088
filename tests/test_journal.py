"""The journal: its lines, what is read from it, and runs that are cut off at any point and go on."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from target_build import TARGETS, build

from acl_cts.conformance.events import (
    Begun,
    Charged,
    Collected,
    DamagedEventError,
    Event,
    Finished,
    Judged,
    Left,
    Opened,
    Started,
    Supported,
    Trouble,
    format_event,
    parse_event,
    parse_line,
)
from acl_cts.conformance.journal import JOURNAL, JournalError, read_journal
from acl_cts.reports.results import CaseResult, Cause, FunctionSupport, Support
from acl_cts.specs.judgement import Finding, Observation, Strength, Verdict

TEXT = st.text(max_size=20)
NUMBER = st.integers(0, 2**40)
FINDINGS = st.lists(
    st.builds(
        Finding,
        TEXT,
        st.sampled_from(Strength),
        TEXT,
        NUMBER,
        st.lists(NUMBER, max_size=2).map(tuple),
        TEXT,
        TEXT,
        TEXT,
    ),
    max_size=2,
).map(tuple)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
RESULTS = st.builds(
    CaseResult,
    id=TEXT,
    verdict=st.sampled_from(Verdict),
    reason=TEXT,
    cause=st.sampled_from(Cause),
    clauses=NAMES,
    functions=NAMES,
    discrepancies=FINDINGS,
    blocked=FINDINGS,
    notes=FINDINGS,
    observations=st.lists(st.builds(Observation, TEXT, TEXT, NUMBER, TEXT), max_size=2).map(tuple),
    held=NAMES,
    succeeded=NAMES,
    granted=NUMBER,
    breach=st.booleans(),
    duration=st.integers(0, 10**9).map(lambda micro: micro / 10**6),
    attempts=NUMBER,
    files=TEXT,
)
SUPPORT = st.builds(FunctionSupport, TEXT, TEXT, st.sampled_from(Support), TEXT, TEXT, st.booleans(), st.booleans())
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Begun, TEXT, TEXT, TEXT, NUMBER, st.dictionaries(TEXT, TEXT, max_size=2)),
    st.builds(Opened, TEXT, st.dictionaries(TEXT, TEXT, max_size=2), NAMES),
    st.builds(Collected, TEXT, TEXT, NAMES),
    st.builds(Supported, TEXT, st.lists(SUPPORT, max_size=2).map(tuple)),
    st.builds(Started, TEXT, TEXT, NUMBER),
    st.builds(Charged, TEXT, NUMBER, TEXT, TEXT, TEXT, TEXT),
    st.builds(Judged, TEXT, RESULTS, NUMBER),
    st.builds(Left, TEXT, st.floats(0, 1e6), TEXT),
    st.builds(Finished, TEXT),
    st.builds(Trouble, TEXT, st.booleans()),
)

SMALL = ("--group", "state", "--function", "aclrtAppendBufChain")
"""A selection of some size."""

BOTH: tuple[str, ...] = ("--backend", "core", "--backend", "simulator", *SMALL)


# ----------------------------------------------------------------------------------------------------------- lines


@given(EVENTS)
def test_an_event_survives_its_line(event: Event) -> None:
    line = format_event(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert parse_event(line[:-1]) == event


@given(EVENTS, st.data())
def test_a_flipped_bit_or_a_lost_byte_is_noticed(event: Event, data: st.DataObject) -> None:
    line = format_event(event)[:-1]
    place = data.draw(st.integers(0, len(line) - 1))
    flipped = bytes([line[place] ^ 1 << data.draw(st.integers(0, 7))])
    for damaged in (line[:place] + flipped + line[place + 1 :], line[:place], line[:place] + line[place + 1 :]):
        with pytest.raises(DamagedEventError):
            parse_event(damaged)


@given(EVENTS, EVENTS, st.data())
def test_what_a_full_disk_left_of_an_event_takes_no_other_along(torn: Event, event: Event, data: st.DataObject) -> None:
    left = format_event(torn)[:-1]
    part = left[: data.draw(st.integers(0, len(left) - 1))]
    assert parse_line(part + format_event(event)[:-1]) == event


@given(EVENTS, EVENTS, st.integers(0, 255).filter(lambda byte: byte != ord("\n")))
def test_a_damaged_end_of_line_is_noticed(first: Event, second: Event, byte: int) -> None:
    with pytest.raises(DamagedEventError):
        parse_line(format_event(first)[:-1] + bytes([byte]) + format_event(second)[:-1])


# --------------------------------------------------------------------------------------------------- whole journals


def judged(id: str, shard: int = 0, cause: Cause = Cause.NONE, verdict: Verdict = Verdict.PASS) -> Judged:
    return Judged("core", CaseResult(id, verdict, cause=cause), shard)


def charged(shard: int, function: str) -> Charged:
    return Charged("core", shard, "crash", function, "call", "")


STORY: tuple[Event, ...] = (
    Begun("1", "digest", "now", 2, {"out": "o"}),
    Opened("core", {"sha256": "a"}, ("exit",)),
    Collected("core", "hash", ("a", "b", "c", "d")),
    Started("core", "a"),
    Started("core", "b", 1),
    charged(0, "f"),
    charged(1, "g"),
    judged("a"),
    Started("core", "c"),
    Left("core", 2.0),
    Begun("1", "digest", "then", 2, {"out": "o"}),
    Started("core", "b", 1),
    judged("b", 1, Cause.TIME_LIMIT, Verdict.NOT_RUN),
    judged("c", 0, verdict=Verdict.ERROR),
    Left("core", 3.0),
)


def write(path: Path, events: tuple[Event, ...]) -> bytes:
    content = b"".join(map(format_event, events))
    path.write_bytes(content)
    return content


def test_what_stands_and_what_is_to_be_judged_again(tmp_path: Path) -> None:
    write(tmp_path / JOURNAL, STORY)
    past = read_journal(tmp_path / JOURNAL)
    story = past.stories["core"]
    assert not past.finished
    assert past.begun.started == "now"
    assert set(story.results) == {"a"}
    assert story.duration == 5.0
    assert [charge.function for charge in story.charges] == ["f"], "the charge of a case that was cut off counts anew"
    write(tmp_path / JOURNAL, (*STORY, Finished("end")))
    assert read_journal(tmp_path / JOURNAL).finished


def test_a_charge_counts_once_however_often_its_case_was_begun(tmp_path: Path) -> None:
    asked = charged(0, "probe")  # every process charges this anew, before its first case
    write(
        tmp_path / JOURNAL,
        (
            *STORY[:3],
            asked,
            Started("core", "a"),
            charged(0, "f"),
            judged("a"),
            Started("core", "b"),
            charged(0, "g"),
            STORY[0],
            asked,
            Started("core", "b"),
            charged(0, "g"),
            judged("b"),
        ),
    )
    story = read_journal(tmp_path / JOURNAL).stories["core"]
    assert [charge.function for charge in story.charges] == ["f", "g"]
    assert [result.id for result in story.judged_by(0)] == ["a", "b"]
    assert not list(story.judged_by(1))


def test_a_journal_may_end_anywhere(tmp_path: Path) -> None:
    content = write(tmp_path / JOURNAL, STORY)
    first = content.index(b"\n") + 1
    for end in range(len(content)):
        (tmp_path / JOURNAL).write_bytes(content[:end])
        if end < first:
            with pytest.raises(JournalError, match="had not begun"):
                read_journal(tmp_path / JOURNAL)
        else:
            past = read_journal(tmp_path / JOURNAL)
            assert {id for story in past.stories.values() for id in story.results} <= {"a"}


def test_damage_in_the_middle_is_told_with_its_line(tmp_path: Path) -> None:
    content = bytearray(write(tmp_path / JOURNAL, STORY))
    content[content.index(b"charged")] ^= 1
    (tmp_path / JOURNAL).write_bytes(content)
    with pytest.raises(JournalError, match=rf"{JOURNAL}:\d+: the checksum"):
        read_journal(tmp_path / JOURNAL)


# ------------------------------------------------------------------------------------------------------ killed runs


def command(out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "acl_cts.main", "run", "--out", str(out), *more]


def finish(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(out, *more), capture_output=True, text=True, check=False)


def verdicts(out: Path) -> dict[tuple[str, str], str]:
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert found["finished"]
    return {(run["backend"], case["id"]): case["verdict"] for run in found["runs"] for case in run["cases"]}


def kill_when(out: Path, length: float, *more: str) -> bool:
    """Start a run and kill it with SIGKILL as soon as its journal has `length` bytes; whether it was still running."""
    child = subprocess.Popen(command(out, *more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = out / JOURNAL
    while child.poll() is None:
        if journal.exists() and journal.stat().st_size >= length:
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    return child.wait() == -signal.SIGKILL


def nothing_broken(out: Path, whole: Path) -> None:
    """Every file with a report's name is whole. What calls the run finished is right: the kill came after the last
    report."""
    told = False
    for path in out.rglob("*.json"):
        if not path.name.startswith("."):
            found = json.loads(path.read_text(encoding="utf-8"))
            told |= path.name == "results.json" and found["finished"]
    if told:
        assert verdicts(out) == verdicts(whole)
    assert told or not read_journal(out / JOURNAL).finished


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run."""
    out = tmp_path_factory.mktemp("whole")
    assert finish(out, *BOTH).returncode == 0
    return out


@pytest.mark.parametrize("seed", range(int(os.environ.get("ACL_CTS_KILLS", "3"))))
def test_a_killed_run_goes_on_to_the_same_verdicts(seed: int, whole: Path, tmp_path: Path) -> None:
    length = (whole / JOURNAL).stat().st_size
    chance = random.Random(seed)
    more = BOTH
    for _ in range(2):
        point = chance.randrange(1, length)
        if not kill_when(tmp_path, point, *more):
            break
        nothing_broken(tmp_path, whole)
        if read_journal(tmp_path / JOURNAL).finished:
            break
        more = ("--resume",)
    if not read_journal(tmp_path / JOURNAL).finished:
        done = finish(tmp_path, "--resume")
        assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(tmp_path) == verdicts(whole)
    assert not list(tmp_path.glob(".*"))


def test_a_library_that_crashes_is_judged_alike_after_a_kill(tmp_path: Path) -> None:
    target = next(t for t in TARGETS if t.name == "crash-in-one")
    library = build(target, tmp_path)
    selection = (
        "--backend",
        "acl",
        "--library",
        str(library),
        "--family",
        "mbuf",
        "--group",
        "null",
        "--group",
        "pair",
    )
    assert finish(tmp_path / "whole", *selection).returncode == 1
    length = (tmp_path / "whole" / JOURNAL).stat().st_size
    assert kill_when(tmp_path / "cut", length * 0.6, *selection)
    nothing_broken(tmp_path / "cut", tmp_path / "whole")
    assert finish(tmp_path / "cut", "--resume").returncode == 1
    found = verdicts(tmp_path / "cut")
    assert found == verdicts(tmp_path / "whole")
    assert "blocked" in found.values()
    listed = [sorted(p.name for p in (tmp_path / name / "failures").iterdir()) for name in ("whole", "cut")]
    assert listed[0] == listed[1]


def test_budgets_go_on_where_they_were(tmp_path: Path) -> None:
    library = build(next(t for t in TARGETS if t.name == "crash-in-one"), tmp_path)
    selection = ("--backend", "acl", "--library", str(library), "--function", "aclrtGetBufDataLen", "--group", "null")
    whole = tmp_path / "whole"
    finish(whole, *selection, "--group", "pair")
    lines = (whole / JOURNAL).read_bytes().splitlines(keepends=True)
    crashes = [at for at, line in enumerate(lines, 1) if b'"event": "judged"' in line and b'"crash"' in line]
    assert "blocked" in verdicts(whole).values()
    for number in (0, 30):  # once before the confirmations are used up, once after
        cut = tmp_path / f"cut-{number}"
        shutil.copytree(whole, cut)
        (cut / JOURNAL).write_bytes(b"".join(lines[: crashes[number]]))
        finish(cut, "--resume")
        assert verdicts(cut) == verdicts(whole)


def test_no_process_of_a_killed_run_lives_on(tmp_path: Path) -> None:
    assert kill_when(tmp_path, 20_000, "--backend", "core")
    # The lock is held by every process of the run: resuming takes it only when all are gone.
    done = finish(tmp_path, "--resume", "--max-time", "0.5")
    assert "another run" not in done.stderr
    assert done.returncode == 4


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with subprocess.Popen(command(tmp_path, "--backend", "core"), stdout=subprocess.DEVNULL) as first:
        while not (tmp_path / JOURNAL).exists() or (tmp_path / JOURNAL).stat().st_size < 10_000:
            assert first.poll() is None
            time.sleep(0.01)
        second = finish(tmp_path, "--backend", "core", *SMALL)
        first.send_signal(signal.SIGINT)
    assert second.returncode == 2
    assert "another run is writing there" in second.stderr
    assert first.returncode == 130


# ---------------------------------------------------------------------------------------------------------- refusals


def test_only_a_run_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    nothing = finish(tmp_path / "nothing", "--resume")
    assert (nothing.returncode, len(nothing.stderr.splitlines())) == (2, 1)
    assert "start one without --resume" in nothing.stderr
    assert finish(tmp_path / "out", "--backend", "core", *SMALL).returncode == 0
    again = finish(tmp_path / "out", "--resume")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "finished" in again.stderr


def test_a_run_that_ran_out_of_time_goes_on(tmp_path: Path) -> None:
    first = finish(tmp_path, "--backend", "core", *SMALL, "--max-time", "0.001")
    assert first.returncode == 4
    assert f"acl-cts run --resume --out {tmp_path}" in first.stderr
    other = finish(tmp_path, "--resume", "--backend", "simulator")
    assert other.returncode == 2
    assert "leave out --backend" in other.stderr
    done = finish(tmp_path, "--resume")
    assert done.returncode == 0, done.stderr
    assert set(verdicts(tmp_path).values()) == {"pass"}


def test_another_library_is_not_gone_on_with(tmp_path: Path) -> None:
    library = build(next(t for t in TARGETS if t.name == "crash-in-one"), tmp_path)
    selection = ("--backend", "acl", "--library", str(library), *SMALL, "--max-time", "0.001")
    assert finish(tmp_path / "out", *selection).returncode == 4
    other = build(next(t for t in TARGETS if t.name == "mbuf-only"), tmp_path)
    library.write_bytes(other.read_bytes())
    done = finish(tmp_path / "out", "--resume")
    assert done.returncode == 2
    assert "the library has sha256" in done.stderr


def test_a_full_disk_is_one_line_and_the_run_can_go_on(tmp_path: Path) -> None:
    limit = 60_000  # bytes that one file may have, instead of a disk

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    selection = ("--backend", "simulator", *SMALL)
    done = subprocess.run(command(tmp_path, *selection), capture_output=True, text=True, check=False, preexec_fn=narrow)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "free disk space and go on with `acl-cts run --resume`" in done.stderr
    assert (tmp_path / JOURNAL).stat().st_size <= limit
    assert finish(tmp_path, "--resume").returncode == 0
    assert finish(tmp_path / "whole", *selection).returncode == 0
    assert verdicts(tmp_path) == verdicts(tmp_path / "whole")


def test_reports_that_cannot_be_written_are_made_from_the_journal_later(tmp_path: Path) -> None:
    limit = 100_000  # bytes that one file may have: enough for the journal of a few cases, not for results.json

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    few = ("--backend", "simulator", "--case", "mbuf/state/aclrtGetBufDataLen/*")
    done = subprocess.run(command(tmp_path, *few), capture_output=True, text=True, check=False, preexec_fn=narrow)
    assert done.returncode == 3, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    told = [line for line in lines if line.endswith("cannot be written (File too large); choose another folder")]
    assert [line.rpartition("/")[2].partition(":")[0] for line in told] == ["results.json", "report.html"]
    assert lines[-1].startswith("acl-cts: make room, ")
    assert lines[-1].endswith(f"acl-cts run --resume --out {tmp_path}")
    assert not (tmp_path / "results.json").exists()
    judged = (tmp_path / JOURNAL).read_text().count('"judged"')
    assert finish(tmp_path, "--resume").returncode == 0
    assert (tmp_path / JOURNAL).read_text().count('"judged"') == judged > 0
    assert set(verdicts(tmp_path).values()) == {"pass"}
    assert finish(tmp_path, "--resume").returncode == 2
