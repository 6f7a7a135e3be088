"""The self-contained target in C: builds alone, never accuses what conforms, and notices planted defects."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from needed import need_afl, need_clang, need_zip

from acl_cts import __version__
from acl_cts.backends.core_backend import FOLDER as CORE
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
    """The target, in a folder of its own, whose name is two words."""
    made = tmp_path_factory.mktemp("the target")
    assert write_target(load_spec(), made, __version__).seeds > 500
    return made


def script(folder: Path, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The build script with these words."""
    environment = {**os.environ, "FAULTS": "", "CFLAGS": "-O0 -Wall -Wextra -Werror -Wno-unused", **environment}
    command = ["./build.sh", *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def build(folder: Path, mode: str, **environment: str) -> Path:
    """The target in one of the modes of its script, linked with the core as a shared library."""
    done = script(folder, mode, build_core(), mode, **environment)
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
        assert f"{len(seeds)} inputs run, nothing broken" in done.stdout


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


def test_what_the_script_lacks_is_told_in_one_line_before_anything_is_compiled(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare-cc"
    bare.write_text("#!/bin/sh\ncase $* in *-dumpversion*) echo 14.0.6 ;; *-fsanitize=*) exit 1 ;; esac\n")
    bare.chmod(0o755)
    library, faults = build_core(), "-fsanitize=address"
    for done, said in (
        (script(folder, "best", library), "no mode best"),
        (script(folder, "replay", tmp_path / "none.so"), "none.so: is not there"),
        (script(folder, "replay", tmp_path), "holds no C file"),
        (script(folder, "afl", library, CC="no-such-cc"), "apt-get install afl++"),
        (script(folder, "afl", library, CC=str(bare), FAULTS=faults), "install libclang-rt-14-dev"),
    ):
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (folder / "acl-cts-target.o").exists()


def test_afl_runs_on_the_core_and_finds_a_defect(folder: Path, tmp_path: Path) -> None:
    program = build(folder, "afl", CC=need_afl(), CFLAGS="-O0")
    (tmp_path / "seeds").mkdir()
    seed = encode_seed(load_spec(), parse_program("a = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\n"))
    (tmp_path / "seeds" / "one").write_bytes(seed)
    quiet = ("AFL_NO_UI", "AFL_SKIP_CPUFREQ", "AFL_NO_AFFINITY", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES")
    environment = {**os.environ, **dict.fromkeys(quiet, "1"), "AFL_BENCH_UNTIL_CRASH": "1"}

    def crashes(library: Path, runs: int) -> int:
        out = tmp_path / f"out-{runs}"
        words = ["-i", str(tmp_path / "seeds"), "-o", str(out), "-s", "1", "-x", str(folder / "acl-cts.dict")]
        command = ["afl-fuzz", *words, "-E", str(runs), "--", str(program), "1000"]
        given = {**environment, "AFL_PRELOAD": str(library)}
        done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
        lines = (out / "default" / "fuzzer_stats").read_text().splitlines()
        stats = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        assert int(stats["execs_done"]) > 100, done.stdout[-2000:]
        return int(stats["saved_crashes"])

    assert crashes(build_core(), 4000) == 0
    assert crashes(defective("alloc-of-64-kib-refused"), 1_000_000) > 0


def test_the_folder_for_cluster_fuzz_lite_builds_as_its_images_call_it(folder: Path, tmp_path: Path) -> None:
    clang = need_clang().command
    need_zip()
    for name in ("work", "out"):
        (tmp_path / name).mkdir()
    for name in ("a", "b"):  # two files of one name
        (tmp_path / "lib" / name).mkdir(parents=True)
        (tmp_path / "lib" / name / "target.c").write_text(f"int which_{name}(void) {{ return 0; }}\n")
    for source in (*CORE.glob("src/*"), *CORE.glob("include/*")):
        (tmp_path / "lib" / source.name).write_bytes(source.read_bytes())
    flags = "-O0 -fsanitize=address,fuzzer-no-link"
    environment = {
        "CC": clang,
        "CXX": clang,
        "CFLAGS": flags,
        "CXXFLAGS": flags,
        "LIB_FUZZING_ENGINE": "-fsanitize=fuzzer",
    }
    places = {"SRC": tmp_path, "WORK": tmp_path / "work", "OUT": tmp_path / "out", "TARGET": folder}
    environment |= {name: str(place) for name, place in places.items()} | {"LIBRARY": str(tmp_path / "lib")}
    command = ["bash", "-eux", str(folder / ".clusterfuzzlite" / "build.sh")]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    made = {path.name.removeprefix("acl_cts_target") for path in (tmp_path / "out").iterdir()}
    assert made == {"", ".dict", ".options", "_seed_corpus.zip"}
    program = tmp_path / "out" / "acl_cts_target"
    assert b"which_a" in program.read_bytes()
    assert b"which_b" in program.read_bytes()
    started = subprocess.run([str(program), "-runs=4"], capture_output=True, text=True, check=False)
    assert "Done 4 runs" in started.stderr, started.stderr[-2000:]


def test_a_seed_has_a_record_for_each_call() -> None:
    spec = load_spec()
    program = parse_program("a = aclrtAllocBuf(size=4096)\nrepeat i in 3:\n    aclrtCopyBufRef(buf=a)\n")
    seed = encode_seed(spec, program)
    assert len(seed) == 4 * RECORD
    assert seed[0] == list(spec.functions).index("aclrtAllocBuf")
    assert 4096 in (int.from_bytes(seed[at : at + 8], "little") for at in (7, 16))
    assert encode_seed(spec, parse_program("a = aclrtAllocBuf(size=64)\nexit\n")) == b""
