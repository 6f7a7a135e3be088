"""Reproducers of findings: built as their heads say they show the fault where it is, and not in the good core."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from needed import need_clang
from planted import build_planted
from reproducers import build_line, built_as_told, finding_of, run, stored
from target_build import TARGETS, Target, build

from acl_cts.backends.backend import BackendError, Options
from acl_cts.backends.core_backend import CoreBackend, build_core
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.native.build import LIBRARY, compile_c, flavour_flags
from acl_cts.conformance.failures import reproducer
from acl_cts.fuzz import triage
from acl_cts.fuzz.findings import VARIES
from acl_cts.reports.results import CaseResult
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import steps
from acl_cts.specs.program_source import to_c
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.source_build import Build

OWNER = "a = aclrtAllocBuf(size=64)\naclrtSetBufDataLen(buf=a, len=9)\naclrtFreeBuf(buf=a)\n"
FRESH = "a = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\ncleanup:\n    aclrtFreeBuf(buf=a)\n"
NUMBER = "a = aclrtAllocBuf(size=64)\naclrtGetBufChainNum(headBuf=a)\ncleanup:\n    aclrtFreeBuf(buf=a)\n"
LOST = "live\na = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\nlive\n"
ITSELF = "a = aclrtAllocBuf(size=64)\naclrtAppendBufChain(headBuf=a, buf=a)\naclrtGetBufChainNum(headBuf=a)\n"
LEAVES = """\
#include <stdlib.h>

int aclrtAllocBuf(void **buf, size_t size)
{
    *buf = NULL;
    exit(size == 64 ? 0 : 1);
}
"""
HIDES = """\
#include <stdint.h>
#include <stdlib.h>

int aclrtAllocBuf(void **buf, size_t size)
{
    void *memory = malloc(size);
    *buf = memory == NULL ? NULL : (void *)~(uintptr_t)memory;
    return memory == NULL ? 207000 : 0;
}
"""
SHOWS = """\
#include <stdlib.h>

int aclrtAllocBuf(void **buf, size_t size)
{
    unsigned char *memory = *buf = malloc(size);
    return memory[size / 2];
}
"""
CLOCK = """\
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int aclrtAllocBuf(void **buf, size_t size)
{
    *buf = malloc(size);
    return 0;
}

int aclrtGetBufChainNum(void *buf, uint32_t *num)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    *num = buf != NULL ? (uint32_t)now.tv_nsec | 1024 : 0;
    return 0;
}
"""
BOTH = """\
steady in 1024 to 2**22:
    d = aclrtAllocatorCreateDesc()
    a = aclrtAllocBuf(size=64)
    aclrtAllocatorDestroyDesc(allocatorDesc=d)
    aclrtFreeBuf(buf=a)
"""
GROWTH = """\
steady in 1024 to 2**22:
    a = aclrtAllocBuf(size=64)
    aclrtFreeBuf(buf=a)
