"""The worker behind a session, with its memory: which programs it has executed since it was started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from acl_cts.backends.backend import Session
from acl_cts.specs.program import Call, Program, Repeat, Statement, UntilSame, children
from acl_cts.specs.trace import End, Trace

LEFTOVERS = 200
"""Programs that leave objects behind, after which the worker is replaced."""

DEADLY = frozenset({End.CRASH, End.EXIT, End.TIMEOUT, End.RACE})
"""Endings after which the worker is gone."""


@dataclass(frozen=True, slots=True)
class Executed:
    """One program of a worker's history, with the id of its case."""

    id: str
    program: Program


@dataclass(slots=True)
class Worker:
    """Runs programs on one session and remembers them.

    `floor`: live objects at which a library may begin to refuse more, those that earlier programs left included.
    """

    session: Session
    floor: int
    _history: list[Executed] = field(default_factory=list)
    _startups: int = 0
    _leftovers: int = 0
    _left: int = 0
    _past: list[Executed] = field(default_factory=list)
    _before: int = 0

    @property
    def past(self) -> Sequence[Executed]:
        """What the same worker had executed before the last program."""
        return tuple(self._past[: self._before])

    def run(self, id: str, program: Program, *, solo: bool = False, leaves: int = 0) -> Trace:
        """Execute `program`. Raises HarnessError or BackendError from the session."""
        if solo:
            self._past, self._before = [], 0
            return self.session.run(program, solo=True)
        if self._leftovers >= LEFTOVERS or (self._left and self._left + makes(program.body) > self.floor):
            self.restart()
        trace = self.session.run(program)
        died = trace.ending.kind in DEADLY
        if self.session.startups != self._startups and not died:
            self._forget()
        self._startups = self.session.startups
        self._before = len(self._history)
        self._past = self._history
        self._history.append(Executed(id, program))
        self._leftovers += bool(leaves)
        self._left += leaves
        if died:
            self._forget()
        return trace

    def starting(self) -> float:
        """Seconds that a new worker takes to its first answer."""
        self.restart()
        before = time.monotonic()
        self.session.run(Program(()))
        return time.monotonic() - before

    def restart(self) -> None:
        """Replace the worker by a new one."""
        self.session.restart()
        self._forget()

    def _forget(self) -> None:
        self._history, self._leftovers, self._left = [], 0, 0


def makes(statements: Sequence[Statement]) -> int:
    """How many objects `statements` make at most."""
    count = 0
    for statement in statements:
        if isinstance(statement, Call):
            count += statement.target is not None
        elif isinstance(statement, UntilSame):
            count += statement.at_most
        else:
            times = statement.count if isinstance(statement, Repeat) else 1
            count += times * makes(children(statement))
    return count
