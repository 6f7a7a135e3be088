"""Events: what a run tells while it goes, one line each, appended to one file, its journal.

A line is the CRC-32 of its text in eight hexadecimal digits, a space, and the event as one JSON object.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.reports.results import (
    CaseResult,
    FunctionSupport,
    case_from_json,
    case_to_json,
    support_from_json,
    support_to_json,
)


@dataclass(frozen=True, slots=True)
class Begun:
    """A run begins, or goes on: version of the tool, digest of the tables, what was asked for, how many processes."""

    version: str
    spec: str
    started: str
    jobs: int
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """A backend has been opened: who it is, and what it can."""

    backend: str
    identity: Mapping[str, Any]
    capabilities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """The selected cases of one backend, in order, and the hash of the whole list."""

    backend: str
    case_list: str
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Supported:
    """What the library offers."""

    backend: str
    support: tuple[FunctionSupport, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """A case is about to be executed by test process `shard`."""

    backend: str
    id: str
    shard: int = 0


@dataclass(frozen=True, slots=True)
class Charged:
    """What executing a case has cost: one crash, exit or hang of `function` in `phase`, and the clause accused."""

    backend: str
    shard: int
    kind: str
    function: str
    phase: str
    clause: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict has fallen, in test process `shard`."""

    backend: str
    result: CaseResult
    shard: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """The work on one backend ended, after that many seconds; `trouble` as in its results."""

    backend: str
    duration: float
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """Every backend has had its turn, and the report is written."""

    ended: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """The test process cannot go on; `usage` when the user can mend it."""

    message: str
    usage: bool


Event = Begun | Opened | Collected | Supported | Started | Charged | Judged | Left | Finished | Trouble

TYPES: dict[str, type[Event]] = {
    "begun": Begun,
    "opened": Opened,
    "collected": Collected,
    "support": Supported,
    "started": Started,
    "charged": Charged,
    "judged": Judged,
    "left": Left,
    "finished": Finished,
    "trouble": Trouble,
}
START = re.compile(rb'(?=[0-9a-f]{8} \{"event": )')
"""Where a line may begin."""

NAMES = {kind: name for name, kind in TYPES.items()}


class DamagedEventError(ValueError):
    """A line is no event. The message says why."""


class EventFile:
    """Appends events. Several processes may append to one file: every event is a single write at its end."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def send(self, event: Event) -> None:
        """Append `event`. Raises OSError when it does not fit on the disk."""
        line = format_event(event)
        if os.write(self._file, line) != len(line):
            # The rest is of no use: somebody else may have appended an event by now.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """No further events."""
        os.close(self._file)


class EventReader:
    """Reads what has been appended since the last look."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""

    def skip(self) -> None:
        """Leave out what is there by now."""
        self._file.seek(0, os.SEEK_END)

    def read(self) -> Iterator[Event]:
        """Complete events that are there by now. Raises DamagedEventError."""
        lines = (self._rest + self._file.read()).split(b"\n")
        self._rest = lines.pop()
        return map(parse_line, lines)

    def close(self) -> None:
        """No further reading."""
        self._file.close()


def format_event(event: Event) -> bytes:
    """The line of `event`, with its end."""
    text = json.dumps(_to_json(event), ensure_ascii=False).encode("utf-8", errors="backslashreplace")
    return b"%08x %b\n" % (zlib.crc32(text), text)


def parse_event(line: bytes) -> Event:
    """The event that `format_event` wrote, from its line without the end. Raises DamagedEventError."""
    if not _sound(line):
        raise DamagedEventError("the checksum of the line does not fit")
    try:
        return _from_json(json.loads(line.partition(b" ")[2]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedEventError(f"no event of this version ({error})") from error


def parse_line(line: bytes) -> Event:
    """The event of a line of a journal. In front of it may stand what a full disk left of another one, which came to
    nothing. Raises DamagedEventError."""
    try:
        return parse_event(line)
    except DamagedEventError:
        for start in START.finditer(line, 1):
            torn, rest = line[: start.start()], line[start.start() :]
            if _sound(rest) and not _sound(torn[:-1]):
                return parse_event(rest)
        raise


def _sound(line: bytes) -> bool:
    checksum, _, text = line.partition(b" ")
    return checksum == b"%08x" % zlib.crc32(text)


def _to_json(event: Event) -> dict[str, Any]:
    name = {"event": NAMES[type(event)]}
    match event:
        case Supported(backend=backend, support=support):
            return {**name, "backend": backend, "support": _all(support)}
        case Judged(backend=backend, result=result, shard=shard):
            return {**name, "backend": backend, "shard": shard, "result": case_to_json(result)}
        case Started(backend=backend, id=id, shard=shard):
            return {**name, "backend": backend, "shard": shard, "id": id}
    return name | dataclasses.asdict(event)


def _all(support: Iterable[FunctionSupport]) -> list[dict[str, Any]]:
    return [support_to_json(entry) for entry in support]


def _from_json(data: dict[str, Any]) -> Event:
    kind = TYPES[data.pop("event")]
    if kind is Judged:
        return Judged(data["backend"], case_from_json(data["result"]), data["shard"])
    if kind is Supported:
        return Supported(data["backend"], tuple(support_from_json(entry) for entry in data["support"]))
    for name in ("cases", "capabilities"):
        if name in data:
            data[name] = tuple(data[name])
    return kind(**data)
