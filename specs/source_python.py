"""The standalone Python form of a program: one ctypes script that loads a library by path and makes the calls."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence

from acl_cts.specs.interface import CallbackType, Interface, Kind, Param, Signature
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
from acl_cts.specs.program_text import format_line
from acl_cts.specs.source_plan import (
    Names,
    Plan,
    arguments,
    attempts,
    is_cell,
    is_memory,
    is_pointer,
    make_plan,
    measure_of,
    measured,
    place,
    result_base,
    words,
)
from acl_cts.specs.source_python_parts import MAIN, RUNTIME, threaded

_ATTEMPT = "@attempt"
_PIECE = 65536


def to_python(program: Program, interface: Interface, comment: str = "") -> str:
    """`program` as one script for `python3 repro.py libascendcl.so`, which behaves as the C form does.

    `comment` goes to the top. Raises ProgramError when a call does not fit `interface`.
    """
    return _Writer(make_plan(program, interface)).file(comment)


class _Writer:
    """Writes one script."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        runtime = set(re.findall(r"^(?:def|class) (\w+)", RUNTIME, re.MULTILINE))
        reserved = (
            runtime
            | set(dir(builtins))
            | set(keyword.kwlist)
            | {"ctypes", "sys", "wanted", "given", "size", "parallel"}
        )
        reserved |= words(" ".join(re.findall(r"^from ctypes import (.*)", RUNTIME, re.MULTILINE)))
        self.names = Names(reserved | set(plan.interface.functions))
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.depth = 1

    def file(self, comment: str) -> str:
        variables = [(where, self.variable(*where)) for where in self.plan.fields]
        self.put(*(f"{name} = {'Array()' if where[1] else 'Variable()'}" for where, name in variables))
        for statement in self.plan.program.body:
            self.statement(statement)
        if self.plan.program.cleanup:
            self.put("", "# ---- clean-up ----")
            for statement in self.plan.program.cleanup:
                self.statement(statement)
        if not self.lines:
            self.put("pass")
        steps = "\n".join(self.lines)
        functions = "".join(self.function(signature) for signature in self.plan.functions.values())
        uses_again = any(number == 4 for _, number in self.plan.callbacks)
        pair = self.plan.again() if uses_again else None
        again = f"({pair[0].name}, {pair[1].name})" if pair else "None"
        runtime = threaded(RUNTIME) if self.plan.threaded else RUNTIME
        main = MAIN.replace("@FUNCTIONS@", functions).replace("@AGAIN@", again).replace("@STEPS@", steps)
        return f"{_comment(comment)}\n{runtime}\n\n{main}"

    def function(self, signature: Signature) -> str:
        result = "c_int" if signature.returns is Kind.CODE else "c_void_p"
        types = ", ".join([f'"{signature.name}"', result, *(self.argtype(param) for param in signature.params)])
        return f"{signature.name} = function({types})\n"

    def argtype(self, param: Param) -> str:
        if param.kind is Kind.INTEGER and not param.out:
            return f"c_uint{param.bits}"
        return "c_void_p"

    # ---------------------------------------------------------------------------------------------------- statements

    def put(self, *lines: str) -> None:
        for line in lines:
            if line:
                self.lines.append("    " * self.depth + line)
            elif self.lines and not self.lines[-1].endswith(":"):
                self.lines.append("")

    def block(self, body: Sequence[Statement]) -> None:
        self.depth += 1
        for statement in body:
            self.statement(statement)
        if not body:
            self.put("pass")
        self.depth -= 1

    def statement(self, statement: Statement) -> None:
        self.put("", f"# {format_line(statement)}")
        text = self.text(statement)
        match statement:
            case Call():
                self.call(statement)
            case Repeat(count=count, loop=loop, body=body):
                self.put(f"for {self.loop(loop)} in range({count}):")
                self.loops.append(loop)
                self.block(body)
                self.loops.pop()
            case UntilSame():
                self.until(statement)
            case Write() | Read():
                self.touch(statement)
            case Invoke():
                self.invoke(statement)
            case FailAllocation(nth=nth):
                self.put(f"fail_allocation({text}, {nth})")
            case Steady(at_least=at_least, body=body):
                self.put(f"for _ in steady({text}, {at_least}):")
                self.block(body)
            case Live():
                self.put(f"live({text})")
            case Hooks():
                self.put(f'say("skipped: " + {text} + ": only a backend that calls hooks from inside can do this")')
            case When(accepted=accepted, body=body):
                self.put(f'if STATE["accepted"] is {accepted}:')
                self.block(body)
            case Exit():
                self.put('say("exit")', "sys.exit(0)")
            case Parallel():
                self.parallel(statement)

    def parallel(self, statement: Parallel) -> None:
        """A function for each thread; they start together, and what they say comes when all have ended."""
        names = [f"thread_{number}" for number in range(1, len(statement.branches) + 1)]
        for name, branch in zip(names, statement.branches, strict=True):
            targets = [s.target for s in branch if isinstance(s, Call) and s.target is not None]
            bound = sorted({self.variable(target.name, False) for target in targets if target.index is None})
            self.put(f"def {name}():", *([f"    nonlocal {', '.join(bound)}"] if bound else ()))
            self.block(branch)
            self.put("")
        self.put(f"parallel({self.text(statement)}, {', '.join(names)})")

    def call(self, call: Call, text: str = "") -> None:
        """One call; what it gives is bound to its target, nothing when it was refused or skipped."""
        signature = self.plan.signature(call)
        matched = arguments(call, signature)
        passed = ", ".join(
            self.argument(param, value, measured(param, matched) if value is None and is_memory(param) else Null())
            for param, value in matched
        )
        extra = f', "{signature.principal}"' if signature.principal else ""
        told, ref = signature.locates, dict(call.args).get(signature.locates.handle) if signature.locates else None
        if told is not None and isinstance(ref, Ref):
            extra += f', area=({self.element(ref.name, ref.index)}, "{told.base}", "{told.size}")'
        made = f"call({text or self.text(call)}, {call.function}, lambda: [{passed}]{extra})"
        if call.target is None:
            self.put(made)
        elif text:
            self.put(f"given = {made}", f"{self.target(call.target)} = given or Variable()")
        else:
            self.put(f"{self.target(call.target)} = {made} or Variable()")

    def until(self, statement: UntilSame) -> None:
        found, like = self.variable(statement.found, False), self.ref(statement.like)
        array, attempt = attempts(statement).name, self.loop(_ATTEMPT)
        text = self.text(statement)
        self.put(f"{found} = Variable()", f"wanted = {like}  # given or freed by now", "if wanted is UNSET:")
        self.put(f'    say("skipped: " + {text} + ": a handle was never given")', "else:")
        self.put(f"    for {attempt} in range({statement.at_most}):")
        self.loops.append(_ATTEMPT)
        self.depth += 2
        call = Call(statement.call.function, statement.call.args, Target(array, Index(0, _ATTEMPT)))
        self.call(call, self.text(statement.call))
        self.loops.pop()
        self.put('if given is None or not STATE["accepted"]:')
        self.put(f'    say({text} + " -> the handle did not come again")', "    break")
        self.put("if given.of(None) == wanted:", f"    {found} = Variable(given)", "    break")
        self.depth -= 1
        self.put("else:", f'    say({text} + " -> the handle did not come again")')
        self.depth -= 1

    def touch(self, statement: Write | Read) -> None:
        ref = statement.ref
        where = f"{self.text(statement)}, {self.element(ref.name, ref.index)}, {ref.field!r}, {statement.offset}"
        if isinstance(statement, Read):
            self.put(f"read_area({where}, {statement.length})")
            return
        length = statement.data.length
        piece = _bytes(statement.data if length <= _PIECE else _first(statement.data))
        self.put(f"write_area({where}, {length}, {piece})")

    def invoke(self, statement: Invoke) -> None:
        kind = self.plan.invoked(statement)
        types = ", ".join(self.type(ctype) for ctype, _ in kind.params)
        result = "None" if kind.returns == "void" else self.type(kind.returns)
        values = ", ".join(self.value(value) for value in statement.args)
        pointer = self.ref(statement.function)
        self.put(f"invoke({self.text(statement)}, {result}, [{types}], {pointer}, [{values}])")

    # ------------------------------------------------------------------------------------------------------ arguments

    def argument(self, param: Param, value: Value | None, size: Value) -> str:
        """The expression that is passed for `param`."""
        if isinstance(value, Null):
            return "0" if param.kind is Kind.INTEGER and not param.out else "None"
        if is_cell(param):
            integer = param.kind in (Kind.INTEGER, Kind.CODE)
            ctype = f"c_uint{param.bits}" if integer else "c_void_p"
            return f'Out("{param.name}", {ctype}{", handle=True" if param.kind is Kind.HANDLE else ""})'
        match value:
            case None:
                room = f"default_room({self.value(size)})"
                data = f", ramp(0, {room})" if param.kind is Kind.DATA else ""
                return f'Memory("{param.name}", {room}{data})'
            case Room(size=count):
                return f'Memory("{param.name}", {count})'
            case Fill() | Ramp() | Literal():
                return f'Memory("{param.name}", {value.length}, {_bytes(value)})'
            case Callback(number=number):
                return self.callback(self.plan.callbacks[param.ctype, number], number)
        return self.value(value)

    def callback(self, kind: CallbackType, number: int) -> str:
        result = "None" if kind.returns == "void" else self.type(kind.returns)
        names = [name for _, name in kind.params]
        types = ", ".join(self.type(ctype) for ctype, _ in kind.params)
        base = f"{result_base(kind, number):#x}"
        return f'callback("{kind.ctype}", {number}, {result}, {names}, [{types}], "{measure_of(kind)}", {base})'

    def type(self, ctype: str) -> str:
        if is_pointer(ctype, self.plan.interface):
            return "c_void_p"
        return "c_uint32" if "32" in ctype or ctype in ("int", "unsigned") else "c_uint64"

    def value(self, value: Value) -> str:
        match value:
            case Int(value=number, loop=None):
                return _number(number)
            case Int(value=number, loop=loop):
                total = f"{self.loop(loop)} + {_number(number)}" if number else self.loop(loop)
                return total if number < 2**63 else f"({total}) & {2**64 - 1:#x}"  # wraps as C does
            case Ref():
                return self.ref(value)
            case Object(number=number):
                return f"object_({number})"
        return "0"

    # ------------------------------------------------------------------------------------------------ names and text

    def variable(self, name: str, array: bool) -> str:
        return self.names.name((name, array), name)

    def element(self, name: str, index: Index | None) -> str:
        variable = self.variable(name, index is not None)
        if index is None:
            return variable
        if index.loop is None:
            return f"{variable}[{index.offset}]"
        return f"{variable}[{self.loop(index.loop)}{f' + {index.offset}' if index.offset else ''}]"

    def target(self, target: Target) -> str:
        return self.element(target.name, target.index)

    def ref(self, ref: Ref) -> str:
        assert place(ref) in self.plan.fields
        return f"{self.element(ref.name, ref.index)}.of({ref.field!r})"

    def loop(self, loop: str | None) -> str:
        return self.names.name(("loop", loop), "attempt" if loop == _ATTEMPT else str(loop))

    def text(self, statement: Statement) -> str:
        """An expression: the text of `statement` and the loops around it."""
        if isinstance(statement, Call):
            statement = Call(statement.function, statement.args)
        line = format_line(statement)
        if not self.loops:
            return f"'{line}'"
        labels = ", ".join(f"{'k' if loop == _ATTEMPT else loop}={{{self.loop(loop)}}}" for loop in self.loops)
        return f"f'{line} [{labels}]'"


