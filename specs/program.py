"""Programs: calls and blocks with named handles, the one thing that is generated, executed, stored and replayed.

A program is an immutable tree. Its text form lives in `program_text`, its compact bytes in `program_bytes`, its
standalone C and Python forms in `program_source`. Nothing here knows a family, a table or a backend.

Statements are numbered in pre-order (body first, then clean-up, blocks before what they hold); that number is the
`step` by which a trace refers to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FORMAT = 1
"""Version of the text and bytes forms."""

MAX_REPEAT = 1_000_000
"""Highest iteration count of one `repeat`."""

MAX_STEADY = 2**24
"""Highest iteration count of one `steady`."""


# ---------------------------------------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class Int:
    """An exact integer, 0 <= value < 2**64; with `loop`, the counter of that enclosing loop is added."""

    value: int
    loop: str | None = None


@dataclass(frozen=True, slots=True)
class Null:
    """A NULL pointer."""


@dataclass(frozen=True, slots=True)
class Index:
    """Position in a handle array: `offset`, plus the counter of the enclosing loop `loop` when there is one."""

    offset: int
    loop: str | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """What an earlier call bound to `name` (`name[index]` in an array).

    `field` selects one output by its parameter name; without it, the call's principal handle: its created or aliased
    handle, or the handle it returned.
    """

    name: str
    index: Index | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Fill:
    """`length` bytes, all equal to `byte`."""

    byte: int
    length: int


@dataclass(frozen=True, slots=True)
class Ramp:
    """`length` bytes counting up from `start`, modulo 256."""

    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly these bytes."""

    data: bytes

    @property
    def length(self) -> int:
        """Number of bytes."""
        return len(self.data)


Data = Fill | Ramp | Literal
"""Bytes of the caller that a call or a write takes as input."""


@dataclass(frozen=True, slots=True)
class Room:
    """Caller memory of `size` bytes that a call may write."""

    size: int


@dataclass(frozen=True, slots=True)
class Callback:
    """Built-in callback number `number` (1..4) of the type that the parameter asks for.

    Every (type, number) has an address of its own and records its arguments. Number 4 calls the API again from inside.
    """

    number: int


@dataclass(frozen=True, slots=True)
class Object:
    """Address of the user's object number `number` (1..4); a library hands it back and never looks into it."""

    number: int


Value = Int | Null | Ref | Fill | Ramp | Literal | Room | Callback | Object
"""An argument. An out parameter that is not mentioned gets a cell filled with a sentinel."""


# ------------------------------------------------------------------------------------------------------ statements


@dataclass(frozen=True, slots=True)
class Target:
    """The name (or array element) that a call's outputs are bound to; a failed call leaves it unset."""

    name: str
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of `function`, arguments by parameter name, in the order written."""

    function: str
    args: tuple[tuple[str, Value], ...] = ()
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body`, `count` times; `loop` counts from 0."""

    count: int
    loop: str
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class UntilSame:
    """Repeat `call` (at most `at_most` times) until its handle has the raw value that `like` had, freed or not.

    Attempt k binds `call.target.name[k]`; the last one is also bound to `found`. When the value did not repeat, `found`
    stays unset and what depends on it is skipped.
    """

    found: str
    like: Ref
    at_most: int
    call: Call


@dataclass(frozen=True, slots=True)
class Write:
    """Write `data` at `offset` of the data area that the last successful GetBufData on `ref` located."""

    ref: Ref
    offset: int
    data: Data


@dataclass(frozen=True, slots=True)
class Read:
    """Read `length` bytes at `offset` of that data area: content up to 4,096 bytes, beyond that its CRC-32."""

    ref: Ref
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call the function pointer that an earlier call returned in `function.field`; arguments by position."""

    function: Ref
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class FailAllocation:
    """Let the `nth` inner allocation of the library from here on fail (1 = the next, 0 = disarm)."""

    nth: int


@dataclass(frozen=True, slots=True)
class Live:
    """Ask the backend for the number of live objects and the bytes that they hold."""


@dataclass(frozen=True, slots=True)
class Steady:
    """`body` again and again until the memory that the library's process holds grows no more: `at_least` times, and no
    more than `at_most`. Where memory cannot be measured, once."""

    at_least: int
    at_most: int
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Ask the backend to call registered hooks from inside its own calls from here on."""


@dataclass(frozen=True, slots=True)
class When:
    """`body`, only when the last call executed was refused (`accepted` False) or accepted (True)."""

    accepted: bool
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """Leave the process with a real exit(0), with whatever is registered still registered."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Threads started together at a barrier, one per branch; the block ends when all of them have ended.

    A thread holds calls only, few of them, and uses no name that another one binds (`program_rules.check_threads`).
    """

    branches: tuple[tuple[Statement, ...], ...]


Statement = (
    Call | Repeat | UntilSame | Write | Read | Invoke | FailAllocation | Live | Steady | Hooks | When | Exit | Parallel
)


@dataclass(frozen=True, slots=True)
class Program:
    """What is executed: `body`, then `cleanup`, which gives back what is certainly alive."""

    body: tuple[Statement, ...]
    cleanup: tuple[Statement, ...] = ()


# -------------------------------------------------------------------------------------------------------- helpers


BLOCKS = (Repeat, When, Steady, UntilSame, Parallel)
"""Statements that hold others."""


def children(statement: Statement) -> tuple[Statement, ...]:
    """Statements inside a block, in the order of numbering."""
    match statement:
        case Repeat(body=body) | When(body=body) | Steady(body=body):
            return body
        case UntilSame(call=call):
            return (call,)
        case Parallel(branches=branches):
            return tuple(s for branch in branches for s in branch)
    return ()


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement in pre-order."""
    for statement in statements:
        yield statement
        if isinstance(statement, BLOCKS):
            yield from walk(children(statement))


def steps(program: Program) -> tuple[Statement, ...]:
    """Statements by step number."""
    return (*walk(program.body), *walk(program.cleanup))


def size(statement: Statement) -> int:
    """Number of step numbers that `statement` takes up, itself included."""
    return 1 + sum(size(child) for child in children(statement)) if isinstance(statement, BLOCKS) else 1


_WHEEL = bytes(range(256)) * 2
"""All byte values, twice, to cut a ramp from."""


def content(data: Data) -> bytes:
    """The bytes that `data` stands for."""
    match data:
        case Fill(byte=byte, length=length):
            return bytes([byte]) * length
        case Ramp(start=start, length=length):
            first = start & 0xFF
            return (_WHEEL[first : first + 256] * (length // 256 + 1))[:length]
        case Literal(data=exact):
            return exact


def counts(repeat: Repeat) -> bool:
    """Whether the body uses the loop's counter, so that iterations concern different objects or numbers."""
    parts: list[object] = list(walk(repeat.body))
    while parts:
        part = parts.pop()
        if isinstance(part, Int | Index) and part.loop == repeat.loop:
            return True
        if isinstance(part, tuple):
            parts.extend(part)
        elif isinstance(part, Call | Invoke | Write | Read | UntilSame | Ref | Target):
            parts.extend(getattr(part, name) for name in part.__dataclass_fields__)
    return False
