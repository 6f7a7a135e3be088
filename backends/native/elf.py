"""Library files: digest, machine and build id, read from the file without loading it."""

from __future__ import annotations

import hashlib
import platform
import struct
from pathlib import Path

_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64", 258: "loongarch64"}
_PT_NOTE = 4
_NT_GNU_BUILD_ID = 3


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def machine(path: Path) -> str:
    """The processor that a little-endian ELF file was made for, as `uname -m` calls it; '' for any other file."""
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[5] != 1:
        return ""
    number = int.from_bytes(head[18:20], "little")
    return _MACHINES.get(number, f"machine {number}")


def foreign(path: Path) -> str:
    """'is made for X, this machine is Y' for an ELF file of another machine, '' for any other file."""
    made_for, here = machine(path), platform.machine()
    return f"is made for {made_for}, this machine is {here}" if made_for and made_for != here else ""


def build_id(path: Path) -> str:
    """The build id that the linker wrote into a 64-bit little-endian ELF file, in hexadecimal; '' when it has none."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return ""
        offset = struct.unpack_from("<Q", head, 32)[0]
        size, count = struct.unpack_from("<HH", head, 54)
        for number in range(count):
            file.seek(offset + number * size)
            entry = file.read(56)
            if len(entry) < 56:
                return ""
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", entry)
            if kind == _PT_NOTE:
                file.seek(at)
                found = _build_id_in(file.read(min(length, 1 << 16)))
                if found:
                    return found
    return ""


def _build_id_in(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name = at + 12
        content = name + (name_size + 3) // 4 * 4
        if kind == _NT_GNU_BUILD_ID and notes[name : name + name_size] == b"GNU\0":
            return notes[content : content + size].hex()
        at = content + (size + 3) // 4 * 4
    return ""