def _first(data: Data) -> Data:
    """The piece of a long pattern that repeats."""
    match data:
        case Fill(byte=byte):
            return Fill(byte, _PIECE)
        case Ramp(start=start):
            return Ramp(start, _PIECE)
    return data


def _bytes(data: Data) -> str:
    match data:
        case Fill(byte=byte, length=length):
            return f"b'\\x{byte:02x}' * {length}"
        case Ramp(start=start, length=length):
            return f"ramp({start}, {length})"
        case Literal(data=exact):
            return f"bytes.fromhex('{exact.hex()}')"


def _number(number: int) -> str:
    return str(number) if number < 2**31 else f"{number:#x}"


def _comment(comment: str) -> str:
    lines = ["".join(c if c.isprintable() else " " for c in line) for line in comment.splitlines()]
    lines += [
        *([""] if lines else []),
        f"Standalone form of a program of acl-cts (program format {FORMAT}). Run: python3 repro.py LIBRARY [DEVICE]",
        "Each line says what was called, what it returned and what it wrote; the last line names a call that crashed.",
        "Exit code: 0 whatever the calls answer: the C form of it compares; 2 usage, or no library to be loaded.",
    ]
    return "#!/usr/bin/env python3\n" + "\n".join(f"# {line}".rstrip() for line in lines)
