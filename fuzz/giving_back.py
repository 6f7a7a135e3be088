"""Giving back: the functions that end the life of a handle, and calls of them for many handles."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from acl_cts.fuzz.handles import Handle, places
from acl_cts.fuzz.vital import Facts, facts
from acl_cts.specs import expressions as ex
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Index, Ref, Repeat, Statement
from acl_cts.specs.rules import Rules, compile_rules


def givers(spec: Spec, act: str) -> list[tuple[Facts, str, str]]:
    """Functions of one parameter that carry out `act` on it or with it as key, auxiliary ones last: facts, parameter,
    kind of handle."""
    return _givers(compile_rules(spec), act)


@functools.lru_cache(maxsize=16)
def _givers(rules: Rules, act: str) -> list[tuple[Facts, str, str]]:
    place = 0 if act == "free" else 1
    found = []
    for known in facts(rules.spec).values():
        function = known.function
        for effect in _acts_in(function.effect):
            named = effect.args[place] if effect.name == act and len(effect.args) > place else None
            if isinstance(named, ex.Name) and len(function.signature.params) == 1:
                found.append((known, named.name, function.signature.param(named.name).handle))
    return sorted(found, key=lambda entry: entry[0].function.auxiliary)


def _acts_in(effects: tuple[ex.Effect, ...]) -> Iterator[ex.Act]:
    return (effect for effect in effects if isinstance(effect, ex.Act))


def compressed(function: str, param: str, handles: list[Handle]) -> Iterator[Statement]:
    """One call a handle, neighbours in an array as one repeat."""
    at = 0
    while at < len(handles):
        low, high = places(handles[at])
        name, end = handles[at].ref.name, at + 1
        while low is not None and end < len(handles) and handles[end].ref.name == name:
            start, stop = places(handles[end])
            if start is None or stop is None or high is None or (stop != low and start != high):
                break
            low, high, end = min(low, start), max(high, stop), end + 1
        if low is None or high is None or high - low == 1:
            yield Call(function, ((param, handles[at].ref),))
        else:
            yield Repeat(high - low, "i", (Call(function, ((param, Ref(name, Index(low, "i"))),)),))
        at = end
