"""Rules of a well-formed program: what the text parser, the byte decoder and generators all agree on.

They bound names, numbers and nesting. Whether a name was ever bound is not among them: a reference to a handle that was
never given is a skipped call, not a malformed program.
"""

from __future__ import annotations

import keyword
import re

from acl_cts.specs.program import (
    MAX_REPEAT,
    MAX_STEADY,
    Call,
    Callback,
    Data,
    FailAllocation,
    Fill,
    Index,
    Int,
    Invoke,
    Literal,
    Null,
    Object,
    Parallel,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Room,
    Statement,
    Steady,
    Target,
    UntilSame,
    Value,
    When,
    Write,
)

MAX_NESTING = 8
"""Blocks inside blocks."""

THREADS = (2, 3)
"""Fewest and most threads of one `parallel`."""

MAX_THREAD_CALLS = 4
"""Calls of one thread. Three threads of so many calls can come in 34,650 orders, as many as anything has to look at."""

MAX_NAME = 64
"""Characters of a name."""

MAX_ARGS = 32
"""Arguments of one call."""

MAX_BYTES = 2**32
"""Bytes of one fill, ramp or room: the largest data area."""

MAX_LITERAL = 2**20
"""Bytes written out one by one."""

MAX_INPUT = 4 * 2**20
"""Characters of text, or bytes, that one program may take."""

WORD = 2**64
"""Integers are below this."""

RESERVED = frozenset(
    {
        "null",
        "repeat",
        "until",
        "write",
        "read",
        "invoke",
        "fail",
        "live",
        "steady",
        "hooks",
        "on",
        "parallel",
        "branch",
        "exit",
        "cleanup",
        "nothing",
        "bytes",
        "ramp",
        "room",
        "cb",
        "obj",
    }
)
"""Words of the text form, which name nothing else."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ProgramError(ValueError):
    """A program is malformed. `line`: where in its text, counted from 1; 0 when it did not come from text."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {what}" if line else what)
        self.what = what
        self.line = line


def check_program(program: Program) -> None:
    """Raise ProgramError when `program` breaks a rule."""
    for statement in (*program.body, *program.cleanup):
        check_statement(statement, ())


def check_statement(statement: Statement, loops: tuple[str, ...], depth: int = 0) -> None:
    """Check one statement and what it holds, inside the loops named `loops` and `depth` blocks."""
    check_head(statement, loops)
    match statement:
        case Repeat(loop=loop, body=body):
            _check_block(body, (*loops, loop), depth)
        case When(body=body) | Steady(body=body):
            _check_block(body, loops, depth)
        case Parallel(branches=branches):
            for branch in branches:
                _check_block(branch, loops, depth)
            check_threads(statement)


def _check_block(body: tuple[Statement, ...], loops: tuple[str, ...], depth: int) -> None:
    check_nesting(depth)
    for statement in body:
        check_statement(statement, loops, depth + 1)


def check_threads(block: Parallel) -> None:
    """Check what the threads of `block` are made of, each statement of them being right in itself."""
    fewest, most = THREADS
    _within("number of threads", len(block.branches), fewest, most)
    for branch in block.branches:
        _within("number of calls of a thread", len(branch), 1, MAX_THREAD_CALLS)
        if not all(isinstance(statement, Call) for statement in branch):
            raise ProgramError("a thread holds calls only; what else there is to do is expected around 'parallel:'")
    used = [_names(branch) for branch in block.branches]
    for number, branch in enumerate(block.branches):
        for call in branch:
            target = call.target if isinstance(call, Call) else None
            if target and any(target.name in names for other, names in enumerate(used) if other != number):
                raise ProgramError(
                    f"'{target.name}' is bound in one thread and used in another; other names are expected"
                )


def _names(branch: tuple[Statement, ...]) -> frozenset[str]:
    """Names that the calls of one thread bind or refer to."""
    calls = [call for call in branch if isinstance(call, Call)]
    bound = {call.target.name for call in calls if call.target}
    return frozenset(bound | {value.name for call in calls for _, value in call.args if isinstance(value, Ref)})


def check_nesting(depth: int) -> None:
    """A block may start inside `depth` others."""
    if depth >= MAX_NESTING:
        raise ProgramError(f"blocks are nested too deep; at most {MAX_NESTING} levels are allowed")


