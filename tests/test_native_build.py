"""Builds on demand: the cache, the compilers, and prebuilt executors."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from acl_cts.backends.backend import BackendError, HarnessError, Options
from acl_cts.backends.native import build
from acl_cts.backends.native.elf import build_id, file_digest
from acl_cts.backends.native.render import render_executor
from acl_cts.backends.registry import open_backend
from acl_cts.specs.loader import load_spec

SOURCE = {"answer.c": '#include "answer.h"\nint main(void) { return ANSWER; }\n', "answer.h": "#define ANSWER 7\n"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "acl-cts"


def _wrapper(folder: Path, body: str) -> Path:
    """A compiler that is a script."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("flavour", list(build.FLAVOURS))
def test_generated_code_compiles_without_a_warning(tmp_path: Path, flavour: str) -> None:
    source = tmp_path / "executor.c"
    source.write_text(render_executor(load_spec().interface, flavour))
    flags = [*build.EXECUTOR, *build.WARNINGS, *build.flavour_flags(flavour)]
    done = subprocess.run(
        ["gcc", *flags, "-o", str(tmp_path / "executor"), str(source), "-ldl"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_one_build_per_source_flags_and_compiler(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build.compile_c("answer", SOURCE, ("-O0",))
    assert first.is_relative_to(cache)
    assert subprocess.run([first], check=False).returncode == 7
    stamp = first.stat().st_mtime_ns
    assert build.compile_c("answer", SOURCE, ("-O0",)).stat().st_mtime_ns == stamp
    assert build.compile_c("answer", SOURCE, ("-O1",)) != first
    changed = build.compile_c("answer", {**SOURCE, "answer.h": "#define ANSWER 8\n"}, ("-O0",))
    assert subprocess.run([changed], check=False).returncode == 8
    monkeypatch.setenv(
        "CC", str(_wrapper(tmp_path, 'if [ "$1" = --version ]; then echo other 1; else exec gcc "$@"; fi'))
    )
    assert build.compile_c("answer", SOURCE, ("-O0",)) != first


def test_two_processes_may_build_the_same_at_once(cache: Path) -> None:
    script = f"from acl_cts.backends.native import build\nprint(build.compile_c('answer', {SOURCE!r}, ('-O0',)))\n"
    builders = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        for _ in range(4)
    ]
    printed = {builder.communicate()[0] for builder in builders}
    assert len(printed) == 1
    assert subprocess.run([printed.pop().strip()], check=False).returncode == 7
    assert [path.name for path in (cache / "builds").glob("*/*")] == ["answer"]


def test_no_compiler_is_one_line_that_names_the_way_out(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        HarnessError, match=r"no C compiler found \(looked for cc, gcc, clang\).*--executor PATH"
    ) as error:
        build.compile_c("answer", SOURCE, ())
    assert "\n" not in str(error.value)


def test_the_first_complaint_of_the_compiler_is_passed_on(cache: Path) -> None:
    with pytest.raises(HarnessError, match=r"cannot compile answer: answer.c:1:.*error") as error:
        build.compile_c("answer", {"answer.c": "int main(void) { return nothing; }\n"}, ())
    assert "\n" not in str(error.value)
    assert list((cache / "builds").glob("*/*")) == []


def test_a_compiler_that_does_not_start_is_an_error(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(_wrapper(tmp_path, "exit 1")))
    with pytest.raises(HarnessError, match="does not tell its version"):
        build.compile_c("answer", SOURCE, ())


def test_a_cache_that_cannot_be_made_is_an_error_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocker))
    with pytest.raises(HarnessError, match="set XDG_CACHE_HOME"):
        build.compile_c("answer", SOURCE, ())


def test_a_prebuilt_executor_needs_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_backend("core", Options()) as session:
        library = session.identity.library
    executor = build.build_executor(render_executor(load_spec().interface, "plain"), "plain")
    monkeypatch.setenv("CC", "/nowhere/cc")
    options = Options(library=library, executor=str(executor))
    with open_backend("core", options) as session:
        assert session.missing == frozenset()


@pytest.mark.parametrize(
    ("content", "said"),
    [("#!/bin/sh\necho hello\n", "no executor of this version"), ("nonsense", "is no executor")],
)
def test_a_program_that_is_no_executor_is_refused(tmp_path: Path, content: str, said: str) -> None:
    with open_backend("core", Options()) as session:
        library = session.identity.library
    program = tmp_path / "executor"
    program.write_text(content)
    program.chmod(0o755)
    with pytest.raises(BackendError, match=said):
        open_backend("core", Options(library=library, executor=str(program)))
    with pytest.raises(BackendError, match="check --executor PATH"):
        open_backend("core", Options(library=library, executor=str(tmp_path / "nothing")))


def test_an_executor_for_other_tables_is_refused(tmp_path: Path) -> None:
    with open_backend("core", Options()) as session:
        library = session.identity.library
    source = render_executor(load_spec().interface, "plain")
    line = next(line for line in source.splitlines() if line.startswith("#define INTERFACE_DIGEST"))
    other = build.build_executor(source.replace(line, '#define INTERFACE_DIGEST "other"'), "plain")
    with pytest.raises(BackendError, match="made for other tables"):
        open_backend("core", Options(library=library, executor=str(other)))


def test_identity_of_a_library_file(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int answer(void) { return 42; }\n")
    library = tmp_path / "liba.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,--build-id=0x0123456789abcdef", "-o", str(library), str(source)], check=True
    )
    assert build_id(library) == "0123456789abcdef"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,--build-id=none", "-o", str(library), str(source)], check=True)
    assert build_id(library) == ""
    assert build_id(source) == ""
    source.write_bytes(b"abc")
    assert file_digest(source) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
