"""Counters: how often each block of an instrumented library in this very process was entered."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

from acl_cts.backends.backend import HarnessError

SECTION = b"__sancov_cntrs"
"""Where clang keeps a byte for each block of a library that was built with inline counters."""

_BUCKETS = bytes(
    0 if n == 0 else 1 << next(k for k, most in enumerate((1, 2, 3, 7, 15, 31, 127, 255)) if n <= most)
    for n in range(256)
)
"""One bit for 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127 and more."""


class Counters:
    """The counters of one loaded library. `named`: how the log of an engine that was told of them names them."""

    def __init__(self, library: Path) -> None:
        """Raises HarnessError for a library that has none, or is not loaded."""
        address, size = _section(library)
        start = _base(library) + address
        self.named = f"{size} [{start:#x}, {start + size:#x})"
        self._cells = (ctypes.c_ubyte * size).from_address(start)
        self._size = size
        self._seen = 0

    def clear(self) -> None:
        """Count from nothing."""
        ctypes.memset(self._cells, 0, self._size)

    def take(self) -> bool:
        """Whether a block was entered that never was since the start, or in another order of magnitude."""
        found = int.from_bytes(bytes(self._cells).translate(_BUCKETS), "little")
        new = found & ~self._seen
        self._seen |= found
        return new != 0

    def touched(self) -> int:
        """Blocks that were entered since the last `clear`."""
        return self._size - bytes(self._cells).count(0)


def counts(library: Path) -> bool:
    """Whether the library in that file was built with such counters."""
    try:
        return _section(library)[1] > 0
    except HarnessError:
        return False


def _section(library: Path) -> tuple[int, int]:
    """Address and size of the counters, from the section headers of a 64-bit little-endian ELF file."""
    data = library.read_bytes()
    if data[:6] == b"\x7fELF\x02\x01":
        offset, (width, count, names) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HHH", data, 58)
        texts = struct.unpack_from("<IIQQQQ", data, offset + names * width)[4]
        for number in range(count):
            name, _, _, address, _, size = struct.unpack_from("<IIQQQQ", data, offset + number * width)
            end = data.index(b"\0", texts + name)
            if data[texts + name : end] == SECTION:
                return address, size
    raise HarnessError(f"{library}: has no inline counters; build it with clang -fsanitize=fuzzer-no-link")


def _base(library: Path) -> int:
    """Where a library that this process has loaded begins."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and parts[5] == str(library) and int(parts[2], 16) == 0:
            return int(parts[0].partition("-")[0], 16)
    raise HarnessError(f"{library}: is not loaded in this process")
