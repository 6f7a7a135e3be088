"""Minimising: the shortest program, with the plainest values, that still shows what a longer one has shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.patterns import resized
from acl_cts.fuzz.renaming import counted_by
from acl_cts.specs.program import (
    Call,
    Fill,
    Int,
    Literal,
    Parallel,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Statement,
    Steady,
    UntilSame,
    Value,
    When,
    Write,
    walk,
)
from acl_cts.specs.program_bytes import encode_program
from acl_cts.specs.program_rules import THREADS

Body = tuple[Statement, ...]
Same = Callable[[Program], bool]


@dataclass(slots=True)
class Minimiser:
    """Shrinks programs. `mender` keeps what is tried free of undefined calls; `same` executes a program and tells
    whether it still shows the same; `budget`: executions that are left."""

    mender: Mutator
    same: Same
    budget: int
    _tried: set[bytes] = field(default_factory=set)

    def minimise(self, program: Program) -> Program:
        """The smallest program found. Each step on the way to it showed the same."""
        best = program
        while self.budget > 0:
            before = best
            best = self._fewer(best)
            best = self._open(best)
            best = self._each(best, _plainer)
            best = self._each(best, _retargeted)
            if best == before:
                break
        return best

    def _holds(self, body: Body) -> Program | None:
        """The program with this body, mended, when it is new and shows the same."""
        candidate = self.mender.mend(Program(body))
        key = encode_program(candidate)
        if key in self._tried or not candidate.body or self.budget <= 0:
            return None
        self._tried.add(key)
        self.budget -= 1
        return candidate if self.same(candidate) else None

    def _fewer(self, best: Program) -> Program:
        """Leave out stretches of statements, long ones first."""
        length = max(1, len(best.body) // 2)
        while True:
            place = 0
            while place < len(best.body) and self.budget > 0:
                made = self._holds(best.body[:place] + best.body[place + length :])
                if made is not None and len(made.body) < len(best.body):
                    best = made
                else:
                    place += length
            if length == 1:
                return best
            length //= 2

    def _open(self, best: Program) -> Program:
        """Put what a block does once in its place."""
        place = 0
        while place < len(best.body) and self.budget > 0:
            inner = _inner(best.body[place])
            made = self._holds((*best.body[:place], *inner, *best.body[place + 1 :])) if inner else None
            if made is not None and len(list(walk(made.body))) < len(list(walk(best.body))):
                best = made
            else:
                place += 1
        return best

    def _each(self, best: Program, simpler: Callable[[Statement, Body], Iterator[Statement]]) -> Program:
        """Replace statements, one at a time, by the first simpler one that shows the same."""
        place = 0
        while place < len(best.body) and self.budget > 0:
            for other in simpler(best.body[place], best.body[:place]):
                made = self._holds((*best.body[:place], other, *best.body[place + 1 :]))
                if made is not None and len(made.body) == len(best.body):
                    best = made
                    break
            else:
                place += 1
        return best


def _inner(statement: Statement) -> Body:
    """What a block comes to that is executed once at most, nothing for others."""
    match statement:
        case Repeat(count=1, loop=loop, body=body):
            return tuple(counted_by(inner, loop, None) for inner in body)
        case When(body=body):
            return body
    return ()


def _plainer(statement: Statement, before: Body) -> Iterator[Statement]:
    """The statement with one value nearer to nothing, the plainest first."""
    match statement:
        case Call():
            for place, (name, value) in enumerate(statement.args):
                for other in _lower(value):
                    args = (*statement.args[:place], (name, other), *statement.args[place + 1 :])
                    yield replace(statement, args=args)
        case Repeat(count=count, body=body):
            yield from (replace(statement, count=other) for other in _numbers(count) if other > 0)
            yield from (replace(statement, body=simpler) for simpler in _less(body, before))
        case Steady(body=body):
            yield from (replace(statement, body=simpler) for simpler in _less(body, before))
        case Parallel(branches=branches):
            for number, branch in enumerate(branches):
                others = branches[:number], branches[number + 1 :]
                if len(branches) > THREADS[0]:
                    yield Parallel((*others[0], *others[1]))
                yield from (Parallel((*others[0], simpler, *others[1])) for simpler in _less(branch, before))
        case UntilSame(at_most=most):
            yield from (replace(statement, at_most=other) for other in _numbers(most) if other > 0)
        case Read(offset=offset, length=length):
            yield from (replace(statement, offset=other) for other in _numbers(offset))
            yield from (replace(statement, length=other) for other in _numbers(length))
        case Write(offset=offset, data=data):
            yield from (replace(statement, offset=other) for other in _numbers(offset))
            yield from (replace(statement, data=resized(data, other)) for other in _numbers(data.length))


def _less(body: Body, before: Body) -> Iterator[Body]:
    """What a block holds without one statement, as long as another one is left, or with one that is plainer."""
    for place, inner in enumerate(body):
        if len(body) > 1:
            yield (*body[:place], *body[place + 1 :])
        for simpler in _plainer(inner, (*before, *body[:place])):
            yield (*body[:place], simpler, *body[place + 1 :])


def _lower(value: Value) -> Iterator[Value]:
    match value:
        case Int(value=number, loop=None):
            yield from (Int(other) for other in _numbers(number))
        case Fill(length=length) | Ramp(length=length) | Literal(length=length):
            yield from (resized(value, other) for other in _numbers(length) if other > 0)


def _numbers(number: int) -> Iterator[int]:
    """Numbers that are nearer to zero: the smallest, then in steps towards `number`."""
    if number <= 0:
        return
    yield 0
    if number > 1:
        yield 1
    step = number // 2
    while step > 0:
        if number - step > 1:
            yield number - step
        step //= 2


def _retargeted(statement: Statement, before: Body) -> Iterator[Statement]:
    """A call on a handle that was made earlier."""
    if not isinstance(statement, Call):
        return
    makers = _targets(before)
    for place, (name, value) in enumerate(statement.args):
        if isinstance(value, Ref) and value.field is None and value.index is None:
            for other in makers:
                if other == value.name:
                    break
                args = (*statement.args[:place], (name, Ref(other)), *statement.args[place + 1 :])
                yield replace(statement, args=args)


def _targets(body: Body) -> list[str]:
    """Names of single handles and outputs, in the order of their making."""
    names: dict[str, None] = {}
    for statement in body:
        if isinstance(statement, Call) and statement.target is not None and statement.target.index is None:
            names[statement.target.name] = None
    return list(names)
