"""Scouts: a process that makes, executes and checks programs in C, some hundred times as fast as the oracle judges.

It tells of those that are worth a closer look, and nothing counts before the oracle has judged them in a worker. Its
checker is made of the same tables, asks less than the oracle where it cannot know, and never more.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from acl_cts.backends.backend import BackendError, HarnessError
from acl_cts.backends.native.build import compile_c
from acl_cts.backends.native.clang import find_clang
from acl_cts.backends.native.counters import counts
from acl_cts.backends.native.kept_text import kept_text
from acl_cts.backends.native.session import NativeSession
from acl_cts.backends.native.worker import environment_of
from acl_cts.fuzz import scout_layout as layout
from acl_cts.fuzz.macros import macros
from acl_cts.fuzz.scouted import read_transcript, split_transcript
from acl_cts.fuzz.standalone_seed import RECORD, encode_seed
from acl_cts.fuzz.standalone_target import TEMPLATES, checked_clauses, render_scout
from acl_cts.specs.kept import sources_of
from acl_cts.specs.model import Spec
from acl_cts.specs.program import FailAllocation, Program, Repeat
from acl_cts.specs.trace import Capability

HERE = Path(__file__).resolve().parent / "scout"
OWN = sources_of(HERE.parent)
START_TIMEOUT = 10.0
"""Seconds that the library may take to start beside the one in the worker."""

LOOK = 0.05
"""Seconds between two looks at a scout that runs."""

DEATHS = 6
"""Programs of one slice that may end the process."""

_HEAD = struct.Struct("<4Q")
_WORD = struct.Struct("<Q")


class ScoutLostError(Exception):
    """A scout that does not start any more; what it would find has to be found without it."""


@dataclass(frozen=True, slots=True)
class Scouted:
    """A program worth a closer look. `kind`: it reached something new, broke the promise of `clause`, may have lost
    memory, ended the process, or is one of many about which nothing is remarkable. `others`: the same with more or less
    of what may matter: what the scout did to give everything back, faults that were asked for, the programs before."""

    program: Program
    kind: str
    clause: str = ""
    others: tuple[Program, ...] = ()


NEW, BROKEN, LOST, AUDIT, DEADLY = "new", "broken", "lost", "audit", "deadly"
_KINDS = {
    layout.REPORT_NEW: NEW,
    layout.REPORT_BROKEN: BROKEN,
    layout.REPORT_LOST: LOST,
    layout.REPORT_AUDIT: AUDIT,
}


@dataclass(slots=True)
class Scout:
    """One process, started anew when its library ends it; what it has learned outlives that. Raises HarnessError when
    it cannot be built or its memory not be had; `slice` when it does not start."""

    spec: Spec
    session: NativeSession
    seed: str
    audit_every: int = layout.AUDIT_EVERY
    _program: Path = field(init=False)
    _memory: mmap.mmap = field(init=False)
    _descriptor: int = field(init=False)
    _process: subprocess.Popen[bytes] | None = None
    _commands: int = -1
    _replies: int = -1

    def __post_init__(self) -> None:
        self._program = build_scout(self.spec, self.session)
        try:
            self._descriptor = os.memfd_create("acl-cts-scout", os.MFD_CLOEXEC)
            os.ftruncate(self._descriptor, layout.SHARED_BYTES)
            self._memory = mmap.mmap(self._descriptor, layout.SHARED_BYTES)
        except OSError as error:
            raise HarnessError(f"no shared memory for the scout ({error.strerror})") from error
        first, second = struct.unpack("<2Q", sha256(self.seed.encode()).digest()[:16])
        self._set("dice0", first)
        self._set("dice1", second | 1)
        self._set("audit_every", self.audit_every)
        self._set("watched", int(self.session.watches_leaks))
        self.give(_starts(self.spec))

    def give(self, programs: Iterable[Program]) -> None:
        """Let it build on these programs, as far as it has words for them."""
        at = min(self._get("entries"), layout.ENTRIES)
        for program in programs:
            data = encode_seed(self.spec, program)
            if not data or len(data) > layout.MOST * RECORD or at == layout.ENTRIES:
                continue
            head = struct.pack("<6I", len(data) // RECORD, 0, 0, 0, layout.GIVEN, 1)
            place = layout.ENTRIES_AT + at * layout.ENTRY_BYTES
            self._memory[place : place + len(head) + len(data)] = head + data
            at += 1
        self._set("entries", at)

    def slice(
        self, calls: int, reports: int, avoided: frozenset[str], ends: Callable[[], bool] = lambda: False
    ) -> list[Scouted]:
        """What so many calls turned up, or fewer when `ends` says so; of what reached something new so many `reports`
        at most. Raises ScoutLostError when it does not start."""
        self._set("avoided", sum(1 << k for k, name in enumerate(self.spec.functions) if name in avoided))
        self._set("touch", int(self.session.identity.details.get("data access") == "direct"))
        self._set("reports_wanted", min(reports, layout.REPORTS))
        until = self.calls + calls
        found: list[Scouted] = []
        for _ in range(DEATHS):
            self._set("calls_wanted", max(until - self.calls, 0))
            self._set("programs_wanted", calls)
            ended = self._command(ends)
            found += self._reports()
            if ended or ends():
                break
            found += self._last()
        if self._get("renew"):
            self.close()
        return found

    @property
    def programs(self) -> int:
        """Programs executed and checked so far."""
        return self._get("programs")

    @property
    def calls(self) -> int:
        """Calls made so far."""
        return self._get("calls")

    @property
    def edges(self) -> int:
        """Edges of the library reached so far."""
        return layout.EDGE_CELLS - self._memory[layout.SEEN_AT : layout.STATES_AT].count(0)

    @property
    def pid(self) -> int | None:
        """Its process, None while there is none."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process; the next slice starts another one."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(self._commands)
        os.close(self._replies)

    # ------------------------------------------------------------------------------------------------------- process

    def _command(self, ends: Callable[[], bool]) -> bool:
        """Let it run; whether it came back. Afterwards it is gone if not."""
        self._set("stop", 0)
        self._set("reports", 0)
        self._set("length", 0)
        if self._process is None:
            self._start(ends)
        try:
            os.write(self._commands, b"s")
        except BrokenPipeError:
            self.close()
            return False
        if self._answered(self.session.setup.call_timeout, ends):
            return True
        self.close()
        return False

    def _start(self, ends: Callable[[], bool]) -> None:
        self._set("passed", 0)
        setup = self.session.setup
        child_commands, self._commands = os.pipe2(os.O_CLOEXEC)
        self._replies, child_replies = os.pipe2(os.O_CLOEXEC)
        command = [str(self._program), str(setup.library), str(setup.device)]
        command += [str(self._descriptor), str(child_commands), str(child_replies), str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(self._descriptor, child_commands, child_replies),
                start_new_session=True,
                env=environment_of(setup),
            )
        except OSError as error:
            raise ScoutLostError(f"{self._program} does not start: {error.strerror or error}") from error
        finally:
            os.close(child_commands)
            os.close(child_replies)
        if not self._answered(min(START_TIMEOUT, setup.start_timeout), lambda: False):
            self.close()
            raise ScoutLostError(f"{setup.library} does not start a second time beside the worker")

    def _answered(self, patience: float, ends: Callable[[], bool]) -> bool:
        """Whether a bell rang before the process ended or stood still for so many seconds; it is asked to stop when
        `ends` says so."""
        progress, since = self._get("progress"), time.monotonic()
        while True:
            ready, _, _ = select.select((self._replies,), (), (), LOOK)
            if ready:
                return os.read(self._replies, 1) == b"r"
            if self._get("progress") != progress:
                progress, since = self._get("progress"), time.monotonic()
            elif time.monotonic() - since > patience:
                return False
            if ends():
                self._set("stop", 1)

    # ------------------------------------------------------------------------------------------------------- reports

    def _reports(self) -> list[Scouted]:
        found: list[Scouted] = []
        for number in range(min(self._get("reports"), layout.REPORTS)):
            kind, where, start, length = _HEAD.unpack_from(self._memory, layout.REPORTS_AT + _HEAD.size * number)
            if kind in _KINDS and start + length <= layout.REPORT_WORDS:
                words = self._words(layout.REPORT_WORDS_AT + 8 * start, length)
                found += self._told(words, _KINDS[kind], where)
        self._set("reports", 0)
        return found

    def _told(self, words: Sequence[int], kind: str, where: int) -> list[Scouted]:
        """What one report tells of; nothing where the library wrote into it: then all that was learned is doubtful."""
        try:
            before, last = split_transcript(words) if kind == BROKEN else ([], words)
            return self._read(before, last, kind, where)
        except (ValueError, IndexError, KeyError):
            self.close()
            self._set("entries", 0)
            return []

    def _last(self) -> list[Scouted]:
        """The program that ended the process."""
        count, before = self._get("passed"), list[Sequence[int]]()
        for number in range(max(0, count - layout.PASSED), count):
            at = layout.PASSED_AT + 8 * (number % layout.PASSED) * layout.PASSED_WORDS
            before.append(self._words(at + 8, min(*self._words(at, 1), layout.PASSED_WORDS - 1)))
        last = self._words(layout.WORDS_AT, min(self._get("length"), layout.WORDS))
        try:
            return self._read(before, last, DEADLY)
        except (ValueError, IndexError, KeyError):
            return []

    def _read(self, before: Sequence[Sequence[int]], last: Sequence[int], kind: str, where: int = 0) -> list[Scouted]:
        """What words tell of: programs that passed before, and the one that counts."""
        counted = kind == LOST and Capability.LIVE_COUNT in self.session.capabilities
        program = read_transcript(self.spec, last, counted=counted)
        if kind not in (BROKEN, DEADLY):
            return [Scouted(program, kind)] if program.body else []
        whole = read_transcript(self.spec, last, clean_up=True)
        answered = read_transcript(self.spec, last, answered=True)
        others = dict.fromkeys((program, answered, _without_faults(program), whole, _without_faults(whole)))
        passed = [read_transcript(self.spec, each, clean_up=True, mark=f"p{k}_") for k, each in enumerate(before)]
        if passed:
            others[Program((*(s for each in passed for s in each.body), *whole.body))] = None
        clause = self._clause(where) if kind == BROKEN else ""
        return [Scouted(program, kind, clause, tuple(others)[1:])] if program.body else []

    def _clause(self, where: int) -> str:
        """The clause of a rule or promise that is told by its place."""
        function = list(self.spec.functions.values())[where >> 16]
        clauses = checked_clauses(function)
        place = where & 0xFFFF
        return clauses[place].id if place < len(clauses) else "common.caller-memory"

    def _words(self, at: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f"<{count}Q", self._memory, at)

    def _get(self, name: str) -> int:
        value: int = _WORD.unpack_from(self._memory, 8 * layout.CONTROL.index(name))[0]
        return value

    def _set(self, name: str, value: int) -> None:
        _WORD.pack_into(self._memory, 8 * layout.CONTROL.index(name), value)


