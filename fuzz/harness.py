"""The harness: executes and judges, inside of the process that an engine drives, whatever that engine gives it."""

from __future__ import annotations

import hashlib
import os
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from acl_cts.backends.backend import Options, Session
from acl_cts.backends.native.embedded import Embedded
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.garbage import tidy
from acl_cts.conformance.trial import calls
from acl_cts.fuzz.bucket import Root, root_of
from acl_cts.fuzz.corpus import Corpus
from acl_cts.fuzz.decoder import decode
from acl_cts.fuzz.divergence import divergence
from acl_cts.fuzz.inprocess import (
    DONE,
    RENEW,
    Assignment,
    Blind,
    Broken,
    Failing,
    Message,
    Mutating,
    Progress,
    Ready,
    Worthwhile,
)
from acl_cts.fuzz.lane import LIFE
from acl_cts.fuzz.model_states import Feature, ModelStates
from acl_cts.fuzz.running import Running
from acl_cts.fuzz.source import Made, Source
from acl_cts.fuzz.triage import LOOKS
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Exit, Program, steps, walk
from acl_cts.specs.program_bytes import decode_program, encode_program
from acl_cts.specs.trace import LiveRecord, Trace

TOLD_EVERY = 0.25
"""Seconds between two messages that tell how many programs were executed."""

REMEMBERED = 4096
"""Programs that are kept beside their compact form."""

PATIENCE = 256
"""Programs that nobody gave to the engine, executed without any call of the mutator, after which it counts as not
connected."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One backend: its name, and what executes programs on it here."""

    name: str
    session: Session | Embedded


def prepare(tables: tuple[str, ...]) -> None:
    """Load what each harness needs, so that forked ones have it."""
    spec = load_spec(more=tables)
    decode(spec, b"", frozenset())


