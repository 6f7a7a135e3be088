"""The 10 functions on allocator descriptors. Handles are addresses, 0 is NULL; out parameters cells, None is NULL."""

from __future__ import annotations

from acl_cts.backends.simulator.caller import Cell
from acl_cts.backends.simulator.codes import INVALID, MEMORY, SUCCESS
from acl_cts.backends.simulator.descriptor import REQUIRED, Descriptor, Registration, Slot
from acl_cts.backends.simulator.process import DESCRIPTOR_BYTES, REGISTRATION_BYTES, Process

HOOK_BYTES = 64
"""What the library asks the registered alloc function for when it calls hooks from inside."""


def aclrtAllocatorCreateDesc(process: Process) -> int:
    """Handle of a new descriptor with nothing set, or NULL."""
    if process.exhausted(process.descriptors):
        return 0
    handle = process.allocate(DESCRIPTOR_BYTES)
    if handle is None:
        return 0
    process.descriptors[handle] = Descriptor(handle)
    return handle


def aclrtAllocatorDestroyDesc(process: Process, allocatorDesc: int) -> int:
    """Ends a descriptor; what is registered stays registered."""
    if not allocatorDesc:
        return SUCCESS if process.profile.destroy_null else INVALID
    descriptor = process.descriptors.pop(allocatorDesc, None)
    if descriptor is None:
        return INVALID
    descriptor.alive = False
    process.release(allocatorDesc, DESCRIPTOR_BYTES)
    return SUCCESS


def aclrtAllocatorSetObjToDesc(process: Process, allocatorDesc: int, allocator: int) -> int:
    """Sets the user's object, which callbacks get as their first argument."""
    return _set(process, allocatorDesc, Slot.OBJECT, allocator)


def aclrtAllocatorSetAllocFuncToDesc(process: Process, allocatorDesc: int, func: int) -> int:
    """Sets the function that allocates."""
    return _set(process, allocatorDesc, Slot.ALLOC, func)


def aclrtAllocatorSetAllocAdviseFuncToDesc(process: Process, allocatorDesc: int, func: int) -> int:
    """Sets the function that allocates near an address."""
    return _set(process, allocatorDesc, Slot.ALLOC_ADVISE, func)


def aclrtAllocatorSetFreeFuncToDesc(process: Process, allocatorDesc: int, func: int) -> int:
    """Sets the function that frees a block."""
    return _set(process, allocatorDesc, Slot.FREE, func)


def aclrtAllocatorSetGetAddrFromBlockFuncToDesc(process: Process, allocatorDesc: int, func: int) -> int:
    """Sets the function that tells a block's address."""
    return _set(process, allocatorDesc, Slot.GET_ADDR_FROM_BLOCK, func)


def _set(process: Process, handle: int, slot: Slot, value: int) -> int:
    profile = process.profile
    descriptor = process.descriptors.get(handle)
    if descriptor is None:
        return INVALID
    null_accepted = profile.set_null_object if slot is Slot.OBJECT else profile.set_null_function
    if (not value and not null_accepted) or (slot in descriptor.slots and not profile.set_again):
        return INVALID
    descriptor.slots[slot] = value
    return SUCCESS


def aclrtAllocatorRegister(process: Process, stream: int, allocatorDesc: int) -> int:
    """Registers a descriptor on a stream, in place of an earlier one."""
    descriptor = process.descriptors.get(allocatorDesc)
    if stream not in process.streams or descriptor is None:
        return INVALID
    if not all(_is_set(process, descriptor, slot) for slot in REQUIRED):
        return INVALID
    if process.exhausted(process.descriptors):
        return MEMORY
    block = process.allocate(REGISTRATION_BYTES)
    if block is None:
        return MEMORY
    forget(process, stream)
    registration = process.registrations[stream] = Registration(descriptor, dict(descriptor.slots), block)
    process.last_stream = stream
    _call_hooks(process, _values(process, registration))
    return SUCCESS


def _is_set(process: Process, descriptor: Descriptor, slot: Slot) -> bool:
    value = descriptor.slots.get(slot)
    return value is not None and (value != 0 or process.profile.null_counts_as_set)


def aclrtAllocatorGetByStream(
    process: Process,
    stream: int,
    allocatorDesc: Cell | None,
    allocator: Cell | None,
    allocFunc: Cell | None,
    freeFunc: Cell | None,
    allocAdviseFunc: Cell | None,
    getAddrFromBlockFunc: Cell | None,
) -> int:
    """What is registered on a stream."""
    profile = process.profile
    outputs = (allocatorDesc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc)
    if None in outputs and not profile.get_null_output:
        return INVALID
    if stream and stream not in process.streams:
        return INVALID
    registration = process.registrations.get(stream)
    if registration is None:
        if not (profile.get_unregistered if stream else profile.get_null_stream):
            return INVALID
        _fill(outputs, (0, 0, 0, 0, 0, 0))
        return SUCCESS
    if not registration.descriptor.alive and not profile.get_after_destroy:
        return INVALID
    values = _values(process, registration)
    _fill(outputs, (registration.descriptor.handle, *values))
    _call_hooks(process, values)
    return SUCCESS


def _fill(outputs: tuple[Cell | None, ...], values: tuple[int, ...]) -> None:
    for cell, value in zip(outputs, values, strict=True):
        if cell is not None:
            cell.value = value


def _values(process: Process, registration: Registration) -> tuple[int, int, int, int, int]:
    """Object, alloc, free, advise and get-address of a registration, as GetByStream orders them."""
    slots = registration.descriptor.slots if process.profile.set_after_register else registration.slots
    return (
        slots[Slot.OBJECT],
        slots[Slot.ALLOC],
        slots[Slot.FREE],
        slots.get(Slot.ALLOC_ADVISE, process.default_advise if process.profile.default_advise else 0),
        slots[Slot.GET_ADDR_FROM_BLOCK],
    )


def aclrtAllocatorUnregister(process: Process, stream: int) -> int:
    """Ends a stream's registration, if there is one."""
    if not stream:
        return SUCCESS if process.profile.unregister_null else INVALID
    if stream not in process.streams:
        return INVALID
    forget(process, stream)
    return SUCCESS


def forget(process: Process, stream: int) -> None:
    """Drop the registration of `stream`, if there is one."""
    registration = process.registrations.pop(stream, None)
    if registration is not None:
        process.release(registration.block, REGISTRATION_BYTES)


def _call_hooks(process: Process, values: tuple[int, int, int, int, int]) -> None:
    """Take a block from the registered alloc function and give it back to the free function.

    Nothing is half changed when this runs, so a hook may call the API; its calls do not call hooks again.
    """
    allocator, alloc, free = values[:3]
    if not process.hooks or process.inside_hook or not alloc or not free:
        return
    process.inside_hook = True
    try:
        block = process.execute(alloc, allocator, HOOK_BYTES)
        process.execute(free, allocator, block or 0)
    finally:
        process.inside_hook = False
