"""Cases at the edges: every guard on both sides, every limit at -1, 0 and +1, and where careless arithmetic slips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acl_cts.conformance.boundary import Named, SumEdge, around, edges, pairs, powers, sums
from acl_cts.conformance.draft import (
    RESULT,
    SUBJECT,
    Draft,
    call_on,
    handle_params,
    kinds_of,
    probe,
    rename,
    resized,
    sample_states,
    state,
    touches,
)
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.plan import follow
from acl_cts.specs.program import Call, Int, Repeat, Room, Statement, Target, Value

SWEEP_MARGIN = 4
"""How far beyond a limit a dense sweep goes."""

DENSE = 256
"""A limit up to this value is swept value by value."""


def limit_drafts(spec: Spec) -> Iterator[Draft]:
    """All boundary cases of all functions."""
    for function in spec.functions.values():
        if kinds_of(function):
            yield from _on_states(spec, function, kinds_of(function)[0])
        else:
            yield from _created(spec, function)


def _frame(spec: Spec, function: Function, setup: tuple[Statement, ...]) -> tuple[Frame, tuple[Statement, ...]] | None:
    """The situation in which a typical call would be made, and the statements that lead there."""
    *before, call = setup
    if not isinstance(call, Call):
        return None
    run = follow(spec, tuple(before))
    return run.frame(call, {}), tuple(before)


def _on_states(spec: Spec, function: Function, kind: str) -> Iterator[Draft]:
    """The edges in a few states, and in every state that has an edge of its own; elsewhere those next to them only."""
    seen: set[tuple[str, str, int]] = set()
    param = handle_params(function, kind)[0].name
    for name in spec.kinds[kind].states:
        found = _frame(spec, function, (*state(spec, kind, name), *call_on(spec, function, param)))
        if found is None:
            continue
        found_edges = {(edge.clause, edge.param, edge.value) for edge in edges(function, found[0])}
        sample = name in sample_states(spec, kind) or not found_edges <= seen
        seen |= found_edges
        yield from _on_state(spec, function, kind, name, *found, close=not sample)


def _on_state(
    spec: Spec, function: Function, kind: str, name: str, frame: Frame, before: tuple[Statement, ...], *, close: bool
) -> Iterator[Draft]:
    param = handle_params(function, kind)[0]
    bits = {p.name: p.bits for p in function.signature.params}
    found = edges(function, frame)
    if close:
        found = list({(edge.param, edge.value): edge for edge in reversed(found)}.values())
    for edge in found:
        for value in around(edge, bits[edge.param])[: 3 if close else None]:
            call = call_on(spec, function, param.name, changes=arguments(function, {edge.param: value.value}))[-1]
            yield Draft(
                function.family,
                "limit",
                function.name,
                f"{_tail(edge.clause)}/{name}/{edge.param}={value.name}",
                (*before, call),
                probe(spec, kind),
                item=f"{function.family}/limit/{function.name}/{_tail(edge.clause)}/{name}",
            )
    if name in spec.kinds[kind].sums:
        for joined in sums(function, frame):
            yield from _sum(spec, function, kind, name, before, joined)


def arguments(function: Function, values: Mapping[str, int]) -> dict[str, Value]:
    """Arguments at these values, with data as long as the call says."""
    found: dict[str, Value] = {name: Int(value) for name, value in values.items()}
    for p in function.signature.params:
        if p.kind is Kind.DATA and p.measure in values:
            found[p.name] = resized(function.typical[p.name], values[p.measure])
        elif p.kind is Kind.ROOM and p.measure in values:
            found[p.name] = Room(max(1, min(values[p.measure], 256)))
    return found


def _sum(
    spec: Spec, function: Function, kind: str, name: str, before: tuple[Statement, ...], edge: SumEdge
) -> Iterator[Draft]:
    param = handle_params(function, kind)[0]
    bits = function.signature.param(edge.first).bits
    for first, second in pairs(edge, bits):
        changes = arguments(function, {edge.first: first.value, edge.second: second.value})
        call = call_on(spec, function, param.name, changes=changes)[-1]
        yield Draft(
            function.family,
            "limit",
            function.name,
            f"{_tail(edge.clause)}/{name}/{edge.first}={first.name},{edge.second}={second.name}",
            (*before, call),
            probe(spec, kind),
            item=f"{function.family}/limit/{function.name}/{_tail(edge.clause)}/{name}",
        )


def _tail(clause: str) -> str:
    """A clause id without its family, for case ids."""
    return clause.split(".", 1)[1]


# ------------------------------------------------------------------------------------ functions that make the handle


def _created(spec: Spec, function: Function) -> Iterator[Draft]:
    """A function that takes no handle: its integers at their edges, then all about what it gave."""
    typical = {name: value.value for name, value in function.typical.items() if isinstance(value, Int)}
    frame = Frame(follow(spec, ()).machine, {p.name: typical.get(p.name, 0) for p in function.signature.params})
    for p in function.signature.params:
        if p.kind is not Kind.INTEGER or p.out:
            continue
        values: dict[int, tuple[str, Named]] = {}
        for edge in edges(function, frame):
            if edge.param == p.name:
                for value in around(edge, p.bits):
                    values.setdefault(value.value, (_tail(edge.clause), value))
        for value in powers(p.bits):
            values.setdefault(value.value, ("type", value))
        for number, (clause, value) in values.items():
            yield from _sized(spec, function, p.name, clause, value.name, number)


def _sized(spec: Spec, function: Function, param: str, clause: str, name: str, number: int) -> Iterator[Draft]:
    args = {**function.typical, param: Int(number)}
    given = tuple((p.name, args[p.name]) for p in function.signature.params if p.name in args)
    call = Call(function.name, given, Target(RESULT))
    kind = next(iter(function.creates.values()))
    body: tuple[Statement, ...] = (call, *rename(probe(spec, kind), {SUBJECT: RESULT}))
    measured = function.takes is not None and function.takes.size == param
    if number and measured and spec.kinds[kind].holds:
        # Whatever is granted must be usable to its last byte, too large or not.
        body += touches(RESULT, number)
    yield Draft(function.family, "limit", function.name, f"{clause}/{param}={name}", body)


# ------------------------------------------------------------------------------------------------------ dense sweeps


def sweep_drafts(spec: Spec) -> Iterator[Draft]:
    """Every value up to a little beyond each small limit, as loops: one program a value of the other parameter."""
    for function in spec.functions.values():
        for kind in kinds_of(function)[:1]:
            yield from _sweeps(spec, function, kind)


def _sweeps(spec: Spec, function: Function, kind: str) -> Iterator[Draft]:
    param = handle_params(function, kind)[0]
    for name in spec.kinds[kind].sweeps:
        setup = (*state(spec, kind, name), *call_on(spec, function, param.name))
        found = _frame(spec, function, setup)
        if found is None:
            continue
        frame, before = found
        swept = {edge.param: edge.value for edge in edges(function, frame) if 1 < edge.value <= DENSE}
        joined = sums(function, frame)
        if joined and name == spec.kinds[kind].sweeps[0]:
            edge = joined[0]
            for fixed in range(edge.value + SWEEP_MARGIN):
                changes = arguments(function, {edge.second: fixed, edge.first: DENSE})
                changes[edge.first] = Int(0, "i")
                call = call_on(spec, function, param.name, changes=changes)[-1]
                yield _swept(spec, function, kind, name, before, call, edge.value, f"{edge.second}={fixed}")
        elif not joined:
            for at, value in swept.items():
                call = call_on(spec, function, param.name, changes={at: Int(0, "i")})[-1]
                yield _swept(spec, function, kind, name, before, call, value, at)


def _swept(
    spec: Spec,
    function: Function,
    kind: str,
    name: str,
    before: tuple[Statement, ...],
    call: Statement,
    limit: int,
    label: str,
) -> Draft:
    loop = Repeat(limit + SWEEP_MARGIN, "i", (call,))
    return Draft(
        function.family,
        "sweep",
        function.name,
        f"{name}/{label}",
        (*before, loop),
        probe(spec, kind),
        item=f"{function.family}/sweep/{function.name}/{name}",
    )
