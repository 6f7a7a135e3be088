"""Built-in callbacks and objects: code and addresses that programs hand to the library."""

from __future__ import annotations

from functools import partial

from acl_cts.backends.simulator.allocator import (
    aclrtAllocatorCreateDesc,
    aclrtAllocatorDestroyDesc,
    aclrtAllocatorGetByStream,
)
from acl_cts.backends.simulator.caller import Cell
from acl_cts.backends.simulator.process import Code, Process
from acl_cts.specs.trace import callback_result

NUMBERS = range(1, 5)
"""Numbers of the built-in callbacks of each type, and of the objects."""

REENTRANT = 4
"""Number of the callback that calls the API from inside."""

CALLBACKS: dict[str, tuple[str, ...]] = {
    "aclrtAllocatorAllocFunc": ("pointer", "size"),
    "aclrtAllocatorAllocAdviseFunc": ("pointer", "size", "pointer"),
    "aclrtAllocatorFreeFunc": ("pointer", "pointer"),
    "aclrtAllocatorGetAddrFromBlockFunc": ("pointer",),
}
"""What each callback type takes, by C type."""

VOID = "aclrtAllocatorFreeFunc"
"""The callback type that returns nothing."""

_TEXT = 0x4000_0000_0000
_LIBRARY_TEXT = 0x7F3A_8000_1000
_OBJECTS = 0x6000_0000_0000


def callback_address(ctype: str, number: int) -> int:
    """Address of the built-in callback `number` of type `ctype`."""
    return _TEXT + (list(CALLBACKS).index(ctype) << 12) + (number << 6)


def object_address(number: int) -> int:
    """Address of the user's object `number`."""
    return _OBJECTS + (number << 8)


def install(process: Process) -> None:
    """Put the built-in callbacks, the objects and the library's default advise function into `process`."""
    for ctype in CALLBACKS:
        for number in NUMBERS:
            address = callback_address(ctype, number)
            process.executables[address] = Code(partial(_run, process, ctype, number), len(CALLBACKS[ctype]))
            process.kinds[address] = f"callback:{ctype}:{number}"
    for number in NUMBERS:
        process.kinds[object_address(number)] = f"object:{number}"
    process.default_advise = _LIBRARY_TEXT
    process.executables[_LIBRARY_TEXT] = Code(_default_advise, 3)
    process.kinds[_LIBRARY_TEXT] = "executable"


def _run(process: Process, ctype: str, number: int, *args: int) -> int | None:
    """A built-in callback: records its call, calls the API again if it is that one, and tells itself by its result."""
    size = args[1] if "size" in CALLBACKS[ctype] else 0
    result = None if ctype == VOID else callback_result(ctype, number, size)
    process.reached.append((ctype, number, args, result))
    if number == REENTRANT and not process.inside_callback:
        process.inside_callback = True
        try:
            _call_api(process)
        finally:
            process.inside_callback = False
    return result


def _call_api(process: Process) -> None:
    """Ask for the last registration, create a descriptor and destroy it."""
    cells = (Cell(), Cell(), Cell(), Cell(), Cell(), Cell())
    aclrtAllocatorGetByStream(process, process.last_stream, *cells)
    aclrtAllocatorDestroyDesc(process, aclrtAllocatorCreateDesc(process))


def _default_advise(allocator: int, size: int, addr: int) -> int:
    """The library's advise function for descriptors without one: it has no advice, so it allocates nothing."""
    return 0
