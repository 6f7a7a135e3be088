"""Plans: a program with its statements numbered and its arguments matched with parameters, ready to be executed."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.backends.simulator.argument import Maker, makers, number
from acl_cts.backends.simulator.builtin import NUMBERS
from acl_cts.backends.simulator.function import FUNCTIONS, OUTPUTS, Function, Parameter, Role
from acl_cts.specs.program import (
    Call,
    Callback,
    Fill,
    Int,
    Invoke,
    Literal,
    Null,
    Object,
    Parallel,
    Ramp,
    Ref,
    Room,
    Statement,
    UntilSame,
    Value,
    children,
)
from acl_cts.specs.trace import End

MOST_CALLER_BYTES = 1 << 20
"""Most caller memory that one argument may take."""


class Refused(Exception):
    """A program cannot be executed. `kind`: unsupported, or error for one that makes no sense."""

    def __init__(self, kind: End, step: int, function: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.step = step
        self.function = function
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Node:
    """One statement under its step number. `makers`: of the arguments of a call, or of an invoked pointer."""

    step: int
    statement: Statement
    body: tuple[Node, ...] = ()
    function: Function | None = None
    makers: tuple[Maker, ...] = ()


def plan(statements: tuple[Statement, ...], first: int) -> tuple[tuple[Node, ...], int]:
    """Nodes of `statements`, numbered from `first` on, and the number after the last. Raises Refused."""
    nodes = []
    for statement in statements:
        step = first
        if isinstance(statement, Parallel):
            _check_threads(step, statement)
        body, first = plan(children(statement), step + 1)
        if isinstance(statement, Call):
            function = FUNCTIONS.get(statement.function)
            if function is None:
                raise Refused(End.UNSUPPORTED, step, statement.function, statement.function)
            _check(step, function, statement)
            nodes.append(Node(step, statement, body, function, makers(function, dict(statement.args))))
        elif isinstance(statement, Invoke):
            nodes.append(Node(step, statement, makers=_invoked(step, statement)))
        elif isinstance(statement, UntilSame) and statement.call.target is None:
            raise Refused(End.ERROR, step, "", "the call of 'until' has no array to fill")
        else:
            nodes.append(Node(step, statement, body))
    return tuple(nodes), first


def _check_threads(step: int, block: Parallel) -> None:
    """Raise Refused unless `block` holds threads of calls."""
    calls = all(branch and all(isinstance(statement, Call) for statement in branch) for branch in block.branches)
    if len(block.branches) < 2 or not calls:
        raise Refused(End.ERROR, step, "", "parallel: two or more threads are expected, each of calls only")


def _check(step: int, function: Function, call: Call) -> None:
    """Raise Refused unless the arguments of `call` fit the parameters of `function`."""
    given = dict(call.args)
    for parameter in function.parameters:
        value = given.pop(parameter.name, None)
        if not _suits(parameter, value):
            what = "missing" if value is None else f"a {type(value).__name__}, which does not suit an {parameter.role}"
            raise Refused(End.ERROR, step, function.name, f"{function.name}: argument {parameter.name} is {what}")
        if isinstance(value, Fill | Ramp | Room | Literal) and _length(value) > MOST_CALLER_BYTES:
            raise Refused(End.UNSUPPORTED, step, function.name, f"more than {MOST_CALLER_BYTES} bytes of caller memory")
    if given:
        raise Refused(End.ERROR, step, function.name, f"{function.name}: no parameter is called {min(given)}")


def _invoked(step: int, invoke: Invoke) -> tuple[Maker, ...]:
    """Makers of the arguments of a function pointer, which knows no parameters. Raises Refused."""
    for value in invoke.args:
        if not _suits(Parameter("", Role.POINTER), value):
            raise Refused(End.ERROR, step, "", f"invoke: a {type(value).__name__} is no argument of a callback")
    return tuple(number(value) for value in invoke.args)


def _length(value: Fill | Ramp | Literal | Room) -> int:
    return value.size if isinstance(value, Room) else value.length


def _suits(parameter: Parameter, value: Value | None) -> bool:
    """Whether `value` can be passed for `parameter`."""
    match parameter.role:
        case role if role in OUTPUTS:
            return value is None or isinstance(value, Null)
        case Role.DATA:
            return value is None or isinstance(value, Null | Fill | Ramp | Literal)
        case Role.ROOM:
            return value is None or isinstance(value, Null | Room)
        case role:
            if isinstance(value, Callback):
                return role is Role.CALLBACK and value.number in NUMBERS
            if isinstance(value, Object):
                return value.number in NUMBERS
            return isinstance(value, Int | Null | Ref)
