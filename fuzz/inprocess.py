"""In process: what a process that fuzzes a library inside of itself is asked to do, and what it tells."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.backends.native.embedded import Embedding
from acl_cts.fuzz.model_states import Feature

RENEW = 91
"""Exit status of a process whose library holds more than programs should leave behind."""

DONE = 92
"""Exit status of a process that has executed what it was asked to."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """`backends`: by their names, the first one guides; `embedding`: of the core, if it is among them. `units`: folder
    of programs in compact form, which the engine reads and writes; those there at the start were judged before.
    `runs`: programs, 0 for no limit. `avoided`: functions that are not called. `fatal`:
    programs that ended a process like this one. `states`: features of the model that
    were reached before. `running`, `history`: files in which programs are put down before they are executed, the one
    at hand and all of them. `room`: live objects that programs may leave behind. `number`: the engine's
    seed. `memory`: descriptor of the channel. `shared`: other processes may add programs to `units`."""

    backends: tuple[str, ...]
    embedding: Embedding | None
    tables: tuple[str, ...]
    units: Path
    seed: str
    runs: int
    avoided: frozenset[str]
    fatal: frozenset[bytes]
    states: frozenset[Feature]
    running: Path
    history: Path
    room: int
    number: int
    memory: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Born:
    """A process that fuzzes was started."""

    pid: int


@dataclass(frozen=True, slots=True)
class Gone:
    """It has ended. `status`: its exit status, negative for a signal."""

    status: int


@dataclass(frozen=True, slots=True)
class Ready:
    """About to start. `touched`: blocks of the library that a first program entered; `more`: further ones that others
    did; `counters`: how the engine's log names them, '' for none."""

    touched: int
    more: int
    counters: str


@dataclass(frozen=True, slots=True)
class Mutating:
    """The mutator was called for the first time."""


@dataclass(frozen=True, slots=True)
class Blind:
    """Programs were executed and the mutator never called."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Programs judged since the last one and not told otherwise; of them those without a verdict, and those that failed
    as others had before."""

    programs: int
    calls: int
    inconclusive: int
    unjudged: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Worthwhile:
    """A program, in compact form, that reached something new, or was answered as none before. `way`: how it was
    made."""

    data: bytes
    way: str


@dataclass(frozen=True, slots=True)
class Failing:
    """A program that failed on the backend with this number, and what was executed before it."""

    data: bytes
    way: str
    lane: int
    history: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """The suite itself failed there."""

    message: str


Message = Born | Gone | Ready | Mutating | Blind | Progress | Worthwhile | Failing | Broken
_KINDS = {kind.__name__: kind for kind in (Born, Gone, Ready, Mutating, Blind, Progress, Worthwhile, Failing, Broken)}


class _Reader(pickle.Unpickler):
    """Reads messages and nothing else: their bytes come from a process in which the library can write anything."""

    def find_class(self, module: str, name: str) -> Any:
        if module != __name__ or name not in _KINDS:
            raise pickle.UnpicklingError(f"{module}.{name} is no message")
        return _KINDS[name]


def read_message(data: bytes) -> Message:
    """The message that was pickled to `data`. Raises ValueError when it is none."""
    try:
        found = _Reader(io.BytesIO(data)).load()
    except Exception as error:  # a damaged pickle may raise anything
        raise ValueError(f"no message: {error}") from error
    if not isinstance(found, Message):
        raise ValueError("no message")
    return found
