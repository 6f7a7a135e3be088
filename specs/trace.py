"""Traces: what a backend answered to a program, record by record; all that the oracle ever sees of a backend.

Pointers are symbolic: every distinct raw value gets a number by first appearance, the raw values stand aside in
`Trace.pointers`. So traces of two runs compare equal although addresses differ, and a stored trace can be judged again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

FORMAT = 1
"""Version of the JSON form."""

READ_LIMIT = 4096
"""A read of more bytes than this records a CRC-32 in place of the content."""


class Capability(StrEnum):
    """What a backend declares of itself."""

    ROBUST_HANDLES = "robust-handles"
    THREAD_SAFE = "thread-safe"
    FAULT_INJECTION = "fault-injection"
    LIVE_COUNT = "live-count"
    HOOKS = "hooks"
    STREAMS = "streams"
    DATA_ACCESS = "data-access"
    EXIT = "exit"
    INSTRUMENTED = "instrumented"
    MEMORY = "memory"


class Phase(StrEnum):
    """Where in a program something happened."""

    CALL = "call"
    TOUCH = "touch"
    CHECK = "check"
    CLEAN_UP = "clean-up"


@dataclass(frozen=True, slots=True)
class Ptr:
    """A pointer: its number in `Trace.pointers`. Number 0 is NULL."""

    id: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """What is known of one pointer: raw value, and `kind`.

    Kinds: `null` · `callback:<C type>:<number>` · `object:<number>` · `executable` (inside an executable mapping) ·
    `other`.
    """

    raw: int
    kind: str = "other"


@dataclass(frozen=True, slots=True)
class Breach:
    """A write outside the caller's memory for `param`; `offset` in bytes from its start, negative in front of it."""

    param: str
    offset: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A built-in callback was reached: its C type, number, arguments and what it returned (None for void)."""

    ctype: str
    number: int
    args: tuple[int | Ptr, ...]
    ret: int | Ptr | None


Output = int | Ptr | bytes | None
"""An out parameter after the call: None = the sentinel is untouched. Bytes = the whole room, sentinel where
unwritten."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call: return value, out parameters by name (those that were not passed NULL), and what was seen around it."""

    step: int
    loops: tuple[int, ...]
    function: str
    ret: int | Ptr
    outs: tuple[tuple[str, Output], ...] = ()
    breaches: tuple[Breach, ...] = ()
    hits: tuple[Hit, ...] = ()
    fault_fired: bool = False


@dataclass(frozen=True, slots=True)
class SkipRecord:
    """A statement that was not executed: `unset` (a handle it needs was never given) or `unlocated` (no data area
    known) or `unavailable` (the backend cannot do it) or `not-repeated` (the handle value did not come again)."""

    step: int
    loops: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class TouchRecord:
    """A write (`data` None) or read of a data area. `error`: '' fine, `fault` the memory cannot be touched,
    `copy:<code>` the library's copy function refused. A read of up to `READ_LIMIT` bytes has `data`, a longer one
    `crc`."""

    step: int
    loops: tuple[int, ...]
    error: str = ""
    data: bytes | None = None
    crc: int | None = None


@dataclass(frozen=True, slots=True)
class InvokeRecord:
    """A returned function pointer was called; `error` is `invalid` when it is NULL or in no executable mapping (then it
    was not called)."""

    step: int
    loops: tuple[int, ...]
    error: str = ""
    ret: int | Ptr | None = None
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory held after `turns` iterations, in bytes more than once the block was warm: `host` by the process, `device`
    on the device, 0 where that is not told."""

    turns: int
    host: int
    device: int = 0


@dataclass(frozen=True, slots=True)
class LiveRecord:
    """Live objects and bytes as the backend counts them. `lost`: a leak checker, where there is one, finds memory that
    nothing points at any more."""

    step: int
    loops: tuple[int, ...]
    objects: int
    bytes: int
    lost: bool = False


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """How the memory that the library's process holds changed over the iterations of a steady block. Without samples it
    stands in front of the block. Of the iterations only the last before the samples is recorded, and one that answered
    otherwise, which ends the block."""

    step: int
    loops: tuple[int, ...]
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class SameRecord:
    """`count` further iterations of the repeat at `step` answered exactly as the one recorded just before."""

    step: int
    loops: tuple[int, ...]
    count: int


Record = CallRecord | SkipRecord | TouchRecord | InvokeRecord | LiveRecord | MemoryRecord | SameRecord


class End(StrEnum):
    """How a program's execution ended."""

    COMPLETED = "completed"
    CRASH = "crash"
    EXIT = "exit"
    TIMEOUT = "timeout"
    RACE = "race"
    UNSUPPORTED = "unsupported"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended and, when not `completed`, where.

    `detail`: crash: signal name or sanitizer summary · race: what the thread sanitizer saw · exit: the status ·
    unsupported: what is missing (a function's name or a capability) · error: what went wrong in the harness.
    """

    kind: End
    step: int | None = None
    loops: tuple[int, ...] = ()
    phase: Phase | None = None
    function: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """The whole answer to one program."""

    records: tuple[Record, ...]
    ending: Ending
    pointers: tuple[Pointer, ...] = (Pointer(0, "null"),)
    capabilities: frozenset[Capability] = frozenset()
    output: str = ""


@dataclass(slots=True)
class PointerTable:
    """Gives raw pointer values their numbers while a trace is built."""

    pointers: list[Pointer] = field(default_factory=lambda: [Pointer(0, "null")])
    _symbols: dict[int, Ptr] = field(default_factory=lambda: {0: Ptr(0)})

    def symbol(self, raw: int, kind: str = "other") -> Ptr:
        """The symbol of `raw`; the first kind given to a value that is not plain `other` stays."""
        symbol = self._symbols.get(raw)
        if symbol is None:
            symbol = self._symbols[raw] = Ptr(len(self.pointers))
            self.pointers.append(Pointer(raw, kind))
        elif kind != "other" and self.pointers[symbol.id].kind == "other":
            self.pointers[symbol.id] = Pointer(raw, kind)
        return symbol


@lru_cache(maxsize=512)
def sentinel(length: int) -> bytes:
    """What a room of `length` bytes holds before the call: no two neighbours equal, period 251."""
    return bytes((0xC5 + 7 * (k % 251)) & 0xFF for k in range(length))


def callback_result(ctype: str, number: int, size: int) -> int:
    """Raw value that built-in callback (`ctype`, `number`) returns when asked for `size`; tells the callbacks apart."""
    salt = sum(ctype.encode()) % 251
    return 0x5000_0000_0000 + (salt << 24) + (number << 16) + (size & 0xFFF0)
