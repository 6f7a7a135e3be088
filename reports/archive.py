"""Archives from elsewhere: a zip file, read with limits and never unpacked, with everything that can be wrong about it
in one line."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from acl_cts.reports.files import ReportError
from acl_cts.reports.harmless import harmless

LARGEST_FILE = 256 * 2**20
"""Bytes of an archive."""

LARGEST_MEMBER = 2**30
"""Bytes of one member, unpacked."""

LARGEST_TOTAL = 2 * 2**30
"""Bytes of all members together, unpacked."""

MOST_MEMBERS = 40_000
"""Members: four files for every failing case, and some more."""

LARGEST_DIRECTORY = 16 * 2**20
"""Bytes of the archive's own list of its members."""

LARGEST_RATIO = 400
"""How many times larger a member may become when it is unpacked; traces of long loops come near a hundred."""

SMALL = 2**20
"""Bytes up to which a member may be as well packed as it likes."""

LONGEST_LINE = 32 * 2**20
"""Bytes of one line of a member."""

METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})

END = struct.Struct("<4sHHHHIIH")
"""The record at the end of an archive: mark, numbers of disks, entries here and in all, size and place of the
directory, length of a comment."""

MARK = b"PK\x05\x06"
HEAD = struct.Struct("<4sHHHHHIIIHH")
"""What stands in front of a member: mark, version, flags, method, time, date, CRC-32, packed and unpacked size, lengths
of name and further fields."""

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, RuntimeError, ValueError, OverflowError)
"""What Python's reader may raise for an archive that is damaged or made to harm."""


class ArchiveError(ReportError):
    """An archive is not one that is safe to read. `kind`: a stable word for what is wrong."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(slots=True)
class Archive:
    """A zip file whose list of members has been looked at. `path` is only told."""

    path: Path
    _zip: zipfile.ZipFile

    @staticmethod
    def take(path: Path, raw: bytes) -> Archive:
        """The archive with the bytes `raw`. Raises ArchiveError."""
        _check_end(path, raw)
        try:
            opened = zipfile.ZipFile(io.BytesIO(raw))
            listed = opened.infolist()
        except (*BROKEN, NotImplementedError) as error:
            raise ArchiveError("damaged", f"{path}: is damaged, or no zip file ({harmless(error)})") from error
        _check_members(path, raw, listed, opened.start_dir)
        return Archive(path, opened)

    @property
    def sizes(self) -> dict[str, int]:
        """Members by name, with their bytes when unpacked."""
        return {info.filename: info.file_size for info in self._zip.infolist()}

    def read(self, name: str, most: int = LARGEST_MEMBER) -> bytes:
        """The whole of member `name`, of at most `most` bytes. Raises ArchiveError."""
        if self._zip.getinfo(name).file_size > most:
            raise ArchiveError("too-large", f"{self.path}: {harmless(name)} has more than {most} bytes")
        return b"".join(self.blocks(name))

    def blocks(self, name: str) -> Iterator[bytes]:
        """Member `name` in pieces. Raises ArchiveError."""
        try:
            with self._zip.open(name) as file:
                while block := file.read(2**20):
                    yield block
        except (*BROKEN, NotImplementedError) as error:
            raise self._damaged(name, error) from error

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of member `name` without their ends. Raises ArchiveError."""
        try:
            with self._zip.open(name) as file:
                while line := self._line(name, file):
                    yield line.rstrip(b"\n")
        except (*BROKEN, NotImplementedError) as error:
            raise self._damaged(name, error) from error

    def _line(self, name: str, file: IO[bytes]) -> bytes:
        line = file.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE:
            raise ArchiveError("too-large", f"{self.path}: {harmless(name)} has a line of {LONGEST_LINE} bytes or more")
        return line

    def _damaged(self, name: str, error: Exception) -> ArchiveError:
        return ArchiveError("damaged", f"{self.path}: {harmless(name)} cannot be unpacked ({harmless(error)})")


def read_archive_bytes(path: Path) -> bytes:
    """The bytes of the file at `path`. Raises ArchiveError."""
    try:
        if not path.is_file():
            raise ArchiveError("no-file", f"{path}: is no file; verify takes the zip file that `qualify` wrote")
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ArchiveError("too-large", f"{path}: has {size} bytes, more than the {LARGEST_FILE} that are read")
        return path.read_bytes()
    except OSError as error:
        raise ArchiveError("no-file", f"{path}: cannot be read ({error.strerror})") from error


