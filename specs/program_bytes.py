"""The compact byte form of programs, and their digest.

Layout: magic, format version, table of names in the order of first use, body, clean-up. Numbers are little-endian
base-128; a list is its length and its items; each statement and value starts with a tag. Every program has exactly one
encoding, so equal digests mean equal programs, on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from acl_cts.specs.program import (
    FORMAT,
    Call,
    Callback,
    Data,
    Exit,
    FailAllocation,
    Fill,
    Hooks,
    Index,
    Int,
    Invoke,
    Literal,
    Live,
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
from acl_cts.specs.program_rules import MAX_INPUT, MAX_NESTING, WORD, ProgramError, check_program

MAGIC = b"acl\x00"

_HEAD = MAGIC + bytes([FORMAT])


def digest(program: Program) -> str:
    """SHA-256 of the encoding, in hexadecimal: the program's identity."""
    return hashlib.sha256(encode_program(program)).hexdigest()


def encode_program(program: Program) -> bytes:
    """The one encoding of `program`. Raises ProgramError for a number outside [0, 2**64)."""
    writer = _Writer()
    writer.block(program.body)
    writer.block(program.cleanup)
    table = bytearray(_HEAD)
    _put(table, len(writer.names))
    for name in writer.names:
        raw = name.encode()
        _put(table, len(raw))
        table += raw
    return bytes(table + writer.out)


def decode_program(data: bytes) -> Program:
    """The program that `data` encodes, in time linear in `data`. Raises ProgramError when it encodes none."""
    if len(data) > MAX_INPUT:
        raise ProgramError(f"the encoded program has {len(data)} bytes; at most {MAX_INPUT} are expected")
    if not data.startswith(MAGIC):
        raise ProgramError(f"these bytes are no program; {MAGIC!r} is expected in front")
    if data[: len(_HEAD)] != _HEAD:
        raise ProgramError(f"the program's format is unknown; format {FORMAT} is expected")
    reader = _Reader(data, len(_HEAD))
    reader.read_names()
    program = Program(reader.block(0), reader.block(0))
    check_program(program)
    if encode_program(program) != data:
        raise ProgramError("these bytes are no canonical encoding; the output of encode_program is expected")
    return program


# ------------------------------------------------------------------------------------------------------------ writing


def _put(out: bytearray, number: int) -> None:
    if not 0 <= number <= WORD:
        raise ProgramError("a number cannot be encoded; 0 to 2**64-1 is expected")
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