def check_head(statement: Statement, loops: tuple[str, ...]) -> None:
    """Check one statement without the statements that it holds."""
    match statement:
        case Call():
            _check_call(statement, loops)
        case Repeat(count=count, loop=loop):
            _within("repeat count", count, 1, MAX_REPEAT)
            _check_new_name(loop, loops)
        case UntilSame():
            _check_until(statement, loops)
        case Steady(at_least=at_least, at_most=at_most):
            _within("'steady' at most", at_most, 1, MAX_STEADY)
            _within("'steady' at least", at_least, 1, at_most)
        case Write(ref=ref, offset=offset, data=data):
            _check_ref(ref, loops)
            _check_data(data)
            _check_range(offset, data.length)
        case Read(ref=ref, offset=offset, length=length):
            _check_ref(ref, loops)
            _check_range(offset, length)
        case Invoke(function=function, args=args):
            _check_ref(function, loops)
            _within("number of arguments", len(args), 0, MAX_ARGS)
            for value in args:
                check_value(value, loops)
        case FailAllocation(nth=nth):
            _within("allocation number", nth, 0, WORD - 1)


def check_value(value: Value, loops: tuple[str, ...]) -> None:
    """Check one argument."""
    match value:
        case Int(value=number, loop=loop):
            _within("integer", number, 0, WORD - 1)
            _check_loop(loop, loops)
        case Ref():
            _check_ref(value, loops)
        case Room(size=size):
            _within("room", size, 0, MAX_BYTES)
        case Callback(number=number):
            _within("callback number", number, 1, 4)
        case Object(number=number):
            _within("object number", number, 1, 4)
        case Null():
            pass
        case _:
            _check_data(value)


def check_name(name: str) -> None:
    """`name` can name a handle, a loop, a function, a parameter or a field."""
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ProgramError(
            f"{_short(name)} is no name; letters, digits and _ are expected, at most {MAX_NAME}, no digit first"
        )
    if keyword.iskeyword(name) or name in RESERVED:
        raise ProgramError(f"'{name}' is a reserved word; another name is expected")


def _check_call(call: Call, loops: tuple[str, ...]) -> None:
    _check_new_name(call.function, loops)
    if call.target is not None:
        _check_target(call.target, loops)
    _within("number of arguments", len(call.args), 0, MAX_ARGS)
    seen: set[str] = set()
    for name, value in call.args:
        check_name(name)
        if name in seen:
            raise ProgramError(f"argument '{name}' is given twice; each once is expected")
        seen.add(name)
        check_value(value, loops)


def _check_until(statement: UntilSame, loops: tuple[str, ...]) -> None:
    _check_new_name(statement.found, loops)
    _check_ref(statement.like, loops)
    _within("'at most'", statement.at_most, 1, MAX_REPEAT)
    target = statement.call.target
    if target is None or target.index not in (None, Index(0)):
        raise ProgramError("the call of 'until' has no array to fill; a target like c[k] is expected")
    _check_call(statement.call, loops)


def _check_target(target: Target, loops: tuple[str, ...]) -> None:
    _check_new_name(target.name, loops)
    _check_index(target.index, loops)


def _check_ref(ref: Ref, loops: tuple[str, ...]) -> None:
    _check_new_name(ref.name, loops)
    _check_index(ref.index, loops)
    if ref.field is not None:
        check_name(ref.field)


def _check_index(index: Index | None, loops: tuple[str, ...]) -> None:
    if index is not None:
        _within("array index", index.offset, 0, MAX_REPEAT)
        _check_loop(index.loop, loops)


def _check_new_name(name: str, loops: tuple[str, ...]) -> None:
    check_name(name)
    if name in loops:
        raise ProgramError(f"'{name}' is the counter of an enclosing loop; another name is expected")


def _check_loop(loop: str | None, loops: tuple[str, ...]) -> None:
    if loop is not None and loop not in loops:
        raise ProgramError(f"{_short(loop)} is not the counter of an enclosing loop; a 'repeat' around it is expected")


def _check_data(data: Data) -> None:
    match data:
        case Fill(byte=byte, length=length):
            _within("byte", byte, 0, 255)
            _within("number of bytes", length, 0, MAX_BYTES)
        case Ramp(start=start, length=length):
            _within("byte", start, 0, 255)
            _within("number of bytes", length, 0, MAX_BYTES)
        case Literal(data=exact):
            _within("number of literal bytes", len(exact), 0, MAX_LITERAL)


def _check_range(offset: int, length: int) -> None:
    _within("offset", offset, 0, WORD - 1)
    _within("end of the range", offset + length, offset, WORD)


def _within(what: str, number: int, low: int, high: int) -> None:
    if not low <= number <= high:
        raise ProgramError(f"{what} is {_size(number)}; {low} to {high} is expected")


def _size(number: int) -> str:
    """`number`, in a form that fits a message."""
    return str(number) if abs(number) <= WORD else f"{'-' if number < 0 else ''}more than 2**64"


def _short(name: str) -> str:
    """`name`, quoted so that any character can be shown."""
    return ascii(name if len(name) <= MAX_NAME else name[:MAX_NAME] + "...")
