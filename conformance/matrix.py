"""Cases of state: every function in every reachable state, ordered pairs on one handle, and what two handles do to each
other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from acl_cts.conformance.draft import (
    OTHER,
    RESULT,
    SUBJECT,
    Draft,
    call_on,
    ends,
    handle_params,
    kinds_of,
    prefixed,
    probe,
    rename,
    sample_states,
    state,
)
from acl_cts.conformance.limits import arguments
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import Call, Callback, Index, Int, Null, Object, Ramp, Ref, Repeat, Statement, Target, Value

RELATED = 4
"""Handles of one kind that a state has at least, where what a call on one of them does to all others is looked at."""

CROWD = 40
"""Handles in each half of a crowd: more than the places of a small table."""

LARGE_CROWD = 300
"""Handles in a crowd of equals: more than 8 bits count, and fewer than any floor of resources, with all they need."""


def users(spec: Spec, kind: str) -> list[tuple[Function, str]]:
    """Functions and parameters that take a handle of `kind`."""
    return [(f, p.name) for f in spec.functions.values() for p in handle_params(f, kind)]


def result_probe(spec: Spec, function: Function) -> tuple[Statement, ...]:
    """All about what the function gave."""
    kinds = [*function.creates.values()]
    kinds += [p.handle for p in function.signature.params if p.name in function.aliases]
    return probe(spec, kinds[0], RESULT) if kinds else ()


def state_drafts(spec: Spec) -> Iterator[Draft]:
    """Every function × every state of each handle that it takes, then all about that handle."""
    for kind, described in spec.kinds.items():
        for name in described.states:
            for function, param in users(spec, kind):
                body = (*state(spec, kind, name), *call_on(spec, function, param))
                suffix = f"/{param}" if len(handle_params(function, kind)) > 1 else ""
                yield Draft(
                    function.family,
                    "state",
                    function.name,
                    f"{kind}-{name}{suffix}",
                    body,
                    (*result_probe(spec, function), *probe(spec, kind)),
                )


def pair_drafts(spec: Spec) -> Iterator[Draft]:
    """Every ordered pair of functions on one handle."""
    for kind, described in spec.kinds.items():
        for name in described.pairs:
            for first, first_param in users(spec, kind):
                for second, second_param in users(spec, kind):
                    one = call_on(spec, first, first_param)
                    two = rename(call_on(spec, second, second_param), {OTHER: "z", RESULT: "q"})
                    label = (
                        f"{kind}-{name}/{_named(first, first_param, kind)}-then-{_named(second, second_param, kind)}"
                    )
                    yield Draft(
                        second.family,
                        "pair",
                        second.name,
                        label,
                        (*state(spec, kind, name), *one, *two),
                        probe(spec, kind),
                    )


def _named(function: Function, param: str, kind: str) -> str:
    return function.name + (f"({param})" if len(handle_params(function, kind)) > 1 else "")


def isolation_drafts(spec: Spec) -> Iterator[Draft]:
    """A call on one handle, then all about another one of the same kind that has nothing to do with it."""
    for kind, described in spec.kinds.items():
        names = list(described.states)
        for function, param in users(spec, kind):
            for name in names:
                bystander = prefixed(state(spec, kind, name), "b")
                acting = state(spec, kind, names[min(2, len(names) - 1)])
                body = (*bystander, *acting, *call_on(spec, function, param))
                label = f"{kind}-{name}" + (f"/{param}" if len(handle_params(function, kind)) > 1 else "")
                yield Draft(function.family, "isolation", function.name, label, body, probe(spec, kind, "b" + SUBJECT))
        for function in spec.functions.values():
            if kind in function.creates.values() and not kinds_of(function):
                yield from _creation(spec, function, kind)


def _creation(spec: Spec, function: Function, kind: str) -> Iterator[Draft]:
    """A new handle made beside one in each state."""
    args = tuple((p.name, function.typical[p.name]) for p in function.signature.params if p.name in function.typical)
    for name in spec.kinds[kind].states:
        yield Draft(
            function.family,
            "isolation",
            function.name,
            f"{kind}-{name}",
            (*state(spec, kind, name), Call(function.name, args, Target(RESULT))),
            (*probe(spec, kind, RESULT), *probe(spec, kind)),
        )


def related_drafts(spec: Spec) -> Iterator[Draft]:
    """A call on each handle of a state that relates several of them, then all about the others and about itself."""
    for kind, described in spec.kinds.items():
        for name in described.states:
            setup = state(spec, kind, name)
            made = _made(spec, setup)
            if len(made) < RELATED:
                continue
            for subject, own in made.items():
                for function, param in users(spec, own):
                    body = (*setup, *call_on(spec, function, param, subject))
                    others = [s for v, k in made.items() if v != subject for s in probe(spec, k, v)]
                    itself = () if ends(function, own) else probe(spec, own, subject)
                    suffix = f"/{param}" if len(handle_params(function, own)) > 1 else ""
                    yield Draft(
                        function.family,
                        "related",
                        function.name,
                        f"{kind}-{name}/{subject}{suffix}",
                        body,
                        (*others, *itself),
                    )


def _made(spec: Spec, setup: tuple[Statement, ...]) -> dict[str, str]:
    """Names of single handles that `setup` makes, and their kinds."""
    calls = [s for s in setup if isinstance(s, Call) and s.target is not None and s.target.index is None]
    return {
        call.target.name: kind
        for call in calls
        for kind in spec.functions[call.function].creates.values()
        if call.target is not None
    }


def crowd_drafts(spec: Spec) -> Iterator[Draft]:
    """Many handles at the same time, each with values of its own, built in step and then asked one by one."""
    for kind, described in spec.kinds.items():
        for name in sample_states(spec, kind):
            setup = state(spec, kind, name)
            if any(isinstance(s, Repeat) for s in setup):
                continue
            halves = (prefixed(setup, "f"), _varied(prefixed(setup, "g")))
            body = [each(half[place]) for place in range(len(setup)) for half in halves]
            body += [each(s) for half in "fg" for s in probe(spec, kind, half + SUBJECT)]
            yield Draft(described.family, "crowd", _maker(spec, kind), f"{kind}-{name}", tuple(body))
            for function, param in users(spec, kind):
                if not any(p.out or p.kind is Kind.ROOM for p in function.signature.params):
                    yield from _numbered(spec, function, param, kind, name)


def large_crowd_drafts(spec: Spec) -> Iterator[Draft]:
    """So many handles at the same time that 8 bits cannot count them, each asked when all are there."""
    for kind, described in spec.kinds.items():
        for name in described.pairs:
            setup = state(spec, kind, name)
            if not any(isinstance(s, Repeat) for s in setup):
                body = tuple(each(s, LARGE_CROWD) for s in (*setup, *probe(spec, kind)))
                yield Draft(described.family, "crowd", _maker(spec, kind), f"{kind}-{name}/{LARGE_CROWD}", body)


def _numbered(spec: Spec, function: Function, param: str, kind: str, name: str) -> Iterator[Draft]:
    """A call on each of a crowd, with the handle's number in the place of one integer."""
    for p in function.signature.params:
        if p.kind is Kind.INTEGER and not p.out:
            changes = {**arguments(function, {p.name: 2 * CROWD}), p.name: Int(1, LOOP)}
            *before, call = call_on(spec, function, param, changes=changes)
            setup = (*state(spec, kind, name), *before, call)
            body = tuple(each(s, 2 * CROWD) for s in (*setup, *probe(spec, kind)))
            yield Draft(function.family, "crowd", function.name, f"{kind}-{name}/{p.name}", body)


