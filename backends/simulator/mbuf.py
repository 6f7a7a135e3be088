"""The 11 functions on shared buffers. Handles are addresses, 0 is NULL; out parameters are cells, None is NULL."""

from __future__ import annotations

from acl_cts.backends.simulator.buffer import PRIVATE_BYTES, Area, Buffer
from acl_cts.backends.simulator.caller import Cell, Room, take
from acl_cts.backends.simulator.codes import FULL, INVALID, MEMORY, SUCCESS
from acl_cts.backends.simulator.process import BUFFER_BYTES, LINK_BYTES, USED, Process

LARGEST_AREA = 4 << 30
"""4G bytes in the binary reading."""

LARGEST_CERTAIN_AREA = 4 * 10**9
"""4G bytes in the decimal reading."""

CHAIN_BUFFERS = 128
"""Most buffers in a chain, the head included."""


def aclrtAllocBuf(process: Process, buf: Cell | None, size: int) -> int:
    """A new buffer over an area of its own."""
    profile = process.profile
    if buf is None or size > LARGEST_AREA:
        return INVALID
    if (size > LARGEST_CERTAIN_AREA and not profile.alloc_between_readings) or (size == 0 and not profile.alloc_zero):
        return INVALID
    if process.exhausted(process.buffers, size):
        return MEMORY
    area = process.allocate_area(size)
    if area is None:
        return MEMORY
    buffer = _new_buffer(process, area)
    if buffer is None:
        process.release_area(area)
        return MEMORY
    buf.value = buffer.handle
    return SUCCESS


def aclrtFreeBuf(process: Process, buf: int) -> int:
    """Ends a handle; the area goes with its last one."""
    if not buf:
        return SUCCESS if process.profile.free_null else INVALID
    buffer = process.buffers.get(buf)
    if buffer is None:
        return INVALID
    if buffer.member:
        if not process.profile.free_member:
            return INVALID
        _unlink(process, buffer)
    elif buffer.heads:
        _dissolve(process, buffer)
    _end(process, buffer)
    return SUCCESS


def aclrtGetBufData(process: Process, buf: int, dataPtr: Cell | None, size: Cell | None) -> int:
    """Where the data area lies, and how large it is."""
    buffer = process.buffers.get(buf)
    if buffer is None or (dataPtr is None and size is None):
        return INVALID
    if (dataPtr is None or size is None) and not process.profile.data_one_output:
        return INVALID
    if dataPtr is not None:
        dataPtr.value = buffer.area.address
    if size is not None:
        size.value = buffer.area.size
    buffer.located = True
    return SUCCESS


def aclrtSetBufUserData(process: Process, buf: int, dataPtr: bytes | None, size: int, offset: int) -> int:
    """Changes `size` bytes of the private area, from `offset` on."""
    buffer = process.buffers.get(buf)
    if buffer is None or not _private_range(process, dataPtr is None, size, offset):
        return INVALID
    if dataPtr is not None:
        buffer.private = buffer.private[:offset] + take(dataPtr, size) + buffer.private[offset + size :]
    return SUCCESS


def aclrtGetBufUserData(process: Process, buf: int, dataPtr: Room | None, size: int, offset: int) -> int:
    """Gives `size` bytes of the private area, from `offset` on."""
    buffer = process.buffers.get(buf)
    if buffer is None or not _private_range(process, dataPtr is None, size, offset):
        return INVALID
    if dataPtr is not None:
        dataPtr.write(buffer.private[offset : offset + size])
    return SUCCESS


def _private_range(process: Process, null: bool, size: int, offset: int) -> bool:
    """Whether the private area has the range and the caller's memory, NULL or not, will do for it."""
    if offset + size > PRIVATE_BYTES or (null and size):
        return False
    if size:
        return True
    return process.profile.user_data_null_zero if null else process.profile.user_data_zero


def aclrtGetBufDataLen(process: Process, buf: int, len: Cell | None) -> int:
    """The data length."""
    buffer = process.buffers.get(buf)
    if buffer is None or len is None:
        return INVALID
    len.value = _length(process, buffer)
    return SUCCESS


def aclrtSetBufDataLen(process: Process, buf: int, len: int) -> int:
    """Sets the data length, which stays below the size of the area."""
    buffer = process.buffers.get(buf)
    if buffer is None or len >= buffer.area.size:
        return INVALID
    if (len == 0 and not process.profile.length_zero) or not (buffer.located or process.profile.length_before_data):
        return INVALID
    area = buffer.area
    area.length = buffer.length = len
    area.sets += 1
    buffer.seen = area.sets
    return SUCCESS


def _length(process: Process, buffer: Buffer) -> int:
    """The length that `buffer` reports: its own, or that of its area when a set through another handle is newer."""
    area = buffer.area
    return area.length if process.profile.length_shared and area.sets > buffer.seen else buffer.length


