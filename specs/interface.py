"""The C interface of the tables: signatures of functions and callbacks, as code generators and executors need them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What an argument or result is."""

    HANDLE = "handle"
    INTEGER = "integer"
    CODE = "code"
    DATA = "data"
    ROOM = "room"
    POINTER = "pointer"
    OBJECT = "object"
    CALLBACK = "callback"


INTEGERS: Mapping[str, tuple[int, bool]] = {
    "size_t": (64, False),
    "uint64_t": (64, False),
    "uint32_t": (32, False),
    "uint16_t": (16, False),
    "uint8_t": (8, False),
    "int64_t": (64, True),
    "int32_t": (32, True),
    "int16_t": (16, True),
    "int8_t": (8, True),
    "int": (32, True),
    "unsigned": (32, False),
    "aclError": (32, True),
}
"""C types of integers: width in bits, whether signed. Every other type is a pointer."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter.

    `ctype`: C type of the value itself; an out parameter is passed as a pointer to it. `bits`: width of an integer.
    `handle`: kind of handle. `measure`: the parameter that states the size in bytes of a DATA or ROOM parameter.
    DATA is caller memory that is read (`const void *`), ROOM caller memory that is written (`void *`).
    """

    name: str
    ctype: str
    kind: Kind
    out: bool = False
    bits: int = 64
    handle: str = ""
    measure: str = ""
    const: bool = False


@dataclass(frozen=True, slots=True)
class Locates:
    """A function's success tells where the data area of handle parameter `handle` lies: out `base`, out `size`."""

    handle: str
    base: str
    size: str


@dataclass(frozen=True, slots=True)
class Signature:
    """One function. `returns` is CODE (an `aclError`) or HANDLE (NULL = failure). `principal` names what a bare Ref
    to a call's target means: an out parameter, `return`, or ''."""

    name: str
    returns: Kind
    return_ctype: str
    params: tuple[Param, ...]
    principal: str = ""
    locates: Locates | None = None
    family: str = ""
    auxiliary: bool = False

    def param(self, name: str) -> Param:
        """The parameter called `name`. Raises KeyError when there is none."""
        for param in self.params:
            if param.name == name:
                return param
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class CallbackType:
    """A callback's C type: its name, its return type and its parameters (C type, name)."""

    ctype: str
    returns: str
    params: tuple[tuple[str, str], ...]

    @property
    def measure(self) -> int | None:
        """Place of the parameter that says for how much it is asked, the first integer; None when there is none."""
        return next((place for place, (ctype, _) in enumerate(self.params) if ctype in INTEGERS), None)


@dataclass(frozen=True, slots=True)
class Interface:
    """All functions and types of all families. `typedefs`: C declarations, in order."""

    functions: dict[str, Signature]
    callbacks: dict[str, CallbackType]
    typedefs: tuple[str, ...]


def default_room(size: int) -> int:
    """Bytes of caller memory given to a ROOM or DATA parameter that a call must not use beyond what is granted."""
    return size if size <= 4096 else 256