def _maker(spec: Spec, kind: str) -> str:
    return next(f.name for f in spec.functions.values() if kind in f.creates.values())


LOOP = "i"


def each(body: Statement | tuple[Statement, ...], count: int = CROWD) -> Statement:
    """`body` for every handle of a crowd: each name becomes an array."""
    return Repeat(count, LOOP, _indexed(body if isinstance(body, tuple) else (body,)))


def _indexed(node: Any) -> Any:
    if isinstance(node, Ref | Target):
        return dataclasses.replace(node, index=Index(0, LOOP))
    if isinstance(node, tuple):
        return tuple(_indexed(item) for item in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return dataclasses.replace(node, **{f.name: _indexed(getattr(node, f.name)) for f in dataclasses.fields(node)})
    return node


def _varied(node: Any) -> Any:
    """The same statements with other objects, callbacks and bytes."""
    if isinstance(node, Callback | Object):
        return dataclasses.replace(node, number=node.number % 3 + 1)
    if isinstance(node, Ramp):
        return dataclasses.replace(node, start=(node.start + 100) % 256)
    if isinstance(node, tuple):
        return tuple(_varied(item) for item in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return dataclasses.replace(node, **{f.name: _varied(getattr(node, f.name)) for f in dataclasses.fields(node)})
    return node


def null_drafts(spec: Spec) -> Iterator[Draft]:
    """NULL for every pointer, one at a time and all together, with nothing and with something to copy."""
    for function in spec.functions.values():
        pointers = [p for p in function.signature.params if p.out or p.kind is not Kind.INTEGER]
        kinds = kinds_of(function)
        for name in sample_states(spec, kinds[0]) if kinds else ("",):
            choices: list[tuple[str, dict[str, Value]]] = [(p.name, {p.name: Null()}) for p in pointers]
            if len(pointers) > 1:
                choices.append(("all", {p.name: Null() for p in pointers}))
                outs = {p.name: Null() for p in pointers if p.out}
                if len(outs) > 1:
                    choices.append(("all-outputs", dict(outs)))
            for p in pointers:
                if p.measure:
                    choices.append((f"{p.name},{p.measure}=0", {p.name: Null(), p.measure: Int(0)}))
                    choices.append((f"{p.name},{p.measure}=1", {p.name: Null(), p.measure: Int(1)}))
            for label, given in choices:
                yield _null(spec, function, kinds, name, label, given)


def _null(spec: Spec, function: Function, kinds: list[str], name: str, label: str, given: dict[str, Value]) -> Draft:
    where = f"{label}=NULL" + (f"/{kinds[0]}-{name}" if name else "")
    if not kinds:
        args = tuple(
            (p.name, given[p.name] if p.name in given else function.typical[p.name])
            for p in function.signature.params
            if p.name in given or p.name in function.typical
        )
        return Draft(function.family, "null", function.name, where, (Call(function.name, args),))
    param = handle_params(function, kinds[0])[0].name
    body = (*state(spec, kinds[0], name), *call_on(spec, function, param, changes=given))
    return Draft(function.family, "null", function.name, where, body, probe(spec, kinds[0]))
