"""Macros: stretches of program that the tables know to lead somewhere, each one decision of a generator."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from acl_cts.conformance.draft import first_state, handle_params, kinds_of
from acl_cts.conformance.growth import AT_MOST
from acl_cts.conformance.growth import MANY as WORN
from acl_cts.conformance.matrix import LARGE_CROWD, large_crowd_drafts
from acl_cts.fuzz.renaming import renamed, variables
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Call, Index, Live, Ref, Repeat, Statement, Steady, Target, walk

CYCLES = 40
"""Turns of a cycle that makes something and gives it back."""


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """`name` tells where it comes from: `state/KIND/STATE`, `settled/KIND/STATE`, `limit/NAME/K`, `crowd/FUNCTION`,
    `many/KIND-STATE/COUNT`, `many/FUNCTION/COUNT`, `cycle/FUNCTION` or `worn/FUNCTION`."""

    name: str
    family: str
    body: tuple[Statement, ...]

    @property
    def functions(self) -> frozenset[str]:
        """Every function that it calls."""
        return frozenset(s.function for s in walk(self.body) if isinstance(s, Call))


@functools.lru_cache(maxsize=16384)
def numbered(macro: Macro, mark: int) -> tuple[frozenset[str], tuple[Statement, ...]]:
    """The names of the macro's variables with `mark` behind them, and its body with these names."""
    names = {name: Ref(f"{name}{mark}") for name in variables(macro.body)}
    return frozenset(ref.name for ref in names.values()), renamed(macro.body, names)


_KNOWN: dict[int, tuple[Spec, tuple[Macro, ...], tuple[Macro, ...]]] = {}
"""The macros of a spec, which is kept with them, so that no other one gets its identity."""


def macros(spec: Spec) -> tuple[Macro, ...]:
    """Every macro of the tables that is one decision among others, in a fixed order, each body once."""
    return _all(spec)[1]


def heavy_macros(spec: Spec) -> tuple[Macro, ...]:
    """Those that cost as much as many programs, and cannot become shorter."""
    return _all(spec)[2]


def _all(spec: Spec) -> tuple[Spec, tuple[Macro, ...], tuple[Macro, ...]]:
    known = _KNOWN.get(id(spec))
    if known is None or known[0] is not spec:
        light = _once((*_states(spec), *_settled(spec), *_limits(spec), *_crowds(spec), *_cycles(spec)))
        known = _KNOWN[id(spec)] = spec, light, _once((*_many(spec), *_kin(spec), *_worn(spec)))
    return known


def _once(every: Iterable[Macro]) -> tuple[Macro, ...]:
    found: dict[tuple[Statement, ...], Macro] = {}
    for macro in every:
        if macro.body:
            found.setdefault(macro.body, macro)
    return tuple(found.values())


def first(spec: Spec, kind: str) -> Macro:
    """The macro that makes a fresh handle, `x`, of `kind`."""
    return Macro(f"state/{kind}", spec.kinds[kind].family, first_state(spec, kind))


def _states(spec: Spec) -> Iterator[Macro]:
    for kind, described in spec.kinds.items():
        for name, program in described.states.items():
            yield Macro(f"state/{kind}/{name}", described.family, program.body)


def _settled(spec: Spec) -> Iterator[Macro]:
    """States of which nobody can say what is left once they are given back, given back and counted: a library that has
    shown by the count that all of it went must do so again."""
    for kind, described in spec.kinds.items():
        for name, program in described.states.items():
            known = plan(spec, program.body)
            if known.leaves and not known.undefined:
                body = (*program.body, *known.cleanup, Live())
                yield Macro(f"settled/{kind}/{name}", described.family, body)


def _limits(spec: Spec) -> Iterator[Macro]:
    """What comes before the edge of a limit is looked for; where it is built up, the build-up to the limit."""
    for limit in spec.limits.values():
        for place, recipe in enumerate(limit.probes):
            body = recipe.setup
            if not recipe.param and limit.readings:
                calls = tuple(s for s in recipe.loop.body if isinstance(s, Call))
                body = (*body, replace(recipe.loop, count=max(1, limit.min - recipe.built), body=calls))
            yield Macro(f"limit/{limit.name}/{place}", limit.family, body)


