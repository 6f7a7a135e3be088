"""The functions that programs can call: their parameters, and the code behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from acl_cts.backends.simulator import allocator, mbuf, stream


class Role(StrEnum):
    """What an argument is to the caller."""

    POINTER = "pointer"
    INTEGER = "integer"
    CALLBACK = "callback"
    DATA = "data"
    ROOM = "room"
    OUT_POINTER = "out pointer"
    OUT_HANDLE = "out handle"
    OUT_INTEGER = "out integer"


OUTPUTS = frozenset({Role.OUT_POINTER, Role.OUT_HANDLE, Role.OUT_INTEGER})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `bits`: width of an integer. `ctype`: C type of a callback."""

    name: str
    role: Role
    bits: int = 64
    ctype: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    `code` takes the process and one argument per parameter. `principal`: the output that stands for the whole call, ''
    for none. `returns_handle`: the result is a handle, NULL for failure, and otherwise an error code. `outputs`: out
    parameters and rooms with their places. The parameter `size` states how many bytes DATA and ROOM have.
    """

    name: str
    parameters: tuple[Parameter, ...]
    code: Callable[..., int]
    principal: str
    returns_handle: bool
    outputs: tuple[tuple[int, Parameter], ...]


_in = partial(Parameter, role=Role.POINTER)
_integer = partial(Parameter, role=Role.INTEGER)
_handle = partial(Parameter, role=Role.OUT_HANDLE)
_pointer = partial(Parameter, role=Role.OUT_POINTER)
_number = partial(Parameter, role=Role.OUT_INTEGER)


def _callback(kind: str) -> Parameter:
    return Parameter("func", Role.CALLBACK, ctype=f"aclrtAllocator{kind}Func")


def _function(code: Callable[..., int], *parameters: Parameter, principal: str = "") -> Function:
    outputs = tuple((k, p) for k, p in enumerate(parameters) if p.role in OUTPUTS or p.role is Role.ROOM)
    return Function(code.__name__, parameters, code, principal, principal == "return", outputs)


_BUF, _HEAD, _DESC, _STREAM = _in("buf"), _in("headBuf"), _in("allocatorDesc"), _in("stream")
_SIZE, _OFFSET = _integer("size"), _integer("offset")

FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        _function(mbuf.aclrtAllocBuf, _handle("buf"), _SIZE, principal="buf"),
        _function(mbuf.aclrtFreeBuf, _BUF),
        _function(mbuf.aclrtGetBufData, _BUF, _pointer("dataPtr"), _number("size")),
        _function(mbuf.aclrtSetBufUserData, _BUF, Parameter("dataPtr", Role.DATA), _SIZE, _OFFSET),
        _function(mbuf.aclrtGetBufUserData, _BUF, Parameter("dataPtr", Role.ROOM), _SIZE, _OFFSET),
        _function(mbuf.aclrtGetBufDataLen, _BUF, _number("len")),
        _function(mbuf.aclrtSetBufDataLen, _BUF, _integer("len")),
        _function(mbuf.aclrtCopyBufRef, _BUF, _handle("newBuf"), principal="newBuf"),
        _function(mbuf.aclrtAppendBufChain, _HEAD, _BUF),
        _function(mbuf.aclrtGetBufFromChain, _HEAD, _integer("index", bits=32), _handle("buf"), principal="buf"),
        _function(mbuf.aclrtGetBufChainNum, _HEAD, _number("num")),
        _function(allocator.aclrtAllocatorCreateDesc, principal="return"),
        _function(allocator.aclrtAllocatorDestroyDesc, _DESC),
        _function(allocator.aclrtAllocatorSetObjToDesc, _DESC, _in("allocator")),
        _function(allocator.aclrtAllocatorSetAllocFuncToDesc, _DESC, _callback("Alloc")),
        _function(allocator.aclrtAllocatorSetAllocAdviseFuncToDesc, _DESC, _callback("AllocAdvise")),
        _function(allocator.aclrtAllocatorSetFreeFuncToDesc, _DESC, _callback("Free")),
        _function(allocator.aclrtAllocatorSetGetAddrFromBlockFuncToDesc, _DESC, _callback("GetAddrFromBlock")),
        _function(allocator.aclrtAllocatorRegister, _STREAM, _DESC),
        _function(
            allocator.aclrtAllocatorGetByStream,
            _STREAM,
            _handle("allocatorDesc"),
            *(_pointer(n) for n in ("allocator", "allocFunc", "freeFunc", "allocAdviseFunc", "getAddrFromBlockFunc")),
            principal="allocatorDesc",
        ),
        _function(allocator.aclrtAllocatorUnregister, _STREAM),
        _function(stream.aclrtCreateStream, _handle("stream"), principal="stream"),
        _function(stream.aclrtDestroyStream, _STREAM),
    )
}
"""All functions by name."""
