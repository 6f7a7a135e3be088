"""The engine that executes in process: what it finds, survives, keeps and refuses."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest
from needed import need_atheris
from planted import build_planted

from acl_cts.backends.backend import BackendError, HarnessError, Options
from acl_cts.backends.core_backend import FOLDER as CORE
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.native.build import LIBRARY, compile_c, flavour_flags
from acl_cts.backends.native.clang import FUZZER_NO_LINK, Clang
from acl_cts.fuzz import atheris_campaign as campaign_module
from acl_cts.fuzz import harness as harness_module
from acl_cts.fuzz.atheris_campaign import AtherisCampaign, embedding_of
from acl_cts.fuzz.atheris_child import MODULE, Runtime, executed, find_runtime
from acl_cts.fuzz.atheris_main import relay
from acl_cts.fuzz.findings import FOLDER, known
from acl_cts.fuzz.harness import Harness
from acl_cts.fuzz.inprocess import Blind, Born, Failing, read_message
from acl_cts.fuzz.plan import ATHERIS, CampaignPlan, Event
from acl_cts.specs.program_bytes import encode_program
from acl_cts.specs.program_text import parse_program

SLEEP = """
#include <unistd.h>
#undef aclrtGetBufChainNum
__attribute__((visibility("default"))) int aclrtGetBufChainNum(void *buf, void *num)
{
    for (;;)
        pause();
}
"""


@pytest.fixture
def clang() -> Clang:
    return need_atheris()


def plan(corpus: Path, runs: int, *backends: str, library: Path | str = "", timeout: float = 2.0) -> CampaignPlan:
    """A campaign from an empty corpus."""
    options = Options(library=str(library), call_timeout=timeout)
    return CampaignPlan(backends or ("core",), options, corpus, 1, runs, empty=True, engine=ATHERIS)


def run(corpus: Path, runs: int, *backends: str, library: Path | str = "") -> list[Event]:
    """Its events."""
    return list(AtherisCampaign(plan(corpus, runs, *backends, library=library)).run())


def roots(corpus: Path) -> list[tuple[str, str]]:
    """Clause and function of every finding on disk."""
    return sorted((found.bucket.root.clause, found.bucket.root.function) for found in known(corpus / FOLDER))


def test_the_core_and_the_simulator_conform_and_what_is_new_is_kept_as_text(clang: Clang, tmp_path: Path) -> None:
    events = run(tmp_path, 200, "core", "simulator")
    figures = events[-1].figures
    assert figures is not None
    assert events[-1].kind == "end"
    assert (figures.programs, figures.findings) == (200, 0)
    assert figures.edges > 200
    assert figures.states > 100
    kept = list((tmp_path / "programs").glob("*.txt"))
    assert len(kept) == figures.corpus > 50
    assert parse_program(kept[0].read_text()).body
    assert {"start", "loaded", "figures", "observation", "end"} <= {event.kind for event in events}


def searched(campaign: AtherisCampaign, corpus: Path, *wanted: tuple[str, str]) -> None:
    """Run until the findings `wanted` are there; the campaign's runs bound the search."""
    with closing(campaign.run()) as events:
        for event in events:
            if event.kind == "finding" and set(roots(corpus)) >= set(wanted):
                return


def test_faults_are_found_although_the_library_takes_the_process_along(clang: Clang, tmp_path: Path) -> None:
    library = build_planted("alloc-of-64-kib-refused", "chain-num-writes-eight-bytes", clang=clang)
    wanted = ("common.no-crash", "aclrtGetBufChainNum"), ("mbuf.alloc.succeeds", "aclrtAllocBuf")
    searched(AtherisCampaign(plan(tmp_path, 4000, library=library)), tmp_path, *wanted)
    assert roots(tmp_path) == sorted(wanted)
    for found in known(tmp_path / FOLDER):
        data = json.loads((found.folder / "finding.json").read_text())
        assert (data["fails"], data["repeats"]) == (10, 10)