def _crowds(spec: Spec) -> Iterator[Macro]:
    """A call on one handle again and again, each time with another second handle."""
    for function in spec.functions.values():
        for kind in kinds_of(function):
            for param in handle_params(function, kind):
                others = [p.name for p in function.signature.params if p.handle and not p.out and p is not param]
                if others:
                    yield _crowd(spec, function, param.name, kind, others)


def _crowd(spec: Spec, function: Function, param: str, kind: str, others: list[str]) -> Macro:
    setup: list[Statement] = []
    made: dict[str, Ref] = {}
    for place, other in enumerate(others):
        kind_of = function.signature.param(other).handle
        body = function.setups.get(other)
        source, body = ("y", body) if body else ("x", first_state(spec, kind_of))
        names = {name: Ref(f"{name}_{place}") for name in variables(body)}
        setup.extend(renamed(body, names))
        made[other] = names[source]
    args = [
        (p.name, Ref("x") if p.name == param else made.get(p.name) or function.typical[p.name])
        for p in function.signature.params
        if not p.out and (p.handle or p.name in function.typical)
    ]
    each = (*setup, Call(function.name, tuple(args)))
    own = function.setups.get(param)
    start = renamed(own, {"y": Ref("x")}) if own else first_state(spec, kind)
    body = (*start, Repeat(8, "i", _arrays(each, variables(tuple(setup)))))
    return Macro(f"crowd/{function.name}/{param}", function.family, body)


def _arrays(statements: tuple[Statement, ...], names: frozenset[str]) -> tuple[Statement, ...]:
    """The same statements with an array, counted by the loop, in place of each of these names."""
    indexed = renamed(statements, {name: Ref(name, Index(0, "i")) for name in names})
    return tuple(
        replace(s, target=Target(s.target.name, Index(0, "i"))) if isinstance(s, Call) and s.target else s
        for s in indexed
    )


def _many(spec: Spec) -> Iterator[Macro]:
    """More handles of one state at the same time than 8 bits count, each asked when all are there."""
    for draft in large_crowd_drafts(spec):
        yield Macro(f"many/{draft.label}", draft.family, draft.body)


def _kin(spec: Spec) -> Iterator[Macro]:
    """As many that were all made of one handle."""
    for function, _ in _simplest(spec):
        *setup, call = function.simplest[0].body
        made_of = any(handle_params(function, kind) for kind in spec.kinds)
        if made_of and isinstance(call, Call) and call.function == function.name and call.target is not None:
            again = replace(call, target=Target(call.target.name, Index(0, "i")))
            body = (*setup, Repeat(LARGE_CROWD, "i", (again,)))
            yield Macro(f"many/{function.name}/{LARGE_CROWD}", function.family, body)


def _cycles(spec: Spec) -> Iterator[Macro]:
    """The simplest program of what makes something, everything given back, over and over."""
    for function, body in _simplest(spec):
        yield Macro(f"cycle/{function.name}", function.family, (Repeat(CYCLES, "c", body),))


def _worn(spec: Spec) -> Iterator[Macro]:
    """The same more often than 16 bits count. Only what needs nothing else, as a cycle whose turns are compared where
    they are executed: answers one by one could be as many as the turns."""
    for function, body in _simplest(spec):
        if not any(handle_params(function, kind) for kind in spec.kinds):
            yield Macro(f"worn/{function.name}", function.family, (Steady(WORN, AT_MOST, body),))


def _simplest(spec: Spec) -> Iterator[tuple[Function, tuple[Statement, ...]]]:
    for function in spec.functions.values():
        if function.simplest and function.creates and not function.auxiliary:
            program = function.simplest[0]
            yield function, (*program.body, *program.cleanup)
