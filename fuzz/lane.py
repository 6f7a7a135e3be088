"""Lanes: one backend in a campaign, with its worker's history and the triage of what fails on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.culprit import culprit
from acl_cts.conformance.setting import setting_of
from acl_cts.fuzz.bucket import Bucket
from acl_cts.fuzz.findings import Finding
from acl_cts.fuzz.minimise import Minimiser
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.target import Answer, Target, sanitized
from acl_cts.fuzz.triage import LOOKS, Triage
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Live, Program
from acl_cts.specs.trace import Capability, End, LiveRecord

LIFE = 2000
"""Programs that one worker executes: the history through which a failure is looked for when it needs one."""

SHORT_LIFE = 240
"""The same where nobody can count what programs leave behind."""

LEAKS_EVERY = 480
"""Programs after which lost memory is looked for, where that can be."""

LEAK_BUDGET = 150
"""Executions, each in a new worker, that may be spent on making a program short that loses memory."""

DEADLY = frozenset({End.CRASH, End.EXIT, End.TIMEOUT})
"""Endings after which the worker is gone."""


def flavoured(name: str, options: Options) -> Options:
    """The options with which a campaign opens the backend `name`: so that its library tells as much as it can."""
    base, _, variant = name.partition(":")
    if base == "simulator":
        return replace(options, library="")
    built = base == "core" and not options.library
    if not variant and (built or (base in ("core", "acl") and sanitized(options.library))):
        return replace(options, flavour="cover")
    return options


@dataclass(slots=True)
class Lane:
    """A target, and what its worker has executed since it was started. `room`: live objects that earlier programs may
    have left, where that is counted."""

    target: Target
    triage: Triage
    room: int
    _history: list[Program] = field(default_factory=list)
    _left: int = 0
    _leaks: int = 0

    def run(self, programs: Sequence[Program]) -> list[tuple[Answer, tuple[Program, ...]]]:
        """Each program's answer, with what the same worker had executed before it."""
        counted = Capability.LIVE_COUNT in self.target.session.capabilities
        life = LIFE if counted else SHORT_LIFE
        if len(self._history) + len(programs) > life or self._left > self.room:
            self.renew()
        answers = self.target.run(programs)
        found = []
        for program, answer in zip(programs, answers, strict=True):
            failing = answer.trace.ending.kind in DEADLY
            found.append((answer, tuple(self._history)))
            self._history.append(program)
            if failing:
                self._history, self._left = [], 0
            else:
                self._count(answer)
        return found

    def watch(self, program: Program) -> Answer:
        """The answer to `program`, which is watched for lost memory where that can be."""
        self.renew()
        return self.target.run_watched(program) if self.target.watches_leaks else self.target.run((program,))[0]

    def leaking(self) -> tuple[Program, Answer] | None:
        """Now and then, and before a worker goes that too much was left in: the program that lost memory since this was
        asked last, and its answer, if there is one."""
        due = len(self._history) >= LEAKS_EVERY or self._left > self.room
        if not due or not self.target.watches_leaks or self._leaks >= LOOKS:
            return None
        history = tuple(self._history)
        lost = self.target.lost()
        found: tuple[Program, Answer] | None = None
        if lost:
            self._leaks += 1
            seen = self.target.seen
            found = self._leak_in(history)
            self.target.recall(seen)
        self.renew()
        return found

    def _leak_in(self, history: Sequence[Program]) -> tuple[Program, Answer] | None:
        """A short program between two counts of what is live: only there a loss can be judged."""
        guilty = culprit(history, self._loses)
        if not guilty:
            return None
        mender = self.triage.mender
        short = Minimiser(mender, lambda program: self._loses((program,)), LEAK_BUDGET).minimise(guilty[-1])
        program = mender.mend(Program((Live(), *(s for s in short.body if s != Live()))))
        return program, self.target.run_alone(program, leaks=True)

    def _loses(self, programs: Sequence[Program]) -> bool:
        self.target.session.restart()
        self.target.run(programs)
        return self.target.lost()

    def renew(self) -> None:
        """A new worker for what comes next."""
        self.target.session.restart()
        self._history, self._left = [], 0

    def look(self, program: Program, answer: Answer, attempt: Attempt, history: Sequence[Program]) -> Finding | None:
        """The finding that a failing program leads to; afterwards the worker is a new one."""
        seen = self.target.seen
        found = self.triage.look(program, answer, attempt, history)
        # What looking into it has reached is no part of the corpus.
        self.target.recall(seen)
        self._history, self._left = [], 0
        return found

    def _count(self, answer: Answer) -> None:
        last = answer.trace.records[-1] if answer.trace.records else None
        if isinstance(last, LiveRecord):
            self._left = last.objects


def open_lane(
    stack: ExitStack,
    spec: Spec,
    name: str,
    options: Options,
    buckets: set[Bucket],
    stop: Callable[[], bool],
) -> Lane:
    """Open the backend `name` for a campaign. Raises BackendError or HarnessError, also when the coverage of its
    library does not arrive."""
    options = flavoured(name, options)
    session = stack.enter_context(open_backend(name, options))
    target = Target(name, session)
    target.connect(spec)
    mender = Mutator(spec, session.capabilities, 0, without=session.missing)
    triage = Triage(spec, target, setting_of(name, session.identity, options), mender, buckets, stop)
    target.recall()
    return Lane(target, triage, spec.floor.live_objects // 2)
