"""Cases of what comes after: a handle in each state is ended, then new ones are made, asked and ended in their turn.

A library that hands the same memory out again must not keep anything of the earlier owner in it, and that may show only
when the new owner goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acl_cts.conformance.draft import (
    SUBJECT,
    Draft,
    call_on,
    ends,
    first_state,
    handle_params,
    kinds_of,
    prefixed,
    probe,
    state,
)
from acl_cts.conformance.matrix import each
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Call, Ref, Statement, Target

SUCCESSORS = 6
"""New handles that are made: more than any state holds of single ones, as the one ended may take others with it."""

NEW = "n"
"""The array of them."""


def recycled_drafts(spec: Spec) -> Iterator[Draft]:
    """Every state of each kind, ended, and successors from every function that makes one of the kind."""
    for kind, described in spec.kinds.items():
        ender = next((f for f in spec.functions.values() if ends(f, kind)), None)
        if ender is None:
            continue
        for name in described.states:
            ended = (*state(spec, kind, name), _end(ender, SUBJECT))
            if plan(spec, ended).undefined:
                continue
            for maker in spec.functions.values():
                if kind in maker.creates.values() and not maker.auxiliary:
                    before, make = _made(spec, maker)
                    new = [each(s, SUCCESSORS) for s in (make, *probe(spec, kind, NEW), _end(ender, NEW))]
                    yield Draft(maker.family, "recycled", maker.name, f"{kind}-{name}", (*before, *ended, *new))


def _end(ender: Function, name: str) -> Statement:
    return Call(ender.name, ((ender.signature.params[0].name, Ref(name)),))


def _made(spec: Spec, maker: Function) -> tuple[tuple[Statement, ...], Call]:
    """What each of them needs beforehand, and the call that makes one."""
    kinds = kinds_of(maker)
    if not kinds:
        args = tuple((p.name, maker.typical[p.name]) for p in maker.signature.params if p.name in maker.typical)
        return (), Call(maker.name, args, Target(NEW))
    source = prefixed(first_state(spec, kinds[0]), "s")
    *before, call = call_on(spec, maker, handle_params(maker, kinds[0])[0].name, "s" + SUBJECT)
    assert isinstance(call, Call)
    return tuple(each(s, SUCCESSORS) for s in (*source, *before)), replace(call, target=Target(NEW))
