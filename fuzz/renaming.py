"""Renaming: the same statements about other variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any

from acl_cts.specs.program import (
    Call,
    Index,
    Int,
    Invoke,
    Parallel,
    Program,
    Read,
    Ref,
    Repeat,
    Statement,
    Steady,
    Target,
    UntilSame,
    Value,
    When,
    Write,
    walk,
)

Names = Mapping[str, Ref]
"""By old name, the variable to stand in its place; its index goes to references that have none."""


def variables(statements: tuple[Statement, ...]) -> frozenset[str]:
    """Names of variables in `statements`."""
    return frozenset(_in_order(statements))


def numbered(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The same statements with names that follow from their places alone: equal for all that differ in names only."""
    return renamed(statements, {name: Ref(f"v{k}") for k, name in enumerate(_in_order(statements))})


def apart(program: Program) -> Program:
    """The same program with other names for loops that bear the name of a variable: in its text, that name inside the
    loop is the counter."""
    loops = {each.loop for each in walk((*program.body, *program.cleanup)) if isinstance(each, Repeat)}
    names = variables((*program.body, *program.cleanup)) if loops else frozenset()
    taken = loops | names
    for loop in sorted(loops & names):
        other = next(name for name in (f"{loop[:40]}{k}" for k in count(1)) if name not in taken)
        taken.add(other)
        program = counted_by(program, loop, other)
    return program


def counted_by(part: Any, loop: str, other: str | None) -> Any:
    """A part of a program with another name for `loop`; with None, as it is in its first turn."""
    if isinstance(part, tuple):
        return tuple(counted_by(each, loop, other) for each in part)
    if isinstance(part, Int | Index):
        return replace(part, loop=other) if part.loop == loop else part
    if is_dataclass(part) and not isinstance(part, type):
        made = replace(part, **{each.name: counted_by(getattr(part, each.name), loop, other) for each in fields(part)})
        return replace(made, loop=other) if isinstance(made, Repeat) and made.loop == loop and other else made
    return part


def _in_order(statements: tuple[Statement, ...]) -> dict[str, None]:
    """Names of variables, in the order of their appearance."""
    found: dict[str, None] = {}
    for statement in walk(statements):
        match statement:
            case Call(args=args, target=target):
                if target is not None:
                    found[target.name] = None
                found.update([(value.name, None) for _, value in args if isinstance(value, Ref)])
            case Write(ref=ref) | Read(ref=ref) | Invoke(function=ref):
                found[ref.name] = None
            case UntilSame(found=name, like=ref):
                found.update(((name, None), (ref.name, None)))
    return found


def renamed(statements: tuple[Statement, ...], names: Names) -> tuple[Statement, ...]:
    """The same statements with other variables; names that are not in `names` stay."""
    return tuple(_statement(statement, names) for statement in statements)


def _statement(statement: Statement, names: Names) -> Statement:
    match statement:
        case Call():
            return _call(statement, names)
        case Repeat(count=count, loop=loop, body=body):
            return Repeat(count, loop, renamed(body, names))
        case Write(ref=ref) | Read(ref=ref):
            return replace(statement, ref=_ref(ref, names))
        case Invoke(function=function, args=args):
            return Invoke(_ref(function, names), tuple(_value(value, names) for value in args))
        case UntilSame(found=found, like=like, at_most=at_most, call=call):
            return UntilSame(_name(found, names), _ref(like, names), at_most, _call(call, names))
        case When(accepted=accepted, body=body):
            return When(accepted, renamed(body, names))
        case Steady(body=body):
            return replace(statement, body=renamed(body, names))
        case Parallel(branches=branches):
            return replace(statement, branches=tuple(renamed(branch, names) for branch in branches))
    return statement


def _call(call: Call, names: Names) -> Call:
    args = tuple((name, _value(value, names)) for name, value in call.args)
    target = call.target
    return Call(call.function, args, None if target is None else Target(_name(target.name, names), target.index))


def _value(value: Value, names: Names) -> Value:
    return _ref(value, names) if isinstance(value, Ref) else value


def _ref(ref: Ref, names: Names) -> Ref:
    new = names.get(ref.name)
    return ref if new is None else Ref(new.name, ref.index or new.index, ref.field)


def _name(name: str, names: Names) -> str:
    new = names.get(name)
    return name if new is None else new.name
