"""A campaign: one process that makes programs, executes and judges them, keeps what is new, and looks into failures."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from acl_cts.backends.native.session import NativeSession
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.garbage import tidy
from acl_cts.conformance.trial import calls
from acl_cts.fuzz.bucket import Bucket, root_of
from acl_cts.fuzz.corpus import Corpus
from acl_cts.fuzz.deadly import Deadly
from acl_cts.fuzz.divergence import divergence
from acl_cts.fuzz.figures import Figures
from acl_cts.fuzz.findings import FOLDER, known, store
from acl_cts.fuzz.lane import DEADLY, Lane, open_lane
from acl_cts.fuzz.model_states import Feature, ModelStates
from acl_cts.fuzz.patrol import Patrol, open_patrol
from acl_cts.fuzz.plan import CampaignPlan, Event
from acl_cts.fuzz.running import Running, interrupted
from acl_cts.fuzz.scout import BROKEN, LOST, Scouted, ScoutLostError
from acl_cts.fuzz.scout import DEADLY as FATAL
from acl_cts.fuzz.seeds import Seeds
from acl_cts.fuzz.source import Made, Source
from acl_cts.fuzz.target import Answer
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program, steps
from acl_cts.specs.program_text import format_program
from acl_cts.specs.trace import Capability

BATCH = 48
"""Programs of one command."""

TOLD_EVERY = 1.0
"""Seconds between two events that tell how things stand."""

CHANCE = frozenset({Capability.THREAD_SAFE, Capability.MEMORY})
"""Abilities that programs use which do not reach the same at every time: how threads meet, how long memory moves."""

CLOSER = frozenset({BROKEN, FATAL, LOST})
"""What a scout tells of that is looked into one by one."""

LOOK_AROUND = 5.0
"""Seconds after which a process looks for what the others have added."""


@dataclass(slots=True)
class Campaign:
    """`stopped`: asked between batches and while minimising; true ends the campaign in order."""

    plan: CampaignPlan
    stopped: Callable[[], bool] = lambda: False
    spec: Spec = field(init=False)
    corpus: Corpus = field(init=False)
    figures: Figures = field(default_factory=Figures)
    _started: float = 0.0
    _lanes: list[Lane] = field(default_factory=list)
    _patrols: list[Patrol] = field(default_factory=list)
    _no_patrol: str = ""
    _source: Source = field(init=False)
    _watching: ModelStates = field(default_factory=ModelStates)
    _states: set[Feature] = field(default_factory=set)
    _edges: set[int] = field(default_factory=set)
    _places: set[int] = field(default_factory=set)  # edges without how often each was passed
    _deadly: Deadly = field(default_factory=Deadly)
    _told: set[tuple[Any, ...]] = field(default_factory=set)
    _total: Any = field(default_factory=hashlib.sha256)
    _spoke: float = 0.0
    _looked: float = 0.0
    _given: int = 0
    _seeds: Seeds = field(init=False)

    def __post_init__(self) -> None:
        self.spec = load_spec(more=self.plan.options.tables)
        self.corpus = Corpus(self.plan.corpus, self.plan.quota)
        self._seeds = Seeds(self.plan.corpus, self.spec.digest, self.plan.job, self.plan.jobs)

    @property
    def workers(self) -> tuple[int, ...]:
        """The processes in which the libraries are now."""
        sessions = [lane.target.session for lane in self._lanes]
        pids = [session.pid for session in sessions if isinstance(session, NativeSession)]
        pids += [patrol.scout.pid for patrol in self._patrols]
        return tuple(pid for pid in pids if pid is not None)

    # ------------------------------------------------------------------------------------------ from start to end

    def run(self) -> Iterator[Event]:
        """Do it; every event as it happens. Raises BackendError, HarnessError or ReportError."""
        self._started = self._spoke = self._looked = time.monotonic()
        plan = self.plan
        self.corpus.open()
        left = interrupted(plan.corpus) if plan.job == 0 else []
        with ExitStack() as stack:
            self._open(stack)
            running = Running(plan.corpus / f"running-{plan.job}.bin")
            try:
                yield self._event("start", self._about(len(left)))
                yield from self._begin(left, running)
                yield from self._work(running)
            finally:
                running.close()
            yield self._event("end", {}, self._now())

    def _work(self, running: Running) -> Iterator[Event]:
        """Make programs and execute them, until it is time."""
        while not self._over():
            yield from self._scout(running)
            yield from self._some_seeds(running)
            batch = self._source.batch(self._size(), self._deadly.avoided(self.figures.programs))
            yield from self._round(batch, running)
            yield from self._look_around(running)

    def _open(self, stack: ExitStack) -> None:
        plan = self.plan
        buckets: set[Bucket] = {found.bucket for found in known(plan.corpus / FOLDER)}
        for name in plan.backends:
            self._lanes.append(open_lane(stack, self.spec, name, plan.options, buckets, self._ends))
        sessions = [lane.target.session for lane in self._lanes]
        capabilities = frozenset.intersection(*(session.capabilities for session in sessions))
        if plan.repeatable:
            capabilities -= CHANCE
        missing = frozenset[str]().union(*(session.missing for session in sessions))
        racing = any(isinstance(session, NativeSession) and session.setup.flavour == "tsan" for session in sessions)
        self._source = Source(self.spec, self.corpus, capabilities, missing, f"{plan.seed}/{plan.job}", racing)
        self._open_patrols(stack)

    def _open_patrols(self, stack: ExitStack) -> None:
        """A scout for each library. None where the number of programs is bounded, so that the run can be repeated: how
        far a scout gets is a question of time."""
        if self.plan.runs or not self.plan.scout:
            self._no_patrol = "a bound of programs is for those of the campaign" if self.plan.scout else "not asked for"
            return
        for number, lane in enumerate(self._lanes):
            opened = open_patrol(stack, self.spec, lane, f"{self.plan.seed}/{self.plan.job}/{number}")
            if isinstance(opened, Patrol):
                self._patrols.append(opened)
            else:
                self._no_patrol = opened

    def _begin(self, left: Sequence[Program], running: Running) -> Iterator[Event]:
        """What was at hand when an earlier campaign was killed, then the corpus, or seeds where there is none."""
        terms, folder = self._source.terms, self.plan.corpus
        mending = not terms.hold(folder)
        yield from self._take("interrupted", left, running, mending)
        yield from self._take("corpus", self.corpus.unread(self.spec.interface), running, mending)
        terms.note(folder)
        if not self.plan.empty:
            self._seeds.begin(self._source.seeds())
        for patrol in self._patrols:
            patrol.scout.give(entry.program for entry in self.corpus.entries)
        loaded = {"damaged": self.corpus.damaged[:20], "whole": not self._ends()}
        yield self._event("loaded", loaded, self._now())

    def _some_seeds(self, running: Running) -> Iterator[Event]:
        """A few conformance cases, as long as there are some that were not taken: they do not hold up all else."""
        programs = self._seeds.next(BATCH)
        if programs:
            yield from self._take("seed", programs, running, mending=True)
            self._seeds.took(len(programs))

    def _take(self, way: str, programs: Iterable[Program], running: Running, mending: bool = False) -> Iterator[Event]:
        """Execute programs from elsewhere; see `Source.given`."""
        made = self._source.given(programs, way, mending)
        while batch := list(islice(made, BATCH)):
            if self._ends():
                return
            self._given += len(batch) if way != "import" else 0
            yield from self._round(batch, running)

    def _look_around(self, running: Running) -> Iterator[Event]:
        """What other processes have added, now and then."""
        if self.plan.jobs > 1 and time.monotonic() - self._looked > LOOK_AROUND:
            self._looked = time.monotonic()
            yield from self._take("import", self.corpus.unread(self.spec.interface), running)

    def _size(self) -> int:
        runs = self.plan.runs
        return min(BATCH, runs - self._made) if runs else BATCH

    @property
    def _made(self) -> int:
        """Programs that were made here: those of the corpus and seeds are not bounded by a number of runs."""
        return self.figures.programs - self._given

    def _over(self) -> bool:
        return bool(self.plan.runs and self._made >= self.plan.runs) or self._ends()

    def _ends(self) -> bool:
        deadline = self.plan.deadline
        return self.stopped() or (deadline is not None and time.monotonic() >= deadline)

    # ------------------------------------------------------------------------------------------------------- scouts

    def _scout(self, running: Running) -> Iterator[Event]:
        """Let the scouts go on, and look into what they turn up. One that does not start any more is left out."""
        for patrol in tuple(self._patrols):
            try:
                yield from self._patrol(patrol, running)
            except ScoutLostError as error:
                self._patrols.remove(patrol)
                yield self._event("no_scout", {"backend": patrol.lane.target.name, "reason": str(error)})

    def _patrol(self, patrol: Patrol, running: Running) -> Iterator[Event]:
        scout = patrol.scout
        before, called = scout.programs, scout.calls
        for found in patrol.go(self._deadly.avoided(self.figures.programs), self._ends):
            self.figures = replace(
                self.figures,
                scouted=self.figures.scouted + scout.programs - before,
                scouted_calls=self.figures.scouted_calls + scout.calls - called,
            )
            before, called = scout.programs, scout.calls
            yield from self._turned_up(patrol.lane, found, running)

    def _turned_up(self, lane: Lane, found: Sequence[Scouted], running: Running) -> Iterator[Event]:
        for each in found:
            if each.kind in CLOSER and not self._ends():
                yield from self._look_into(lane, each, running)
        plain = (each.program for each in found if each.kind not in CLOSER)
        yield from self._take("scout", plain, running, mending=True)

    def _look_into(self, lane: Lane, scouted: Scouted, running: Running) -> Iterator[Event]:
        """Execute and judge a program of a scout, as any other one."""
        before = lane.triage.sightings.total()
        for program in (scouted.program, *scouted.others):
            if lane.triage.sightings.total() > before:
                break
            for made in self._source.given((program,), f"scout/{scouted.kind}", mending=True):
                if scouted.kind == LOST:
                    yield from self._lost(lane, made)
                else:
                    yield from self._round([made], running)
        if scouted.kind == BROKEN and lane.triage.sightings.total() == before:
            self.figures = replace(self.figures, unconfirmed=self.figures.unconfirmed + 1)
            yield self._event("unconfirmed", {"clause": scouted.clause, "program": format_program(scouted.program)})

    def _lost(self, lane: Lane, made: Made) -> Iterator[Event]:
        """A program that may lose memory, watched for that."""
        answer = lane.watch(made.program)
        yield from self._failure(lane, made.program, answer, judge(self.spec, made.program, answer.trace), ())

    # --------------------------------------------------------------------------------------------------- one batch

    def _round(self, batch: Sequence[Made], running: Running) -> Iterator[Event]:
        """Execute and judge one batch."""
        running.note([made.data for made in batch])
        programs = [made.program for made in batch]
        first, *others = [lane.run(programs) for lane in self._lanes]
        for place, made in enumerate(batch):
            answer, history = first[place]
            judgement = judge(self.spec, made.program, answer.trace, self._watching.watch)
            yield from self._weigh(made, answer, judgement)
            yield from self._failure(self._lanes[0], made.program, answer, judgement, history)
            for lane, answers in zip(self._lanes[1:], others, strict=True):
                yield from self._compared(lane, made.program, (answer, judgement), *answers[place])
        for lane in self._lanes:
            yield from self._leak(lane)
        tidy()
        if time.monotonic() - self._spoke > TOLD_EVERY:
            self._spoke = time.monotonic()
            yield self._event("figures", {}, self._now())

    def _weigh(self, made: Made, answer: Answer, judgement: Judgement) -> Iterator[Event]:
        """Count a program, and keep it when it reached something new and ended in order."""
        trace, figures = answer.trace, self.figures
        ended = trace.ending.kind in DEADLY
        self._total.update(made.data + judgement.verdict.encode())
        self._deadly.charge(trace.ending)
        states = self._watching.take() - self._states
        edges = [edge for edge in answer.reached.new if edge not in self._edges]
        self.figures = replace(
            figures,
            programs=figures.programs + 1,
            calls=figures.calls + calls(trace, steps(made.program)),
            crashes=figures.crashes + ended,
            inconclusive=figures.inconclusive + (judgement.verdict is Verdict.INCONCLUSIVE),
            unjudged=figures.unjudged + (judgement.verdict in (Verdict.NOT_RUN, Verdict.ERROR)),
        )
        leading = any(edge >> 8 not in self._places for edge in edges)
        self._states |= states
        self._edges.update(edges)
        self._places.update(edge >> 8 for edge in edges)
        if (states or edges) and not ended:
            self.corpus.add(made.program, len(trace.records), leading)
            self._source.reward(made)
            self.figures = replace(self.figures, last_new=time.monotonic() - self._started)
        yield from self._said(made.program, judgement)

    def _said(self, program: Program, judgement: Judgement) -> Iterator[Event]:
        """Notes, and answers at open points, each once."""
        for note in judgement.notes:
            if self._first("note", note.clause, note.function):
                self.figures = replace(self.figures, notes=self.figures.notes + 1)
                said = {"clause": note.clause, "function": note.function, "observed": note.observed}
                yield self._event("note", {**said, "program": format_program(program)})
        for seen in judgement.observations:
            if self._first("observation", seen.clause, seen.answer):
                yield self._event("observation", {"clause": seen.clause, "answer": seen.answer})

    def _failure(
        self, lane: Lane, program: Program, answer: Answer, judgement: Judgement, history: Sequence[Program]
    ) -> Iterator[Event]:
        attempt = Attempt(answer.trace, judgement)
        if not attempt.failing:
            return
        root = root_of(judgement, answer.trace, answer.frames)
        if self._first("failing", lane.target.name, root):
            yield self._event(
                "failing", {"backend": lane.target.name, "clause": root.clause, "function": root.function}
            )
        found = lane.look(program, answer, attempt, history)
        place = None if found is None else store(self.plan.corpus / FOLDER, found, self.spec)
        if found is None or place is None:
            self.figures = replace(self.figures, repeated=self.figures.repeated + 1)
            return
        self.figures = replace(self.figures, findings=self.figures.findings + 1)
        said = {"name": found.bucket.name, "summary": found.headline, "folder": str(place)}
        yield self._event("finding", {**found.bucket.to_json(), **said})

    def _leak(self, lane: Lane) -> Iterator[Event]:
        """Memory that was lost without any count telling of it."""
        found = lane.leaking()
        if found is not None:
            program, answer = found
            yield from self._failure(lane, program, answer, judge(self.spec, program, answer.trace), ())

    def _compared(
        self,
        lane: Lane,
        program: Program,
        mine: tuple[Answer, Judgement],
        answer: Answer,
        history: Sequence[Program],
    ) -> Iterator[Event]:
        """Judge another backend's answer to the same program, and tell where the two differ although both conform."""
        judgement = judge(self.spec, program, answer.trace)
        yield from self._failure(lane, program, answer, judgement, history)
        if Attempt(answer.trace, judgement).failing or Attempt(mine[0].trace, mine[1]).failing:
            return
        found = divergence(mine[0].trace, mine[1], answer.trace, judgement)
        if found is None or not self._first("divergence", lane.target.name, found):
            return
        self.figures = replace(self.figures, divergences=self.figures.divergences + 1)
        said = {"clause": found.clause, "function": found.function, "what": found.what}
        answers = {self._lanes[0].target.name: found.one, lane.target.name: found.other}
        yield self._event("divergence", {**said, "answers": answers, "program": format_program(program)})

    # -------------------------------------------------------------------------------------------------------- telling

    def _first(self, *what: Any) -> bool:
        if what in self._told:
            return False
        self._told.add(what)
        return True

    def _now(self) -> Figures:
        """How things stand."""
        self.figures = replace(
            self.figures,
            seconds=time.monotonic() - self._started,
            edges=len(self._places),
            states=len(self._states),
            corpus=len(self.corpus.entries),
            seeds_left=self._seeds.left,
            fingerprint=self._total.hexdigest()[:16],
        )
        return self.figures

    def _about(self, left: int) -> dict[str, Any]:
        lanes = [
            {"backend": lane.target.name, "library": lane.triage.setting.library, "edges": lane.target.counted}
            for lane in self._lanes
        ]
        plan = self.plan
        return {
            "tables": self.spec.digest,
            "backends": lanes,
            "engine": plan.engine,
            "seed": plan.seed,
            "runs": plan.runs,
            "left": left,
            "scouts": len(self._patrols),
            "no_scout": self._no_patrol,
        }

    def _event(self, kind: str, data: dict[str, Any], figures: Figures | None = None) -> Event:
        return Event(kind, self.plan.job, data if figures is None else data | figures.to_json(), figures)