class _Writer:
    """Appends statements to `out` and collects the names that they use."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.names: dict[str, int] = {}

    def name(self, name: str) -> None:
        _put(self.out, self.names.setdefault(name, len(self.names)))

    def tagged(self, tag: int, *numbers: int) -> None:
        self.out.append(tag)
        for number in numbers:
            if 0 <= number < 0x80:
                self.out.append(number)
            else:
                _put(self.out, number)

    def block(self, body: tuple[Statement, ...]) -> None:
        _put(self.out, len(body))
        for statement in body:
            _WRITERS[type(statement)](self, statement)

    def value(self, value: Value) -> None:
        _WRITERS[type(value)](self, value)

    def index(self, index: Index | None) -> None:
        """0 none, 1 plain, 2 with a loop."""
        if index is None:
            self.out.append(0)
        else:
            self.tagged(1 if index.loop is None else 2, index.offset)
            if index.loop is not None:
                self.name(index.loop)

    def call(self, call: Call) -> None:
        self.tagged(0x20 if call.target is None else 0x21)
        if call.target is not None:
            self.name(call.target.name)
            self.index(call.target.index)
        self.signature(call)

    def signature(self, call: Call) -> None:
        self.name(call.function)
        _put(self.out, len(call.args))
        for name, value in call.args:
            self.name(name)
            _WRITERS[type(value)](self, value)

    def int(self, value: Int) -> None:
        self.tagged(0x01 if value.loop is None else 0x02, value.value)
        if value.loop is not None:
            self.name(value.loop)

    def ref(self, value: Ref) -> None:
        """Tag 0x03 plus 1 for an index plus 2 for a field."""
        self.out.append(0x03 + (value.index is not None) + 2 * (value.field is not None))
        self.name(value.name)
        if value.index is not None:
            self.index(value.index)
        if value.field is not None:
            self.name(value.field)

    def literal(self, value: Literal) -> None:
        self.tagged(0x09, len(value.data))
        self.out += value.data

    def repeat(self, statement: Repeat) -> None:
        self.tagged(0x22, statement.count)
        self.name(statement.loop)
        self.block(statement.body)

    def until(self, statement: UntilSame) -> None:
        if statement.call.target is None:
            raise ProgramError("the call of 'until' has no array to fill; a target like c[k] is expected")
        self.tagged(0x23, statement.at_most)
        self.name(statement.found)
        self.ref(statement.like)
        self.name(statement.call.target.name)
        self.signature(statement.call)

    def write(self, statement: Write) -> None:
        self.tagged(0x24, statement.offset)
        self.ref(statement.ref)
        self.value(statement.data)

    def read(self, statement: Read) -> None:
        self.tagged(0x25, statement.offset, statement.length)
        self.ref(statement.ref)

    def invoke(self, statement: Invoke) -> None:
        self.tagged(0x26, len(statement.args))
        self.ref(statement.function)
        for value in statement.args:
            self.value(value)

    def when(self, statement: When) -> None:
        self.tagged(0x2B if statement.accepted else 0x2A)
        self.block(statement.body)

    def steady(self, statement: Steady) -> None:
        self.tagged(0x2E, statement.at_least, statement.at_most)
        self.block(statement.body)

    def parallel(self, statement: Parallel) -> None:
        self.tagged(0x2D, len(statement.branches))
        for branch in statement.branches:
            self.block(branch)


_WRITERS: dict[type, Callable[[_Writer, Any], None]] = {
    Null: lambda w, v: w.tagged(0x00),
    Int: _Writer.int,
    Ref: _Writer.ref,
    Fill: lambda w, v: w.tagged(0x07, v.byte, v.length),
    Ramp: lambda w, v: w.tagged(0x08, v.start, v.length),
    Literal: _Writer.literal,
    Room: lambda w, v: w.tagged(0x0A, v.size),
    Callback: lambda w, v: w.tagged(0x0B, v.number),
    Object: lambda w, v: w.tagged(0x0C, v.number),
    Call: _Writer.call,
    Repeat: _Writer.repeat,
    UntilSame: _Writer.until,
    Write: _Writer.write,
    Read: _Writer.read,
    Invoke: _Writer.invoke,
    FailAllocation: lambda w, s: w.tagged(0x27, s.nth),
    Live: lambda w, s: w.tagged(0x28),
    Steady: _Writer.steady,
    Hooks: lambda w, s: w.tagged(0x29),
    When: _Writer.when,
    Exit: lambda w, s: w.tagged(0x2C),
    Parallel: _Writer.parallel,
}


# ------------------------------------------------------------------------------------------------------------ reading


class _Reader:
    """Reads values and statements from `data`; the position moves forward only."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position
        self.names: list[str] = []

    def byte(self) -> int:
        if self.position >= len(self.data):
            raise ProgramError("the encoded program breaks off; more bytes are expected")
        self.position += 1
        return self.data[self.position - 1]

    def number(self) -> int:
        result = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
        raise ProgramError("a number has more than 10 bytes; 0 to 2**64-1 is expected")

    def raw(self) -> bytes:
        length = self.number()
        if length > len(self.data) - self.position:
            raise ProgramError("the encoded program breaks off; more bytes are expected")
        self.position += length
        return self.data[self.position - length : self.position]

    def count(self) -> int:
        """Number of items that follow, each of at least one byte."""
        count = self.number()
        if count > len(self.data) - self.position:
            raise ProgramError("the encoded program breaks off; more bytes are expected")
        return count

    def read_names(self) -> None:
        for _ in range(self.count()):
            try:
                self.names.append(self.raw().decode("ascii"))
            except UnicodeDecodeError:
                raise ProgramError("a name is not ASCII; letters, digits and _ are expected") from None

    def name(self) -> str:
        number = self.number()
        if number >= len(self.names):
            raise ProgramError(f"name number {number} is not in the table; at most {len(self.names) - 1} is expected")
        return self.names[number]

    def block(self, depth: int) -> tuple[Statement, ...]:
        if depth > MAX_NESTING:
            raise ProgramError(f"blocks are nested too deep; at most {MAX_NESTING} levels are allowed")
        return tuple([self.statement(depth) for _ in range(self.count())])

    def statement(self, depth: int) -> Statement:
        match tag := self.byte():
            case 0x20:
                return self.call(None)
            case 0x21:
                return self.call(Target(self.name(), self.index()))
            case 0x22:
                return Repeat(self.number(), self.name(), self.block(depth + 1))
            case 0x23:
                at_most, found, like = self.number(), self.name(), self.ref()
                return UntilSame(found, like, at_most, self.call(Target(self.name())))
            case 0x24:
                offset = self.number()
                return Write(self.ref(), offset, self.bytes_of_caller())
            case 0x25:
                offset, length = self.number(), self.number()
                return Read(self.ref(), offset, length)
            case 0x26:
                count = self.count()
                return Invoke(self.ref(), tuple([self.value() for _ in range(count)]))
            case 0x27:
                return FailAllocation(self.number())
            case 0x2A | 0x2B:
                return When(tag == 0x2B, self.block(depth + 1))
            case 0x2E:
                return Steady(self.number(), self.number(), self.block(depth + 1))
            case 0x2D:
                return Parallel(tuple([self.block(depth + 1) for _ in range(self.count())]))
        if tag not in _PLAIN:
            raise ProgramError(f"tag {tag:#04x} is no statement; one of the format's tags is expected")
        return _PLAIN[tag]

    def call(self, target: Target | None) -> Call:
        function = self.name()
        return Call(function, tuple([(self.name(), self.value()) for _ in range(self.count())]), target)

    def value(self) -> Value:
        match tag := self.byte():
            case 0x00:
                return Null()
            case 0x01:
                return Int(self.number())
            case 0x02:
                return Int(self.number(), self.name())
            case 0x03 | 0x04 | 0x05 | 0x06:
                self.position -= 1
                return self.ref()
            case 0x07:
                return Fill(self.number(), self.number())
            case 0x08:
                return Ramp(self.number(), self.number())
            case 0x09:
                return Literal(self.raw())
            case 0x0A:
                return Room(self.number())
            case 0x0B:
                return Callback(self.number())
            case 0x0C:
                return Object(self.number())
        raise ProgramError(f"tag {tag:#04x} is no value; one of the format's tags is expected")

    def bytes_of_caller(self) -> Data:
        value = self.value()
        if not isinstance(value, Fill | Ramp | Literal):
            raise ProgramError("this cannot be written; a fill, ramp or literal is expected")
        return value

    def ref(self) -> Ref:
        tag = self.byte()
        if not 0x03 <= tag <= 0x06:
            raise ProgramError(f"tag {tag:#04x} is no reference; one of the format's tags is expected")
        name = self.name()
        index = self.index() if tag in (0x04, 0x06) else None
        return Ref(name, index, self.name() if tag in (0x05, 0x06) else None)

    def index(self) -> Index | None:
        match tag := self.byte():
            case 0:
                return None
            case 1:
                return Index(self.number())
            case 2:
                return Index(self.number(), self.name())
        raise ProgramError(f"tag {tag:#04x} is no array index; one of the format's tags is expected")


_PLAIN: dict[int, Statement] = {0x28: Live(), 0x29: Hooks(), 0x2C: Exit()}