def aclrtCopyBufRef(process: Process, buf: int, newBuf: Cell | None) -> int:
    """A further handle of the same area, never in the original's chain."""
    original = process.buffers.get(buf)
    if original is None or newBuf is None or (original.chained and not process.profile.copy_chained):
        return INVALID
    if process.exhausted(process.buffers):
        return MEMORY
    buffer = _new_buffer(process, original.area)
    if buffer is None:
        return MEMORY
    original.area.handles += 1
    buffer.seen = original.area.sets
    if process.profile.ref_length_original:
        buffer.length = _length(process, original)
    if process.profile.ref_private_copied:
        buffer.private = original.private
    newBuf.value = buffer.handle
    return SUCCESS


def aclrtAppendBufChain(process: Process, headBuf: int, buf: int) -> int:
    """Puts a buffer at the end of a chain."""
    profile = process.profile
    head, tail = process.buffers.get(headBuf), process.buffers.get(buf)
    if head is None or tail is None:
        return INVALID
    if head is tail:
        return SUCCESS if profile.append_self else INVALID
    if (head.member and not profile.append_to_member) or (tail.member and not profile.append_member):
        return INVALID
    if tail.heads and not profile.append_chain:
        return INVALID
    if process.exhausted(process.buffers):
        return MEMORY
    if head.chained and head.chain is tail.chain:
        return _move_to_end(tail)
    return _join(process, head, tail)


def _move_to_end(tail: Buffer) -> int:
    """Appends a member to its own chain; a head appended to its own member would close a cycle."""
    if tail.heads:
        return INVALID
    tail.chain.remove(tail)
    tail.chain.append(tail)
    return SUCCESS


def _join(process: Process, head: Buffer, tail: Buffer) -> int:
    """Appends `tail`, with all of its members when it is a head itself, to the chain that `head` is in."""
    joining = list(tail.chain) if tail.heads else [tail]
    if max(len(head.chain), 1) + len(joining) > CHAIN_BUFFERS:
        return FULL
    if not tail.link:
        link = process.allocate(LINK_BYTES)
        if link is None:
            return MEMORY
        tail.link = link
    if tail.member:
        tail.chain.remove(tail)
    if not head.chain:
        head.chain = [head]
    head.chain += joining
    for buffer in joining:
        buffer.chain = head.chain
    return SUCCESS


def aclrtGetBufFromChain(process: Process, headBuf: int, index: int, buf: Cell | None) -> int:
    """The handle at place `index` of a chain, the head at 0."""
    head = process.buffers.get(headBuf)
    if head is None or buf is None or (head.member and not process.profile.index_member):
        return INVALID
    if not head.chain and not process.profile.index_unchained:
        return INVALID
    chain = head.chain or [head]
    if index >= len(chain):
        return INVALID
    buf.value = chain[index].handle
    return SUCCESS


def aclrtGetBufChainNum(process: Process, headBuf: int, num: Cell | None) -> int:
    """The number of buffers in a chain, head included."""
    head = process.buffers.get(headBuf)
    if head is None or num is None or (head.member and not process.profile.count_member):
        return INVALID
    if not head.chain and not process.profile.count_unchained:
        return INVALID
    num.value = len(head.chain) or 1
    return SUCCESS


# ------------------------------------------------------------------------------------------- lives of buffers


def _new_buffer(process: Process, area: Area) -> Buffer | None:
    """A new handle of `area`, or None when the allocation fails."""
    handle = process.allocate(BUFFER_BYTES)
    if handle is None:
        return None
    private = bytes(PRIVATE_BYTES) if process.profile.fresh_private_zero else USED[:PRIVATE_BYTES]
    if process.profile.stale_private:
        private = process.private_relics.get(handle, private)
    buffer = process.buffers[handle] = Buffer(handle, area, private)
    return buffer


def _end(process: Process, buffer: Buffer) -> None:
    """Free the handle of an unchained buffer or of one whose chain is gone, and the area after its last handle."""
    del process.buffers[buffer.handle]
    if process.profile.stale_private:
        process.private_relics[buffer.handle] = buffer.private
    process.release(buffer.handle, BUFFER_BYTES)
    buffer.area.handles -= 1
    if not buffer.area.handles:
        process.release_area(buffer.area)


def _unlink(process: Process, member: Buffer) -> None:
    """Take a member out of its chain."""
    member.chain.remove(member)
    member.chain = []
    process.release(member.link, LINK_BYTES)
    member.link = 0


def _dissolve(process: Process, head: Buffer) -> None:
    """End the chain of a head that is being freed; its members end too or are on their own again."""
    for member in reversed(head.chain[1:]):
        _unlink(process, member)
        if process.profile.free_head_frees_members:
            _end(process, member)
