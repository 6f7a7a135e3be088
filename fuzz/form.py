"""Forms: what of a function's calls is the same every time, worked out once."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.fuzz.numbers import Limits, limits_for
from acl_cts.fuzz.vital import Facts
from acl_cts.specs.interface import Kind, Param


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One function. `handles`, `numbers`, `data`, `others`: its input parameters by what fills them, each with its slot
    in a record. `pointers`: what can be NULL. `outputs`: integers that it writes, `functions`: function pointers, with
    their types. `sized`: the parameter that says how many bytes it takes."""

    facts: Facts
    handles: tuple[tuple[int, Param], ...]
    numbers: tuple[tuple[int, Param, Limits, bool], ...]
    data: tuple[tuple[int, Param], ...]
    others: tuple[tuple[int, Param], ...]
    pointers: tuple[str, ...]
    outputs: tuple[str, ...]
    functions: tuple[tuple[str, str], ...]
    order: tuple[str, ...]
    named: bool
    sized: str

    @property
    def answers(self) -> str:
        """Kind of the handle that its target stands for, '' for none."""
        function = self.facts.function
        if self.facts.made:
            return self.facts.made_kind
        return next((p.handle for p in function.signature.params if p.out and p.name == self.facts.answer), "")

    @property
    def name(self) -> str:
        """The function's name."""
        return self.facts.function.name


def form_of(known: Facts) -> Form:
    """The form of one function."""
    function = known.function
    params = function.signature.params
    inputs = [p for p in params if not p.out and p.kind is not Kind.ROOM]
    placed = [*enumerate(inputs)]
    measures = {p.measure for p in params}
    return Form(
        known,
        tuple((k, p) for k, p in placed if p.kind is Kind.HANDLE),
        tuple((k, p, limits_for(function, p), p.name in measures) for k, p in placed if p.kind is Kind.INTEGER),
        tuple((k, p) for k, p in placed if p.kind is Kind.DATA),
        tuple((k, p) for k, p in placed if p.kind in (Kind.OBJECT, Kind.CALLBACK)),
        tuple(p.name for p in params if p.out or p.kind is not Kind.INTEGER),
        tuple(p.name for p in params if p.out and p.kind is Kind.INTEGER),
        tuple((p.name, p.ctype) for p in params if p.name in function.invokes),
        tuple(p.name for p in params),
        bool(function.creates or function.aliases),
        function.takes.size if function.takes else "",
    )
