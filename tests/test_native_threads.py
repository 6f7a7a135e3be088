"""Threads in the native executor: whatever happens in one of them is told with its thread and its step."""

from __future__ import annotations

from pathlib import Path

import pytest
from native_libraries import build, open_library, run

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend, build_core
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.registry import open_backend
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import CallRecord, Capability, End, Ending, Phase, Trace

TEXT = """
a = aclrtAllocBuf(size=64)
repeat i in 3:
    parallel:
        branch:
            b = aclrtAllocBuf(size=64)
        branch:
            aclrtFreeBuf(buf=a)
"""

SAFE = Options(call_timeout=0.5, thread_safe=True)


@pytest.mark.parametrize(
    ("action", "kind", "detail"),
    [
        ("*(volatile int *)8 = 1", End.CRASH, "SIGSEGV (thread 2 of 2)"),
        ("abort()", End.CRASH, "SIGABRT (thread 2 of 2)"),
        ("for(;;)", End.TIMEOUT, "no progress for 0.5 s (thread 2 of 2)"),
        ("exit(4)", End.EXIT, "4 (thread 2 of 2)"),
    ],
)
def test_the_end_of_a_thread_is_told_with_its_step(tmp_path: Path, action: str, kind: End, detail: str) -> None:
    with open_library(build(tmp_path, free=action), SAFE) as session:
        trace = run(session, TEXT)
        assert trace.ending == Ending(kind, 4, (0,), Phase.CALL, "aclrtFreeBuf", detail)
        assert [r.step for r in trace.records] == [0], "a block that is cut off leaves no answers"
        assert run(session, "a = aclrtAllocBuf(size=64)\n").ending == Ending(End.COMPLETED)


def test_a_library_that_does_not_say_so_is_not_called_from_threads(tmp_path: Path) -> None:
    with open_library(build(tmp_path)) as session:
        assert Capability.THREAD_SAFE not in session.capabilities
        assert run(session, TEXT).ending == Ending(End.UNSUPPORTED, detail="thread-safe")


WRITES = """
a = aclrtAllocBuf(size=64)
parallel:
    branch:
        aclrtGetBufUserData(buf=a, dataPtr=room(8), size=8, offset=0)
        aclrtGetBufUserData(buf=a, dataPtr=room(16), size=16, offset=0)
    branch:
        aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 32), size=32, offset=0)
        aclrtGetBufDataLen(buf=a)
"""


def test_threads_lend_memory_of_their_own() -> None:
    with open_backend("core", Options()) as session:
        for _ in range(50):
            trace = session.run(parse_program(WRITES))
            assert trace.ending == Ending(End.COMPLETED)
            rooms = [dict(r.outs).get("dataPtr") for r in trace.records if isinstance(r, CallRecord)]
            assert [len(room) for room in rooms if isinstance(room, bytes)] == [8, 16]
            assert not any(r.breaches for r in trace.records if isinstance(r, CallRecord))


def test_a_stray_write_of_a_thread_is_told() -> None:
    defect = next(d for d in load_defects() if d.id == "chain-num-writes-eight-bytes")
    text = "a = aclrtAllocBuf(size=64)\nparallel:\n" + 2 * "    branch:\n        aclrtGetBufChainNum(headBuf=a)\n"
    with CoreBackend(defect.defines).open(Options()) as session:
        trace = session.run(parse_program(text))
    assert trace.ending.kind is End.CRASH
    assert trace.ending.detail.startswith("SIGSEGV at the guard page of num (thread ")


LIVES = """
repeat i in 20000:
    parallel:
        branch:
            a = aclrtAllocBuf(size=64)
            aclrtFreeBuf(buf=a)
        branch:
            b = aclrtAllocBuf(size=64)
            aclrtFreeBuf(buf=b)
        branch:
            c = aclrtAllocBuf(size=64)
            aclrtFreeBuf(buf=c)
    live
"""


def handles(trace: Trace) -> int:
    """How many different handles were given."""
    return len({value for r in trace.records if isinstance(r, CallRecord) for name, value in r.outs if name == "buf"})


def test_threads_run_at_the_same_time() -> None:
    most = 0
    with open_backend("core", Options()) as session:
        for _ in range(20):  # on a busy machine the threads may well come one after the other for long
            trace = session.run(parse_program(LIVES))
            assert trace.ending == Ending(End.COMPLETED)
            most = max(most, handles(trace))
            if most >= 2:
                break
    assert most >= 2, "at some time more than one of the three had one"


@pytest.mark.parametrize("flavour", ["asan", "tsan"])
def test_sanitizers_find_nothing_in_the_executor(flavour: str) -> None:
    with open_backend(f"core:{flavour}", Options()) as session:
        for text in (LIVES.replace("20000", "50"), WRITES):
            trace = session.run(parse_program(text))
            assert (trace.ending, trace.output) == (Ending(End.COMPLETED), "")


def test_the_thread_sanitizer_tells_a_race() -> None:
    defect = next(d for d in load_defects() if d.id == "set-object-without-the-lock")
    text = "d = aclrtAllocatorCreateDesc()\nparallel:\n" + 2 * (
        "    branch:\n        aclrtAllocatorSetObjToDesc(allocatorDesc=d, allocator=obj(1))\n"
    )
    library = build_core("tsan", defect.defines)
    with CoreBackend().open(Options(library=str(library), flavour="tsan")) as session:
        trace = session.run(parse_program(text))
    assert trace.ending.kind is End.RACE
    assert trace.ending.function == "aclrtAllocatorSetObjToDesc"
    assert trace.ending.detail.startswith("ThreadSanitizer: data race")
