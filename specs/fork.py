"""Forks: copies of the state of a run through the model that go ways of their own, and what tells two states apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from acl_cts.specs.execution import Binding, Execution
from acl_cts.specs.machine import Machine
from acl_cts.specs.values import Obj


class Twins:
    """Copies of objects, one each, with all that they refer to.

    What had an address before is left as it is: it is gone, and only asked what it was like.
    """

    def __init__(self) -> None:
        self._twins: dict[int, Obj] = {}
        self._todo: list[tuple[Obj, Obj]] = []

    def of(self, value: Any) -> Any:
        """The copy of `value`, which may hold objects."""
        copied = self._copied(value)
        while self._todo:
            item, twin = self._todo.pop()
            twin.fields = {name: self._copied(each) for name, each in item.fields.items()}
        return copied

    def known(self, identity: int) -> Obj | None:
        """The copy of the object with this identity, if one was made."""
        return self._twins.get(identity)

    def _copied(self, value: Any) -> Any:
        kind = type(value)
        if kind is Obj:
            return self._twin(value)
        return tuple(map(self._copied, value)) if kind is tuple and _lists_objects(value) else value

    def _twin(self, item: Obj) -> Obj:
        twin = self._twins.get(id(item))
        if twin is None:
            twin = Obj(
                item.kind,
                {},
                item.alive,
                [*item.addresses],
                item.earlier,
                item.taint,
                dict(item.pending),
                [*item.writes],
                item.doubt,
            )
            self._twins[id(item)] = twin
            self._todo.append((item, twin))
        return twin


def _lists_objects(value: Any) -> bool:
    """Whether `value` is a list of objects; other lists are bytes, and long."""
    return type(value) is tuple and value != () and isinstance(value[-1], Obj)


def fork(run: Execution) -> Execution:
    """A copy of `run`: what happens to one is not seen by the other."""
    twins = Twins()

    def bound(binding: Binding) -> Binding:
        outs = {name: twins.of(value) for name, value in binding.outs.items()}
        return Binding(twins.of(binding.principal), outs, binding.function)

    return replace(
        run,
        bindings={key: bound(binding) for key, binding in run.bindings.items()},
        located={key: twins.of(region) for key, region in run.located.items()},
        last={name: bound(binding) for name, binding in run.last.items()},
        machine=_machine(run.machine, twins),
    )


def _machine(machine: Machine, twins: Twins) -> Machine:
    parts = machine.parts
    made = replace(
        machine,
        collections={
            name: {twins.of(key): twins.of(record) for key, record in keys.items()}
            for name, keys in machine.collections.items()
        },
        objects=[twins.of(item) for item in machine.objects if item.alive is not False],
    )
    made.pending = {
        (name, id(twin)): clause
        for (name, identity), clause in machine.pending.items()
        if (twin := twins.known(identity)) is not None
    }
    made.take_over({place: twins.of(item) for place, item in parts.holders.items()}, parts.owners, twins.known)
    return made


def forget(run: Execution, names: frozenset[str]) -> None:
    """Let go of `names`, which are bound again before they are used again, and of what is gone and has no name: only
    what it had left in its memory could still be told of it."""
    for known in (run.bindings, run.located):
        for key in [key for key in known if key[0] in names]:
            del known[key]
    named = {id(value) for bound in run.bindings.values() for value in (bound.principal, *bound.outs.values())}
    machine = run.machine
    holders = {
        place: item for place, item in machine.parts.holders.items() if item.alive is not False or id(item) in named
    }
    # One whose life is unknown may have lost its address to another, and still counts.
    owning = (*holders.values(), *(item for item in machine.objects if item.alive is not False))
    regions = {id(item): item for item in map(machine.region_of, owning) if item is not None}
    machine.take_over(holders, {k: n for k, n in machine.parts.owners.items() if k in regions}, regions.get)


# ---------------------------------------------------------------------------------------------------- telling apart


class _Numbers:
    """Numbers objects by first mention, so that equal shapes get equal descriptions."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.found: list[Obj] = []

    def mark(self, value: Any) -> Hashable:
        """`value` with numbers in the place of objects."""
        kind = type(value)
        if kind is Obj:
            number = self._numbers.get(id(value))
            if number is None:
                number = self._numbers[id(value)] = len(self.found)
                self.found.append(value)
            return _Number(number)
        return tuple(map(self.mark, value)) if kind is tuple and _lists_objects(value) else value


class _Number(int):
    """An object's number, unequal to the integer."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and int(self) == int(other)

    def __hash__(self) -> int:
        return hash(("object", int(self)))


def fingerprint(run: Execution) -> Hashable:
    """What tells the state of `run` from others of the same program: equal for states that answer alike from here on.
    Two that are alike may have different ones, as when objects that no name stands for came in another order."""
    numbers, machine = _Numbers(), run.machine
    mark = numbers.mark
    names = [
        (key, mark(bound.principal), bound.function, tuple((name, mark(value)) for name, value in bound.outs.items()))
        for key, bound in sorted(run.bindings.items(), key=_by_key)
    ]
    places = [(key, mark(region)) for key, region in sorted(run.located.items(), key=_by_key)]
    held = [
        (name, frozenset((mark(key), mark(record)) for key, record in keys.items()))
        for name, keys in machine.collections.items()
    ]
    parts = machine.parts
    holders = [(kind, ptr.id, mark(parts.holders[kind, ptr])) for kind, ptr in sorted(parts.holders, key=_by_place)]
    living = frozenset(mark(item) for item in machine.objects if item.alive is not False)
    described = []
    for item in numbers.found:  # grows while it is gone through
        described.append(_described(item, mark))
    waiting = frozenset((name, mark_of, clause) for name, mark_of, clause in _pending(machine, numbers))
    return (
        tuple(names),
        tuple(places),
        tuple(held),
        tuple(holders),
        living,
        tuple(described),
        waiting,
        machine.live_objects,
        machine.live_bytes,
    )


def _described(item: Obj, mark: Any) -> Hashable:
    before = item.earlier.fields.items() if item.earlier is not None else ()
    return (
        item.kind,
        item.alive,
        item.doubt,
        item.taint,
        tuple(item.addresses),
        tuple((name, mark(value)) for name, value in item.fields.items()),
        tuple((name, value) for name, value in before if type(value) is tuple and not _lists_objects(value)),
        frozenset(item.pending.items()),
        tuple(item.writes),
    )


def _pending(machine: Machine, numbers: _Numbers) -> list[tuple[str, Hashable, str]]:
    by_identity = {id(item): number for number, item in enumerate(numbers.found)}
    return [(name, by_identity.get(identity), clause) for (name, identity), clause in machine.pending.items()]


def _by_key(entry: tuple[tuple[str, int | None], Any]) -> tuple[str, int]:
    name, index = entry[0]
    return name, -1 if index is None else index


def _by_place(place: tuple[str, Any]) -> tuple[str, int]:
    return place[0], place[1].id