class Harness:
    """`one` takes bytes, `mutate` and `cross` make some. `tell` sends a message to those who watch."""

    def __init__(self, assignment: Assignment, pipe: Connection) -> None:
        self._assignment = assignment
        self._pipe = pipe
        self._spec = load_spec(more=assignment.tables)
        self._seats = [self._seat(name) for name in assignment.backends]
        self._embedded = next((s.session for s in self._seats if isinstance(s.session, Embedded)), None)
        capabilities = frozenset.intersection(*(seat.session.capabilities for seat in self._seats))
        missing = frozenset[str]().union(*(seat.session.missing for seat in self._seats))
        self._source = Source(self._spec, Corpus(assignment.units), capabilities, missing, assignment.seed)
        self._capabilities = capabilities
        self._running = Running(assignment.running)
        self._written = assignment.history.open("wb", buffering=0)
        self._units = {_key(path.read_bytes()) for path in assignment.units.iterdir()}
        self._history: deque[bytes] = deque(maxlen=LIFE)
        self._watching = ModelStates()
        self._states: set[Feature] = set(assignment.states)
        self._roots: Counter[Root] = Counter()
        self._told: set[tuple[Any, ...]] = set()
        self._made: Made | None = None
        self._decoded: dict[bytes, Program] = {}
        self._mutating = False
        self._strange = self._judged = self._noted = 0
        self._counts = [0] * 5
        self._spoke = time.monotonic()

    def _seat(self, name: str) -> Seat:
        embedding = self._assignment.embedding
        if name.partition(":")[0] == "core" and embedding is not None:
            return Seat(name, Embedded(embedding, self._spec.interface, self._assignment.memory))
        return Seat(name, open_backend(name, Options()))

    # ------------------------------------------------------------------------------------------------------ the gate

    def probe(self) -> None:
        """Tell whether calls of the library move the counters that guide."""
        if self._embedded is None:
            self.tell(Ready(0, 0, ""))
            return
        counters, touched = self._embedded.counters, 0
        counters.clear()
        for programs in self._spec.simplest.values():
            data = encode_program(programs[0]) if programs else b""
            if data and data not in self._assignment.fatal:
                self._note(data)
                self._embedded.run(programs[0])
                touched = touched or counters.touched()
        self.tell(Ready(touched, counters.touched() - touched, counters.named))
        counters.clear()

    def tell(self, message: Message) -> None:
        """Send a message; ends the process when nobody listens any more."""
        try:
            self._pipe.send(message)
        except (BrokenPipeError, ConnectionError):
            os._exit(0)

    # ------------------------------------------------------------------------------------------------------- programs

    def mutate(self, data: bytes, most: int, seed: int) -> bytes:
        """Another program, made of the one that `data` stands for, or from nothing."""
        return self._guarded(lambda: self._offer(data, None, most))

    def cross(self, data: bytes, other: bytes, most: int, seed: int) -> bytes:
        """The same; it may be made of two."""
        return self._guarded(lambda: self._offer(data, other, most))

    def one(self, data: bytes) -> None:
        """Execute and judge the program that `data` stands for, unless it was executed before."""
        self._guarded(lambda: self._one(data))

    def _offer(self, data: bytes, other: bytes | None, most: int) -> bytes:
        if not self._mutating:
            self._mutating = True
            self.tell(Mutating())
        crossed = None if other is None else self._program(other)
        made = self._source.made_of(self._program(data), crossed, self._assignment.avoided)
        if made is None or len(made.data) > most:
            return data
        self._made = made
        return made.data

    def _program(self, data: bytes) -> Program:
        known = self._decoded.get(data)
        if known is None:
            try:
                known = decode_program(data)
            except ValueError:
                known = decode(self._spec, data, self._capabilities)
            if len(self._decoded) >= REMEMBERED:
                self._decoded.clear()
            self._decoded[data] = known
        return known

    def _one(self, data: bytes) -> bytes:
        made, self._made = self._made, None
        given = _key(data) in self._units
        if not given and not self._mutating and self._blind():
            self.tell(Blind())
        if given:
            self._repeat(decode_program(data))
        elif made is not None and made.data == data:
            self._judge(made)
        else:
            program = self._program(data)
            found = Made(program, encode_program(program), "bytes")
            if self._source.takes(found, self._assignment.avoided):
                self._judge(found)
        if time.monotonic() - self._spoke > TOLD_EVERY:
            self._speak()
        return b""

    def _blind(self) -> bool:
        """Whether more programs have come than were given, without any call of the mutator. Those given may come twice:
        what told the engine nothing new is read once more when it looks for what other processes have added."""
        self._strange += 1
        if self._strange <= PATIENCE:
            return False
        added = sum(1 for _ in self._assignment.units.iterdir()) - len(self._units)
        return self._strange > 2 * max(0, added) + PATIENCE

    def _repeat(self, program: Program) -> None:
        """What was judged before, so that the engine learns what it reaches."""
        data = encode_program(program)
        if data in self._assignment.fatal or any(isinstance(s, Exit) for s in walk(program.body)):
            return
        self._note(data)
        for seat in self._seats:
            seat.session.run(program)
        if self._embedded is not None:
            self._embedded.counters.take()

    def _note(self, data: bytes) -> None:
        self._running.note([data])
        self._history.append(data)
        self._noted += 1
        if self._noted > 4 * LIFE:  # what is older than the history is of no use
            self._noted = len(self._history)
            self._written.seek(0)
            self._written.truncate(0)
            self._written.write(b"".join(map(_framed, self._history)))
        else:
            self._written.write(_framed(data))

    def _judge(self, made: Made) -> None:
        if made.data in self._assignment.fatal or any(isinstance(s, Exit) for s in walk(made.program.body)):
            return
        history = tuple(self._history)
        self._note(made.data)
        answers = [seat.session.run(made.program) for seat in self._seats]
        watch = self._watching.watch
        judgements = [judge(self._spec, made.program, answers[0], watch)]
        judgements += [judge(self._spec, made.program, answer) for answer in answers[1:]]
        new = self._reached(made)
        failing = [Attempt(trace, judged).failing for trace, judged in zip(answers, judgements, strict=True)]
        looked = [lane for lane, fails in enumerate(failing) if fails and self._looks(answers[lane], judgements[lane])]
        for lane in looked:
            self.tell(Failing(made.data, made.way, lane, history))
        worthwhile = new or (not any(failing) and self._remarkable(answers, judgements))
        if worthwhile and not looked:
            self.tell(Worthwhile(made.data, made.way))
        elif not looked:
            self._count(made, answers[0], judgements[0], any(failing))
        self._finish(answers)

    def _reached(self, made: Made) -> bool:
        """Whether a program reached something new."""
        states = self._watching.take() - self._states
        edges = self._embedded is not None and self._embedded.counters.take()
        self._states |= states
        if states or edges:
            self._source.reward(made)
        return bool(states or edges)

    def _looks(self, trace: Trace, judgement: Judgement) -> bool:
        """Whether failures of this kind are still looked into."""
        root = root_of(judgement, trace, ())
        self._roots[root] += 1
        return self._roots[root] <= LOOKS

    def _remarkable(self, answers: list[Trace], judgements: list[Judgement]) -> bool:
        """Whether a note, an answer at an open point or a difference of two backends is the first of its kind."""
        found: set[tuple[Any, ...]] = set()
        for judgement in judgements[:1]:
            found |= {("note", note.clause, note.function) for note in judgement.notes}
            found |= {("observation", seen.clause, seen.answer) for seen in judgement.observations}
        for number, (trace, judgement) in enumerate(zip(answers[1:], judgements[1:], strict=True)):
            found.add(("divergence", number, divergence(answers[0], judgements[0], trace, judgement)))
        new = found - self._told
        self._told |= new
        return any(each[-1] is not None for each in new)

    def _count(self, made: Made, trace: Trace, judgement: Judgement, failing: bool) -> None:
        unjudged = judgement.verdict in (Verdict.NOT_RUN, Verdict.ERROR)
        more = (1, calls(trace, steps(made.program)), judgement.verdict is Verdict.INCONCLUSIVE, unjudged, failing)
        self._counts = [count + add for count, add in zip(self._counts, more, strict=True)]

    def _finish(self, answers: list[Trace]) -> None:
        self._judged += 1
        tidy()
        if self._assignment.runs and self._judged >= self._assignment.runs:
            self._leave(DONE)
        last = answers[0].records[-1] if answers[0].records else None
        if isinstance(last, LiveRecord) and last.objects > self._assignment.room:
            self._leave(RENEW)

    def _speak(self) -> None:
        self._spoke = time.monotonic()
        programs, called, inconclusive, unjudged, repeated = self._counts
        self.tell(Progress(programs, called, inconclusive, unjudged, repeated))
        self._counts = [0] * 5

    def _leave(self, status: int) -> None:
        self._speak()
        self._running.close()
        os._exit(status)

    def _guarded(self, work: Callable[[], bytes]) -> bytes:
        """A fault of the suite is told and ends the process; the engine would take it for one of the library."""
        try:
            return work()
        except Exception:
            self.tell(Broken(traceback.format_exc(limit=-3).strip().replace("\n", "; ")))
            os._exit(1)


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()
