"""What of a table decides about lifetimes, worked out once for a spec.

Most calls change nothing that a handle's life, or the identity of an alias, could ever depend on. Only the others have
to be followed through the model while a program is made.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from acl_cts.specs import expressions as ex
from acl_cts.specs.evaluate import Term
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.rules import FunctionRules, Rules, compile_rules


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """One function as far as lifetimes go.

    `vital`: its answer may decide about a lifetime. `ends`: it can end one. `entangles`: it changes vital state of
    objects that were there before. `made`: the output that is a new handle ('' for none), `made_kind` its kind.
    `names`: its parameters in order, `ctypes` their C types. `errors`, `opens`: its guards. `inputs`: parameters that
    take a handle. `takes`: it takes resources. `locates`: it tells where a region lies. `answer`: the output that a
    bare reference to its target means.
    """

    function: Function
    rules: FunctionRules
    vital: bool
    ends: bool
    entangles: bool
    made: str
    made_kind: str
    names: tuple[str, ...]
    ctypes: dict[str, str]
    errors: tuple[Term, ...]
    opens: tuple[Term, ...]
    inputs: tuple[str, ...]
    takes: bool
    locates: bool
    answer: str


def facts(spec: Spec) -> dict[str, Facts]:
    """By name, the facts of every function of `spec`."""
    return _facts(compile_rules(spec))


@functools.lru_cache(maxsize=8)
def _facts(rules: Rules) -> dict[str, Facts]:
    spec = rules.spec
    vital = _vital_state(spec)
    return {name: _of(function, rules.functions[name], vital) for name, function in spec.functions.items()}


def _of(function: Function, rules: FunctionRules, vital: frozenset[str]) -> Facts:
    acts = {act.name for act, _ in _acts(function.effect)}
    written = {name for name, on_new, _ in _writes(function, function.effect) if name in vital and not on_new}
    made, kind = next(iter(function.creates.items()), ("", ""))
    return Facts(
        function,
        rules,
        bool(function.creates or function.aliases or acts or written),
        bool(acts & {"free", "doubt"}),
        bool(written or "drop" in acts),
        made,
        kind,
        tuple(p.name for p in function.signature.params),
        {p.name: p.ctype for p in function.signature.params},
        tuple(rule.when for rule in rules.errors),
        tuple(rule.when for rule in rules.opens),
        tuple(name for name, _ in rules.inputs),
        function.takes is not None,
        function.signature.locates is not None,
        "ret" if function.signature.principal == "return" else function.signature.principal,
    )


def _vital_state(spec: Spec) -> frozenset[str]:
    """Fields and (as `[]name`) collections on which a lifetime or an alias may depend, directly or not."""
    vital = {kind.holds for kind in spec.kinds.values() if kind.holds}
    for function in spec.functions.values():
        for act, path in _acts(function.effect):
            vital |= reads((act.args, path))
        vital |= reads(tuple(function.aliases.values()))
    while True:
        found = set(vital)
        for function in spec.functions.values():
            found |= _needed(function, vital)
        if found == vital:
            return frozenset(vital)
        vital = found


def _needed(function: Function, vital: set[str]) -> set[str]:
    """What the vital changes of `function` depend on: its guards, and the values that it writes."""
    writes = [value for name, _, value in _writes(function, function.effect) if name in vital]
    if not (writes or function.creates or function.aliases or any(True for _ in _acts(function.effect))):
        return set()
    guards = [clause.when for clause in function.clauses if clause.outcome in ("error", "open") and clause.when]
    local = [
        effect.value
        for effect in _all(function.effect)
        if isinstance(effect, ex.Assign) and _is_plain(effect, function)
    ]
    return reads((tuple(writes), tuple(guards), tuple(local)))


def _is_plain(effect: ex.Assign, function: Function) -> bool:
    """Whether the assignment gives a name to a value, and is not the making of a handle."""
    return isinstance(effect.target, ex.Name) and not isinstance(effect.value, ex.New)


def _all(effects: tuple[ex.Effect, ...]) -> Iterator[ex.Effect]:
    for effect in effects:
        yield effect
        if isinstance(effect, ex.Branch):
            yield from _all((*effect.then, *effect.other))
        elif isinstance(effect, ex.Each):
            yield from _all(effect.body)


def _acts(
    effects: tuple[ex.Effect, ...], path: tuple[ex.Expr, ...] = ()
) -> Iterator[tuple[ex.Act, tuple[ex.Expr, ...]]]:
    """Every end of a life and every removal from a collection, with the conditions that lead to it."""
    for effect in effects:
        match effect:
            case ex.Act():
                yield effect, path
            case ex.Branch(condition=condition, then=then, other=other):
                yield from _acts((*then, *other), (*path, condition))
            case ex.Each(items=items, body=body):
                yield from _acts(body, (*path, items))


def _writes(
    function: Function, effects: tuple[ex.Effect, ...], path: tuple[ex.Expr, ...] = ()
) -> Iterator[tuple[str, bool, object]]:
    """Every field or collection that is written: its name, whether of a new handle, and what decides the value."""
    for effect in effects:
        match effect:
            case ex.Assign(target=target, value=value):
                yield from _written(function, target, value, path)
            case ex.Branch(condition=condition, then=then, other=other):
                yield from _writes(function, (*then, *other), (*path, condition))
            case ex.Each(items=items, body=body):
                yield from _writes(function, body, (*path, items))


def _written(
    function: Function, target: object, value: ex.Expr, path: tuple[ex.Expr, ...]
) -> Iterator[tuple[str, bool, object]]:
    if isinstance(value, ex.New):
        for name, part in value.fields:
            yield name, True, (part, path)
    match target:
        case ex.Field(base=base, name=name) | ex.Slice(base=ex.Field(base=base, name=name)):
            fresh = isinstance(base, ex.Name) and base.name in function.creates
            yield name, fresh, (value, path, base)
        case ex.Keyed(collection=collection, key=key):
            yield "[]" + collection, False, (value, path, key)


def reads(tree: object) -> set[str]:
    """Names of fields, and of collections as `[]name`, that `tree` asks for."""
    found: set[str] = set()
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, ex.Field):
            found.add(part.name)
        elif isinstance(part, ex.Keyed):
            found.add("[]" + part.collection)
        elif isinstance(part, ex.Collection):
            found.add("[]" + part.name)
        if isinstance(part, tuple):
            todo.extend(part)
        elif hasattr(part, "__dataclass_fields__"):
            todo.extend(getattr(part, name) for name in part.__dataclass_fields__)
    return found
