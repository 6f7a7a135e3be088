"""Triage: what failed once is confirmed, minimised, repeated and put into its bucket."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.culprit import culprit
from acl_cts.conformance.setting import Setting
from acl_cts.fuzz.bucket import Bucket, Root, root_of, state_of
from acl_cts.fuzz.capsules import holds
from acl_cts.fuzz.findings import Finding
from acl_cts.fuzz.joining import joined
from acl_cts.fuzz.minimise import Minimiser
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.target import Answer, Target
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Call, Parallel, Program, Repeat, Statement, Steady, UntilSame, When, walk
from acl_cts.specs.trace import End, MemoryRecord, Record, Trace

REPEATS = 10
"""Executions, each in a new worker, that tell how reliably a finding shows."""

GRACE = 5.0
"""Seconds of them that a campaign may go on for after its time."""

LOOKS = 6
"""Programs with one root that are minimised, to see whether they fall into different buckets; further ones are
counted."""

MEETINGS = 4
"""Executions after which threads that did not show a failure again are believed not to."""

BUDGET = {Verdict.CRASH: 400, Verdict.TIMEOUT: 40}
CAPSULE_BUDGET = 60
USUAL_BUDGET = 1200
"""Executions that minimising may take: where each costs a worker or a time-out, or is repeated, fewer."""


@dataclass(slots=True)
class Triage:
    """Findings of one target. `buckets`: those that are known already. `stop`: whether time is up; then what is at
    hand is taken as it is."""

    spec: Spec
    target: Target
    setting: Setting
    mender: Mutator
    buckets: set[Bucket]
    stop: Callable[[], bool] = lambda: False
    sightings: Counter[Root] = field(default_factory=Counter)
    unconfirmed: int = 0
    _seen: set[tuple[Root, str]] = field(default_factory=set)

    def look(self, program: Program, answer: Answer, attempt: Attempt, history: Sequence[Program]) -> Finding | None:
        """The finding that a failing program leads to, None for one that is known. `history`: what the same worker had
        executed before."""
        root = root_of(attempt.judgement, answer.trace, answer.frames)
        self.sightings[root] += 1
        if self.sightings[root] > LOOKS:
            return None
        state = state_of(self.spec, program, answer.trace, attempt.judgement)
        if (root, state) in self._seen:
            return None
        self._seen.add((root, state))
        if Bucket(self.target.name, root, state) in self.buckets:
            return None
        return self._finding(root, program, attempt, history)

    def _finding(self, root: Root, program: Program, attempt: Attempt, history: Sequence[Program]) -> Finding | None:
        before: tuple[Program, ...] = ()
        alone = self._meets(root, program) is not None
        if not alone:
            past = () if threaded(program) else history  # what was executed before would be blamed for chance
            found = culprit(past, lambda part: self._shows(root, program, part) is not None) if past else None
            if found is None and (attempt.judgement.verdict is Verdict.TIMEOUT or _killed(attempt)):
                self.unconfirmed += 1  # a slow machine, or one short of memory, looks the same
                return None
            before = tuple(found or ())
            whole = self._joined(root, (*before, program)) if before else None
            if whole is not None:
                program, before, alone = whole, (), True
        if alone and not self.stop():
            program = self._minimised(root, program, attempt)
            other = self._without_the_accused(root, program)
            if other is not None:
                root, program, attempt = other
                program = self._minimised(root, program, attempt)
        return self._repeated(root, program, attempt, before)

    def _joined(self, root: Root, programs: Sequence[Program]) -> Program | None:
        """One program that does what `programs` do, if that shows the same."""
        whole = self.mender.mend(joined(programs))
        return whole if self._meets(root, whole) is not None else None

    def _without_the_accused(self, root: Root, program: Program) -> tuple[Root, Program, Attempt] | None:
        """The same loss of memory without any call of the accused family, if it shows even so: a count of what lives
        does not tell whose it is."""
        functions = self.spec.functions
        if root.verdict != Verdict.LEAK or root.function not in functions:
            return None
        family = functions[root.function].family
        own = frozenset(name for name, function in functions.items() if function.family == family)
        rest = _without(program.body, own)
        candidate = self.mender.mend(Program(rest))
        if rest == program.body or not any(isinstance(s, Call) for s in walk(candidate.body)):
            return None
        answer = self.target.run_alone(candidate, leaks=True)
        attempt = Attempt(answer.trace, judge(self.spec, candidate, answer.trace))
        if attempt.judgement.verdict is not Verdict.LEAK:
            return None
        return root_of(attempt.judgement, answer.trace, answer.frames), candidate, attempt

    def _minimised(self, root: Root, program: Program, attempt: Attempt) -> Program:
        budget = BUDGET.get(attempt.judgement.verdict, USUAL_BUDGET)
        if any(map(holds, program.body)):
            budget = min(budget, CAPSULE_BUDGET)

        def same(candidate: Program) -> bool:
            if self.stop():
                return False
            watched = root.verdict == Verdict.LEAK and self.target.watches_leaks
            for _ in range(_tries(candidate)):
                answer = self.target.run_watched(candidate) if watched else self.target.run((candidate,))[0]
                if self._same(root, candidate, answer) is not None:
                    return True
            return False

        smaller = Minimiser(self.mender, same, budget).minimise(program)
        # What only showed because of what the worker had executed before is not a smaller program.
        return smaller if self._meets(root, smaller) is not None else program

    def _repeated(self, root: Root, program: Program, attempt: Attempt, before: tuple[Program, ...]) -> Finding | None:
        """The finding, with how often it shows: less often asked when time is up and each time takes long."""
        fails = repeats = 0
        answers: set[tuple[Record, ...]] = set()
        started = time.monotonic()
        while repeats < REPEATS and not (repeats and self.stop() and time.monotonic() - started > GRACE):
            again = self._shows(root, program, before)
            repeats += 1
            if again is not None:
                fails += 1
                attempt = again
                answers.add(_answered(again.trace))
        bucket = Bucket(self.target.name, root, state_of(self.spec, program, attempt.trace, attempt.judgement))
        if bucket in self.buckets:
            return None
        self.buckets.add(bucket)
        return Finding(bucket, program, attempt, self.setting, fails, repeats, before, len(answers) > 1)

    def _shows(self, root: Root, program: Program, before: Sequence[Program] = ()) -> Attempt | None:
        """What a new worker answers, if it has the same root."""
        leaks = root.verdict == Verdict.LEAK
        return self._same(root, program, self.target.run_alone(program, before, leaks=leaks))

    def _meets(self, root: Root, program: Program) -> Attempt | None:
        """As `_shows`; threads have several goes at it."""
        goes = (self._shows(root, program) for _ in range(_tries(program)))
        return next((attempt for attempt in goes if attempt is not None), None)

    def _same(self, root: Root, program: Program, answer: Answer) -> Attempt | None:
        attempt = Attempt(answer.trace, judge(self.spec, program, answer.trace))
        if not attempt.failing:
            return None
        found = root_of(attempt.judgement, answer.trace, answer.frames)
        if threaded(program):  # which of two calls that race is told of, is chance
            found = replace(found, function=root.function, frames=root.frames)
        return attempt if found == root else None


def _without(statements: tuple[Statement, ...], functions: frozenset[str]) -> tuple[Statement, ...]:
    """`statements` without calls of `functions`, in blocks too."""
    kept: list[Statement] = []
    for statement in statements:
        match statement:
            case Call(function=function) | UntilSame(call=Call(function=function)) if function in functions:
                continue
            case Repeat(body=body) | When(body=body) | Steady(body=body):
                body = _without(body, functions)
                if body:
                    kept.append(replace(statement, body=body))
            case Parallel(branches=branches):
                called = {s.function for branch in branches for s in walk(branch) if isinstance(s, Call)}
                if not called & functions:
                    kept.append(statement)
            case _:
                kept.append(statement)
    return tuple(kept)


def _answered(trace: Trace) -> tuple[Record, ...]:
    """What was answered but for measured memory."""
    return tuple(record for record in trace.records if not isinstance(record, MemoryRecord))


def _killed(attempt: Attempt) -> bool:
    """Whether the process went as one does that somebody ends."""
    return attempt.trace.ending.kind is End.CRASH and attempt.trace.ending.detail == "SIGKILL"


def threaded(program: Program) -> bool:
    """Whether there are threads in `program`, so that what it shows may be chance."""
    return any(isinstance(statement, Parallel) for statement in walk(program.body))


def _tries(program: Program) -> int:
    return MEETINGS if threaded(program) else 1
