"""The native executor against libraries that crash, hang, leave, write astray, and against the simulator."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from native_libraries import build, open_library, run
from native_programs import programs

from acl_cts.backends.backend import BackendError, Options
from acl_cts.backends.native.session import NativeSession, Place
from acl_cts.backends.registry import open_backend
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Program
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import (
    Breach,
    CallRecord,
    Capability,
    End,
    Ending,
    Phase,
    Ptr,
    SameRecord,
    SkipRecord,
    TouchRecord,
    sentinel,
)

EXECUTED = [name for name in programs() if name not in ("impossible", "caller-memory")]


@pytest.fixture(scope="module")
def core() -> Iterator[NativeSession]:
    with open_backend("core", Options()) as session:
        assert isinstance(session, NativeSession)
        yield session


# ------------------------------------------------------------------------------------------------- with the simulator


@pytest.mark.parametrize("name", EXECUTED)
def test_core_answers_as_the_simulator(core: NativeSession, name: str) -> None:
    program = programs()[name]
    with open_backend("simulator", Options()) as simulator:
        expected = simulator.run(program)
    trace = core.run(program)
    assert trace.records == expected.records
    assert trace.ending == expected.ending
    assert [p.kind for p in trace.pointers] == [p.kind for p in expected.pointers]


@pytest.mark.parametrize("flavour", ["asan", "tsan"])
def test_sanitizer_flavours_answer_the_same_and_find_nothing(core: NativeSession, flavour: str) -> None:
    with open_backend(f"core:{flavour}", Options()) as session:
        assert Capability.INSTRUMENTED in session.capabilities
        for name in ("touch", "private", "registered", "chain", "exit"):
            trace = session.run(programs()[name])
            assert (trace.records, trace.ending, trace.output) == (*_answer(core, programs()[name]), "")


def _answer(session: NativeSession, program: Program) -> tuple[object, Ending]:
    trace = session.run(program)
    return trace.records, trace.ending


def test_what_cannot_be_executed_is_said_without_executing(core: NativeSession) -> None:
    before = core.startups
    kinds = {name: core.run(programs()[name]).ending.kind for name in programs() if name not in EXECUTED}
    assert kinds == {"impossible": End.ERROR, "caller-memory": End.UNSUPPORTED}
    hooks = core.run(parse_program("hooks\naclrtFreeBuf(buf=null)\n"))
    assert hooks.ending == Ending(End.UNSUPPORTED, detail="hooks")
    assert hooks.records == ()
    assert core.startups == before


# ----------------------------------------------------------------------------------------------------------- endings

ALLOCATE = "a = aclrtAllocBuf(size=64)\nrepeat i in 3:\n    aclrtFreeBuf(buf=a)\n"


@pytest.mark.parametrize(
    ("action", "kind", "detail"),
    [
        ("*(volatile int *)8 = 1", End.CRASH, "SIGSEGV"),
        ("abort()", End.CRASH, "SIGABRT"),
        ("__builtin_trap()", End.CRASH, "SIGILL"),
        ("raise(SIGTERM)", End.CRASH, "SIGTERM"),
        ("for(;;)", End.TIMEOUT, "no progress for 0.5 s"),
        ("sleep(1000)", End.TIMEOUT, "no progress for 0.5 s"),
        ("exit(0)", End.EXIT, "0"),
        ("_exit(7)", End.EXIT, "7"),
    ],
)
def test_violent_calls_are_endings_at_their_step(tmp_path: Path, action: str, kind: End, detail: str) -> None:
    with open_library(build(tmp_path, free=action)) as session:
        trace = run(session, ALLOCATE)
        assert trace.ending == Ending(kind, 2, (0,), Phase.CALL, "aclrtFreeBuf", detail)
        assert [r.function for r in trace.records if isinstance(r, CallRecord)] == ["aclrtAllocBuf"]
        again = run(session, "a = aclrtAllocBuf(size=64)\n")
        assert again.ending == Ending(End.COMPLETED)
        assert session.startups == 2


def test_violence_in_the_clean_up_is_told_apart(tmp_path: Path) -> None:
    with open_library(build(tmp_path, free="abort()")) as session:
        trace = run(session, "a = aclrtAllocBuf(size=64)\ncleanup:\n    aclrtFreeBuf(buf=a)\n")
    assert trace.ending == Ending(End.CRASH, 1, (), Phase.CLEAN_UP, "aclrtFreeBuf", "SIGABRT")


def test_a_stack_that_overflows_is_a_crash(tmp_path: Path) -> None:
    with open_library(build(tmp_path, free="aclrtFreeBuf(buf); (void)*(volatile char *)&b")) as session:
        trace = run(session, ALLOCATE)
    assert (trace.ending.kind, trace.ending.step, trace.ending.detail) == (End.CRASH, 2, "SIGSEGV")


def test_a_handler_of_the_library_may_hide_the_signal_but_not_the_place(tmp_path: Path) -> None:
    library = build(tmp_path, init="signal(SIGSEGV, own_handler)", free="*(volatile int *)8 = 1")
    with open_library(library) as session:
        assert run(session, ALLOCATE).ending == Ending(End.EXIT, 2, (0,), Phase.CALL, "aclrtFreeBuf", "3")


def test_exit_as_a_statement_is_not_exit_in_a_call(core: NativeSession) -> None:
    trace = core.run(parse_program("a = aclrtAllocBuf(size=64)\nexit\n"))
    assert trace.ending == Ending(End.EXIT, 1, (), Phase.CALL, "", "0")


def test_a_hang_among_many_quick_calls_is_found_where_it_is(tmp_path: Path) -> None:
    library = build(tmp_path, alloc="if (calls == 500) for(;;)")
    with open_library(library) as session:
        trace = run(session, "repeat i in 1000:\n    a = aclrtAllocBuf(size=8)\n")
    assert (trace.ending.kind, trace.ending.loops) == (End.TIMEOUT, (499,))
    assert len(trace.records) >= 1


def test_a_long_program_is_not_a_hang(tmp_path: Path) -> None:
    library = build(tmp_path, alloc="usleep(20000)")
    with open_library(library, Options(call_timeout=0.3)) as session:
        assert run(session, "repeat i in 40:\n    a = aclrtAllocBuf(size=8)\n").ending.kind is End.COMPLETED


def test_a_machine_that_stood_still_is_not_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, 100)  # every look at it finds that minutes have passed
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with open_library(build(tmp_path, alloc="usleep(300000)"), Options(call_timeout=2)) as session:
        assert run(session, "a = aclrtAllocBuf(size=8)\n").ending.kind is End.COMPLETED
    with open_library(build(tmp_path, alloc="for(;;)"), Options(call_timeout=0.5)) as session:
        assert run(session, "a = aclrtAllocBuf(size=8)\n").ending.kind is End.TIMEOUT


def test_a_worker_that_dies_between_programs_blames_no_call(tmp_path: Path) -> None:
    before = set(_children())
    with open_library(build(tmp_path)) as session:
        run(session, "a = aclrtAllocBuf(size=64)\n")
        (child,) = set(_children()) - before
        os.kill(child, signal.SIGKILL)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        trace = run(session, "a = aclrtAllocBuf(size=64)\n")
        assert trace.ending == Ending(End.CRASH, detail="SIGKILL before the program started")
        assert run(session, "a = aclrtAllocBuf(size=64)\n").ending.kind is End.COMPLETED


def _children() -> list[int]:
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in task.read_text().split()]


# ----------------------------------------------------------------------------------------------------- stray writes


@pytest.mark.parametrize(
    ("behaviour", "text", "breach"),
    [
        ({"user_data": "to[-1]=1"}, "aclrtGetBufUserData(buf=a, size=16, offset=0)\n", Breach("dataPtr", -1)),
        ({"user_data": "to[-64]=1"}, "aclrtGetBufUserData(buf=a, size=16, offset=0)\n", Breach("dataPtr", -64)),
        ({"length": "((char*)len)[-3]=1"}, "aclrtGetBufDataLen(buf=a)\n", Breach("len", -3)),
        (
            {"set_user_data": "from[5]^=1"},
            "aclrtSetBufUserData(buf=a, dataPtr=ramp(7, 16), size=16, offset=0)\n",
            Breach("dataPtr", 5),
        ),
        (
            {"set_user_data": "from[0]^=1"},
            'aclrtSetBufUserData(buf=a, dataPtr=bytes("0102"), size=2, offset=0)\n',
            Breach("dataPtr", 0),
        ),
    ],
)
def test_writes_outside_of_lent_memory_are_breaches(
    tmp_path: Path, behaviour: dict[str, str], text: str, breach: Breach
) -> None:
    with open_library(build(tmp_path, **behaviour)) as session:
        trace = run(session, "a = aclrtAllocBuf(size=64)\n" + text + text)
    records = [r for r in trace.records if isinstance(r, CallRecord)]
    assert [r.breaches for r in records] == [(), (breach,), (breach,)]
    assert trace.ending.kind is End.COMPLETED


@pytest.mark.parametrize(
    ("behaviour", "text", "param"),
    [
        ({"user_data": "to[size]=1"}, "aclrtGetBufUserData(buf=a, size=17, offset=0)\n", "dataPtr"),
        ({"length": "len[1]=1"}, "aclrtGetBufDataLen(buf=a)\n", "len"),
        ({"set_user_data": "from[size]=1"}, "aclrtSetBufUserData(buf=a, size=3, offset=0)\n", "dataPtr"),
    ],
)
def test_overruns_meet_an_inaccessible_page(tmp_path: Path, behaviour: dict[str, str], text: str, param: str) -> None:
    with open_library(build(tmp_path, **behaviour)) as session:
        trace = run(session, "a = aclrtAllocBuf(size=64)\n" + text)
    assert (trace.ending.kind, trace.ending.step) == (End.CRASH, 1)
    assert trace.ending.detail == f"SIGSEGV at the guard page of {param}"


def test_untouched_outputs_are_none_and_rooms_keep_the_sentinel(tmp_path: Path) -> None:
    library = build(tmp_path, alloc="if (size == 1) return 0")
    with open_library(library) as session:
        trace = run(
            session,
            "a = aclrtAllocBuf(size=1)\naclrtFreeBuf(buf=a)\nb = aclrtAllocBuf(size=2)\n"
            "aclrtGetBufUserData(buf=b, dataPtr=room(40), size=8, offset=0)\n",
        )
    first, skipped, second, room = trace.records
    assert isinstance(first, CallRecord)
    assert first.outs == (("buf", None),)
    assert skipped == SkipRecord(1, (), "unset")
    assert isinstance(second, CallRecord)
    assert second.outs == (("buf", Ptr(1)),)
    assert isinstance(room, CallRecord)
    assert room.outs == (("dataPtr", b"\x42" * 8 + sentinel(40)[8:]),)


# ------------------------------------------------------------------------------------------------------------ touches

UNMAPPED = "*dataPtr = (char *)b->data - ((size_t)1 << 46)"
MOVE = "memcpy((char *)dst + (kind == 1 ? (size_t)1 << 46 : 0), (char *)src + (kind == 2 ? (size_t)1 << 46 : 0), count)"
TOUCH = (
    "a = aclrtAllocBuf(size=70000)\naclrtGetBufData(buf=a)\nwrite a[9:69999] = ramp(1, 69990)\nread a[65540:65550]\n"
)


def test_data_that_the_host_cannot_touch_is_copied(tmp_path: Path) -> None:
    with open_library(build(tmp_path, data=UNMAPPED, copy=MOVE)) as session:
        trace = run(session, TOUCH)
        assert session.identity.details["data access"] == "copy"
    assert trace.records[2:] == (
        TouchRecord(2, ()),
        TouchRecord(3, (), data=bytes((1 + k) & 0xFF for k in range(65531, 65541))),
    )


def test_data_that_nothing_can_touch_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    with open_library(build(tmp_path, data=UNMAPPED)) as session:
        trace = run(session, TOUCH)
        assert session.identity.details["data access"] == "direct"
        assert session.startups == 1
    assert trace.records[2:] == (TouchRecord(2, (), "fault"), TouchRecord(3, (), "fault"))
    assert trace.ending.kind is End.COMPLETED


def test_a_fault_in_a_touch_leaves_the_handler_of_the_library_alone(tmp_path: Path) -> None:
    library = build(tmp_path, init="signal(SIGSEGV, own_handler)", data=UNMAPPED, free="*(volatile int *)8 = 1")
    with open_library(library) as session:
        trace = run(session, TOUCH + "aclrtFreeBuf(buf=a)\n")
    assert trace.records[2] == TouchRecord(2, (), "fault")
    assert trace.ending == Ending(End.EXIT, 4, (), Phase.CALL, "aclrtFreeBuf", "3")


def test_a_refusing_copy_function_is_shown_with_its_code(tmp_path: Path) -> None:
    library = build(tmp_path, data=UNMAPPED, copy="(void)dst; (void)src; (void)count; return kind == 1 ? 107000 : -5")
    with open_library(library) as session:
        trace = run(session, TOUCH)
    assert trace.records[2:] == (TouchRecord(2, (), "copy:107000"), TouchRecord(3, (), "copy:-5"))


def test_a_crash_in_the_copy_function_is_in_the_touch_phase(tmp_path: Path) -> None:
    library = build(tmp_path, copy="(void)dst; (void)src; (void)count; (void)kind; abort()")
    with open_library(library, Options(data_access="copy")) as session:
        trace = run(session, TOUCH)
    assert trace.ending == Ending(End.CRASH, 2, (), Phase.TOUCH, "", "SIGABRT")


# ------------------------------------------------------------------------------------------------------------- repeats


def test_turns_that_answer_alike_are_counted(tmp_path: Path) -> None:
    with open_library(build(tmp_path, alloc="if (calls % 10 == 5) return 7; else return 9")) as session:
        trace = run(session, "repeat i in 23:\n    a = aclrtAllocBuf(size=64)\n")
    answers = [(type(r).__name__, r.loops, getattr(r, "ret", getattr(r, "count", None))) for r in trace.records]
    assert answers == [
        ("CallRecord", (0,), 9),
        ("SameRecord", (), 3),
        ("CallRecord", (4,), 7),
        ("CallRecord", (5,), 9),
        ("SameRecord", (), 8),
        ("CallRecord", (14,), 7),
        ("CallRecord", (15,), 9),
        ("SameRecord", (), 7),
    ]


def test_a_crash_after_counted_turns_keeps_the_count(tmp_path: Path) -> None:
    with open_library(build(tmp_path, alloc="if (calls == 8) abort(); return 9")) as session:
        trace = run(session, "repeat i in 23:\n    a = aclrtAllocBuf(size=64)\n")
    assert trace.records[1:] == (SameRecord(0, (), 6),)
    assert trace.ending.loops == (7,)


def test_a_hundred_thousand_turns_that_differ(tmp_path: Path) -> None:
    library = build(tmp_path, alloc="*buf = (void *)(calls * 8); return 0")
    with open_library(library, Options()) as session:
        trace = run(session, "repeat i in 100000:\n    a[i] = aclrtAllocBuf(size=64)\n")
    assert trace.ending.kind is End.COMPLETED
    assert len(trace.records) == 100_000
    last = trace.records[-1]
    assert isinstance(last, CallRecord)
    assert (last.loops, trace.pointers[-1].raw) == ((99_999,), 800_000)


def test_a_reply_that_is_too_long_is_an_honest_error(tmp_path: Path) -> None:
    with open_library(build(tmp_path, user_data="to[0]=(unsigned char)random()"), Options()) as session:
        trace = run(
            session, "repeat i in 300:\n    aclrtGetBufUserData(buf=null, dataPtr=room(1048576), size=9, offset=0)\n"
        )
        assert (trace.ending.kind, trace.ending.step) == (End.ERROR, 1)
        assert trace.ending.detail.startswith("reply overflow")
        assert len(trace.records) == trace.ending.loops[0] == 255
        assert run(session, "a = aclrtAllocBuf(size=64)\n").ending.kind is End.COMPLETED


# ------------------------------------------------------------------------------------------------------- raw programs


def test_batches_answer_as_single_programs_and_survive_a_crash(tmp_path: Path) -> None:
    with open_library(build(tmp_path, free="abort()")) as session:
        good = session.lower(parse_program("a = aclrtAllocBuf(size=64)\n")).wire
        bad = session.lower(parse_program("a = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\n")).wire
        replies = session.run_batch([good, good, bad, good, bad, good])
        endings = [session.decode(reply).ending.kind for reply in replies]
        assert endings == [End.COMPLETED, End.COMPLETED, End.CRASH, End.COMPLETED, End.CRASH, End.COMPLETED]
        assert [len(session.decode(reply).records) for reply in replies] == [1] * 6
        assert session.startups == 3


def test_more_programs_than_one_command_takes(core: NativeSession) -> None:
    wire = core.lower(parse_program("a = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\n")).wire
    assert {core.decode(r).ending.kind for r in core.run_batch([wire] * 3000)} == {End.COMPLETED}


def test_a_damaged_reply_is_no_trace(core: NativeSession) -> None:
    wire = core.lower(parse_program("a = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\n")).wire
    reply = core.run_raw(wire)
    assert core.decode(reply[:20]).ending.kind is End.ERROR
    assert core.decode(b"\x63" + reply[1:]).ending.kind is End.ERROR
    assert core.decode(reply[:-16]).ending == Ending(End.ERROR, detail="the reply has no end")


# ------------------------------------------------------------------------------------------------- libraries, sessions


def test_missing_functions_are_named_and_programs_with_them_not_run(tmp_path: Path) -> None:
    with open_library(build(tmp_path, missing="1")) as session:
        assert {"aclrtGetBufData", "aclrtCopyBufRef"} <= session.missing
        assert "aclrtAllocBuf" not in session.missing
        trace = run(session, "a = aclrtAllocBuf(size=64)\naclrtGetBufData(buf=a)\n")
        assert trace.ending == Ending(End.UNSUPPORTED, detail="aclrtGetBufData")
        assert Capability.STREAMS not in session.capabilities
        assert run(session, "fail allocation 1\n").ending == Ending(End.UNSUPPORTED, detail="fault-injection")
        assert run(session, "live\n").records == (SkipRecord(0, (), "unavailable"),)


def test_the_lifecycle_is_kept_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("NATIVE_TARGET_LOG", str(log))
    with open_library(build(tmp_path, lifecycle="1"), Options(device=3)) as session:
        run(session, "a = aclrtAllocBuf(size=64)\n")
        assert log.read_text().splitlines() == ["init 0", "set 3"]
    assert log.read_text().splitlines() == ["init 0", "set 3", "reset 3", "finalize 0"]


@pytest.mark.parametrize(
    ("init", "said"),
    [
        ("abort()", "aclInit ended the process: SIGABRT"),
        ("exit(4)", "aclInit ended the process: exit status 4"),
        ("sleep(1000)", "aclInit did not return within 0.5 s"),
    ],
)
def test_a_library_that_does_not_start_is_an_error_of_the_user(tmp_path: Path, init: str, said: str) -> None:
    library = build(tmp_path, init=init)
    before = _children()
    with pytest.raises(BackendError) as error:
        open_library(library, Options(start_timeout=0.5))
    assert str(error.value).endswith(said)
    assert "\n" not in str(error.value)
    assert _children() == before


def test_a_refused_start_is_told_and_what_follows_is_judged(tmp_path: Path) -> None:
    with open_library(build(tmp_path, init="return 507033")) as session:
        warning = "aclInit answered 507033: no such device; a missing device looks like that"
        assert session.identity.details["warning"] == warning
        assert run(session, "a = aclrtAllocBuf(size=64)\n").ending.kind is End.COMPLETED
        session.restart()
        assert run(session, "a = aclrtAllocBuf(size=64)\n").ending.kind is End.COMPLETED


def test_a_device_lost_on_the_way_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATIVE_TARGET_LOG", str(tmp_path / "log"))
    with open_library(build(tmp_path, lifecycle="1")) as session:
        assert "warning" not in session.identity.details
        monkeypatch.setenv("NATIVE_TARGET_LOG", str(tmp_path / "no folder" / "log"))
        session.restart()
        with pytest.raises(BackendError, match="does not start any more: aclInit answered 500001") as error:
            run(session, "a = aclrtAllocBuf(size=64)\n")
        assert "\n" not in str(error.value)


def test_noise_is_kept_apart_and_bounded(tmp_path: Path) -> None:
    library = build(
        tmp_path,
        alloc='printf("alloc %zu", size); fprintf(stderr, "!\\n");'
        ' if (size == 9) for(int k = 0; k < 200000; k++) puts("noise")',
    )
    with open_library(library, Options()) as session:
        assert run(session, "a = aclrtAllocBuf(size=64)\n").output.split() in (["alloc", "64!"], ["!", "alloc", "64"])
        assert run(session, "live\n").output == ""
        loud = run(session, "a = aclrtAllocBuf(size=9)\n")
        assert loud.ending.kind is End.COMPLETED
        assert len(loud.output) == 4096
        assert "alloc" in run(session, "a = aclrtAllocBuf(size=64)\n").output


def test_what_a_program_printed_before_it_crashed_is_shown(tmp_path: Path) -> None:
    with open_library(build(tmp_path, alloc='puts("last words"); abort()')) as session:
        assert run(session, "a = aclrtAllocBuf(size=64)\n").output == "last words\n"


def test_two_sessions_at_once_do_not_meet(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    with open_library(build(one, alloc="return 1")) as first, open_library(build(two, alloc="return 2")) as second:
        codes = [run(s, "a = aclrtAllocBuf(size=64)\n").records[0] for s in (first, second, first)]
    assert [r.ret for r in codes if isinstance(r, CallRecord)] == [1, 2, 1]


def test_solo_and_restart_meet_new_processes(tmp_path: Path) -> None:
    program = parse_program("a = aclrtAllocBuf(size=64)\naclrtGetBufDataLen(buf=a)\n")
    with open_library(build(tmp_path)) as session:
        calls = []
        for solo in (False, False, True, False):
            record = session.run(program, solo=solo).records[1]
            assert isinstance(record, CallRecord)
            calls.append(record.outs)
        session.restart()
        record = session.run(program).records[1]
        assert isinstance(record, CallRecord)
        calls.append(record.outs)
    assert [dict(outs)["len"] for outs in calls] == [1, 2, 1, 1, 1]
    assert session.startups == 4


def test_fresh_heap_memory_is_dirty(tmp_path: Path) -> None:
    library = build(tmp_path, alloc="{ size_t *p = malloc(size); *buf = *(void **)p; free(p); return 0; }")
    with open_library(library) as session:
        for size in (24, 24, 64, 512):
            trace = run(session, f"a = aclrtAllocBuf(size={size})\n")
            assert trace.pointers[1].raw == 0xA5A5_A5A5_A5A5_A5A5


def test_pinning_ends_with_the_session(tmp_path: Path) -> None:
    before, children = os.sched_getaffinity(0), set(_children())
    with open_library(build(tmp_path), pinned=True) as session:
        assert len(os.sched_getaffinity(0)) == 1
        run(session, "a = aclrtAllocBuf(size=64)\n")
        (worker,) = set(_children()) - children
        assert os.sched_getaffinity(worker) == os.sched_getaffinity(0)
    assert os.sched_getaffinity(0) == before


def test_an_interrupt_ends_the_worker_at_once(tmp_path: Path) -> None:
    before = _children()

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    session = open_library(build(tmp_path, free="for(;;)"), Options(call_timeout=60))
    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(session, ALLOCATE)
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert _children() == before
    assert run(session, "a = aclrtAllocBuf(size=64)\n").ending.kind is End.COMPLETED
    session.close()
    assert _children() == before


def test_no_worker_outlives_its_parent(tmp_path: Path) -> None:
    library = build(tmp_path, alloc="for(;;)")
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from native_libraries import open_library, run\n"
        "from acl_cts.backends.backend import Options\n"
        "session = open_library(Path(sys.argv[1]), Options(call_timeout=60))\n"
        "print(Path(f'/proc/self/task/{os.getpid()}/children').read_text().split()[0], flush=True)\n"
        "run(session, 'a = aclrtAllocBuf(size=64)\\n')\n"
    )
    here = str(Path(__file__).parent)
    with subprocess.Popen([sys.executable, "-c", script, str(library), here], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    assert _is_gone(worker)


def _is_gone(pid: int) -> bool:
    """Whether a process that is about to die has died, within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        os.sched_yield()
    return False


def test_leaks_are_found_where_asked_for(tmp_path: Path) -> None:
    library = build(tmp_path, "-fsanitize=address", free="return 0")
    place = Place("test", library, count_leaks=True)
    with NativeSession(place, load_spec().interface, Options(flavour="asan")) as session:
        run(session, "aclrtFreeBuf(buf=null)\n")
        assert not session.check_leaks()
        run(session, "repeat i in 10:\n    a = aclrtAllocBuf(size=64)\n")
        run(session, "aclrtFreeBuf(buf=null)\n")
        assert session.check_leaks()


def test_a_sanitizer_report_is_part_of_the_crash(tmp_path: Path) -> None:
    library = build(tmp_path, "-fsanitize=address", free="free(b); ((char *)b)[3] = 1; return 0")
    with open_library(library, Options(flavour="asan")) as session:
        ending = run(session, ALLOCATE).ending
    assert (ending.kind, ending.step, ending.function) == (End.CRASH, 2, "aclrtFreeBuf")
    assert ending.detail.startswith("SIGABRT: AddressSanitizer: heap-use-after-free")