def _starts(spec: Spec) -> Iterator[Program]:
    """What the tables know to lead somewhere; what builds up to a limit also goes one step beyond it."""
    for macro in macros(spec):
        yield Program(macro.body)
        last = macro.body[-1]
        if macro.name.startswith("limit/") and isinstance(last, Repeat):
            yield Program((*macro.body[:-1], replace(last, count=last.count + 1)))


def _without_faults(program: Program) -> Program:
    return Program(tuple(s for s in program.body if not isinstance(s, FailAllocation)))


def build_scout(spec: Spec, session: NativeSession) -> Path:
    """The program of a scout for the library of `session`. Raises HarnessError without a compiler."""
    setup = session.setup
    if len(spec.functions) > layout.FUNCTIONS_MOST:
        raise HarnessError(f"a scout knows {layout.FUNCTIONS_MOST} functions at most")
    sources = {"scout.c": _source(spec), "layout.h": layout.render_layout()}
    for path in (TEMPLATES / "model.h", TEMPLATES / "engine.h", HERE / "transcript.h", HERE / "scout.h"):
        sources[path.name] = path.read_text(encoding="utf-8")
    flags, libraries, compiler = ["-std=gnu11", "-O2", "-pthread", "-rdynamic"], ["-ldl", "-lm"], ""
    if setup.flavour in ("asan", "cover"):
        if counts(setup.library):
            compiler = _clang()
            flags.append("-fsanitize=address,undefined")
        else:  # the runtimes alone: the checker itself is no place to look for memory faults, and is faster without
            flags += ["-Wl,--no-as-needed", "-lasan", "-lubsan", "-Wl,--as-needed"]
    return compile_c(f"scout-{setup.flavour}", sources, flags, libraries, compiler)


def _source(spec: Spec) -> str:
    return kept_text("scout", (spec.digest,), (OWN,), lambda: render_scout(spec))


def _clang() -> str:
    try:
        return find_clang().command
    except BackendError as error:
        raise HarnessError(str(error)) from error


def serves(session: object) -> Iterator[str]:
    """Why there can be no scout for `session`, nothing when there can."""
    if not isinstance(session, NativeSession):
        yield "it is no library"
    elif session.setup.flavour == "tsan":
        yield "the thread sanitizer would slow it down more than it finds"
    elif session.prebuilt:
        yield "its executor was built elsewhere"
