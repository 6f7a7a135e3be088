"""Campaigns through their public doors: what they execute, keep, find and tell. All are bounded by runs."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from planted import build_planted
from reproducers import built_as_told
from reproducers import run as run_alone

from acl_cts.backends.backend import HarnessError, Options
from acl_cts.backends.core_backend import FOLDER as CORE
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.native.build import COUNTING, LIBRARY, compile_c, flavour_flags
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.setting import Setting
from acl_cts.fuzz import target as target_module
from acl_cts.fuzz.bucket import Bucket, Root, root_of
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.corpus import Corpus
from acl_cts.fuzz.deadly import Deadly
from acl_cts.fuzz.figures import Figures
from acl_cts.fuzz.findings import FOLDER, known, store
from acl_cts.fuzz.findings import Finding as Found
from acl_cts.fuzz.minimise import Minimiser
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.plan import CampaignPlan, Event
from acl_cts.fuzz.running import Running, interrupted
from acl_cts.fuzz.target import Target
from acl_cts.specs.judgement import Finding, Judgement, Strength, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Call, Program, walk
from acl_cts.specs.program_bytes import encode_program
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import Capability, End, Ending, Phase, Trace

FIVE = (
    "alloc-of-64-kib-refused",
    "null-output-of-get-crashes",
    "set-user-last-byte-refused",
    "chain-num-writes-eight-bytes",
    "register-without-free",
)


def run(
    corpus: Path, runs: int, *backends: str, library: Path | str = "", seed: int = 1, **more: object
) -> list[Event]:
    """The events of a campaign from an empty corpus."""
    return list(campaign(corpus, runs, *backends, library=library, seed=seed, **more).run())


def campaign(
    corpus: Path, runs: int, *backends: str, library: Path | str = "", seed: int = 1, **more: object
) -> Campaign:
    """Such a campaign, before it starts."""
    options = Options(library=str(library), call_timeout=2.0)
    plan = CampaignPlan(backends or ("core",), options, corpus, seed, runs, empty=True, repeatable=True)
    return Campaign(dataclasses.replace(plan, **more))  # type: ignore[arg-type]


def search(hunt: Campaign, enough: int) -> Figures:
    """Run until there are `enough` findings, or as long as planned; how things stood at the end."""
    events = []
    for event in hunt.run():
        events.append(event)
        if sum(each.kind == "finding" for each in events) >= enough:
            hunt.stopped = lambda: True
    return last(events)


def last(events: list[Event]) -> Figures:
    """How things stood at the end."""
    assert events[-1].kind == "end"
    assert events[-1].figures is not None
    return events[-1].figures


def roots(corpus: Path) -> list[tuple[str, str]]:
    """Clause and function of every finding on disk."""
    return sorted((found.bucket.root.clause, found.bucket.root.function) for found in known(corpus / FOLDER))


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    once, again, other = (last(run(tmp_path / name, 300, seed=seed)) for name, seed in (("a", 4), ("b", 4), ("c", 5)))
    assert once.fingerprint == again.fingerprint != other.fingerprint
    assert (once.edges, once.states, once.corpus) == (again.edges, again.states, again.corpus)
    kept = [sorted(path.name for path in (tmp_path / name / "programs").iterdir()) for name in "ab"]
    assert kept[0] == kept[1]
    assert len(kept[0]) == once.corpus > 50


def test_nothing_is_found_in_the_core_and_the_simulator_and_they_are_compared(tmp_path: Path) -> None:
    events = run(tmp_path, 200, "core", "simulator")
    assert last(events).findings == 0
    assert not known(tmp_path / FOLDER)
    assert last(events).programs == 200
    told = [event.data for event in events if event.kind == "divergence"]
    assert all(set(each["answers"]) == {"core", "simulator"} for each in told)


def test_backends_that_answer_open_points_differently_diverge_and_are_not_accused(tmp_path: Path) -> None:
    events = run(tmp_path, 150, "simulator", "simulator:opposite")
    divergences = [event.data for event in events if event.kind == "divergence"]
    assert any(each["clause"] for each in divergences)
    assert last(events).findings == 0
    assert last(events).divergences == len(divergences)


def test_a_library_that_tells_nothing_is_guided_by_the_model(tmp_path: Path) -> None:
    figures = last(run(tmp_path, 150, library=build_core("plain")))
    assert figures.edges == 0
    assert figures.states > 100
    assert figures.corpus > 30


def test_a_corpus_reaches_again_what_the_campaign_before_had_reached(tmp_path: Path) -> None:
    before = last(run(tmp_path, 400))
    loaded = next(event for event in run(tmp_path, 1, seed=2) if event.kind == "loaded")
    assert loaded.figures is not None
    assert loaded.figures.edges >= 0.99 * before.edges
    assert loaded.figures.states >= 0.99 * before.states


def test_five_faults_at_once_give_five_buckets_and_each_is_shown_ten_times(tmp_path: Path) -> None:
    library = build_planted(*FIVE)
    figures = search(campaign(tmp_path, 3000, library=library, seed=2), len(FIVE))
    assert roots(tmp_path) == [
        ("allocator.register.needs-free", "aclrtAllocatorRegister"),
        ("common.no-crash", "aclrtAllocatorGetByStream"),
        ("common.no-crash", "aclrtGetBufChainNum"),
        ("mbuf.alloc.succeeds", "aclrtAllocBuf"),
        ("mbuf.set-user.succeeds", "aclrtSetBufUserData"),
    ]
    assert figures.findings == 5
    for found in known(tmp_path / FOLDER):
        data = json.loads((found.folder / "finding.json").read_text())
        assert (data["fails"], data["repeats"]) == (10, 10)
        root = found.bucket.root
        assert (root.verdict == "crash") == (root.clause == "common.no-crash")
        assert root.frames == ((root.function,) if root.verdict == "crash" else ())
        program = parse_program((found.folder / "program.txt").read_text())
        assert len(program.body) <= 8
        # Built as its head says, it shows the fault in the library that was fuzzed, and not in the good one.
        repro = built_as_told(found.folder)
        assert 0 not in {run_alone(repro, library)[0] for _ in range(10)}, found.folder.name
        assert {run_alone(repro, build_core("cover"))[0] for _ in range(10)} == {0}, found.folder.name
        for name in ("repro.c", "repro.py", "trace.json", "run.json"):
            assert (found.folder / name).stat().st_size > 0
    # One that is damaged is told of, and the others are replayed.
    whole = (found.folder / "program.txt").read_text()
    (found.folder / "program.txt").write_text("no program")
    damaged = command("replay", tmp_path, code=2).splitlines()
    assert "5 findings: 4 still fail, 1 error" in damaged
    assert "is not a program" in command("replay", tmp_path, code=2, output="stderr")
    plain = [json.loads(line) for line in command("replay", tmp_path, "--format", "json", code=2).splitlines()]
    assert [line["finding"] for line in plain] == ["still fails"] * 4 + ["error"]
    (found.folder / "program.txt").write_text(whole)
    # All of them again on a library without the faults: what became of each stands at the end.
    told = command("replay", tmp_path, "--library", build_core("cover"), code=0).splitlines()[-6:]
    assert told[0] == "5 findings: 5 fixed"
    assert [line.split()[0] for line in told[1:]] == ["fixed"] * 5
    # What is known is counted and not found again, and the command tells of it.
    again = run(tmp_path, 400, library=library, seed=9)
    assert last(again).findings == 0
    assert last(again).repeated > 5


def test_memory_that_other_calls_lose_is_not_laid_to_the_first_that_gives_back(tmp_path: Path) -> None:
    text = (
        "# acl-cts program 1\nlive\na = aclrtAllocBuf(size=64)\nd = aclrtAllocatorCreateDesc()\n"
        "aclrtAllocatorDestroyDesc(allocatorDesc=d)\naclrtFreeBuf(buf=a)\nlive\n"
    )
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "both.txt").write_text(text)
    run(tmp_path, 1, library=build_planted("free-keeps-the-area"))
    assert roots(tmp_path) == [("mbuf.free.gives-back", "aclrtFreeBuf")]


def test_a_library_that_crashes_in_every_call_of_a_function_does_not_end_a_campaign(tmp_path: Path) -> None:
    library = build_planted("null-descriptor-crashes", "every-free-drops-the-area", "null-output-of-get-crashes")
    figures = last(run(tmp_path, 400, library=library))
    assert figures.programs == 400
    assert figures.crashes > 0
    assert figures.findings > 0


def test_a_function_that_kills_or_hangs_is_left_out_until_it_has_cost_its_share_and_no_more() -> None:
    deadly = Deadly()
    hang = Ending(End.TIMEOUT, function="aclrtFreeBuf")
    deadly.charge(Ending(End.COMPLETED, function="aclrtAllocBuf"))
    assert deadly.avoided(0) == frozenset()
    deadly.charge(hang)
    assert deadly.avoided(0) == {"aclrtFreeBuf"}
    assert deadly.avoided(100_000) == frozenset()


def test_lost_memory_that_no_count_tells_of_is_found_with_the_program_that_lost_it(tmp_path: Path) -> None:
    with open_backend("core", Options(flavour="cover")) as session:
        if not Target("core", session).watches_leaks:
            assert session.identity.details["lost memory"].startswith("not checked")
            return
    # It is looked for before a worker goes in which programs have left too much, which comes soon.
    library = build_planted("refused-register-loses-memory")
    search(campaign(tmp_path, 960, library=library, seed=1), 1)
    (found,) = known(tmp_path / FOLDER)
    assert found.bucket.root.verdict == "leak"
    assert "aclrtAllocatorRegister" in (found.folder / "program.txt").read_text()


KILLED = """
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#undef aclrtGetBufChainNum
int awake(void *buf, void *num);
__attribute__((visibility("default"))) int aclrtGetBufChainNum(void *buf, void *num)
{
    int calls = open(CALLS, O_CREAT | O_APPEND | O_WRONLY, 0600);
    if (write(calls, "c", 1) == 1 && lseek(calls, 0, SEEK_CUR) == 60)
        raise(SIGKILL);
    close(calls);
    return awake(buf, num);
}
"""


def test_a_process_that_somebody_kills_is_no_finding(tmp_path: Path) -> None:
    """As a system that runs short of memory does, once."""
    paths = [path for name in ("include", "src") for path in sorted((CORE / name).iterdir())]
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths} | {"killed.c": KILLED}
    flags = (*LIBRARY, "-fvisibility=hidden", "-w", *flavour_flags("cover"), *COUNTING["cover"])
    flags += ("-DaclrtGetBufChainNum=awake", f'-DCALLS="{tmp_path / "calls"}"')
    figures = last(run(tmp_path / "corpus", 300, library=compile_c("libaclcts_core.so", sources, flags)))
    assert (tmp_path / "calls").stat().st_size > 60
    assert (figures.programs, figures.crashes, figures.findings) == (300, 1, 0)


def test_a_single_variable_and_an_array_do_not_share_a_name() -> None:
    """They are one place in an executor: what one of them holds would be taken for the other."""
    mutator = Mutator(load_spec(), frozenset(Capability), 0)
    one, many = "a = aclrtAllocBuf(size=1)\n", "repeat i in 2:\n    a[i] = aclrtAllocBuf(size=1)\n"
    for text in (one + many, many + one):
        mended = mutator.mend(parse_program(text))
        made = [s.target for s in walk(mended.body) if isinstance(s, Call) and s.target is not None]
        assert len({target.name for target in made}) == len(made) == 2


def test_coverage_that_does_not_arrive_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_backend("core:asan", Options()) as session:
        monkeypatch.setattr(target_module, "HOOKS", (b"aclrtAllocBuf",))
        with pytest.raises(HarnessError, match=r"coverage of .* does not arrive"):
            Target("core", session).connect(load_spec())


def test_coverage_of_the_instrumented_core_arrives() -> None:
    with open_backend("core", Options(flavour="cover")) as session:
        target = Target("core", session)
        target.connect(load_spec())
        assert target.counted
        target.recall()
        program = parse_program("a = aclrtAllocBuf(size=64)\ncleanup:\n    aclrtFreeBuf(buf=a)\n")
        first, _, third = target.run((program,) * 3)  # the second one meets memory that the first one gave back
        assert first.reached.new
        assert not third.reached.new
        assert third.reached.touched > 0


def test_what_was_running_is_known_after_a_kill_and_comes_first(tmp_path: Path) -> None:
    program = parse_program("a = aclrtAllocBuf(size=77)\n")
    Running(tmp_path / "running-0.bin").note([encode_program(program)] * 2)
    assert interrupted(tmp_path) == [program, program]
    events = run(tmp_path, 20)
    assert events[0].data["left"] == 2
    # A campaign that ends in order leaves nothing behind.
    assert interrupted(tmp_path) == []


def test_a_cut_note_gives_the_programs_that_are_whole(tmp_path: Path) -> None:
    program = parse_program("a = aclrtAllocBuf(size=77)\n")
    path = tmp_path / "running-0.bin"
    Running(path).note([encode_program(program)] * 2)
    path.write_bytes(path.read_bytes()[:-3])
    assert interrupted(tmp_path) == [program]


def test_damaged_files_of_a_corpus_are_left_out_and_told(tmp_path: Path) -> None:
    run(tmp_path, 60)
    (tmp_path / "programs" / "broken.txt").write_text("no program")
    loaded = next(event for event in run(tmp_path, 1) if event.kind == "loaded")
    assert [text for text in loaded.data["damaged"] if text.startswith("broken.txt")]


def test_a_corpus_keeps_to_its_quota(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, quota=2 * 4096)
    corpus.open()
    for size in range(1, 5):
        corpus.add(parse_program(f"a = aclrtAllocBuf(size={size})\n"), 1)
    assert corpus.full
    assert len(corpus.entries) == 4
    assert len(list((tmp_path / "programs").iterdir())) == 2


def command(*words: str | Path, code: int, output: str = "stdout") -> str:
    """Output of `acl-cts` with these words, whose exit code must be `code`."""
    done = subprocess.run(
        [sys.executable, "-m", "acl_cts.main", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if output == "stderr" else done.stdout


def test_the_command_from_a_finding_to_a_regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, corpus = build_planted("set-user-last-byte-refused"), tmp_path / "corpus"
    fuzz = ("fuzz", "--library", library, "--corpus", corpus, "--empty", "-q", "--runs")
    command(*(word if word != library else build_core("cover") for word in fuzz), "1", code=0)
    assert "no findings in this corpus" in command("replay", corpus, code=0, output="stderr")
    told = command(*fuzz, "200", code=1)
    assert "exit code 1: 1 new finding" in told
    told = command(*fuzz, "200", "--seed", "1", code=0)
    assert "exit code 0: nothing new" in told
    lines = [json.loads(line) for line in (corpus / "log.jsonl").read_text().splitlines()]
    assert {"start", "loaded", "finding", "end"} <= {line["kind"] for line in lines}
    assert "1 finding" in command("fuzz", "triage", corpus, code=0)
    assert "finding: still fails" in command("replay", corpus, code=1)
    assert "finding: fixed" in command("replay", corpus, "--library", build_core("cover"), code=0)
    (finding,) = (corpus / "findings").iterdir()
    regressions = tmp_path / "regressions"
    command("fuzz", "promote", finding, "--to", regressions, code=0)
    monkeypatch.setenv("ACL_CTS_REGRESSIONS", str(regressions))
    listed = command("list", "--group", "regression", code=0)
    assert listed.startswith("mbuf/regression/aclrtSetBufUserData/")
    run_it = ("run", "--group", "regression", "--out", tmp_path / "out", "--backend", "core")
    command(*run_it, code=0)
    command(*run_it, "--library", build_core("plain", ("CORE_DEFECT=CORE_DEFECT_set_user_last_byte_refused",)), code=1)


def test_what_is_damaged_in_a_corpus_is_told_in_one_line_and_lets_no_fault_go_unseen(tmp_path: Path) -> None:
    corpus, regressions = tmp_path / "corpus", tmp_path / "regressions"
    library = build_planted("set-user-last-byte-refused")
    fuzz = ("fuzz", "--library", library, "--corpus", corpus, "--empty", "-q", "--runs", "200")
    command(*fuzz, code=1)
    (finding,) = (corpus / "findings").iterdir()

    def refused(*words: str | Path) -> None:
        assert len(command(*words, code=2, output="stderr").splitlines()) == 1

    program = (finding / "program.txt").read_text()
    for text in ("", "no program", "a = aclrtOfTomorrow(size=3)\n"):
        (finding / "program.txt").write_text(text)
        refused("fuzz", "promote", finding, "--to", regressions)
        refused("replay", corpus)
        if not text.startswith("a ="):
            refused("fuzz", "triage", corpus)
            refused(*fuzz)
    (finding / "program.txt").unlink()
    refused("fuzz", "promote", finding, "--to", regressions)
    refused("replay", corpus)
    assert not regressions.exists()
    (finding / "program.txt").write_text(program)
    # Nothing tells what it failed on: the core would pass for the library that was mended.
    (finding / "run.json").rename(tmp_path / "run.json")
    assert "run.json: is missing" in command("replay", corpus, code=2, output="stderr")
    assert "still fails" in command("replay", corpus, "--backend", "core", "--library", library, code=1)
    (tmp_path / "run.json").rename(finding / "run.json")
    for name in (finding / "finding.json", corpus / "last.json"):
        whole = name.read_text()
        name.write_text(whole[:-40])
        refused(*fuzz)
        name.write_text(whole)
    # A finding that says nothing any more is found anew, and what is left of it is kept.
    (finding / "finding.json").unlink()
    command("fuzz", "merge", tmp_path / "merged", corpus, code=0)
    command(*fuzz, code=1)
    assert (finding / "finding.json").exists()
    assert [path.name for path in corpus.glob("findings/*.damaged-*/*/repro.c")] == ["repro.c"]
    # Programs whose terms nobody knows are mended.
    (corpus / "terms.json").write_text("{")
    command("fuzz", "prune", corpus, code=0)


def test_merged_corpora_reach_what_both_reached_with_fewer_programs(tmp_path: Path) -> None:
    one, other = last(run(tmp_path / "a", 200, seed=1)), last(run(tmp_path / "b", 200, seed=2))
    told = command("fuzz", "merge", tmp_path / "c", tmp_path / "a", tmp_path / "b", code=0)
    kept = len(list((tmp_path / "c" / "programs").iterdir()))
    assert f"{kept} programs" in told
    assert kept < one.corpus + other.corpus
    loaded = next(event for event in run(tmp_path / "c", 1) if event.kind == "loaded")
    assert loaded.figures is not None
    assert loaded.figures.edges >= max(one.edges, other.edges)


def test_two_processes_share_a_corpus_and_a_fall_of_coverage_is_an_alarm(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    told = command(
        "fuzz", "--engine", "worker", "--runs", "120", "--jobs", "2", "--empty", "-q", "--corpus", corpus, code=0
    )
    # What one adds to the corpus the other may execute too.
    assert 120 <= int(re.findall(r"· (\d+) programs ·", told)[-1]) < 240
    for path in (corpus / "programs").iterdir():
        path.unlink()
    told = command("fuzz", "--engine", "worker", "--runs", "2", "--empty", "-q", "--corpus", corpus, code=4)
    assert "coverage fell" in told


@pytest.mark.parametrize(
    "words", [("--max-time", "soon"), ("--max-time", "0"), ("--runs", "1", "--jobs", "2"), ("--runs", "1", "--scout")]
)
def test_bad_input_is_told_before_anything_runs(tmp_path: Path, words: tuple[str, ...]) -> None:
    command("fuzz", "--corpus", tmp_path / "corpus", *words, code=2)
    assert not (tmp_path / "corpus").exists()


def ended(verdict: Verdict, *discrepancies: Finding) -> Root:
    trace = Trace((), Ending(End.CRASH, phase=Phase.CALL, function="aclrtGetBufData"))
    return root_of(Judgement(verdict, discrepancies), trace, ("mbuf_find",))


def test_a_crash_that_a_broken_promise_explains_is_no_fault_of_its_own() -> None:
    broken = Finding("mbuf.set-user.size", Strength.EXPLICIT, "aclrtSetBufUserData", 1, (), "refused", "accepted")
    crash = Finding("common.no-crash", Strength.IMPLIED, "aclrtGetBufData", 2, (), "returns", "crashed")
    explained = dataclasses.replace(crash, blocked_by=broken.clause)
    as_it_fails = Root("fail", broken.clause, broken.function)
    assert ended(Verdict.FAIL, broken) == ended(Verdict.CRASH, broken, explained) == as_it_fails
    as_it_crashes = Root("crash", crash.clause, crash.function, ("mbuf_find",))
    assert ended(Verdict.CRASH, crash) == ended(Verdict.CRASH, broken, crash) == as_it_crashes


def test_a_library_with_sanitizer_and_hooks_is_replayed_as_it_was_fuzzed_and_told_of_elsewhere(tmp_path: Path) -> None:
    library, program = build_core("cover"), tmp_path / "program.txt"
    program.write_text("# acl-cts program 1\na = aclrtAllocBuf(size=64)\ncleanup:\n    aclrtFreeBuf(buf=a)\n")
    given = "--library", library
    assert "verdict: pass" in command("replay", program, "--backend", "core", *given, code=0)
    assert "verdict: pass" in command("replay", program, "--backend", "core:cover", *given, code=0)
    told = command("run", "--backend", "core", *given, "--out", tmp_path / "out", code=2, output="stderr")
    assert "use --backend core:cover" in told


def test_what_is_built_first_does_not_count_as_time_of_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = "fuzz", "--engine", "worker", "--max-time", "2", "--empty", "--corpus", tmp_path / "corpus"
    assert command(*words, code=0, output="stderr").startswith("starting")


def test_what_a_block_does_once_is_shown_without_the_block() -> None:
    text = """# acl-cts program 1
