"""Executors for other machines, and what is said of a program that does not fit."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from target_run import run_session

from acl_cts.backends.backend import Options
from acl_cts.backends.native.elf import machine
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import End

HERE = Path(__file__).resolve().parent
KEYED = HERE / "families" / "keyed.yaml"
CROSS = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
NEEDED = {CROSS: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", EMULATOR: "qemu-user"}
SHARE = 8
"""One of so many cases is judged in the emulator."""

LACKING = [f"{tool} (Debian: {package})" for tool, package in NEEDED.items() if shutil.which(tool) is None]
emulated = pytest.mark.skipif(bool(LACKING), reason=f"not run: no {' and no '.join(LACKING)}")


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`acl-cts` with these words."""
    return subprocess.run(
        [sys.executable, "-m", "acl_cts.main", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def script(path: Path, body: str, mode: int = 0o755) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)
    return path


# ------------------------------------------------------------------------------------------------------ this machine


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an executor for this machine, and the core."""
    folder = tmp_path_factory.mktemp("here")
    done = command("executor", "build", "--core", "--out", str(folder / "made" / "executor"))
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "made"


def test_an_executor_is_built_and_fits(here: Path) -> None:
    assert sorted(path.name for path in here.iterdir()) == ["executor", "libaclcts_core.so"]
    shown = command("executor", "show", str(here / "executor"))
    assert shown.returncode == 0
    assert "fits this acl-cts" in shown.stdout
    told = subprocess.run([here / "executor", "--digest"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"tables     {told}, here {told}" in shown.stdout


def test_it_judges_without_a_compiler(here: Path, tmp_path: Path) -> None:
    done = command(
        *("run", "--backend", "core", "--library", str(here / "libaclcts_core.so"), "--group", "simple"),
        *("--executor", str(here / "executor"), "--out", str(tmp_path / "out")),
        CC="/nowhere/cc",
    )
    assert done.returncode == 0, done.stderr


def _refused(executor: Path, *more: str) -> str:
    """What is said of `executor`, by every command that takes one, in one line."""
    done = command("executor", "show", str(executor), *more)
    run = command(
        "run", "--backend", "core", "--executor", str(executor), "--group", "simple", "--out", os.devnull, *more
    )
    assert done.returncode == run.returncode == 2
    assert done.stderr == run.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_what_is_no_executor_is_refused(here: Path, tmp_path: Path) -> None:
    assert "no executor at" in _refused(tmp_path / "nothing")
    assert "is no executor of this version" in _refused(script(tmp_path / "other", "echo hello"))
    assert "it said: no such option" in _refused(script(tmp_path / "older", "echo no such option >&2; exit 70"))
    text = tmp_path / "text"
    text.write_text("nonsense")
    text.chmod(0o755)
    assert "is no executor (Exec format error)" in _refused(text)
    assert "is not executable; use chmod +x" in _refused(script(tmp_path / "plain", "true", 0o644))


def test_other_tables_are_named_by_both_digests(here: Path) -> None:
    said = _refused(here / "executor", "--table", str(KEYED))
    own = subprocess.run([here / "executor", "--digest"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"was made for other tables ({own}, here " in said
    assert "acl-cts executor build" in said


def test_an_executor_for_more_tables_fits_with_them(tmp_path: Path) -> None:
    executor = tmp_path / "executor"
    assert command("executor", "build", "--table", str(KEYED), "--out", str(executor)).returncode == 0
    assert command("executor", "show", str(executor), "--table", str(KEYED)).returncode == 0
    assert "was made for other tables" in _refused(executor)


def test_another_protocol_is_another_version(here: Path, tmp_path: Path) -> None:
    told = subprocess.run([here / "executor", "--about"], capture_output=True, text=True, check=True).stdout
    mine = told.splitlines()[1]
    other = script(tmp_path / "other", f"cat <<'END'\n{told.replace(mine, 'protocol 0123456789abcdef')}END")
    assert f"(protocol 0123456789abcdef, here {mine.split()[1]})" in _refused(other)
    short = script(tmp_path / "short", "echo acl-cts executor")
    assert "was made by another version" in _refused(short)


def test_another_machine_is_named(here: Path, tmp_path: Path) -> None:
    foreign = bytearray((here / "executor").read_bytes())
    foreign[18:20] = (183 if machine(here / "executor") != "aarch64" else 62).to_bytes(2, "little")
    path = tmp_path / "foreign"
    path.write_bytes(bytes(foreign))
    path.chmod(0o755)
    said = _refused(path)
    assert f"is made for {machine(path)}, this machine is {machine(here / 'executor')}" in said


def test_a_flavour_that_it_has_not_is_refused(here: Path, tmp_path: Path) -> None:
    done = command("run", "--backend", "core:asan", "--executor", str(here / "executor"), "--out", str(tmp_path / "o"))
    assert done.returncode == 2
    assert "is of flavour plain" in done.stderr


def test_a_compiler_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    done = command("executor", "build", "--cc", "no-such-gcc", "--out", str(tmp_path / "executor"))
    assert done.returncode == 2
    assert "--cc: no C compiler called no-such-gcc" in done.stderr
    assert command("executor", "build", "--out", str(tmp_path)).returncode == 2
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------- another machine


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with executor and core for aarch64, and a script `start` that emulates the executor."""
    folder = tmp_path_factory.mktemp("arm")
    done = command("executor", "build", "--cc", CROSS, "--core", "--out", str(folder / "executor"))
    assert (done.returncode, done.stderr) == (0, "")
    script(folder / "start", f'exec {EMULATOR} -L /usr/aarch64-linux-gnu {folder / "executor"} "$@"')
    return folder


@emulated
def test_the_executor_is_for_the_other_machine(arm: Path) -> None:
    assert machine(arm / "executor") == machine(arm / "libaclcts_core.so") == "aarch64"
    told = subprocess.run([arm / "start", "--digest"], capture_output=True, text=True, check=True).stdout
    shown = command("executor", "show", str(arm / "start"))
    assert shown.returncode == 0
    assert "machine    aarch64" in shown.stdout
    assert told.strip() in shown.stdout


@emulated
def test_a_core_of_the_other_machine_is_judged(arm: Path) -> None:
    """By cases of every group, and those of the largest area."""
    spec = load_spec()
    every = cached_cases(spec)
    cases = [case for case in every if int(case.id[-8:], 16) % SHARE == 0 or "/aclrtAllocBuf/alloc." in case.id]
    assert {case.group for case in cases} == {case.group for case in every}
    session = open_backend("acl", Options(library=str(arm / "libaclcts_core.so"), executor=str(arm / "start")))
    results = run_session(spec, session, cases)
    assert results.code == 0
    verdicts = [case.verdict for case in results.runs[0].cases]
    assert {*verdicts} == {"pass", "not-run"}
    assert verdicts.count("pass") > 0.9 * len(cases)
    assert results.runs[0].granted == 2**32


ALLOCATE = "a = aclrtAllocBuf(size=4096)\n"


@emulated
@pytest.mark.parametrize(
    ("behaviour", "kind", "detail"),
    [
        ("*(volatile int *)0 = 1", End.CRASH, "SIGSEGV"),
        ("abort()", End.CRASH, "SIGABRT"),
        ("for (;;) {}", End.TIMEOUT, "no progress"),
        ("exit(7)", End.EXIT, "7"),
    ],
)
def test_how_a_library_ends_is_seen_through_the_emulator(
    arm: Path, tmp_path: Path, behaviour: str, kind: End, detail: str
) -> None:
    library = tmp_path / "libending.so"
    source = tmp_path / "ending.c"
    body = f"{{ (void)buf; (void)size; {behaviour}; return 0; }}"
    source.write_text(f"#include <stdlib.h>\nint aclrtAllocBuf(void **buf, size_t size) {body}\n")
    subprocess.run([CROSS, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    options = Options(library=str(library), executor=str(arm / "start"), call_timeout=1.0)
    with open_backend("acl", options) as session:
        trace = session.run(parse_program(ALLOCATE))
        assert (trace.ending.kind, trace.ending.function) == (kind, "aclrtAllocBuf")
        assert trace.ending.detail.startswith(detail)
        assert session.run(parse_program(ALLOCATE)).ending.kind is kind


HOLD = """
import sys
from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.specs.loader import load_spec
with open_backend("core", Options(library=sys.argv[1], executor=sys.argv[2])):
    print("open", flush=True)
    sys.stdin.read()
"""


@emulated
def test_an_emulated_worker_dies_with_its_parent(arm: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(arm / "libaclcts_core.so"), str(arm / "start")]
    parent = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "open\n"
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    watched = [os.pidfd_open(int(child)) for child in children]
    parent.kill()
    parent.communicate()
    assert watched
    for descriptor in watched:
        ready, _, _ = select.select([descriptor], [], [], 30)
        os.close(descriptor)
        assert ready, "the worker lives on without its parent"
