"""What was written to a data area, and whether a read shows it."""

from __future__ import annotations

import zlib

from acl_cts.specs.program import Write, content
from acl_cts.specs.trace import TouchRecord

CONTENT_LIMIT = 64 * 2**20
"""A written range longer than this many bytes is not remembered, and reads of it are not judged."""


def kept(statement: Write) -> bytes:
    """The bytes to remember of a write; none of one that is too long."""
    return content(statement.data) if statement.data.length <= CONTENT_LIMIT else b""


def compose(writes: list[tuple[int, bytes]], offset: int, length: int) -> bytes | None:
    """What a read must show, or None when not every byte of it is known."""
    if length > CONTENT_LIMIT:
        return None
    shown, known = bytearray(length), bytearray(length)
    for start, data in writes:
        low, high = max(start, offset), min(start + len(data), offset + length)
        if low < high:
            shown[low - offset : high - offset] = data[low - start : high - start]
            known[low - offset : high - offset] = b"\1" * (high - low)
    return bytes(shown) if all(known) else None


def compare_read(known: bytes | None, record: TouchRecord) -> tuple[bool | None, str]:
    """Whether a read shows what is `known` to stand there, None when that is not known, and what it shows instead."""
    if known is None:
        return None, ""
    if record.data is not None:
        at = next((k for k, (a, b) in enumerate(zip(record.data, known, strict=False)) if a != b), -1)
        if record.data == known:
            return True, ""
        return False, f"byte {at} reads 0x{record.data[at]:02x}, 0x{known[at]:02x} was written"
    expected = zlib.crc32(known)
    return record.crc == expected, f"CRC-32 of the content is {record.crc or 0:08x}, of what was written {expected:08x}"
