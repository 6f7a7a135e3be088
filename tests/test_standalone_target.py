"""The self-contained target in C: builds alone, never accuses what conforms, and notices planted defects."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from needed import need_clang

from acl_cts import __version__
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.core_variants import variants
from acl_cts.fuzz.standalone_seed import RECORD, encode_seed
from acl_cts.fuzz.standalone_target import write_target
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program_text import parse_program

DEFECTS = {
    "alloc-without-limit": "mbuf.alloc.limit",
    "alloc-size-16-bit": "mbuf.data.size",
    "set-user-last-byte-refused": "mbuf.set-user.succeeds",
    "register-without-free": "allocator.register.needs-free",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target, in a folder of its own."""
    made = tmp_path_factory.mktemp("target")
    assert write_target(load_spec(), made, __version__).seeds > 500
    return made


def build(folder: Path, mode: str, **environment: str) -> Path:
    """The target in one of the modes of its script, linked with the core as a shared library."""
    command = ["./build.sh", mode, str(build_core()), mode]
    environment = {**os.environ, "FAULTS": "", "CFLAGS": "-O0 -Wall -Wextra -Werror -Wno-unused", **environment}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / mode


def run(program: Path, library: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """The target with `library` in the place of the one that it was linked with."""
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    command = [str(program), *map(str, words)]
    return subprocess.run(command, env=environment, cwd=program.parent, capture_output=True, text=True, check=False)


def defective(defect: str) -> Path:
    """The core with one planted defect."""
    return build_core(defines=(f"CORE_DEFECT=CORE_DEFECT_{defect.replace('-', '_')}",))


@pytest.fixture(scope="module")
def replay(folder: Path) -> Path:
    return build(folder, "replay")


def test_no_conforming_library_is_accused(folder: Path, replay: Path) -> None:
    seeds = sorted((folder / "corpus").iterdir())
    known = dict(variants())
    for name in ("default", "opposite", "mixed-1", "mixed-2"):
        done = run(replay, build_core(defines=known[name]), *seeds)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert f"{len(seeds)} files: nothing broken" in done.stdout


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defects_are_noticed_by_the_seeds_alone(folder: Path, replay: Path, defect: str) -> None:
    done = run(replay, defective(defect), *sorted((folder / "corpus").iterdir()))
    assert done.returncode < 0
    assert f"acl-cts: broken: {DEFECTS[defect]}" in done.stderr


def test_any_bytes_are_a_program(folder: Path, replay: Path) -> None:
    given = folder / "given"
    given.write_bytes(b"".join(bytes([k * 7 % 256] * (k % 41)) for k in range(400)))
    assert run(replay, build_core(), given).returncode == 0
    given.write_bytes(b"")
    assert run(replay, build_core(), given).returncode == 0
    assert run(replay, build_core(), folder / "none").returncode == 2


def test_libfuzzer_runs_on_the_core_and_finds_a_defect_from_nothing(folder: Path, tmp_path: Path) -> None:
    program = build(folder, "libfuzzer", CC=need_clang().command)
    options = (
        "-seed=1",
        "-max_len=768",
        "-dict=acl-cts.dict",
        f"-artifact_prefix={tmp_path}/",
        "-detect_leaks=0",
        "-len_control=0",
    )
    clean = run(program, build_core(), *options, "-runs=1000")
    assert clean.returncode == 0, clean.stderr[-2000:]
    found = run(program, defective("alloc-of-64-kib-refused"), *options, "-runs=100000")
    assert "acl-cts: broken: mbuf.alloc.succeeds" in found.stderr, found.stderr[-2000:]
    (crash,) = tmp_path.glob("crash-*")
    assert crash.stat().st_size > 0


def test_a_seed_has_a_record_for_each_call() -> None:
    spec = load_spec()
    program = parse_program("a = aclrtAllocBuf(size=4096)\nrepeat i in 3:\n    aclrtCopyBufRef(buf=a)\n")
    seed = encode_seed(spec, program)
    assert len(seed) == 4 * RECORD
    assert seed[0] == list(spec.functions).index("aclrtAllocBuf")
    assert 4096 in (int.from_bytes(seed[at : at + 8], "little") for at in (7, 16))
    assert encode_seed(spec, parse_program("a = aclrtAllocBuf(size=64)\nexit\n")) == b""
