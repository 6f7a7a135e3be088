"""The two functions on streams, which the descriptors are registered on."""

from __future__ import annotations

from acl_cts.backends.simulator.allocator import forget
from acl_cts.backends.simulator.caller import Cell
from acl_cts.backends.simulator.codes import INVALID, MEMORY, SUCCESS
from acl_cts.backends.simulator.process import STREAM_BYTES, Process


def aclrtCreateStream(process: Process, stream: Cell | None) -> int:
    """A new stream."""
    if stream is None:
        return INVALID
    if process.exhausted(process.streams):
        return MEMORY
    handle = process.allocate(STREAM_BYTES)
    if handle is None:
        return MEMORY
    process.streams.add(handle)
    stream.value = handle
    return SUCCESS


def aclrtDestroyStream(process: Process, stream: int) -> int:
    """Ends a stream."""
    if stream not in process.streams:
        return INVALID
    process.streams.remove(stream)
    process.release(stream, STREAM_BYTES)
    if not process.profile.registration_survives:
        forget(process, stream)
    return SUCCESS
