"""Drafts: programs on their way to being cases, and the small tools that build them from the tables."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acl_cts.specs import expressions as ex
from acl_cts.specs.interface import Kind, Param
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import (
    Call,
    Data,
    Fill,
    Int,
    Read,
    Ref,
    Statement,
    Target,
    UntilSame,
    Value,
    Write,
)
from acl_cts.specs.trace import Capability

SUBJECT = "x"
"""The handle that a case is about."""

OTHER = "y"
"""The second handle of a function that takes two."""

RESULT = "r"
"""What the function under test gives."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A program without clean-up, and how the case shall be called: `group/function/label`.

    `optional`: statements tried at the end of the body, left out where some answer could make them undefined.
    """

    family: str
    group: str
    function: str
    label: str
    body: tuple[Statement, ...]
    optional: tuple[Statement, ...] = ()
    cleanup: tuple[Statement, ...] = ()
    needs: frozenset[Capability] = frozenset()
    solo: bool = False
    planned: str = ""
    title: str = ""
    item: str = ""
    undefined: bool = False
    balance: bool = True


def rename(statements: tuple[Statement, ...], names: Mapping[str, str]) -> tuple[Statement, ...]:
    """The same statements with other variable names."""
    return tuple(_renamed(statement, names) for statement in statements)


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, tuple):
        return tuple([_renamed(item, names) for item in node])
    if isinstance(node, Ref | Target):
        return dataclasses.replace(node, name=names.get(node.name, node.name))
    if isinstance(node, UntilSame):
        node = dataclasses.replace(node, found=names.get(node.found, node.found))
    parts = _parts(node.__class__)
    return type(node)(*[_renamed(getattr(node, part), names) for part in parts]) if parts else node


@functools.cache
def _parts(kind: Any) -> tuple[str, ...]:
    """The fields of a kind of statement or value, none for what is no such kind."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def prefixed(statements: tuple[Statement, ...], prefix: str) -> tuple[Statement, ...]:
    """The same statements with `prefix` before every name but loop counters, which are no variables."""
    names = {name: prefix + name for name in variables(statements)}
    return rename(statements, names)


def variables(statements: tuple[Statement, ...]) -> frozenset[str]:
    """Names of variables in `statements`."""
    found: set[str] = set()
    _variables(statements, found)
    return frozenset(found)


def _variables(node: Any, found: set[str]) -> None:
    if isinstance(node, tuple):
        for item in node:
            _variables(item, found)
    elif isinstance(node, Ref | Target):
        found.add(node.name)
    else:
        for part in _parts(node.__class__):
            _variables(getattr(node, part), found)


def handle_params(function: Function, kind: str) -> list[Param]:
    """Input parameters of `function` that take a handle of `kind`."""
    return [p for p in function.signature.params if p.kind is Kind.HANDLE and not p.out and p.handle == kind]


def kinds_of(function: Function) -> list[str]:
    """Kinds of handles that `function` takes, in order."""
    return list(dict.fromkeys(p.handle for p in function.signature.params if p.kind is Kind.HANDLE and not p.out))


def ends(function: Function, kind: str) -> bool:
    """Whether the function frees a handle of `kind`."""
    return any(
        isinstance(e, ex.Act) and e.name == "free" and getattr(e.args[0], "type", "") == "obj:" + kind
        for e in function.effect
    )


def call_on(
    spec: Spec, function: Function, param: str, subject: str = SUBJECT, changes: Mapping[str, Value] | None = None
) -> tuple[Statement, ...]:
    """A typical call of `function` with `subject` in `param`, after what it needs besides.

    `changes` replaces arguments.
    """
    given = dict(changes or {})
    before: list[Statement] = []
    args: list[tuple[str, Value]] = []
    for p in function.signature.params:
        if p.name in given:
            args.append((p.name, given[p.name]))
        elif p.out or p.kind is Kind.ROOM:
            continue
        elif p.name == param:
            args.append((p.name, Ref(subject)))
        elif p.kind is Kind.HANDLE:
            before.extend(function.setups.get(p.name) or rename(first_state(spec, p.handle), {SUBJECT: OTHER}))
            args.append((p.name, Ref(OTHER)))
        else:
            args.append((p.name, function.typical[p.name]))
    args = _sized(function, args, given)
    target = Target(RESULT) if function.creates or function.aliases else None
    return (*before, Call(function.name, tuple(args), target))


def _sized(function: Function, args: list[tuple[str, Value]], given: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """Give data as many bytes as the call says that there are, up to what a caller would really hold."""
    values = dict(args)
    sized: list[tuple[str, Value]] = []
    for name, value in args:
        param = function.signature.param(name)
        measure = values.get(param.measure) if param.measure else None
        if param.kind is Kind.DATA and name not in given and isinstance(measure, Int):
            value = resized(value, measure.value)
        sized.append((name, value))
    return sized


def resized(value: Value, length: int) -> Value:
    """The same pattern in `length` bytes, at least 1 and at most 256."""
    if isinstance(value, Fill):
        return Fill(value.byte, max(1, min(length, 256)))
    return value


def first_state(spec: Spec, kind: str) -> tuple[Statement, ...]:
    """The statements that make a fresh handle `x` of `kind`."""
    return next(iter(spec.kinds[kind].states.values())).body


def state(spec: Spec, kind: str, name: str) -> tuple[Statement, ...]:
    """The statements that bring a handle `x` of `kind` into the named state."""
    return spec.kinds[kind].states[name].body


def sample_states(spec: Spec, kind: str) -> tuple[str, ...]:
    """A few states of `kind`, where trying all of them would say the same again and again."""
    return spec.kinds[kind].samples


def probe(spec: Spec, kind: str, name: str = SUBJECT) -> tuple[Statement, ...]:
    """The statements that ask all about the handle called `name`."""
    names = {v: f"{v}_{name}" for v in variables(spec.kinds[kind].probe) if v != SUBJECT}
    return rename(spec.kinds[kind].probe, {SUBJECT: name, **names})


def touches(name: str, size: int, data: Data | None = None) -> tuple[Statement, ...]:
    """Write and read the first and last bytes of a data area of `size` bytes, or all of it when it is small."""
    ref = Ref(name)
    if size <= 65536:
        return (Write(ref, 0, data or Fill(0xA7, size)), Read(ref, 0, size)) if size else ()
    return (
        Write(ref, 0, Fill(0xA7, 64)),
        Write(ref, size - 64, Fill(0x5C, 64)),
        Read(ref, 0, 64),
        Read(ref, size - 64, 64),
    )


def is_pointer(param: Param) -> bool:
    """Whether NULL can be passed."""
    return param.out or param.kind is not Kind.INTEGER
