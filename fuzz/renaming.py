"""Renaming: the same statements about other variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from acl_cts.specs.program import (
    Call,
    Invoke,
    Parallel,
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