def atheris_processes() -> list[int]:
    """The processes of atheris that descend from this one, the one that forks the others first."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            if MODULE.encode() in words and state[0] != "Z":
                found.append((int(folder.name), int(state[1])))
    first = [pid for pid, parent in found if parent == os.getpid()]
    return first + [pid for pid, parent in found if parent in first]


@pytest.mark.parametrize("part", [b"", b"\0", b"\0\0\0\x09", b"\0\0\0\x09half"])
def test_a_process_killed_in_the_middle_of_a_message_takes_no_other_message_along(part: bytes) -> None:
    told, telling = Pipe(duplex=False)
    received, reports = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        telling.send("whole")
        os.write(telling.fileno(), part)
        os.kill(os.getpid(), signal.SIGKILL)
    telling.close()
    status = relay(told, reports, pid)
    reports.send("next")
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert [received.recv(), received.recv()] == ["whole", "next"]


def test_what_was_told_comes_also_from_a_process_whose_pipe_somebody_else_holds() -> None:
    told, telling = Pipe(duplex=False)
    received, reports = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        telling.send("last")
        os._exit(7)
    assert os.waitstatus_to_exitcode(relay(told, reports, pid)) == 7  # `telling` is still open here
    assert received.recv() == "last"


@pytest.mark.parametrize("garbage", [b"\0\0\0\4abcd", b"\x3f" * 64, b"\xff\xff\xff\xff" + b"\x7f" * 8, b"\0" * 4])
def test_what_a_library_writes_where_messages_go_is_passed_on_or_ends_the_process(garbage: bytes) -> None:
    told, telling = Pipe(duplex=False)
    received, reports = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        os.write(telling.fileno(), garbage)
        telling.close()
        signal.pause()  # unless it is killed, it stays for ever
    telling.close()
    assert os.waitstatus_to_exitcode(relay(told, reports, pid)) == -signal.SIGKILL
    reports.send_bytes(b"end")
    while (data := received.recv_bytes()) != b"end":
        with pytest.raises(ValueError, match="no message"):
            read_message(data)


@pytest.mark.parametrize("word", [pickle.dumps(print), pickle.dumps(Path("x")), pickle.dumps(5), b"", b"\x80\x04."])
def test_only_messages_are_read(word: bytes) -> None:
    assert read_message(pickle.dumps(Born(7))) == Born(7)
    failing = Failing(b"a", "fresh", 0, (b"b", b"c"))
    assert read_message(pickle.dumps(failing)) == failing
    with pytest.raises(ValueError, match="no message"):
        read_message(word)


def test_a_process_of_the_engine_that_stands_still_is_replaced(
    clang: Clang, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of any call, so that no call hangs: as a library may stop its own process."""
    monkeypatch.setattr(campaign_module, "SILENT", 1.0)
    monkeypatch.setattr(campaign_module, "GOING", 1.0)
    campaign, stopped = AtherisCampaign(plan(tmp_path, 300)), 0
    with closing(campaign.run()) as events:
        for event in events:
            if event.kind == "figures" and stopped < 2 and campaign.figures.programs > 60 * (stopped + 1):
                processes = atheris_processes()
                if len(processes) == 2:
                    os.kill(processes[1 - stopped], signal.SIGSTOP)
                    stopped += 1
    assert stopped == 2
    assert campaign.figures.programs >= 300


def test_a_process_of_the_engine_that_is_killed_is_replaced(clang: Clang, tmp_path: Path) -> None:
    """As by a system that runs short of memory: first the one that fuzzes, then the one that forks it."""
    campaign, killed = AtherisCampaign(plan(tmp_path, 400)), 0
    with closing(campaign.run()) as events:
        for event in events:
            if event.kind == "figures" and killed < 2 and campaign.figures.programs > 80 * (killed + 1):
                processes = atheris_processes()
                if len(processes) == 2:
                    os.kill(processes[1 - killed], signal.SIGKILL)
                    killed += 1
    assert killed == 2
    assert (campaign.figures.programs, campaign.figures.findings) == (400, 0)


def sleeping_core(clang: Clang) -> Path:
    """The core, with one function that never returns, as native coverage wants it."""
    paths = [path for name in ("include", "src") for path in sorted((CORE / name).iterdir())]
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths}
    sources["sleep.c"] = SLEEP
    flags = (*LIBRARY, "-fvisibility=hidden", "-w", *flavour_flags("cover"), FUZZER_NO_LINK, *clang.flags)
    flags += ("-DaclrtGetBufChainNum=awake",)
    return compile_c("libaclcts_core.so", sources, flags, cc=clang.command)


def test_a_call_that_never_returns_is_found(clang: Clang, tmp_path: Path) -> None:
    wanted = ("common.no-hang", "aclrtGetBufChainNum")
    searched(AtherisCampaign(plan(tmp_path, 4000, library=sleeping_core(clang), timeout=0.2)), tmp_path, wanted)
    assert wanted in roots(tmp_path)


