"""Slots: where the handles and outputs of a program live while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acl_cts.backends.native import layout
from acl_cts.specs.interface import Interface, Kind, Signature
from acl_cts.specs.program import Call, Index, Invoke, Program, Read, Ref, Repeat, Statement, UntilSame, Write, children


class Malformed(ValueError):
    """A program that makes no sense to any executor; the message says why."""


class TooLarge(ValueError):
    """A program that takes more than an executor has; the message says of what."""


RETURNED = "return"
"""Name of the output that is a function's return value."""


@dataclass(slots=True)
class Variable:
    """A name of the program: an array of `length` elements, each with one slot a field and, where a data area is
    touched through it, two for the area's address and size. Field None is the principal handle."""

    length: int = 1
    fields: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    touched: bool = False
    base: int = 0

    @property
    def stride(self) -> int:
        """Slots of one element."""
        return len(self.fields) + (2 if self.touched else 0)

    @property
    def area(self) -> int:
        """Slot of the data area's address within an element; that of its size comes next."""
        return len(self.fields)


@dataclass(slots=True)
class Slots:
    """All variables of one program. Slot 0 is nobody's."""

    variables: dict[str, Variable]
    makers: dict[str, set[str]]
    count: int

    def place(self, ref: Ref) -> tuple[Variable, int]:
        """The variable of `ref` and the slot that its field has when no loop moves it."""
        variable = self.variables[ref.name]
        offset = ref.index.offset if ref.index else 0
        return variable, variable.base + offset * variable.stride + variable.fields[ref.field]


def is_handle(signature: Signature, output: str) -> bool:
    """Whether that output is a handle, which counts as never given when it is NULL."""
    if output == RETURNED:
        return signature.returns is Kind.HANDLE
    return signature.param(output).kind is Kind.HANDLE


def lay_out(program: Program, interface: Interface) -> Slots:
    """Give every variable of `program` its slots. Raises TooLarge when they are too many."""
    plan = _Plan(interface, {}, {})
    plan.block(program.body, {})
    plan.block(program.cleanup, {})
    place = 1
    for variable in plan.variables.values():
        variable.base = place
        place += variable.length * variable.stride
    if place > layout.MAX_SLOTS:
        raise TooLarge(f"the program holds more than {layout.MAX_SLOTS} handles")
    return Slots(plan.variables, plan.makers, place)


@dataclass(slots=True)
class _Plan:
    interface: Interface
    variables: dict[str, Variable]
    makers: dict[str, set[str]]

    def block(self, statements: tuple[Statement, ...], loops: Mapping[str, int]) -> None:
        for statement in statements:
            self.statement(statement, loops)

    def statement(self, statement: Statement, loops: Mapping[str, int]) -> None:
        if isinstance(statement, Call):
            self.call(statement, loops)
            return
        match statement:
            case Repeat(count=count, loop=loop, body=body):
                self.block(body, {**loops, loop: count})
                return
            case UntilSame(found=found, like=like, at_most=at_most, call=call):
                self.ref(like, loops)
                self.target(found, 1, call.function)
                self.call(call, loops)
                if call.target is not None:
                    self.target(call.target.name, at_most, call.function)
                return
            case Write(ref=ref) | Read(ref=ref):
                self.ref(ref, loops).touched = True
            case Invoke(function=function, args=args):
                for value in (function, *args):
                    if isinstance(value, Ref):
                        self.ref(value, loops)
        self.block(children(statement), loops)

    def call(self, call: Call, loops: Mapping[str, int]) -> None:
        for _, value in call.args:
            if isinstance(value, Ref):
                self.ref(value, loops)
        if call.target is not None:
            self.target(call.target.name, _extent(call.target.index, loops), call.function)

    def target(self, name: str, length: int, function: str) -> None:
        variable = self.variables.setdefault(name, Variable())
        variable.length = max(variable.length, length)
        self.makers.setdefault(name, set()).add(function)

    def ref(self, ref: Ref, loops: Mapping[str, int]) -> Variable:
        variable = self.variables.get(ref.name)
        if variable is None:
            variable = self.variables[ref.name] = Variable()
        if ref.index is not None:
            variable.length = max(variable.length, _extent(ref.index, loops))
        variable.fields.setdefault(ref.field, len(variable.fields))
        return variable


def _extent(index: Index | None, loops: Mapping[str, int]) -> int:
    """Elements that an array needs for this index to lie inside."""
    if index is None:
        return 1
    if index.loop is None:
        return index.offset + 1
    if index.loop not in loops:
        raise Malformed(f"{index.loop} is not the counter of an enclosing repeat")
    return index.offset + max(loops[index.loop], 1)