def _check_end(path: Path, raw: bytes) -> None:
    """Look at the record at the very end before anybody trusts the numbers in it."""
    if not raw.startswith((b"PK\x03\x04", MARK)):
        raise ArchiveError("not-a-zip", f"{path}: does not begin as a zip file")
    if len(raw) < END.size or raw[-END.size : -END.size + 4] != MARK:
        raise ArchiveError("truncated", f"{path}: does not end as a zip file: it is cut off, or something was appended")
    _, disk, first_disk, here, entries, size, start, comment = END.unpack(raw[-END.size :])
    if disk or first_disk or here != entries or comment:
        raise ArchiveError("not-a-zip", f"{path}: is in several parts, or has a comment")
    if entries > MOST_MEMBERS or size > LARGEST_DIRECTORY:
        raise ArchiveError("too-many", f"{path}: has {entries} members, more than the {MOST_MEMBERS} that are read")
    if start + size + END.size != len(raw):
        raise ArchiveError("hidden-bytes", f"{path}: holds bytes that belong to no member")


def _check_members(path: Path, raw: bytes, listed: list[zipfile.ZipInfo], directory: int) -> None:
    seen: dict[str, str] = {}
    for info in listed:
        _check_member(path, info)
        known = seen.get(info.filename.casefold())
        if known == info.filename:
            raise ArchiveError("duplicate-name", f"{path}: {harmless(known)} is there twice")
        if known is not None:
            both = f"{harmless(known)} and {harmless(info.filename)}"
            raise ArchiveError("case-twins", f"{path}: {both} differ in case only")
        seen[info.filename.casefold()] = info.filename
    total = sum(info.file_size for info in listed)
    if total > LARGEST_TOTAL:
        raise ArchiveError("too-large", f"{path}: unpacks to {total} bytes, more than the {LARGEST_TOTAL} read")
    place = 0
    for info in sorted(listed, key=lambda info: info.header_offset):
        place = _after(path, raw, info, place)
    if place != directory:
        raise ArchiveError("hidden-bytes", f"{path}: holds bytes that belong to no member")


def _check_member(path: Path, info: zipfile.ZipInfo) -> None:
    name, shown = info.filename, harmless(info.filename)
    if info.orig_filename != name or not name or not name.isprintable():
        raise ArchiveError("bad-name", f"{path}: {harmless(info.orig_filename)!r} is no name for a member")
    parts = name.split("/")
    if "\\" in name or ":" in parts[0] or {"", ".", ".."}.intersection(parts):
        raise ArchiveError("bad-path", f"{path}: {shown} leads out of the package, or is no plain path")
    mode = info.external_attr >> 16
    if info.is_dir() or (stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
        raise ArchiveError("not-a-file", f"{path}: {shown} is a link or something else that is no file")
    if info.flag_bits & 1:
        raise ArchiveError("encrypted", f"{path}: {shown} is encrypted; ask for the package as `qualify` wrote it")
    if info.compress_type not in METHODS or info.flag_bits & ~0x0806:
        raise ArchiveError("unknown-form", f"{path}: {shown} is packed in a way that `qualify` does not use")
    if info.file_size > LARGEST_MEMBER:
        raise ArchiveError("too-large", f"{path}: {shown} unpacks to {info.file_size} bytes")
    if info.file_size > SMALL and info.file_size > info.compress_size * LARGEST_RATIO:
        size = f"{info.compress_size} bytes that unpack to {info.file_size}"
        raise ArchiveError("bomb", f"{path}: {shown} has {size}, more than {LARGEST_RATIO} times as many")


def _after(path: Path, raw: bytes, info: zipfile.ZipInfo, place: int) -> int:
    """Where the member `info` ends, which must begin at `place`, with a head that says what the directory says."""
    head = raw[info.header_offset : info.header_offset + HEAD.size]
    if info.header_offset != place or len(head) < HEAD.size:
        raise ArchiveError("hidden-bytes", f"{path}: members overlap, or bytes lie between them")
    mark, _, flags, method, _, _, crc, packed, size, name, extra = HEAD.unpack(head)
    told = (info.flag_bits, info.compress_type, info.CRC, info.compress_size, info.file_size)
    if mark != b"PK\x03\x04" or (flags, method, crc, packed, size) != told:
        raise ArchiveError("two-faced", f"{path}: the two heads of {harmless(info.filename)} differ")
    return place + HEAD.size + int(name) + int(extra) + info.compress_size
