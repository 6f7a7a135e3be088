"""The journal of a run: all its events, in the folder of its report, so that a run that was cut off can go on."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acl_cts.conformance.events import (
    Begun,
    Charged,
    Collected,
    DamagedEventError,
    Event,
    EventFile,
    Finished,
    Judged,
    Left,
    Opened,
    Started,
    Supported,
    parse_line,
)
from acl_cts.reports.results import CaseResult, Cause, FunctionSupport
from acl_cts.specs.faults import BadInput
from acl_cts.specs.judgement import Verdict

JOURNAL = "journal.jsonl"

PATIENCE = 3.0
"""Seconds to wait for another run to let go of the journal."""

PASSING = frozenset({Cause.TIME_LIMIT, Cause.BACKEND_LOST, Cause.INTERRUPTED, Cause.UNREPORTED})
"""Why a case was not judged that may be judged when the run goes on."""


class JournalError(BadInput):
    """A journal cannot be gone on with. The message is one line: what, where, what to do."""


@dataclass(slots=True)
class Story:
    """What a journal tells of one backend: `results` by case, `running` cases that were started and not judged, the
    `charges` of every test process, the process that judged each case, and the seconds spent."""

    opened: Opened | None = None
    collected: Collected | None = None
    support: tuple[FunctionSupport, ...] = ()
    results: dict[str, CaseResult] = field(default_factory=dict)
    running: dict[str, None] = field(default_factory=dict)
    charges: list[Charged] = field(default_factory=list)
    shards: dict[str, int] = field(default_factory=dict)
    duration: float = 0.0
    _pending: list[Charged] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Add one event of this backend. A charge counts once the case that was started before it is judged; what the
        questions about support cost is charged anew by every process that asks them."""
        match event:
            case Opened():
                self.opened = event
            case Collected():
                self.collected = event
            case Supported(support=support):
                self.support = self.support or support
            case Started(id=id, shard=shard):
                self.running[id] = None
                self._pending = [charge for charge in self._pending if charge.shard != shard]
            case Charged():
                self._pending.append(event)
            case Judged(result=result, shard=shard):
                self.running.pop(result.id, None)
                self.charges += [charge for charge in self._pending if charge.shard == shard]
                self._pending = [charge for charge in self._pending if charge.shard != shard]
                if stands(result):
                    self.results.setdefault(result.id, result)
                    self.shards.setdefault(result.id, shard)
            case Left(duration=duration):
                self.duration += duration
                self._pending = []

    def judged_by(self, shard: int) -> Iterator[CaseResult]:
        """The results of one test process."""
        return (result for id, result in self.results.items() if self.shards[id] == shard)


def stands(result: CaseResult) -> bool:
    """Whether `result` stands when the run goes on."""
    return result.cause not in PASSING and result.verdict is not Verdict.ERROR


@dataclass(slots=True)
class Past:
    """What a whole journal tells; `given`: the options of the run's command line."""

    begun: Begun
    stories: dict[str, Story]
    finished: bool = False

    @property
    def given(self) -> Mapping[str, Any]:
        """Options as they were given."""
        return self.begun.given


def read_journal(path: Path) -> Past:
    """All that the journal at `path` tells; a last line that was cut off is left out. Raises JournalError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: no run to go on with ({error.strerror}); start one without --resume") from error
    return take_journal(path, content)


def take_journal(path: Path, content: bytes) -> Past:
    """The same for a journal of which the bytes `content` are at hand; `path` is only told."""
    past: Past | None = None
    for event in _events(path, content):
        if isinstance(event, Begun):
            if past is None:
                past = Past(event, {})
            past.finished = False
        elif past is None:
            raise JournalError(f"{path}:1: does not begin with a run; start anew without --resume")
        elif isinstance(event, Finished):
            past.finished = True
        elif not isinstance(event, Begun) and hasattr(event, "backend"):
            past.stories.setdefault(event.backend, Story()).take(event)
    if past is None:
        raise JournalError(f"{path}: the run had not begun when it ended; start anew without --resume")
    return past


def _events(path: Path, content: bytes) -> Iterator[Event]:
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield parse_line(line)
        except DamagedEventError as error:
            raise JournalError(f"{path}:{number}: {error}; start anew without --resume") from error


class Journal:
    """The journal that is being written; one run at a time. It stays locked while any process of the run lives.

    `trouble`: '' or, in one line, why it takes no more.
    """

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` and cut off a last line that is not whole. Raises JournalError."""
        self.path = path
        self.trouble = ""
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            _lock(self._lock, path)
            os.ftruncate(self._lock, _whole(path))
            self._file = EventFile(str(path))
        except OSError as error:
            raise JournalError(f"{path}: cannot be written ({error.strerror}); choose another --out") from error

    def clear(self) -> None:
        """Forget the run that it tells of."""
        os.ftruncate(self._lock, 0)

    def send(self, event: Event) -> None:
        """Append `event`, or keep in `trouble` why it cannot be: verdicts are worth more than their journal."""
        try:
            self._file.send(event)
        except OSError as error:
            self.trouble = full(self.path, error)

    def close(self) -> None:
        """No further events."""
        self._file.close()
        os.close(self._lock)


def full(path: Path | str, error: OSError) -> str:
    """One line for a journal that takes no more."""
    return f"{path}: cannot be written ({error.strerror}); free disk space and go on with `acl-cts run --resume`"


def _lock(handle: int, path: Path) -> None:
    """Take the lock; processes of a run that was just killed are given a moment to go."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(0.05)
                continue
            os.close(handle)
            raise JournalError(
                f"{path}: another run is writing there; wait for its end or choose another --out"
            ) from None


def _whole(path: Path) -> int:
    """Bytes up to the end of the last line that is complete."""
    return path.read_bytes().rfind(b"\n") + 1
