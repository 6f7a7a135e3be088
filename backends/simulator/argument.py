"""Arguments: from what a program writes to what a function gets, prepared once and made anew for every call."""

from __future__ import annotations

from collections.abc import Callable

from acl_cts.backends.simulator.binding import Bindings
from acl_cts.backends.simulator.builtin import callback_address, object_address
from acl_cts.backends.simulator.caller import Cell, Room, default_size
from acl_cts.backends.simulator.function import Function, Parameter, Role
from acl_cts.specs.program import Callback, Fill, Int, Literal, Null, Object, Ramp, Ref, Value, content
from acl_cts.specs.program import Room as Space
from acl_cts.specs.trace import sentinel

Argument = int | bytes | Cell | Room | None
"""What a function gets for one parameter; None is NULL."""

Maker = Callable[[Bindings], Argument]
"""Makes the argument for one call. Raises Unset when it refers to what was never given."""

WORD = 1 << 64
"""Numbers are below this."""


def makers(function: Function, given: dict[str, Value]) -> tuple[Maker, ...]:
    """One maker per parameter of `function`; the values suit the parameters, outputs and memory may be left out."""
    size = given.get("size")
    length = number(size) if size is not None else None
    return tuple(_maker(parameter, given.get(parameter.name), length) for parameter in function.parameters)


def _maker(parameter: Parameter, value: Value | None, length: Callable[[Bindings], int] | None) -> Maker:
    match parameter.role:
        case Role.INTEGER:
            return _integer(value, parameter.bits)
        case Role.POINTER | Role.CALLBACK:
            return number(value, parameter.ctype)
    if isinstance(value, Null):
        return lambda bindings: None
    match parameter.role, value:
        case Role.ROOM, Space(size=size):
            return lambda bindings: Room(size)
        case Role.ROOM, _:
            return lambda bindings: Room(default_size(length(bindings) if length else 0))
        case Role.DATA, Fill() | Ramp() | Literal():
            data = content(value)
            return lambda bindings: data
        case Role.DATA, _:
            return lambda bindings: sentinel(default_size(length(bindings) if length else 0))
    return lambda bindings: Cell()


def _integer(value: Value | None, bits: int) -> Maker:
    """Maker of a number of `bits` bits; higher ones are lost, as in C."""
    raw, mask = number(value), (1 << bits) - 1
    if isinstance(value, Int) and value.loop is None:
        constant = value.value & mask
        return lambda bindings: constant
    return lambda bindings: raw(bindings) & mask


def number(value: Value | None, ctype: str = "") -> Callable[[Bindings], int]:
    """Maker of a number or pointer; `ctype`: the C type that a built-in callback is to have."""
    constant = 0
    match value:
        case Int(value=base, loop=str() as loop):
            return lambda bindings: (base + bindings.counters[loop]) % WORD
        case Ref():
            return lambda bindings: bindings.need(value)
        case Int(value=constant):
            pass
        case Callback(number=n):
            constant = callback_address(ctype, n)
        case Object(number=n):
            constant = object_address(n)
    return lambda bindings: constant