def test_a_mutator_that_is_ignored_stops_the_start(clang: Clang, tmp_path: Path) -> None:
    runtime = Runtime(find_runtime().sanitizer, ())
    campaign = AtherisCampaign(plan(tmp_path, 2000), _runtime=runtime)
    with pytest.raises(HarnessError, match="mutator"):
        list(campaign.run())


def test_programs_that_come_again_before_the_mutator_is_asked_are_no_sign_that_it_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine reads what it was given a second time when it looks for what others have added."""
    monkeypatch.setattr(harness_module, "PATIENCE", 4)
    units = tmp_path / "units"
    units.mkdir()
    programs = [encode_program(parse_program(f"a = aclrtAllocBuf(size={size})\n")) for size in range(1, 40)]
    given, added, strange = programs[:10], programs[10:20], programs[20:]
    for number, data in enumerate(given):
        (units / str(number)).write_bytes(data)
    campaign = AtherisCampaign(plan(tmp_path / "corpus", 0, "simulator"))
    for folder in ("corpus", "other"):
        (tmp_path / folder).mkdir()
    assignment = replace(campaign._assignment(tmp_path / "other"), units=units, shared=True)
    theirs, ours = Pipe(duplex=False)
    harness = Harness(replace(assignment, history=tmp_path / "history"), ours)

    def blind(programs: list[bytes]) -> bool:
        for data in programs:
            harness.one(data)
        told = []
        while theirs.poll():
            told.append(theirs.recv())
        return any(isinstance(message, Blind) for message in told)

    assert not blind(given * 2)
    for number, data in enumerate(added, len(given)):
        (units / str(number)).write_bytes(data)
    assert not blind(added * 2)
    assert blind(strange)


def test_what_has_ended_a_process_before_is_not_executed_there_again_although_it_is_in_the_corpus(
    tmp_path: Path,
) -> None:
    for folder in ("corpus", "other", "units"):
        (tmp_path / folder).mkdir()
    one, other = (encode_program(parse_program(f"a = aclrtAllocBuf(size={size})\n")) for size in (1, 2))
    for name, data in (("one", one), ("other", other)):
        (tmp_path / "units" / name).write_bytes(data)
    assignment = AtherisCampaign(plan(tmp_path / "corpus", 0, "simulator"))._assignment(tmp_path / "other")
    history, fatal = tmp_path / "history", frozenset({one})
    _, ours = Pipe(duplex=False)
    harness = Harness(replace(assignment, units=tmp_path / "units", history=history, fatal=fatal), ours)
    harness.one(one)
    harness.one(other)
    assert list(executed(history)) == [other]


def test_a_library_without_counters_is_refused(clang: Clang, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="has no inline counters"):
        embedding_of(plan(tmp_path, 10, library=build_core("plain")))


def test_other_backends_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="takes core and simulator, not acl"):
        embedding_of(plan(tmp_path, 10, "acl"))


def test_a_history_cut_off_in_the_middle_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "history.bin"
    path.write_bytes(b"\x03\0\0\0abc\x02\0\0\0de\x05\0\0\0fg")
    assert list(executed(path)) == [b"abc", b"de"]
    assert list(executed(tmp_path / "none")) == []


def acl_cts(*words: str | Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Output of `acl-cts` with these words; `path`: where programs are looked for."""
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    command = [sys.executable, "-m", "acl_cts.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_without_clang_the_engine_is_refused_when_asked_for_and_replaced_otherwise(tmp_path: Path) -> None:
    for name in ("cc", "ld", "as"):
        found = next(Path(folder) / name for folder in ("/usr/bin", "/bin") if (Path(folder) / name).exists())
        (tmp_path / name).symlink_to(found)
    corpus = ("--corpus", tmp_path / "corpus", "-q", "--empty", "--runs", "20")
    asked = acl_cts("fuzz", "--engine", "atheris", *corpus, path=str(tmp_path))
    assert asked.returncode == 2
    assert "apt-get install" in asked.stderr or "pip install" in asked.stderr
    assert len(asked.stderr.splitlines()) == 1
    assert not (tmp_path / "corpus").exists()
    silent = acl_cts("fuzz", *corpus, path=str(tmp_path))
    assert silent.returncode == 0, silent.stderr
    assert "--engine worker, as" in silent.stderr


def test_the_command_ends_in_order_at_ctrl_c(clang: Clang, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "acl_cts.main", "fuzz", "--empty", "--max-time", "2m", "--corpus", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "states" in line and " 0 programs" not in line:
                break
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert list((tmp_path / "programs").iterdir())
