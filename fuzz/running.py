"""What is running: the programs of a batch, put down before they are executed.

When a campaign is killed, or takes the machine with it, the file says what it was at.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import decode_program

_LENGTH = struct.Struct("<I")


class Running:
    """The file of one process. A write reaches the system at once, so it survives the death of the process."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)

    def note(self, programs: Sequence[bytes]) -> None:
        """These programs, in their compact form, are executed next."""
        data = b"".join(_LENGTH.pack(len(program)) + program for program in programs)
        self._file.seek(0)
        self._file.write(_LENGTH.pack(len(data)) + data)

    def close(self) -> None:
        """Nothing is running any more."""
        self._file.truncate(0)
        self._file.close()


def interrupted(folder: Path) -> list[Program]:
    """The programs that campaigns in `folder` had noted when they were killed; a part of one is left out."""
    found: list[Program] = []
    for path in sorted(folder.glob("running-*.bin")):
        data = path.read_bytes()
        end = min(_LENGTH.unpack_from(data)[0] + 4, len(data)) if len(data) >= 4 else 0
        at = 4
        while at + 4 <= end:
            length = _LENGTH.unpack_from(data, at)[0]
            try:
                found.append(decode_program(data[at + 4 : min(at + 4 + length, end)]))
            except ValueError:
                break
            at += 4 + length
    return found
