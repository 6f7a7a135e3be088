"""Targets: a library that a campaign runs programs on, many at once, with what each program reached in it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acl_cts.backends.backend import HarnessError, Session
from acl_cts.backends.native.channel import Reached
from acl_cts.backends.native.session import NativeSession
from acl_cts.backends.native.slots import Malformed, TooLarge
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.trace import End, LiveRecord, Trace

HOOKS = (b"__sanitizer_cov_trace_pc", b"__sanitizer_cov_trace_pc_guard", b"__sanitizer_cov_8bit_counters_init")
"""What a library that was built to tell of its blocks calls."""

QUICK = 1.0
"""Seconds that a new worker may take where every repetition gets one of its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one program. `frames`: where in the library a crash was, innermost first."""

    trace: Trace
    reached: Reached = field(default_factory=Reached)
    frames: tuple[str, ...] = ()


@dataclass(slots=True)
class Target:
    """One backend as a campaign sees it. `name`: as on the command line. `counted`: its edges are told."""

    name: str
    session: Session
    counted: bool = False
    _start_seconds: float = 0.0

    def run(self, programs: Sequence[Program]) -> list[Answer]:
        """The answers to `programs`, in their order, with as few commands as possible."""
        session = self.session
        if not isinstance(session, NativeSession):
            return [Answer(session.run(program)) for program in programs]
        answers: list[Answer | None] = [None] * len(programs)
        wires: list[bytes] = []
        places: list[int] = []
        for place, program in enumerate(programs):
            wire = _wire(session, program)
            if wire:
                wires.append(wire)
                places.append(place)
            else:
                answers[place] = Answer(session.run(program))  # says what is missing, and executes nothing
        for place, guided in zip(places, session.run_guided(wires) if wires else (), strict=True):
            answers[place] = Answer(guided.trace, guided.reached, guided.frames)
        return [answer for answer in answers if answer is not None]

    def run_alone(self, program: Program, before: Sequence[Program] = (), *, leaks: bool = False) -> Answer:
        """The answer to `program` in a new worker, after the programs `before`; with `leaks` as `run_watched`. Where a
        worker takes long to start, one that is there is taken."""
        started = time.monotonic()
        if self._start_seconds < QUICK or before:
            self.session.restart()
        if before:
            return self.run((*before, program))[-1]
        answer = self.run_watched(program) if leaks and self.watches_leaks else self.run((program,))[0]
        if answer.trace.ending.kind is not End.TIMEOUT:
            self._start_seconds = time.monotonic() - started
        return answer

    @property
    def watches_leaks(self) -> bool:
        """Whether lost memory can be looked for."""
        return isinstance(self.session, NativeSession) and self.session.watches_leaks

    def lost(self) -> bool:
        """Whether the library lost memory since this was asked last. It would be told again and again, so what comes
        next meets a new worker then. False where the worker dies over the question: then what it executed before has
        broken it, and shows by itself or not at all."""
        try:
            lost = isinstance(self.session, NativeSession) and self.session.check_leaks()
        except HarnessError:
            return False
        if lost:
            self.session.restart()
        return lost

    def run_watched(self, program: Program) -> Answer:
        """The answer to `program`; when memory was lost, its last count of what is live says so."""
        answer = self.run((program,))[0]
        records = answer.trace.records
        if records and isinstance(records[-1], LiveRecord) and self.lost():
            trace = replace(answer.trace, records=(*records[:-1], replace(records[-1], lost=True)))
            return replace(answer, trace=trace)
        return answer

    @property
    def seen(self) -> bytes:
        """The edges that were reached so far, for `recall`."""
        return self.session.seen if isinstance(self.session, NativeSession) else b""

    def recall(self, seen: bytes = b"") -> None:
        """Go on with a new worker, and let only these edges count as reached before."""
        if isinstance(self.session, NativeSession):
            self.session.recall(seen)
        else:
            self.session.restart()

    def connect(self, spec: Spec) -> None:
        """Make sure that the coverage of an instrumented library arrives here: one program must reach edges, others
        must reach more. Raises HarnessError when it does not, as a campaign would run blind."""
        if not instrumented(self.session):
            return
        first, *others = [programs[0] for programs in spec.simplest.values() if programs]
        begun = self.run((first,))[0].reached
        more = sum(len(answer.reached.new) for answer in self.run(others))
        if not begun.touched or not more:
            raise HarnessError(
                f"{self.name}: the coverage of {self.session.identity.library} does not arrive here (a first program "
                f"reached {begun.touched} edges, {len(others)} others {more} more); build it with "
                "-fsanitize-coverage=trace-pc, or without to be guided by the model alone"
            )
        self.counted = True


def instrumented(session: Session) -> bool:
    """Whether the library of `session` was built to tell of its blocks."""
    path = session.identity.library
    if not path or not isinstance(session, NativeSession):
        return False
    data = Path(path).read_bytes()
    return any(hook in data for hook in HOOKS)


def sanitized(library: str) -> bool:
    """Whether `library` needs an executor with the address sanitizer."""
    path = Path(library)
    return path.is_file() and b"__asan_init" in path.read_bytes()


def _wire(session: NativeSession, program: Program) -> bytes:
    """`program` for the executor, empty when it cannot be executed here."""
    try:
        lowered = session.lower(program)
    except (Malformed, TooLarge):
        return b""
    return b"" if session.lacking(lowered) else lowered.wire
