"""Bindings: what the names of a program stand for while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.specs.program import Index, Ref, Target

Variable = tuple[str, int | None]
"""A name, and the position when it is an array."""


@dataclass(slots=True)
class Binding:
    """Outputs of one successful call, `return` among them, and the `principal` one. `area`: address of the data area
    that GetBufData told for this variable."""

    outputs: dict[str, int]
    principal: int | None
    area: int | None = None

    def copy(self) -> Binding:
        """The same for another variable, for which no data area was told yet."""
        return Binding(self.outputs, self.principal)


class Unset(Exception):
    """Something was referred to that was never given."""


class Bindings:
    """All variables of a running program, and the counters of the loops around it."""

    def __init__(self) -> None:
        self._bound: dict[Variable, Binding] = {}
        self.counters: dict[str, int] = {}

    def variable(self, place: Ref | Target) -> Variable:
        """The variable that `place` means at this moment."""
        return place.name, None if place.index is None else self._position(place.index)

    def _position(self, index: Index) -> int:
        return index.offset if index.loop is None else index.offset + self.counters[index.loop]

    def bind(self, variable: Variable, binding: Binding | None) -> None:
        """Let `variable` stand for `binding`; None leaves it unset."""
        if binding is None:
            self._bound.pop(variable, None)
        else:
            self._bound[variable] = binding

    def find(self, ref: Ref) -> Binding | None:
        """What `ref` names, None when it is unset."""
        return self._bound.get(self.variable(ref))

    def value(self, ref: Ref) -> int | None:
        """The raw value of `ref`; None when it was never given or is a NULL handle."""
        binding = self.find(ref)
        if binding is None:
            return None
        return binding.principal if ref.field is None else binding.outputs.get(ref.field)

    def need(self, ref: Ref) -> int:
        """The raw value of `ref`. Raises Unset when there is none."""
        raw = self.value(ref)
        if raw is None:
            raise Unset
        return raw
