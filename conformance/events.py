"""Events: what test processes tell the front door while they run, one JSON object a line, appended to one file."""

from __future__ import annotations

import json
import os
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
class Judged:
    """A verdict has fallen."""

    backend: str
    result: CaseResult


@dataclass(frozen=True, slots=True)
class Trouble:
    """The test process cannot go on; `usage` when the user can mend it."""

    message: str
    usage: bool


Event = Collected | Supported | Judged | Trouble


class EventFile:
    """Appends events. Several processes may append to one file: every event is a single write at its end."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def send(self, event: Event) -> None:
        """Append `event`. Raises OSError when it does not fit on the disk."""
        line = (json.dumps(_to_json(event)) + "\n").encode()
        if os.write(self._file, line) != len(line):
            raise OSError("an event was written in part only; free disk space")

    def close(self) -> None:
        """No further events."""
        os.close(self._file)


class EventReader:
    """Reads what has been appended since the last look."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""

    def read(self) -> Iterator[Event]:
        """Complete events that are there by now."""
        lines = (self._rest + self._file.read()).split(b"\n")
        self._rest = lines.pop()
        return (_from_json(json.loads(line)) for line in lines)

    def close(self) -> None:
        """No further reading."""
        self._file.close()


def _to_json(event: Event) -> dict[str, Any]:
    match event:
        case Collected(backend=backend, case_list=digest, cases=cases):
            return {"event": "collected", "backend": backend, "case_list": digest, "cases": list(cases)}
        case Supported(backend=backend, support=support):
            return {"event": "support", "backend": backend, "support": _all(support)}
        case Judged(backend=backend, result=result):
            return {"event": "judged", "backend": backend, "result": case_to_json(result)}
        case Trouble(message=message, usage=usage):
            return {"event": "trouble", "message": message, "usage": usage}


def _all(support: Iterable[FunctionSupport]) -> list[dict[str, Any]]:
    return [support_to_json(entry) for entry in support]


def _from_json(data: Mapping[str, Any]) -> Event:
    match data["event"]:
        case "collected":
            return Collected(data["backend"], data["case_list"], tuple(data["cases"]))
        case "support":
            return Supported(data["backend"], tuple(support_from_json(entry) for entry in data["support"]))
        case "judged":
            return Judged(data["backend"], case_from_json(data["result"]))
        case "trouble":
            return Trouble(data["message"], data["usage"])
    raise ValueError(f"unknown event {data['event']!r}")
