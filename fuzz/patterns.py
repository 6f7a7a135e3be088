"""Patterns: bytes of the caller that a library reads, of any length."""

from __future__ import annotations

from dataclasses import replace

from acl_cts.specs.program import Data, Fill, Literal, Ramp, Value


def pattern(choice: int, length: int) -> Value:
    """Bytes of the caller: most often a ramp, in which every misplaced byte shows."""
    return Fill(choice, length) if choice % 4 == 0 else Ramp(choice, length)


def longer(data: Value, length: int) -> Data:
    """The same pattern in `length` bytes."""
    return resized(data, length) if isinstance(data, Fill | Ramp | Literal) else Fill(0x5A, length)


def resized(data: Data, length: int) -> Data:
    """The same pattern in `length` bytes; what is missing of exact bytes is 0."""
    if isinstance(data, Literal):
        return Literal(data.data[:length].ljust(length, b"\0"))
    return replace(data, length=length)
