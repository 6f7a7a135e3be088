"""A campaign whose programs atheris makes and judges, in a child; what it tells of is executed and judged here again.

So a corpus, a finding and a line of the log are the same whichever engine ran, and the child may die of anything.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acl_cts.backends.backend import BackendError, HarnessError
from acl_cts.backends.native.clang import find_clang
from acl_cts.backends.native.counters import counts
from acl_cts.backends.native.embedded import Embedding, build_embedded, build_native_core
from acl_cts.conformance.attempt import Attempt
from acl_cts.fuzz.atheris_child import GOING, Child, Lost, Runtime, executed, find_runtime
from acl_cts.fuzz.campaign import LOOK_AROUND, TOLD_EVERY, Campaign
from acl_cts.fuzz.inprocess import (
    DONE,
    RENEW,
    Assignment,
    Blind,
    Broken,
    Failing,
    Gone,
    Message,
    Mutating,
    Progress,
    Ready,
    Worthwhile,
)
from acl_cts.fuzz.lane import LIFE
from acl_cts.fuzz.plan import CampaignPlan, Event
from acl_cts.fuzz.running import Running
from acl_cts.fuzz.source import Made
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_bytes import decode_program, encode_program
from acl_cts.specs.program_text import format_program

INSIDE = "running-{}-inside.bin"
"""What the child of a process is executing; see `running`."""

TICK = 0.2
"""Seconds between two looks at a child that tells nothing."""

ROOM = 1 << 17
"""Live objects that programs may leave in a child. Far above what a library must grant, as that is granted by the core;
a refusal because of them does not show again in a worker."""

SILENT = 60.0
"""Seconds without a word after which a child stands still wherever it is: it speaks once a second, unless a program
takes longer to judge."""

PATIENCE = 0.1
"""Seconds to wait behind the first child that ended in vain; behind each further one twice as long."""

IN_VAIN = 7
"""Children in a row that may end before they have executed a program."""


def served(plan: CampaignPlan) -> bool:
    """Whether atheris takes these backends: simulators, and one core as it is built by itself."""
    names = [name.partition(":")[0] for name in plan.backends]
    return set(names) <= {"core", "simulator"} and names.count("core") <= 1 and "core:" not in " ".join(plan.backends)


def embedding_of(plan: CampaignPlan) -> Embedding | None:
    """What a child loads for this plan. Raises BackendError when atheris cannot serve it here, HarnessError when
    something does not compile."""
    if not served(plan):
        raise BackendError(f"--engine atheris: takes core and simulator, not {', '.join(plan.backends)}")
    find_runtime()
    if "core" not in plan.backends:
        return None
    clang, options = find_clang(), plan.options
    library = Path(options.library).resolve() if options.library else build_native_core(clang)
    if not library.is_file() or not counts(library):
        raise BackendError(
            f"--engine atheris: {library} has no inline counters; build it with clang -fsanitize=fuzzer-no-link,address"
        )
    executor = build_embedded(load_spec(more=options.tables).interface, clang)
    return Embedding(executor, library, options.device, options.data_access)


@dataclass(slots=True)
class AtherisCampaign(Campaign):
    """As `Campaign`, with children of atheris as the source of programs."""

    _runtime: Runtime = field(default_factory=find_runtime)
    _embedding: Embedding | None = None
    _children: int = 0
    _counters: str = ""
    _fatal: set[bytes] = field(default_factory=set)
    _told_at: float = 0.0
    _hung: bool = False

    def _work(self, running: Running) -> Iterator[Event]:
        self._embedding = embedding_of(self.plan)
        child, in_vain = self._child(), 0
        try:
            while not self._over():
                before = self.figures.programs
                with tempfile.TemporaryDirectory(prefix="acl-cts-atheris-", ignore_cleanup_errors=True) as folder:
                    try:
                        lost = yield from self._one_process(child, Path(folder), running)
                    finally:
                        settled = child.settle()  # it writes into that folder
                in_vain = 0 if self.figures.programs > before else in_vain + 1
                time.sleep(PATIENCE * (2**in_vain - 1))  # somebody may be ending processes, as where memory is short
                if in_vain == IN_VAIN or (lost and not child.started and not child.killed):
                    raise child.problem()
                if lost or not settled:
                    child.close()
                    child = self._child()
        finally:
            child.close()
            (self.plan.corpus / INSIDE.format(self.plan.job)).unlink(missing_ok=True)

    def _child(self) -> Child:
        simulator = any(name.startswith("simulator") for name in self.plan.backends)
        return Child(self._runtime, self.plan.options.tables, simulator)

    def _one_process(self, child: Child, folder: Path, running: Running) -> Generator[Event, None, bool]:
        """One process and everything that comes of it; whether the child that forked it went along."""
        try:
            child.give(self._assignment(folder))
            yield from self._watch(child, folder, running)
        except Lost:
            yield from self._ended(-signal.SIGKILL, folder, running)
            return True
        return False

    def _assignment(self, folder: Path) -> Assignment:
        units = folder / "units"
        units.mkdir()
        for number, entry in enumerate(self.corpus.entries):
            (units / f"{number:06}").write_bytes(encode_program(entry.program))
        plan = self.plan
        self._children += 1
        return Assignment(
            backends=plan.backends,
            embedding=self._embedding,
            tables=plan.options.tables,
            units=units,
            seed=f"{plan.seed}/{plan.job}/{self._children}",
            runs=max(1, plan.runs - self.figures.programs) if plan.runs else 0,
            avoided=self._deadly.avoided(self.figures.programs),
            fatal=frozenset(self._fatal),
            states=frozenset(self._states),
            running=plan.corpus / INSIDE.format(plan.job),
            history=folder / "history.bin",
            room=ROOM,
            number=((plan.seed * 1000 + plan.job) * 1000 + self._children) % (1 << 31) or 1,
            memory=-1,
            shared=plan.jobs > 1,
        )

    # ---------------------------------------------------------------------------------------------------- one process

    def _watch(self, child: Child, folder: Path, running: Running) -> Iterator[Event]:
        """Everything that comes of one process, until it ends or time is up."""
        progress, stood, silent = None, 0.0, 0.0
        while not self._over():
            message = child.receive(TICK)
            if isinstance(message, Gone):
                yield from self._ended(message.status, folder, running)
                return
            if message is not None:
                yield from self._take_in(message, child, running)
                stood = silent = 0.0
            else:
                now, longest = child.progress, self.plan.options.call_timeout
                stood = stood + TICK if now is not None and now == progress else 0.0
                progress, silent = now, silent + TICK
                over = max(stood - longest, silent - max(SILENT, longest))
                if over > GOING:
                    raise Lost  # killed, and nobody tells of it
                if over > 0:
                    self._hung = True
                    child.kill()
            child.capture.trim()
            yield from self._scout(running)
            yield from self._some_seeds(running)
            yield from self._tell(folder, running)

    def _tell(self, folder: Path, running: Running) -> Iterator[Event]:
        """How things stand, and what other processes have added, which the engine reads by itself."""
        if time.monotonic() - self._told_at > TOLD_EVERY:
            self._told_at = time.monotonic()
            yield self._event("figures", {}, self._now())
        if self.plan.jobs > 1 and time.monotonic() - self._looked > LOOK_AROUND:
            before = len(self.corpus.entries)
            yield from self._look_around(running)
            for number, entry in enumerate(self.corpus.entries[before:], before):
                (folder / "units" / f"{number:06}").write_bytes(encode_program(entry.program))

    def _take_in(self, message: Message, child: Child, running: Running) -> Iterator[Event]:
        if isinstance(message, Ready):
            self._check(message)
        elif isinstance(message, Mutating):
            self._check_log(child)
        elif isinstance(message, Blind):
            raise HarnessError("atheris never calls the mutator; use --engine worker")
        elif isinstance(message, Broken):
            raise HarnessError(f"in the process of atheris: {message.message}")
        elif isinstance(message, Progress):
            self._add(message)
        elif isinstance(message, Worthwhile):
            yield from self._round([self._remade(message.data, message.way)], running)
        elif isinstance(message, Failing):
            made = self._remade(message.data, message.way)
            yield from self._fails(made, message.lane, message.history, running, "failed")

    def _check(self, ready: Ready) -> None:
        """The gate: calls of the library must move the counters."""
        if self._embedding is not None and (not ready.touched or not ready.more):
            raise HarnessError(
                f"{self._embedding.library}: its coverage does not arrive (a first program entered {ready.touched} "
                f"blocks, others {ready.more} more); use --engine worker"
            )
        self._counters = ready.counters

    def _check_log(self, child: Child) -> None:
        """The second half of it: the engine must say that it has the mutator, and those very counters."""
        if not child.connected:
            raise HarnessError("atheris ignores the mutator: its hooks were not preloaded; use --engine worker")
        if not child.guided_by(self._counters):
            raise HarnessError("atheris is not guided by the library: its runtime has other counters")

    def _add(self, done: Progress) -> None:
        figures = self.figures
        self.figures = replace(
            figures,
            programs=figures.programs + done.programs,
            calls=figures.calls + done.calls,
            inconclusive=figures.inconclusive + done.inconclusive,
            unjudged=figures.unjudged + done.unjudged,
            repeated=figures.repeated + done.repeated,
        )

    # -------------------------------------------------------------------------------------------------------- failures

    def _remade(self, data: bytes, way: str) -> Made:
        return Made(decode_program(data), data, way)

    def _ended(self, status: int, folder: Path, running: Running) -> Iterator[Event]:
        """The process is gone: by itself, or because of the program that it was at."""
        history = [] if status in (RENEW, DONE) else list(executed(folder / "history.bin"))
        if history:
            if self._hung or status != -signal.SIGKILL:  # that program did nothing
                self._fatal.add(history[-1])
            how = "stood still" if self._hung else f"ended its process ({_status(status)})"
            yield from self._fails(self._remade(history[-1], "last"), 0, history[-1 - LIFE : -1], running, how)
        self._hung = False

    def _fails(self, made: Made, lane: int, history: Sequence[bytes], running: Running, how: str) -> Iterator[Event]:
        """Execute a program that failed in a child here, alone and, if that shows nothing, behind what was executed
        there before it. `how`: what it did there."""
        seat = self._lanes[lane]
        before = seat.triage.sightings.total()
        yield from self._round([made], running)
        if seat.triage.sightings.total() > before:
            return
        seat.renew()
        programs = [decode_program(data) for data in history]
        answer = seat.target.run((*programs, made.program))[-1]
        judgement = judge(self.spec, made.program, answer.trace)
        seat.renew()
        if Attempt(answer.trace, judgement).failing:
            yield from self._failure(seat, made.program, answer, judgement, programs)
        else:
            seat.triage.unconfirmed += 1
            self.figures = replace(self.figures, unconfirmed=self.figures.unconfirmed + 1)
            yield self._event("unconfirmed", {"engine": how, "program": format_program(made.program)})


def _status(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
