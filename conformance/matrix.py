"""Cases of state: every function in every reachable state, ordered pairs on one handle, and what two handles do to each
other."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.conformance.draft import (
    OTHER,
    RESULT,
    SUBJECT,
    Draft,
    call_on,
    handle_params,
    kinds_of,
    prefixed,
    probe,
    rename,
    sample_states,
    state,
)
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import Call, Int, Null, Statement, Target, Value

PAIR_STATES = {
    "mbuf": ("located", "ref", "head"),
    "desc": ("empty", "complete"),
    "stream": ("unregistered", "registered"),
}
"""States from which ordered pairs start; other kinds start from their first two."""


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
        for name in PAIR_STATES.get(kind, tuple(described.states)[:2]):
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
