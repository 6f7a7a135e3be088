"""Kept traces: every answer that a run rests on, so that somebody else can judge it again without the library.

A line of the file is the CRC-32 of its text in eight hexadecimal digits, a space, and one JSON object: the trace of a
case, the answers to the questions about support that one process asked, or one answer of a search for a limit.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from acl_cts.backends.backend import HarnessError, Identity, Session
from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import digest
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import Capability, Trace
from acl_cts.specs.trace_json import trace_from_json, trace_to_json

FOLDER = "traces"
SUFFIX = ".jsonl"


class DamagedTraceError(ValueError):
    """A line of kept traces is none. The message says why."""


@dataclass(frozen=True, slots=True)
class KeptTrace:
    """What was answered in case `id`. `without`: functions whose calls were left out of it."""

    id: str
    trace: Trace
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptQuestions:
    """What one process asked to decide support. `missing`: functions that the library does not export."""

    missing: frozenset[str]
    capabilities: frozenset[Capability]
    answers: tuple[tuple[Program, Trace], ...]


@dataclass(frozen=True, slots=True)
class KeptProbe:
    """Answer `number` in the search for the edges of limits; it begins anew at 0."""

    number: int
    program: Program
    trace: Trace


Kept = KeptTrace | KeptQuestions | KeptProbe


def trace_file(folder: Path, backend: str) -> Path:
    """Where the traces of `backend` stand in the report folder `folder`."""
    return folder / FOLDER / (backend.replace(":", "-").replace("/", "-") + SUFFIX)


def kept_text(kept: Kept) -> str:
    """`kept` as one line of JSON."""
    return json.dumps(_to_json(kept), ensure_ascii=True, separators=(",", ":"))


def parse_kept(text: str | bytes) -> Kept:
    """What `kept_text` wrote. Raises DamagedTraceError."""
    try:
        return _from_json(json.loads(text, parse_constant=_no_number))
    except RecursionError:
        raise DamagedTraceError("is nested too deeply") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DamagedTraceError(f"is no kept trace ({error})") from error


class TraceFile:
    """Appends to one file. Several processes may: every line is a single write at its end."""

    def __init__(self, path: Path) -> None:
        """Open the file at `path`. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def keep(self, kept: Kept) -> None:
        """Append `kept`. Raises OSError when it does not fit on the disk."""
        text = kept_text(kept).encode("ascii")
        line = b"%08x %b\n" % (zlib.crc32(text), text)
        if os.write(self._file, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """No further traces."""
        os.close(self._file)


def whole_lines(path: Path) -> Iterator[bytes]:
    """The JSON of every line of the file at `path` that is whole; one that was cut off when a process was killed is
    left out: what it told was told again. Raises OSError."""
    with path.open("rb") as file:
        for line in file:
            checksum, _, text = line.rstrip(b"\n").partition(b" ")
            if checksum == b"%08x" % zlib.crc32(text):
                yield text


def in_order(lines: Iterable[bytes], ids: Iterable[str]) -> Iterator[bytes]:
    """Of `lines` those that stand: questions first, then the traces of the cases `ids` in their order, then the last
    search for limits. Of two traces of one case the later one stands."""
    questions: list[bytes] = []
    traces: dict[str, bytes] = {}
    probes: list[bytes] = []
    for line in lines:
        head = line[:1000].decode("ascii", "replace")
        if head.startswith('{"id":'):
            id, _ = json.JSONDecoder().raw_decode(head, len('{"id":'))
            traces[id] = line
        elif head.startswith('{"probe":'):
            if head.startswith('{"probe":0,'):
                probes.clear()
            probes.append(line)
        else:
            questions.append(line)
    yield from questions
    yield from (traces[id] for id in ids if id in traces)
    yield from probes


@dataclass(slots=True)
class Recorded:
    """A session that tells `keep` every program that it executes, with the answer."""

    session: Session
    keep: Callable[[Program, Trace], None]

    @property
    def identity(self) -> Identity:
        """As the session's."""
        return self.session.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """As the session's."""
        return self.session.capabilities

    @property
    def missing(self) -> frozenset[str]:
        """As the session's."""
        return self.session.missing

    @property
    def startups(self) -> int:
        """As the session's."""
        return self.session.startups

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        """As the session's."""
        trace = self.session.run(program, solo=solo)
        self.keep(program, trace)
        return trace

    def restart(self) -> None:
        """As the session's."""
        self.session.restart()

    def close(self) -> None:
        """As the session's."""
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@dataclass(slots=True)
class Stored:
    """A session without a library: it gives the answers that were kept, in the order in which they were given.

    Raises HarnessError for a program that was not executed then.
    """

    answers: Sequence[tuple[Program, Trace]]
    capabilities: frozenset[Capability] = frozenset()
    missing: frozenset[str] = frozenset()
    identity: Identity = field(default_factory=lambda: Identity("stored"))
    startups: int = 0
    _next: int = 0

    @property
    def left(self) -> int:
        """Answers that were not asked for."""
        return len(self.answers) - self._next

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        """The next answer."""
        if not self.left or digest(self.answers[self._next][0]) != digest(program):
            raise HarnessError("no answer to this program was kept")
        self._next += 1
        return self.answers[self._next - 1][1]

    def restart(self) -> None:
        """A new process answers alike."""

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _to_json(kept: Kept) -> dict[str, Any]:
    match kept:
        case KeptTrace(id=id, trace=trace, without=without):
            return {"id": id, **({"without": list(without)} if without else {}), "trace": trace_to_json(trace)}
        case KeptProbe(number=number, program=program, trace=trace):
            return {"probe": number, "program": format_program(program), "trace": trace_to_json(trace)}
    return {
        "support": [[format_program(program), trace_to_json(trace)] for program, trace in kept.answers],
        "missing": sorted(kept.missing),
        "capabilities": sorted(capability.value for capability in kept.capabilities),
    }


def _from_json(data: dict[str, Any]) -> Kept:
    if "id" in data:
        return KeptTrace(_text(data["id"]), trace_from_json(data["trace"]), tuple(map(_text, data.get("without", ()))))
    if "probe" in data:
        number = data["probe"]
        if type(number) is not int:
            raise ValueError("probe is not a number")
        return KeptProbe(number, parse_program(_text(data["program"])), trace_from_json(data["trace"]))
    return KeptQuestions(
        missing=frozenset(map(_text, data["missing"])),
        capabilities=frozenset(map(Capability, data["capabilities"])),
        answers=tuple((parse_program(_text(text)), trace_from_json(trace)) for text, trace in data["support"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("something that must be text is not")
    return value


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
