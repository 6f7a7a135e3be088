"""The text form of programs: one statement a line, blocks by indentation, `#` starts a comment.

`format_program` writes the canonical form; `parse_program` reads that and anything close to it (hexadecimal numbers,
other indentation, comments, blank lines). In `until b is a, at most 64: c[k] = f(...)` the index is always the letter
k: it stands for the number of the attempt. A block or body that holds no statement holds the line `nothing`.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass

from acl_cts.specs.program import (
    FORMAT,
    Call,
    Callback,
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
from acl_cts.specs.program_rules import (
    MAX_INPUT,
    MAX_LITERAL,
    WORD,
    ProgramError,
    check_head,
    check_name,
    check_nesting,
    check_threads,
)

__all__ = ["ProgramError", "format_line", "format_program", "format_value", "parse_program"]

HEADER = f"# acl-cts program {FORMAT}"

_INDENT = "    "


# ------------------------------------------------------------------------------------------------------------ writing


def format_program(program: Program) -> str:
    """The canonical text of `program`, header line first; `parse_program` gives back an equal program."""
    lines = [HEADER]
    for statement in program.body:
        _format_statement(statement, "", lines)
    if program.cleanup:
        lines.append("cleanup:")
        _format_block(program.cleanup, "", lines)
    return "\n".join(lines) + "\n"


def _format_block(body: tuple[Statement, ...], indent: str, lines: list[str]) -> None:
    for statement in body:
        _format_statement(statement, indent + _INDENT, lines)
    if not body:
        lines.append(f"{indent}{_INDENT}nothing")


def _format_statement(statement: Statement, indent: str, lines: list[str]) -> None:
    lines.append(indent + format_line(statement))
    match statement:
        case Repeat(body=body) | When(body=body) | Steady(body=body):
            _format_block(body, indent, lines)
        case Parallel(branches=branches):
            for branch in branches:
                lines.append(f"{indent}{_INDENT}branch:")
                _format_block(branch, indent + _INDENT, lines)


def format_line(statement: Statement) -> str:
    """One statement on one line; of a block its first line."""
    match statement:
        case Call(target=target):
            bound = "" if target is None else f"{target.name}{_format_index(target.index)} = "
            return bound + _format_call(statement)
        case Repeat(count=count, loop=loop):
            return f"repeat {loop} in {_format_int(count)}:"
        case UntilSame(found=found, like=like, at_most=at_most, call=call):
            array = call.target.name if call.target else "_"
            attempt = f"{array}[k] = {_format_call(call)}"
            return f"until {found} is {_format_ref(like)}, at most {_format_int(at_most)}: {attempt}"
        case Write(ref=ref, offset=offset, data=data):
            return f"write {_format_range(ref, offset, data.length)} = {format_value(data)}"
        case Read(ref=ref, offset=offset, length=length):
            return f"read {_format_range(ref, offset, length)}"
        case Invoke(function=function, args=args):
            return f"invoke {_format_ref(function)}({', '.join(map(format_value, args))})"
        case FailAllocation(nth=nth):
            return f"fail allocation {_format_int(nth)}"
        case When(accepted=accepted):
            return f"on {'success' if accepted else 'refusal'}:"
        case Live():
            return "live"
        case Steady(at_least=at_least, at_most=at_most):
            return f"steady in {_format_int(at_least)} to {_format_int(at_most)}:"
        case Hooks():
            return "hooks"
        case Exit():
            return "exit"
        case Parallel():
            return "parallel:"


def _format_call(call: Call) -> str:
    return f"{call.function}({', '.join(f'{name}={format_value(value)}' for name, value in call.args)})"


def format_value(value: Value) -> str:
    """One argument as text."""
    match value:
        case Int(value=number, loop=None):
            return _format_int(number)
        case Int(value=number, loop=loop):
            return f"{loop}+{_format_int(number)}" if number else str(loop)
        case Null():
            return "null"
        case Ref():
            return _format_ref(value)
        case Fill(byte=byte, length=length):
            count = _format_int(length)
            return f"bytes(0x{byte:02X} * {f'({count})' if '-' in count or '+' in count else count})"
        case Ramp(start=start, length=length):
            return f"ramp({start}, {_format_int(length)})"
        case Literal(data=data):
            return f'bytes("{data.hex()}")'
        case Room(size=size):
            return f"room({_format_int(size)})"
        case Callback(number=number):
            return f"cb({number})"
        case Object(number=number):
            return f"obj({number})"


def _format_ref(ref: Ref) -> str:
    return f"{ref.name}{_format_index(ref.index)}{'' if ref.field is None else '.' + ref.field}"


def _format_index(index: Index | None) -> str:
    if index is None:
        return ""
    if index.loop is None:
        return f"[{index.offset}]"
    return f"[{index.loop}+{index.offset}]" if index.offset else f"[{index.loop}]"


def _format_range(ref: Ref, offset: int, length: int) -> str:
    return f"{_format_ref(ref)}[{_format_int(offset)}:{_format_int(offset + length)}]"


def _format_int(number: int) -> str:
    """Decimal, or `2**k`, `2**k+n`, `2**k-n` for a large number near a power of two."""
    if number < 2**16:
        return str(number)
    for exponent in (number.bit_length() - 1, number.bit_length()):
        rest = number - 2**exponent
        if abs(rest) <= 64:
            return f"2**{exponent}{rest:+d}" if rest else f"2**{exponent}"
    return str(number)


# ------------------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class _Line:
    """One line that holds something: its number, its indentation in spaces, its text without comment."""

    number: int
    indent: int
    text: str


def parse_program(text: str) -> Program:
    """Read a program from its text form. Raises ProgramError, with the line, on anything malformed."""
    if len(text) > MAX_INPUT:
        raise ProgramError(f"the text has {len(text)} characters; at most {MAX_INPUT} are expected", 1)
    return _Reader(list(_lines(text))).program()


def _lines(text: str) -> Iterator[_Line]:
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if number == 1:
            _check_header(line)
        code = line.split("#", 1)[0].rstrip(" ")
        body = code.lstrip(" ")
        if body:
            yield _Line(number, len(code) - len(body), body)


def _check_header(line: str) -> None:
    found = re.match(r"#\s*acl-cts program\b(.*)", line)
    if found and found[1].strip() != str(FORMAT):
        version = ascii(found[1].strip()[:20])
        raise ProgramError(f"program format {version} is unknown; '{HEADER}' is expected", 1)


class _Reader:
    """Builds the tree from lines; the position moves forward only."""

    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self.position = 0
        self.open: list[int] = [0]
        """Indentations of the blocks around the position."""

    def peek(self) -> _Line | None:
        return self.lines[self.position] if self.position < len(self.lines) else None

    def program(self) -> Program:
        first = self.peek()
        if first is not None and first.indent:
            raise ProgramError("unexpected indentation; the first statement is expected without any", first.number)
        body = self.statements(0, (), 0)
        cleanup: tuple[Statement, ...] = ()
        head = self.peek()
        if head is not None and head.text == "cleanup:":
            self.position += 1
            cleanup = self.block(head, (), 0)
        rest = self.peek()
        if rest is not None:
            raise ProgramError("text behind the clean-up; 'cleanup:' is expected once, as the last block", rest.number)
        return Program(body, cleanup)

    def block(self, head: _Line, loops: tuple[str, ...], depth: int) -> tuple[Statement, ...]:
        """The statements indented below `head`."""
        first = self.inside(head)
        if first.text == "nothing":
            return self.nothing(first)
        return self.statements(first.indent, loops, depth)

    def inside(self, head: _Line) -> _Line:
        """The first line of the block that `head` opens."""
        first = self.peek()
        if first is None or first.indent <= head.indent:
            raise ProgramError(f"'{head.text[:40]}' holds nothing; an indented statement is expected", head.number)
        return first

    def nothing(self, line: _Line) -> tuple[()]:
        """Step over the line that says so."""
        self.position += 1
        after = self.peek()
        if after is not None and after.indent >= line.indent:
            raise ProgramError("a statement beside 'nothing'; one or the other is expected", after.number)
        return ()

    def statements(self, indent: int, loops: tuple[str, ...], depth: int) -> tuple[Statement, ...]:
        body: list[Statement] = []
        self.open.append(indent)
        while (line := self.peek()) is not None and line.indent >= indent:
            if line.indent > indent:
                raise ProgramError(f"unexpected indentation; {indent} spaces are expected", line.number)
            if indent == 0 and line.text == "cleanup:":
                break
            self.position += 1
            try:
                body.append(self.statement(line, loops, depth))
            except ProgramError as error:
                if error.line:
                    raise
                raise ProgramError(error.what, line.number) from None
        self.open.pop()
        if line is not None and line.indent < indent and line.indent not in self.open:
            raise ProgramError("this indentation matches no block; that of an enclosing block is expected", line.number)
        return tuple(body)

    def statement(self, line: _Line, loops: tuple[str, ...], depth: int) -> Statement:
        """Read one statement, which starts at `line`, and the block that belongs to it."""
        head = _parse_line(line.text, loops)
        check_head(head, loops)
        match head:
            case Repeat(count=count, loop=loop):
                check_nesting(depth)
                return Repeat(count, loop, self.block(line, (*loops, loop), depth + 1))
            case Steady(at_least=at_least, at_most=at_most):
                check_nesting(depth)
                return Steady(at_least, at_most, self.block(line, loops, depth + 1))
            case When(accepted=accepted):
                check_nesting(depth)
                return When(accepted, self.block(line, loops, depth + 1))
            case Parallel():
                check_nesting(depth)
                block = Parallel(self.branches(line, loops, depth + 1))
                check_threads(block)
                return block
        return head

    def branches(self, head: _Line, loops: tuple[str, ...], depth: int) -> tuple[tuple[Statement, ...], ...]:
        first = self.inside(head)
        branches: list[tuple[Statement, ...]] = []
        self.open.append(first.indent)
        while (line := self.peek()) is not None and line.indent > head.indent:
            if line.text != "branch:" or line.indent != first.indent:
                raise ProgramError("'parallel:' holds branches only; 'branch:' is expected", line.number)
            self.position += 1
            branches.append(self.block(line, loops, depth))
        self.open.pop()
        return tuple(branches)


_ALPHABET = re.compile(r"[A-Za-z0-9_ ,.:=()\[\]+*\-]*")
_ODD_NUMBER = re.compile(r"(?<!\w)(?!0[xX][0-9A-Fa-f]+(?!\w))\d+[A-Za-z_]\w*")
_STRING = re.compile(r'"([0-9A-Fa-f]*)"')
_MAX_CODE = 16384
_MAX_OPERATORS = 256
_MAX_BRACKETS = 8

_BOUND = re.compile(r"(\w+) *(\[[^=]*\] *)?=")
_REPEAT = re.compile(r"repeat +(\w+) +in +(.*?) *:")
_STEADY = re.compile(r"steady +in +(.*?) +to +(.*?) *:")
_UNTIL = re.compile(r"until +(\w+) +is +(.*?) *, *at +most +(.*?) *: *(.*)")


def _parse_line(text: str, loops: tuple[str, ...]) -> Statement:
    """The statement on one line; of a block its first line, with an empty body."""
    code, strings = _screen(text)
    parse = _Expressions(loops, strings)
    if bound := _BOUND.match(code):
        check_name(bound[1])
    match code.split(" ", 1)[0].split("(", 1)[0]:
        case "repeat":
            found = _REPEAT.fullmatch(code) or _refuse("'repeat i in 300:'")
            return Repeat(parse.plain(found[2]), found[1], ())
        case "steady":
            found = _STEADY.fullmatch(code) or _refuse("'steady in 1024 to 2**22:'")
            return Steady(parse.plain(found[1]), parse.plain(found[2]), ())
        case "until":
            found = _UNTIL.fullmatch(code) or _refuse("'until b is a, at most 64: c[k] = f(...)'")
            return UntilSame(found[1], parse.ref(_expression(found[2])), parse.plain(found[3]), parse.attempt(found[4]))
        case "write":
            place, equals, data = code.removeprefix("write").partition("=")
            if not equals:
                _refuse("'write a[0:4] = bytes(...)'")
            return parse.write(place, data)
        case "read":
            ref, offset, length = parse.range(code.removeprefix("read"))
            return Read(ref, offset, length)
        case "invoke":
            return parse.invoke(code.removeprefix("invoke"))
        case "fail":
            found = re.fullmatch(r"fail +allocation +(.*)", code) or _refuse("'fail allocation 3'")
            return FailAllocation(parse.plain(found[1]))
    fixed = _FIXED.get(" ".join(code.replace(":", " :").split()))
    return fixed if fixed is not None else parse.call(code)


_FIXED: dict[str, Statement] = {
    "live": Live(),
    "hooks": Hooks(),
    "exit": Exit(),
    "on refusal :": When(False, ()),
    "on success :": When(True, ()),
    "parallel :": Parallel(()),
}


def _refuse(expected: str) -> re.Match[str]:
    raise ProgramError(f"the statement cannot be read; {expected} is expected")


def _screen(text: str) -> tuple[str, list[bytes]]:
    """Take the byte strings out of a line and bound the rest, so that no line can exhaust the expression parser."""
    strings: list[bytes] = []

    def take(found: re.Match[str]) -> str:
        digits = found[1]
        if len(digits) % 2:
            raise ProgramError("a byte string has an odd number of digits; two hexadecimal digits a byte are expected")
        if len(digits) > 2 * MAX_LITERAL:
            raise ProgramError(f"a byte string is too long; at most {MAX_LITERAL} bytes are expected")
        strings.append(bytes.fromhex(digits))
        return f"_literal_({len(strings) - 1})"

    if "_literal_" in text:
        raise ProgramError("'_literal_' is a reserved word; another name is expected")
    code = _STRING.sub(take, text)
    allowed = _ALPHABET.match(code)
    stop = allowed.end() if allowed else 0
    if stop < len(code):
        raise ProgramError(
            f"the character {code[stop]!a} has no meaning here; names, numbers and ,.:=()[]+-* are "
            'expected, and hexadecimal digits between " and "'
        )
    if len(code) > _MAX_CODE or sum(map(code.count, "+-*.")) > _MAX_OPERATORS:
        raise ProgramError("the statement is too long; one call with a few arguments is expected")
    if odd := _ODD_NUMBER.search(code):
        raise ProgramError(f"'{odd[0][:40]}' is no number; 4096, 0x1000, 2**12 or 2**64-4 is expected")
    _check_brackets(code)
    return code, strings


def _check_brackets(code: str) -> None:
    depth = 0
    for character in code:
        depth += (character in "([") - (character in ")]")
        if not 0 <= depth <= _MAX_BRACKETS:
            raise ProgramError(
                f"brackets do not match, or stand more than {_MAX_BRACKETS} deep; each ( and [ is expected to be closed"
            )


def _expression(code: str) -> ast.expr:
    """Syntax tree of one expression, whose nodes the callers then check one by one against what the form knows."""
    for word in re.findall(r"[A-Za-z_]\w*", code):
        if keyword.iskeyword(word):
            raise ProgramError(f"'{word}' is a reserved word; a name is expected")
    try:
        return ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ProgramError(
            f"{code.strip()[:60]!a} cannot be read; 'a = function(param=value, ...)' or another statement is expected"
        ) from None


@dataclass(frozen=True, slots=True)
class _Expressions:
    """Reads expressions inside the loops named `loops`; `strings` were taken out of the line before."""

    loops: tuple[str, ...]
    strings: list[bytes]

    def call(self, code: str) -> Call:
        """`f(x=1)` or `a = f(x=1)` or `a[i] = f(x=1)`."""
        found = re.fullmatch(r"([^=(]*)=(.*)", code)
        target = self.target(found[1]) if found else None
        return self.function(_expression(found[2] if found else code), target)

    def attempt(self, code: str) -> Call:
        """The call of `until`, bound to `c[k]`."""
        found = re.fullmatch(r"(\w+) *\[ *k *\] *=(.*)", code)
        if found is None:
            raise ProgramError("the call of 'until' has no array to fill; 'c[k] = f(...)' is expected")
        return self.function(_expression(found[2]), Target(found[1]))

    def function(self, node: ast.expr, target: Target | None) -> Call:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ProgramError("this is no call; 'function(param=value, ...)' is expected")
        if node.args or any(word.arg is None for word in node.keywords):
            raise ProgramError("an argument has no name; 'param=value' is expected")
        args = tuple((str(word.arg), self.value(word.value)) for word in node.keywords)
        return Call(node.func.id, args, target)

    def target(self, code: str) -> Target:
        ref = self.ref(_expression(code))
        if ref.field is not None:
            raise ProgramError(f"a field cannot be bound; '{ref.name}' is expected")
        return Target(ref.name, ref.index)

    def invoke(self, code: str) -> Invoke:
        node = _expression(code)
        if not isinstance(node, ast.Call) or node.keywords:
            raise ProgramError("this invokes nothing; 'invoke g.field(value, ...)' is expected")
        return Invoke(self.ref(node.func), tuple(map(self.value, node.args)))

    def write(self, place: str, data: str) -> Write:
        ref, offset, length = self.range(place)
        value = self.value(_expression(data))
        if not isinstance(value, Fill | Ramp | Literal):
            raise ProgramError("this cannot be written; bytes(...) or ramp(...) is expected")
        if value.length != length:
            raise ProgramError(f"{value.length} bytes for a range of {length}; as many as the range holds are expected")
        return Write(ref, offset, value)

    def range(self, code: str) -> tuple[Ref, int, int]:
        """`a[4:12]` as handle, offset and length."""
        node = _expression(code)
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or node.slice.step:
            raise ProgramError("this is no range of bytes; 'a[0:4096]' is expected")
        if node.slice.lower is None or node.slice.upper is None:
            raise ProgramError("the range has an open end; 'a[0:4096]' is expected")
        start, end = _number(node.slice.lower), _number(node.slice.upper)
        if not 0 <= start <= end <= WORD or start == WORD:
            raise ProgramError("the range ends before it starts, or beyond 2**64; 'a[0:4096]' is expected")
        return self.ref(node.value), start, end - start

    def plain(self, code: str) -> int:
        """A number without a loop counter."""
        return _number(_expression(code))

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(id="null"):
                return Null()
            case ast.Name(id=name) if name not in self.loops:
                return Ref(name)
            case ast.Attribute() | ast.Subscript():
                return self.ref(node)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.constructed(name, args)
        number, loop = self.sum(node)
        return Int(number, loop)

    def constructed(self, name: str, args: list[ast.expr]) -> Value:
        match name, args:
            case "bytes", [ast.BinOp(left=byte, op=ast.Mult(), right=length)]:
                return Fill(_number(byte), _number(length))
            case "bytes", [ast.Call(func=ast.Name(id="_literal_"), args=[ast.Constant(value=int(which))])]:
                return Literal(self.strings[which])
            case "ramp", [start, length]:
                return Ramp(_number(start), _number(length))
            case "room", [size]:
                return Room(_number(size))
            case "cb", [number]:
                return Callback(_number(number))
            case "obj", [number]:
                return Object(_number(number))
        raise ProgramError(
            'the value cannot be read; bytes(0xA5 * 4), bytes("0a0b"), ramp(1, 96), room(96), cb(1) or '
            "obj(1) is expected"
        )

    def ref(self, node: ast.expr) -> Ref:
        """`a`, `a[3]`, `a[i+1]`, any of them with `.field`."""
        match node:
            case ast.Attribute(value=ast.Name() | ast.Subscript() as inner, attr=name):
                base = self.ref(inner)
                return Ref(base.name, base.index, name)
            case ast.Subscript(value=ast.Name(id=name), slice=place) if not isinstance(place, ast.Slice):
                return Ref(name, Index(*self.sum(place)))
            case ast.Name(id=name):
                return Ref(name)
        raise ProgramError("this names no handle; 'a', 'a[3]', 'a[i+1]' or 'a.field' is expected")

    def sum(self, node: ast.expr) -> tuple[int, str | None]:
        """A number, or a loop counter plus a number."""
        match node:
            case ast.Name(id=name):
                return 0, name
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                number, loop = self.sum(left)
                return (number + _number(right) if isinstance(op, ast.Add) else number - _number(right)), loop
        return _number(node), None


def _number(node: ast.expr) -> int:
    """An exact integer: decimal, hexadecimal, `2**k`, sums and differences of these."""
    match node:
        case ast.Constant(value=int(value)):
            if value > WORD:
                raise ProgramError("a number is more than 2**64; 0 to 2**64-1 is expected")
            return value
        case ast.BinOp(left=ast.Constant(value=2), op=ast.Pow(), right=ast.Constant(value=int(power))) if power <= 64:
            return int(2**power)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _number(left) + _number(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _number(left) - _number(right)
    raise ProgramError("this is no number; 4096, 0x1000, 2**12 or 2**64-4 is expected")
