"""Simulated memory: addresses without storage, and regions that store only what was written to them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from zlib import crc32

SMALLEST_BLOCK = 64
RED_ZONE = 16
"""Bytes behind every block that belong to nobody, so that running over the end never meets a neighbour."""

CHUNK = 1 << 20
"""Most bytes of a region that exist at one moment while it is read through."""


class Fault(Exception):
    """Memory was touched that the toucher does not own; in a real process this is a segmentation fault."""


class Arena:
    """Hands out addresses. With `reuse`, the address freed last is given again first, per size class."""

    def __init__(self, base: int, *, reuse: bool) -> None:
        self._next = base
        self._reuse = reuse
        self._free: dict[int, list[int]] = {}

    def take(self, size: int) -> int:
        """An address with `size` bytes behind it that overlap nothing live."""
        block = _block(size)
        free = self._free.get(block)
        if free:
            return free.pop()
        address = self._next
        self._next += block
        return address

    def give_back(self, address: int, size: int) -> None:
        """Take back what `take(size)` handed out."""
        if self._reuse:
            self._free.setdefault(_block(size), []).append(address)


def _block(size: int) -> int:
    """Size class: powers of two keep the address space small even for many different sizes of 4 GiB."""
    return max(SMALLEST_BLOCK, 1 << (size + RED_ZONE - 1).bit_length())


class Heap:
    """The library's inner allocations: how many live, how many bytes they hold, and which one is to fail."""

    def __init__(self) -> None:
        self.objects = 0
        self.bytes = 0
        self.fired = False
        self._until_failure = 0

    def arm(self, nth: int) -> None:
        """Let the `nth` allocation from here on fail (1 = the next, 0 = none)."""
        self._until_failure = nth

    def allocate(self, arena: Arena, size: int) -> int | None:
        """Address of a new block, or None when this is the allocation that was to fail."""
        if self._until_failure:
            self._until_failure -= 1
            if not self._until_failure:
                self.fired = True
                return None
        self.objects += 1
        self.bytes += size
        return arena.take(size)

    def release(self, arena: Arena, address: int, size: int) -> None:
        """Free a block that `allocate` gave."""
        self.objects -= 1
        self.bytes -= size
        arena.give_back(address, size)


class Region:
    """`size` bytes that repeat `fresh` until something is written.

    The content is a sequence of extents. Each repeats a short wheel of bytes, so 4 GiB of one pattern cost one extent.
    """

    def __init__(self, size: int, fresh: bytes) -> None:
        self.size = size
        self._starts = [0]
        self._wheels = [(fresh, 0)]

    def write(self, offset: int, wheel: bytes, length: int) -> None:
        """Put `length` bytes, the repeated `wheel`, at `offset`; the range must lie inside."""
        first = self._cut(offset)
        last = self._cut(offset + length)
        self._starts[first:last] = [offset]
        self._wheels[first:last] = [(wheel, offset)]

    def _cut(self, offset: int) -> int:
        """Make an extent start at `offset`; its position, or one past the last extent at the region's end."""
        place = bisect_left(self._starts, offset)
        if offset == self.size or (place < len(self._starts) and self._starts[place] == offset):
            return place
        self._starts.insert(place, offset)
        self._wheels.insert(place, self._wheels[place - 1])
        return place

    def pieces(self, offset: int, length: int) -> Iterator[bytes]:
        """The bytes of a range that lies inside, in pieces of at most `CHUNK`."""
        end = offset + length
        place = bisect_right(self._starts, offset) - 1
        while offset < end:
            wheel, origin = self._wheels[place]
            stop = self._starts[place + 1] if place + 1 < len(self._starts) else self.size
            yield from _spin(wheel, offset - origin, min(stop, end) - offset)
            offset = stop
            place += 1


def _spin(wheel: bytes, turned: int, length: int) -> Iterator[bytes]:
    """`length` bytes of the endlessly repeated `wheel`, from position `turned` on, in pieces."""
    turned %= len(wheel)
    if turned + length <= len(wheel):
        yield wheel[turned : turned + length]
        return
    long = wheel * (min(turned + length, CHUNK) // len(wheel) + 2)
    while length > 0:
        piece = long[turned : turned + min(length, CHUNK)]
        yield piece
        length -= len(piece)
        turned = (turned + len(piece)) % len(wheel)


class Memory:
    """Everything that can be read and written, by address."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._regions: dict[int, Region] = {}

    def map(self, address: int, size: int, fresh: bytes) -> None:
        """Make `size` bytes at `address` accessible; they repeat `fresh`, which is not empty."""
        insort(self._bases, address)
        self._regions[address] = Region(size, fresh)

    def unmap(self, address: int) -> None:
        """Make the region at `address` inaccessible and forget its content."""
        del self._bases[bisect_left(self._bases, address)]
        del self._regions[address]

    def write(self, address: int, wheel: bytes, length: int) -> None:
        """Put `length` bytes, the repeated `wheel`, at `address`. Raises Fault unless all of them are accessible."""
        if length:
            region, offset = self._find(address, length)
            region.write(offset, wheel, length)

    def read(self, address: int, length: int) -> bytes:
        """The `length` bytes at `address`. Raises Fault unless all of them are accessible."""
        if not length:
            return b""
        region, offset = self._find(address, length)
        return b"".join(region.pieces(offset, length))

    def checksum(self, address: int, length: int) -> int:
        """CRC-32 of the `length` bytes at `address`. Raises Fault unless all of them are accessible."""
        if not length:
            return crc32(b"")
        region, offset = self._find(address, length)
        value = 0
        for piece in region.pieces(offset, length):
            value = crc32(piece, value)
        return value

    def _find(self, address: int, length: int) -> tuple[Region, int]:
        place = bisect_right(self._bases, address) - 1
        if place >= 0:
            base = self._bases[place]
            region = self._regions[base]
            if address - base + length <= region.size:
                return region, address - base
        raise Fault(f"no {length} bytes are accessible at {address:#x}")
