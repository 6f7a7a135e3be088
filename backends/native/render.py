"""Rendering: the interface of the tables as the C source of an executor."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from acl_cts.backends.native import layout
from acl_cts.backends.native.kept_text import kept_text
from acl_cts.specs.interface import INTEGERS, CallbackType, Interface, Kind, Param, Signature, default_room
from acl_cts.specs.kept import visible
from acl_cts.specs.trace import callback_result

TEMPLATES = Path(__file__).resolve().parent / "templates"

_PASSING = {Kind.DATA: "BY_DATA", Kind.ROOM: "BY_ROOM"}
_TRACK = 1
_FORGET = 2


@dataclass(frozen=True, slots=True)
class _Param:
    name: str
    passing: str
    width: int
    function: bool
    tracked: int


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    return_ctype: str
    returns_handle: bool
    c_params: tuple[str, ...]
    c_args: tuple[str, ...]
    params: tuple[_Param, ...]
    base: int
    size: int


@dataclass(frozen=True, slots=True)
class _Callback:
    name: str
    returns: str
    void: bool
    pointer: bool
    count: int
    size: int | None
    c_params: tuple[str, ...]
    c_words: tuple[str, ...]
    c_args: tuple[str, ...]
    results: dict[int, int]


@dataclass(frozen=True, slots=True)
class _Arena:
    function: int
    parameter: int


@dataclass(frozen=True, slots=True)
class _Again:
    """What callback number 4 calls: lookups by a tracked handle, and makers with what destroys their handle."""

    key_ctype: str = ""
    lookups: list[dict[str, int]] = field(default_factory=list)
    makers: list[dict[str, int]] = field(default_factory=list)


def is_integer(ctype: str) -> bool:
    """Whether `ctype` is an integer; everything else that a callback takes or returns is a pointer."""
    return ctype in INTEGERS


def is_signed(ctype: str) -> bool:
    """Whether `ctype` is a signed integer."""
    return ctype in INTEGERS and INTEGERS[ctype][1]


def by_address(param: Param) -> bool:
    """Whether the argument is memory lent to the library."""
    return param.out or param.kind in _PASSING


def cell_width(param: Param) -> int:
    """Bytes of an out parameter."""
    if param.kind in (Kind.INTEGER, Kind.CODE):
        return INTEGERS[param.ctype][0] // 8 if param.ctype in INTEGERS else param.bits // 8
    return 8


def interface_digest(interface: Interface) -> str:
    """Identifies the tables that an executor was generated from, as far as it knows them."""
    parts = [str(interface.typedefs)]
    parts += [str(interface.functions[name]) for name in interface.functions]
    parts += [str(interface.callbacks[name]) for name in interface.callbacks]
    return _digest(parts)


@cache
def protocol_digest() -> str:
    """Identifies how the two sides talk: the layout of commands and replies, and the C that reads and writes them."""
    parts = [str(layout.constants()), str(layout.STATUS)]  # its first words are those of `WHERE`
    parts += [path.read_text(encoding="utf-8") for path in sorted(visible(TEMPLATES.glob("*.j2")))]
    return _digest(parts)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def render_executor(interface: Interface, flavour: str) -> str:
    """The C source of an executor. `flavour`: plain, asan or tsan."""
    again = _called_again(interface)
    functions = [_function(f, again.key_ctype) for f in interface.functions.values()]
    arenas: list[_Arena] = []
    arena_of = [_row(k, f, arenas) for k, f in enumerate(functions)]
    from acl_cts.backends.native.c_templates import c_templates  # late: most starts find what was rendered before

    return (
        c_templates(TEMPLATES)
        .get_template("executor.c.j2")
        .render(
            constants=layout.constants(),
            where=layout.WHERE,
            status=layout.STATUS[len(layout.WHERE) :],
            digest=interface_digest(interface),
            protocol=protocol_digest(),
            flavour=flavour,
            typedefs=_typedefs(interface),
            functions=functions,
            callbacks=[_callback(c) for c in interface.callbacks.values()],
            arenas=arenas,
            arena_of=arena_of,
            lookups=again.lookups,
            makers=again.makers,
            default_room_limit=_room_limit(),
            default_room_large=default_room(2**63),
        )
    )


def kept_executor(interface: Interface, flavour: str) -> str:
    """The same as `render_executor`, kept from the last time."""
    inputs = (interface_digest(interface), flavour)
    return kept_text(f"executor-{flavour}", inputs, (), lambda: render_executor(interface, flavour))


def _room_limit() -> int:
    """The largest size that `default_room` grants in full."""
    low, high = 0, layout.ROOM_LIMIT
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if default_room(middle) == middle else (low, middle - 1)
    return low


def _typedefs(interface: Interface) -> list[str]:
    """The types of the tables and, where they are not among them, of the callbacks and of codes."""
    lines = [line if line.rstrip().endswith(";") else f"{line};" for line in interface.typedefs]
    text = "\n".join(lines)
    if "aclError;" not in text:
        lines.insert(0, "typedef int aclError;")
    for c in interface.callbacks.values():
        if f"(*{c.ctype})" not in text:
            params = ", ".join(ctype for ctype, _ in c.params) or "void"
            lines.append(f"typedef {c.returns} (*{c.ctype})({params});")
    return lines


def _function(signature: Signature, key_ctype: str) -> _Function:
    names = [p.name for p in signature.params]
    located = signature.locates
    return _Function(
        name=signature.name,
        return_ctype=signature.return_ctype,
        returns_handle=signature.returns is Kind.HANDLE,
        c_params=tuple(_c_type(p) for p in signature.params),
        c_args=tuple(_c_argument(_c_type(p), p, k) for k, p in enumerate(signature.params)),
        params=tuple(
            _Param(
                name=p.name,
                passing="BY_CELL" if p.out and p.kind not in _PASSING else _PASSING.get(p.kind, "BY_VALUE"),
                width=cell_width(p) if p.out and p.kind not in _PASSING else 0,
                function=p.kind is Kind.CALLBACK,
                tracked=_tracked(signature, p, key_ctype),
            )
            for p in signature.params
        ),
        base=names.index(located.base) if located else -1,
        size=names.index(located.size) if located else -1,
    )


def _c_type(param: Param) -> str:
    if param.kind is Kind.DATA:
        return "const void *"
    if param.kind is Kind.ROOM:
        return "void *"
    return f"{param.ctype} *" if param.out else param.ctype


def _c_argument(ctype: str, param: Param, position: int) -> str:
    if by_address(param) or param.kind is not Kind.INTEGER:
        return f"({ctype})(uintptr_t)v[{position}]"
    return f"({ctype})v[{position}]"


def _tracked(signature: Signature, param: Param, key_ctype: str) -> int:
    """The handle that callbacks use is the one last registered with another; destroying it ends that."""
    if param.out or param.kind is not Kind.HANDLE or param.ctype != key_ctype:
        return 0
    inputs = [p for p in signature.params if not p.out]
    if len(inputs) > 1:
        return _TRACK
    return _FORGET if signature.auxiliary else 0


def _called_again(interface: Interface) -> _Again:
    signatures = list(interface.functions.values())
    again = _Again(_key_ctype(signatures))
    for number, signature in enumerate(signatures):
        if again.key_ctype and _is_lookup(signature):
            key = next(k for k, p in enumerate(signature.params) if not p.out)
            if signature.params[key].ctype != again.key_ctype:
                continue
            again.lookups.append({"function": number, "count": len(signature.params), "key": key})
        if signature.returns is Kind.HANDLE and not signature.params:
            destroyers = (
                k
                for k, s in enumerate(signatures)
                if s.returns is Kind.CODE and len(s.params) == 1 and s.params[0].ctype == signature.return_ctype
            )
            destroy = next(destroyers, None)
            if destroy is not None:
                again.makers.append({"make": number, "destroy": destroy})
    return again


def _is_lookup(signature: Signature) -> bool:
    """Gives callbacks out for one handle."""
    inputs = [p for p in signature.params if not p.out]
    gives = any(p.out and p.kind is Kind.CALLBACK for p in signature.params)
    return gives and len(inputs) == 1 and inputs[0].kind is Kind.HANDLE


def _key_ctype(signatures: list[Signature]) -> str:
    for signature in signatures:
        if _is_lookup(signature):
            return next(p.ctype for p in signature.params if not p.out)
    return ""


def _row(number: int, function: _Function, arenas: list[_Arena]) -> list[int]:
    row = []
    for position, param in enumerate(function.params):
        if param.passing == "BY_VALUE":
            row.append(-1)
        else:
            row.append(len(arenas))
            arenas.append(_Arena(number, position))
    return row or [-1]


def _callback(c: CallbackType) -> _Callback:
    integers = [is_integer(ctype) for ctype, _ in c.params]
    steps = ["" if integer else "(uintptr_t)" for integer in integers]
    return _Callback(
        name=c.ctype,
        returns=c.returns,
        void=c.returns == "void",
        pointer=not is_integer(c.returns),
        count=len(c.params),
        size=c.measure,
        c_params=tuple(f"{ctype} {name}" for ctype, name in c.params),
        c_words=tuple(f"(u64){step}{name}" for step, (_, name) in zip(steps, c.params, strict=True)),
        c_args=tuple(f"({ctype}){steps[k]}v[{k}]" for k, (ctype, _) in enumerate(c.params)),
        results={n: callback_result(c.ctype, n, 0) for n in range(1, 5)},
    )


def guard_name(interface: Interface, guard: int) -> str:
    """What the number of an inaccessible page stands for, as the status page holds it; '' for none."""
    front, number = guard >> 16, guard & 0xFFFF
    arenas: list[_Arena] = []
    signatures = list(interface.functions.values())
    for k, signature in enumerate(signatures):
        _row(k, _function(signature, ""), arenas)
    if number == 0:
        return ""
    if number > len(arenas):
        return f"user object {number - len(arenas)}"
    arena = arenas[number - 1]
    param = signatures[arena.function].params[arena.parameter].name
    return f"page in front of {param}" if front else f"guard page of {param}"
