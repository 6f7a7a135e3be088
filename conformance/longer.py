"""Cases over time: many cycles, failed inner allocations, and calls on handles that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.conformance.draft import (
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
from acl_cts.conformance.matrix import each, users
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Call, FailAllocation, Live, Null, Object, Ref, Repeat, Statement, Target
from acl_cts.specs.trace import Capability

CYCLES = 1200
"""Times that a state is built and given back; more than any floor of resources."""

MANY_CYCLES = 66_000
"""Times that the first state of a kind is built and given back: more than 16 bits count."""

AGAIN = 3
"""Times that the same handles are brought together: the second call may tie them wrongly, the third walks along it."""

FAULTS = 6
"""Inner allocations of one call that are made to fail, one after the other."""


FAULT_CROWD = 70
"""Times that each inner allocation fails while the handles made before live on: more than the places of a table."""

CROWDED_FAULTS = 3
"""Inner allocations that are made to fail there: the claim of a place, the table that grows, the thing itself."""


def cycle_drafts(spec: Spec) -> Iterator[Draft]:
    """Every state built and given back many times: nothing grows, nothing runs out."""
    for kind, described in spec.kinds.items():
        for name in described.states:
            once = state(spec, kind, name)
            known = plan(spec, once)
            if known.undefined or known.leaves or any(isinstance(s, Repeat) for s in once):
                continue
            cycle = (*once, *known.cleanup)
            family = described.family
            body = (*cycle, Live(), Repeat(CYCLES, "n", cycle), Live())
            function = _maker(spec, kind)
            yield Draft(family, "cycle", function, f"{kind}-{name}", body, balance=False)
            if name == next(iter(described.states)):
                many = (*cycle, Live(), Repeat(MANY_CYCLES, "n", cycle), Live())
                yield Draft(family, "cycle", function, f"{kind}-{name}/{MANY_CYCLES}", many, balance=False)
            yield from _refused(spec, kind, name)
            yield from _repeated(spec, kind, name)


def _maker(spec: Spec, kind: str) -> str:
    return next(f.name for f in spec.functions.values() if kind in f.creates.values())


def _refused(spec: Spec, kind: str, name: str) -> Iterator[Draft]:
    """The same refused call many times in one state."""
    if name != next(iter(spec.kinds[kind].states)):
        return
    for function, param in users(spec, kind):
        others = {p.name: Null() for p in function.signature.params if p.name != param and p.handle}
        if not others or function.aliases:
            continue
        call = call_on(spec, function, param, changes=others)[-1]
        body = (*state(spec, kind, name), Live(), Repeat(CYCLES, "n", (call,)), Live())
        yield Draft(
            function.family, "cycle", function.name, f"refused/{kind}/{param}", body, probe(spec, kind), balance=False
        )


def _repeated(spec: Spec, kind: str, name: str) -> Iterator[Draft]:
    """The same valid call many times on one handle: nothing wears out."""
    if name not in tuple(spec.kinds[kind].states)[:2]:
        return
    for function, param in users(spec, kind):
        if function.creates or ends(function, kind) or len(handle_params(function, kind)) > 1:
            continue
        *before, call = (*state(spec, kind, name), *call_on(spec, function, param))
        if isinstance(call, Call):
            body = (*before, Repeat(CYCLES, "n", (Call(call.function, call.args),)))
            yield Draft(function.family, "cycle", function.name, f"repeated/{kind}-{name}", body, probe(spec, kind))


def again_drafts(spec: Spec) -> Iterator[Draft]:
    """The same handles brought together again and again, whatever is answered, then the one in question is ended."""
    for kind, described in spec.kinds.items():
        enders = [f for f in spec.functions.values() if ends(f, kind)]
        for function, param in users(spec, kind):
            if sum(map(len, (handle_params(function, k) for k in kinds_of(function)))) < 2:
                continue
            for name in described.states:
                *before, call = (*state(spec, kind, name), *call_on(spec, function, param))
                end = tuple(Call(f.name, ((f.signature.params[0].name, Ref(SUBJECT)),)) for f in enders[:1])
                yield Draft(
                    function.family,
                    "again",
                    function.name,
                    f"{kind}-{name}/{param}",
                    (*before, *(call,) * AGAIN, *probe(spec, kind)),
                    end,
                )


def fault_drafts(spec: Spec) -> Iterator[Draft]:
    """Each inner allocation of each call that makes something fails once: a clean error, no leak, nothing changed."""
    for function in spec.functions.values():
        if function.takes is None or function.takes.objects == 0:
            continue
        kinds = kinds_of(function) or [""]
        names = sample_states(spec, kinds[0]) if kinds[0] else ("",)
        for name in names:
            yield from _faults(spec, function, kinds[0], name)


def crowded_fault_drafts(spec: Spec) -> Iterator[Draft]:
    """The same beside ever more live handles: a table that is full must grow, and that is what fails then. In a process
    of its own, as tables that grew may stay as large as they are."""
    for function in spec.functions.values():
        if function.takes is None or function.takes.objects == 0 or function.auxiliary:
            continue
        kinds = kinds_of(function)
        setup = state(spec, kinds[0], sample_states(spec, kinds[0])[0]) if kinds else ()
        before, call = _creating(spec, function, setup)
        tries: list[Statement] = [*setup, *before]
        for nth in range(1, CROWDED_FAULTS + 1):
            tries += [FailAllocation(nth), rename((call,), {RESULT: f"{RESULT}{nth}"})[0], FailAllocation(0)]
        yield Draft(
            function.family,
            "fault",
            function.name,
            f"crowd-of-{FAULT_CROWD}/every-allocation",
            (each((*tries, call), FAULT_CROWD),),
            needs=frozenset((Capability.FAULT_INJECTION,)),
            solo=True,
        )


def _creating(spec: Spec, function: Function, setup: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], Statement]:
    """A call that makes something, and what it needs beforehand besides `setup`."""
    if setup:
        *before, call = call_on(spec, function, handle_params(function, kinds_of(function)[0])[0].name)
        return tuple(before), call
    return (), Call(function.name, tuple((p, function.typical[p]) for p in function.typical), Target(RESULT))


def _faults(spec: Spec, function: Function, kind: str, name: str) -> Iterator[Draft]:
    setup = state(spec, kind, name) if kind else ()
    needed, call = _creating(spec, function, setup)
    before = (*setup, *needed)
    label = f"{kind}-{name}/every-allocation" if kind else "every-allocation"
    tries: list[Statement] = []
    for nth in range(1, FAULTS + 1):
        tries += [FailAllocation(nth), rename((call,), {RESULT: f"{RESULT}{nth}"})[0], FailAllocation(0)]
    yield Draft(
        function.family,
        "fault",
        function.name,
        label,
        (*before, *tries),
        probe(spec, kind) if kind else (),
        needs=frozenset((Capability.FAULT_INJECTION,)),
    )


def robustness_drafts(spec: Spec) -> Iterator[Draft]:
    """Calls on freed, foreign and unlike handles: refused without effect, where the backend declares robust handles."""
    for kind in spec.kinds:
        enders = [f for f in spec.functions.values() if ends(f, kind)]
        if not enders:
            continue
        for function, param in users(spec, kind):
            if function.tolerant:
                continue
            yield from _gone(spec, function, param, kind, enders[0])


def _gone(spec: Spec, function: Function, param: str, kind: str, ender: Function) -> Iterator[Draft]:
    end = Call(ender.name, ((ender.signature.params[0].name, Ref(SUBJECT)),))
    robust = frozenset((Capability.ROBUST_HANDLES,))
    bystander = _bystander(spec, kind)
    for name in spec.kinds[kind].states:
        setup = state(spec, kind, name)
        if plan(spec, (*setup, end)).undefined:
            continue
        *before, call = call_on(spec, function, param)
        yield Draft(
            function.family,
            "robustness",
            function.name,
            f"freed/{kind}-{name}" + (f"/{param}" if len(handle_params(function, kind)) > 1 else ""),
            (*bystander, *setup, *before, end, call),
            probe(spec, kind, "b" + SUBJECT),
            needs=robust,
            undefined=True,
        )
    *before, call = call_on(spec, function, param, changes={param: Object(1)})
    yield Draft(
        function.family,
        "robustness",
        function.name,
        f"foreign/{param}",
        (*bystander, *before, call),
        probe(spec, kind, "b" + SUBJECT),
        needs=robust,
        undefined=True,
    )
    for other in spec.kinds:
        if other != kind and spec.kinds[other].ctype and _beside(spec, kind, other):
            *before, call = call_on(spec, function, param, subject="k")
            made = tuple(_as(s, "k") for s in state(spec, other, next(iter(spec.kinds[other].states))))
            yield Draft(
                function.family,
                "robustness",
                function.name,
                f"unlike/{param}={other}",
                (*bystander, *made, *before, call),
                probe(spec, kind, "b" + SUBJECT),
                needs=robust,
                undefined=True,
            )


def _beside(spec: Spec, kind: str, other: str) -> bool:
    """Whether one library has both kinds for certain: an added family stands for itself."""
    own, theirs = spec.families[spec.kinds[kind].family], spec.families[spec.kinds[other].family]
    return own is theirs or not (own.added or theirs.added)


def _bystander(spec: Spec, kind: str) -> tuple[Statement, ...]:
    names = tuple(spec.kinds[kind].states)
    return prefixed(state(spec, kind, names[min(2, len(names) - 1)]), "b")


def _as(statement: Statement, name: str) -> Statement:
    return rename((statement,), {SUBJECT: name})[0]