repeat i in 3:
    a[i] = aclrtAllocBuf(size=i+64)
    on refusal:
        b = aclrtAllocBuf(size=8)
    aclrtSetBufDataLen(buf=a[i], len=65)
"""
    wanted = "aclrtAllocBuf", "aclrtSetBufDataLen"

    def same(program: Program) -> bool:
        called = [s.function for s in walk(program.body) if isinstance(s, Call)]
        return all(function in called for function in wanted)

    program = Minimiser(Mutator(load_spec(), frozenset(), 0), same, 500).minimise(parse_program(text))
    assert [type(statement) for statement in program.body] == [Call, Call]
    assert not [s for s in walk(program.body) if isinstance(s, Call) and "loop='" in repr(s)]


def test_a_folder_that_is_no_corpus_is_told(tmp_path: Path) -> None:
    assert "is no corpus" in command("fuzz", "triage", tmp_path, code=2, output="stderr")


def test_a_reproducer_that_needs_other_programs_first_says_so(tmp_path: Path) -> None:
    text = "# acl-cts program 1\na = aclrtAllocBuf(size=64)\ncleanup:\n    aclrtFreeBuf(buf=a)\n"
    program = parse_program(text)
    broken = Finding("mbuf.alloc.succeeds", Strength.IMPLIED, "aclrtAllocBuf", 0, (), "success", "refused")
    attempt = Attempt(Trace((), Ending(End.COMPLETED)), Judgement(Verdict.FAIL, (broken,)))
    bucket = Bucket("core", Root("fail", broken.clause, broken.function), "")
    found = Found(bucket, program, attempt, Setting("core", "", Options()), 10, 10, (program, program))
    place = store(tmp_path, found, load_spec())
    alone = store(tmp_path / "alone", dataclasses.replace(found, before=()), load_spec())
    assert place is not None
    assert alone is not None
    assert "cannot show alone: 2 programs, before-*.txt, must run" in (place / "repro.c").read_text()
    assert "cannot show alone" not in (alone / "repro.c").read_text()