"""
REGISTERED = """\
d = aclrtAllocatorCreateDesc()
aclrtAllocatorSetObjToDesc(allocatorDesc=d, allocator=obj(1))
aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc=d, func=cb(1))
s = aclrtCreateStream()
aclrtAllocatorRegister(stream=s, allocatorDesc=d)
aclrtAllocatorGetByStream(stream=s)
"""
PRIVATE = "a = aclrtAllocBuf(size=64)\naclrtGetBufUserData(buf=a, size=4, offset=0)\n"


def defective(defect: str, flavour: str) -> Path:
    """The core with `defect`."""
    return build_core(flavour, next(each.defines for each in load_defects() if each.id == defect))


def test_what_shows_after_another_program_alone_becomes_one_program(tmp_path: Path) -> None:
    """A recycled buffer keeps what its owner before set, who was freed by the program before."""
    library = build_planted("recycled-buffer-keeps-its-length")
    found = finding_of(library, OWNER, FRESH)
    assert found.before == ()
    assert (found.fails, found.bucket.root.clause) == (10, "mbuf.get-len.fresh")
    assert 4 <= len(steps(found.program)) <= 6
    repro = built_as_told(stored(found, tmp_path))
    assert [run(repro, each)[0] for each in (library, build_core("cover"))] == [1, 0]


@pytest.mark.parametrize("flavour", ["plain", "asan", "cover"])
def test_a_write_beyond_an_output_shows_in_every_flavour(tmp_path: Path, flavour: str) -> None:
    library = defective("chain-num-writes-eight-bytes", flavour)
    backend = "core" if flavour == "cover" else f"core:{flavour}"
    place = stored(finding_of(library, NUMBER, backend=backend), tmp_path)
    assert any("-fsanitize=address" in word for word in build_line(place)) == (flavour != "plain")
    repro = built_as_told(place)
    code, told = run(repro, library)
    assert code not in (0, 2)
    assert told.startswith("aclrtGetBufChainNum(")
    code, told = run(repro, build_core(flavour))
    assert code == 0
    assert told.startswith("not shown here: every call returned; expected at step 1")
    if flavour == "plain":  # Python would have to be started with a sanitizer's runtime
        script = [sys.executable, place / "repro.py"]
        done = [subprocess.run([*script, each], capture_output=True, check=False) for each in (library, build_core())]
        assert [each.returncode for each in done] == [-signal.SIGSEGV, 0]


def test_what_a_program_leaves_or_cannot_have_is_no_fault_to_a_sanitizer(tmp_path: Path) -> None:
    library = compile_c("libhides.so", {"hides.c": HIDES}, (*LIBRARY, *flavour_flags("asan")))
    text = "a = aclrtAllocBuf(size=64)\nb = aclrtAllocBuf(size=2**50)\n"
    source = to_c(parse_program(text), load_spec().interface, build=Build(flavour="asan"))
    (tmp_path / "repro.c").write_text(source)
    assert run(built_as_told(tmp_path), library) == (0, "completed")


def test_fresh_memory_is_dirty(tmp_path: Path) -> None:
    library = compile_c("libshows.so", {"shows.c": SHOWS}, LIBRARY)
    source = to_c(parse_program("a = aclrtAllocBuf(size=2**20)\n"), load_spec().interface)
    (tmp_path / "repro.c").write_text(source)
    done = subprocess.run([built_as_told(tmp_path), library], capture_output=True, text=True, check=True)
    assert "aclrtAllocBuf(size=2**20) -> 165 " in done.stdout


def test_memory_that_nobody_counts_shows_where_the_address_sanitizer_is(tmp_path: Path) -> None:
    library = build_planted("free-loses-memory")
    found = finding_of(library, LOST)
    assert found.bucket.root.verdict == "leak"
    repro = built_as_told(stored(found, tmp_path))
    code, told = run(repro, library)
    assert (code, told[:27]) == (1, "shown here: expected at ste")
    code, told = run(repro, build_core("cover"))
    assert (code, told[:46]) == (0, "not shown here: no memory is lost; expected at")


def odd(folder: Path, *defines: str) -> Path:
    """One of the libraries in `odd_answers.c`."""
    return build(Target(f"odd-{'-'.join(defines)}", "", 1, "odd_answers.c", defines), folder)


@pytest.mark.parametrize("deaf", [False, True])
def test_a_call_that_does_not_return_is_told(tmp_path: Path, deaf: bool) -> None:
    library = odd(tmp_path, "DEAF") if deaf else defective("append-to-itself-makes-a-ring", "plain")
    found = finding_of(library, FRESH if deaf else ITSELF, backend="core:plain", timeout=0.3)
    assert found.bucket.root.verdict == "timeout"
    place = stored(found, tmp_path)
    text = (place / "repro.c").read_text()
    assert text.count("PATIENCE = 20") == 1
    (place / "repro.c").write_text(text.replace("PATIENCE = 20", "PATIENCE = 1"))
    repro = built_as_told(place)
    assert run(repro, library) == (1, "shown here: it does not return")
    code, told = run(repro, build_core())
    assert (code, told[:33]) == (0, "not shown here: every call return")


@pytest.mark.parametrize("quietly", [False, True])
def test_the_end_of_the_process_is_told(tmp_path: Path, quietly: bool) -> None:
    library = odd(tmp_path, "LEAVES") if quietly else compile_c("libleaves.so", {"leaves.c": LEAVES}, LIBRARY)
    found = finding_of(library, "a = aclrtAllocBuf(size=64)\n", backend="core:plain")
    assert found.bucket.root.clause == "common.no-exit"
    repro = built_as_told(stored(found, tmp_path))
    assert run(repro, library) == (1, "shown here: the process ends")
    code, told = run(repro, build_core())
    assert (code, told[:33]) == (0, "not shown here: every call return")


def test_memory_that_grows_shows_by_how_fast_it_does(tmp_path: Path) -> None:
    library = odd(tmp_path, "GROWS")
    found = finding_of(library, GROWTH, backend="core:plain")
    assert found.bucket.root.verdict == "leak"
    repro = built_as_told(stored(found, tmp_path))
    code, told = run(repro, library)
    assert (code, told[:12]) == (1, "shown here: ")
    code, told = run(repro, build_core())
    assert (code, told[:42]) == (0, "not shown here: memory does not grow so; e")


def test_growth_is_laid_to_the_family_that_grows(tmp_path: Path) -> None:
    """The first that gives back in the block is another one."""
    found = finding_of(odd(tmp_path, "GROWS"), BOTH, backend="core:plain")
    assert (found.bucket.root.clause, found.bucket.root.function) == ("mbuf.free.gives-back", "aclrtFreeBuf")


def test_when_time_is_up_a_finding_is_repeated_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build_planted("alloc-of-64-kib-refused")
    text = "a = aclrtAllocBuf(size=2**16)\n"
    assert finding_of(library, text, stop=lambda: True).repeats == 10
    monkeypatch.setattr(triage, "GRACE", 0.0)
    assert finding_of(library, text).repeats == 10
    found = finding_of(library, text, stop=lambda: True)
    assert (found.fails, found.repeats) == (1, 1)


def test_a_library_that_makes_no_handle_is_refused_in_one_line(tmp_path: Path) -> None:
    library = compile_c("libnone.so", {"none.c": "int aclrtGetBufChainNum(void)\n{\n    return 1;\n}\n"}, LIBRARY)
    with pytest.raises(BackendError, match="no function that is there makes a handle"):
        finding_of(library, NUMBER, backend="core:plain")


REFUSING = ("CORE_ANSWER_LENGTH_ZERO=1",)
"""A core that refuses the data length 0, as it may."""


@pytest.mark.parametrize(
    ("defines", "text"),
    [
        (("ZERO", "FIRST"), "repeat i in 2:\n    aclrtSetBufDataLen(buf=a, len=0)\n"),
        (("ZERO",), "aclrtSetBufDataLen(buf=a, len=0)\n"),
        (
            ("ZERO",),
            "parallel:\n    branch:\n        aclrtSetBufDataLen(buf=a, len=0)\n    branch:\n"
            "        b = aclrtAllocBuf(size=64)\n",
        ),
    ],
)
def test_an_answer_that_another_one_before_makes_right_is_no_fault(
    tmp_path: Path, defines: tuple[str, ...], text: str
) -> None:
    whole = f"a = aclrtAllocBuf(size=64)\naclrtSetBufDataLen(buf=a, len=9)\n{text}aclrtGetBufDataLen(buf=a)\n"
    spec, program, library = load_spec(), parse_program(whole), odd(tmp_path, *defines)
    with CoreBackend().open(Options(library=str(library), thread_safe=True)) as session:
        trace = session.run(program)
    found = judge(spec, program, trace)
    assert found.discrepancies
    result = CaseResult("case", found.verdict, discrepancies=found.discrepancies)
    (tmp_path / "repro.c").write_text(reproducer(program, result, trace, spec))
    repro = built_as_told(tmp_path)
    assert run(repro, library)[0] == (0 if "parallel" in text else 1)
    code, told = run(repro, build_core("plain", REFUSING))
    assert (code, told[:31]) == (0, "compare with what the suite saw")


def test_a_wrong_address_is_told_from_what_the_user_passed(tmp_path: Path) -> None:
    library = odd(tmp_path, "OBJECT")
    repro = built_as_told(stored(finding_of(library, REGISTERED, backend="core:plain"), tmp_path))
    assert run(repro, library)[0] == 1
    code, told = run(repro, build_core())
    assert (code, told[:15]) == (0, "not shown here:")


def test_a_library_that_answers_in_another_way_each_time_is_told(tmp_path: Path) -> None:
    library = compile_c("libclock.so", {"clock.c": CLOCK}, LIBRARY)
    found = finding_of(library, "a = aclrtAllocBuf(size=64)\naclrtGetBufChainNum(headBuf=a)\n", backend="core:plain")
    assert found.varies
    assert VARIES in (stored(found, tmp_path) / "repro.c").read_text()


@pytest.mark.parametrize(("define", "clause"), [("BEFORE", "common.caller-memory"), ("PAST", "common.no-crash")])
def test_caller_memory_that_is_changed_shows(tmp_path: Path, define: str, clause: str) -> None:
    name = {"BEFORE": "writes-before", "PAST": "writes-past"}[define]
    library = build(next(each for each in TARGETS if each.name == name), tmp_path)
    found = finding_of(library, PRIVATE, backend="core:plain")
    assert found.bucket.root.clause == clause
    repro = built_as_told(stored(found, tmp_path))
    assert run(repro, library)[0] not in (0, 2)
    code, told = run(repro, build_core())
    assert (code, told[:15]) == (0, "not shown here:")


def test_a_library_with_inline_counters_is_given_to_clang(tmp_path: Path) -> None:
    clang = need_clang()
    library = build_planted("chain-num-writes-eight-bytes", clang=clang)
    place = stored(finding_of(library, NUMBER), tmp_path)
    assert build_line(place)[0] == Path(clang.command).name
    repro = built_as_told(place)
    assert run(repro, library)[0] not in (0, 2)
    assert run(repro, build_planted(clang=clang))[0] == 0


def test_a_head_never_names_what_was_not_asked_for(tmp_path: Path) -> None:
    library = defective("chain-num-writes-eight-bytes", "plain")
    place = stored(finding_of(library, NUMBER, backend="core:plain"), tmp_path)
    text = (place / "repro.c").read_text()
    assert not re.search("sanitize=|sanitizer_cov|asan", text)
