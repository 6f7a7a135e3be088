"""Symbols: which function of a library an offset lies in, read from the file without loading it."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SYMTAB, _DYNSYM = 2, 11
_FUNCTION = 2


@dataclass(frozen=True, slots=True)
class Symbols:
    """Functions in the order of their places: where each starts, how many bytes it has, what it is called."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    @staticmethod
    def of(path: Path) -> Symbols:
        """Those of a 64-bit little-endian ELF file, none of any other file. A stripped one tells what it exports."""
        data = path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            return Symbols((), (), ())
        try:
            found = sorted(set(_functions(data)))
        except (struct.error, IndexError):
            found = []
        return Symbols(*map(tuple, zip(*found, strict=True))) if found else Symbols((), (), ())

    def name(self, offset: int) -> str:
        """The function at `offset`, without what a compiler appends to the name of a part; the offset itself where none
        is known."""
        place = bisect_right(self.starts, offset) - 1
        if place < 0 or offset >= self.starts[place] + max(self.sizes[place], 1):
            return f"+{offset:#x}"
        return self.names[place].partition(".")[0]


def _functions(data: bytes) -> Iterator[tuple[int, int, str]]:
    sections = struct.unpack_from("<Q", data, 40)[0]
    size, count = struct.unpack_from("<HH", data, 58)
    for number in range(count):
        kind, _, _, at, length, link = struct.unpack_from("<IQQQQI", data, sections + number * size + 4)
        if kind not in (_SYMTAB, _DYNSYM):
            continue
        texts = struct.unpack_from("<Q", data, sections + link * size + 24)[0]
        for entry in range(at, at + length, 24):
            name, info, _, section, value, bytes_ = struct.unpack_from("<IBBHQQ", data, entry)
            if info & 15 == _FUNCTION and section:
                start = texts + name
                yield value, bytes_, data[start : data.index(b"\0", start)].decode("utf-8", "replace")
