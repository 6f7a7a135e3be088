"""Lowering: a program as the words that the executor interprets."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from acl_cts.backends.native import layout
from acl_cts.backends.native.layout import NO_LOOP, RETURN, Arg, Op, word
from acl_cts.backends.native.slots import RETURNED, Malformed, Slots, TooLarge, Variable, is_handle, lay_out
from acl_cts.specs.interface import CallbackType, Interface, Kind, Param, Signature
from acl_cts.specs.program import (
    Call,
    Callback,
    Exit,
    FailAllocation,
    Fill,
    Hooks,
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
    walk,
)
from acl_cts.specs.program_rules import ProgramError, check_threads
from acl_cts.specs.trace import Capability

_MEMORY = frozenset({Kind.DATA, Kind.ROOM})
_CONST = int(Arg.CONST)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program ready for the executor: its words, the functions that it calls and the abilities that it needs.

    The words are empty when it needs what no executor has: hooks, a function that no table knows.
    """

    wire: bytes
    functions: frozenset[str]
    needs: tuple[str, ...] = ()


def lower(program: Program, interface: Interface) -> Lowered:
    """Lower `program`. Raises Malformed or TooLarge when the executor cannot run it whatever the library."""
    statements = list(walk((*program.body, *program.cleanup)))
    functions = frozenset([s.function for s in statements if s.__class__ is Call])
    needs = tuple(dict.fromkeys([_NEEDS[s.__class__] for s in statements if s.__class__ in _NEEDS]))
    if Capability.HOOKS in needs or functions - interface.functions.keys():
        return Lowered(b"", functions, needs)
    lowering = _Lowering(interface, lay_out(program, interface))
    return Lowered(lowering.program(program, faults=Capability.FAULT_INJECTION in needs), functions, needs)


_NEEDS: dict[type, Capability] = {
    FailAllocation: Capability.FAULT_INJECTION,
    Hooks: Capability.HOOKS,
    Parallel: Capability.THREAD_SAFE,
}
"""What statements of some kinds need."""


@dataclass(slots=True)
class _Lowering:
    interface: Interface
    slots: Slots
    number: dict[str, int] = field(init=False)
    callback_number: dict[str, int] = field(init=False)
    loops: list[str] = field(default_factory=list)
    literals: bytearray = field(default_factory=bytearray)
    step: int = 0
    threads: bool = False
    in_thread: bool = False
    own: frozenset[str] = frozenset()
    """Names that the thread binds which is being lowered."""

    def __post_init__(self) -> None:
        self.number = {name: k for k, name in enumerate(self.interface.functions)}
        self.callback_number = {name: k for k, name in enumerate(self.interface.callbacks)}

    def program(self, program: Program, *, faults: bool) -> bytes:
        body = self.block(program.body)
        cleanup = self.block(program.cleanup)
        code = layout.HEADER_WORDS + len(body) + len(cleanup)
        words = code + len(self.literals) // 8
        if words * 8 > layout.COMMAND_SIZE - 64:
            raise TooLarge(f"the program takes more than {layout.COMMAND_SIZE} bytes")
        flags = (layout.FLAG_FAULTS if faults else 0) | (layout.FLAG_THREADS if self.threads else 0)
        head = (layout.MAGIC, words, self.slots.count, len(body), len(cleanup), flags, code * 8)
        return struct.pack(f"<{code}Q", *head, *body, *cleanup) + bytes(self.literals)

    # ------------------------------------------------------------------------------------------------- statements

    def block(self, statements: tuple[Statement, ...]) -> list[int]:
        words: list[int] = []
        for statement in statements:
            words += self.statement(statement)
        return words

    def statement(self, statement: Statement) -> list[int]:
        step = self.step
        self.step += 1
        if isinstance(statement, Call):
            return self.call(statement, step)
        match statement:
            case Repeat(count=count, loop=loop, body=body):
                self.enter(loop)
                inner = self.block(body)
                self.loops.pop()
                return self.op(Op.REPEAT, step, [count, *inner])
            case UntilSame():
                return self.until(statement, step)
            case Write(ref=ref, offset=offset, data=data):
                return self.op(Op.WRITE, step, [*self.area(ref), offset, *self.bytes(data)])
            case Read(ref=ref, offset=offset, length=length):
                return self.op(Op.READ, step, [*self.area(ref), offset, length])
            case Invoke():
                return self.invoke(statement, step)
            case FailAllocation(nth=nth):
                return self.op(Op.FAIL, step, [nth])
            case Steady(at_least=at_least, at_most=at_most, body=body):
                return self.op(Op.STEADY, step, [at_least, at_most, *self.block(body)])
            case Live():
                return self.op(Op.LIVE, step, [])
            case When(accepted=accepted, body=body):
                return self.op(Op.WHEN, step, [int(accepted), *self.block(body)])
            case Exit():
                return self.op(Op.EXIT, step, [])
            case Parallel():
                return self.parallel(statement, step)
        raise Malformed(f"{type(statement).__name__} cannot be lowered")

    def parallel(self, statement: Parallel, step: int) -> list[int]:
        """A block of threads: how many, and each with its length in front."""
        try:
            check_threads(statement)
        except ProgramError as error:
            raise Malformed(error.what) from error
        self.threads = self.in_thread = True
        words = [len(statement.branches)]
        for branch in statement.branches:
            self.own = frozenset(s.target.name for s in branch if isinstance(s, Call) and s.target is not None)
            inner = self.block(branch)
            words += [len(inner), *inner]
        self.in_thread = False
        return self.op(Op.PARALLEL, step, words)

    def enter(self, loop: str) -> None:
        if len(self.loops) >= layout.MAX_LOOPS:
            raise TooLarge(f"more than {layout.MAX_LOOPS} loops inside each other")
        self.loops.append(loop)

    def op(self, code: Op, step: int, rest: list[int], *, low: int = 0, function: int = 0) -> list[int]:
        """A statement: head, length with `low` beneath it, the rest."""
        return [word(code, len(self.loops), function, step), low | (len(rest) + 2) << 32, *rest]

    def call(self, call: Call, step: int, attempt: Variable | None = None) -> list[int]:
        """A call; as an attempt of `until`, its target is the element that the innermost loop counts."""
        signature = self.interface.functions[call.function]
        given = dict(call.args)
        words: list[int] = []
        for param in signature.params:
            words += self.argument(signature, param, given.pop(param.name, None))
        if given:
            raise Malformed(f"{call.function} has no parameter {next(iter(given))}")
        binds: list[int] = []
        stride = 0
        if call.target is not None:
            variable = self.slots.variables[call.target.name]
            stride = self.stride(variable)
            binds = self.binds(signature, variable)
            words += self.attempt(variable) if attempt else self.element(variable, call.target)
            words += binds
        located = self.located(signature, dict(call.args))
        words += located
        low = len(binds) | bool(located) << 8 | stride << 16
        return self.op(Op.CALL, step, words, low=low, function=self.number[call.function])

    def until(self, statement: UntilSame, step: int) -> list[int]:
        signature = self.interface.functions[statement.call.function]
        source = signature.principal
        if not source or statement.call.target is None:
            raise Malformed(f"{signature.name} gives no handle that could come again")
        found = self.slots.variables[statement.found]
        binds = self.binds(signature, found)
        words = [statement.at_most, *self.slot(statement.like), self.source(signature, source)]
        words += [*self.element(found, Target(statement.found)), *binds]
        self.enter("")
        inner = self.call(statement.call, self.step, self.slots.variables[statement.call.target.name])
        self.step += 1
        self.loops.pop()
        return self.op(Op.UNTIL, step, words + inner, low=len(binds) | self.stride(found) << 16)

    def invoke(self, statement: Invoke, step: int) -> list[int]:
        callback = self.invoked(statement)
        if len(statement.args) != len(callback.params):
            raise Malformed(f"{callback.ctype} takes {len(callback.params)} arguments, not {len(statement.args)}")
        words = self.slot(statement.function)
        for value in statement.args:
            words += self.plain(value, callback.ctype)
        return self.op(Op.INVOKE, step, words, function=self.callback_number[callback.ctype])

    def invoked(self, statement: Invoke) -> CallbackType:
        """The type of the pointer that is called: what those who bind the name give in that field."""
        for maker in sorted(self.slots.makers.get(statement.function.name, ())):
            signature = self.interface.functions[maker]
            output = statement.function.field or signature.principal
            for param in signature.params:
                if param.name == output and param.kind is Kind.CALLBACK:
                    return self.interface.callbacks[param.ctype]
        for callback in self.interface.callbacks.values():
            if len(callback.params) == len(statement.args):
                return callback
        raise Malformed(f"{statement.function.name} holds no function pointer")

    # -------------------------------------------------------------------------------------------------- arguments

    def argument(self, signature: Signature, param: Param, value: Value | None) -> list[int]:
        if value.__class__ is Int and not param.out and param.kind not in _MEMORY and not value.loop:  # most of them
            return [_CONST, value.value]
        where = f"{signature.name}({param.name})"
        if value is None:
            return self.omitted(signature, param, where)
        if isinstance(value, Null):
            return [Arg.CONST, 0]
        if isinstance(value, Fill | Ramp | Literal) and param.kind is Kind.DATA:
            self.check_room(value.length, where)
            return self.bytes(value)
        if isinstance(value, Room) and param.kind is Kind.ROOM:
            self.check_room(value.size, where)
            return [Arg.ROOM, value.size]
        if isinstance(value, Callback) and param.kind is Kind.CALLBACK and not param.out:
            return [Arg.CALLBACK | value.number << 8 | self.callback_number[param.ctype] << 16, 0]
        if param.out or param.kind in _MEMORY:
            raise Malformed(f"{where} cannot be a {type(value).__name__.lower()}")
        return self.plain(value, where)

    def omitted(self, signature: Signature, param: Param, where: str) -> list[int]:
        if param.kind in (Kind.DATA, Kind.ROOM) and param.measure:
            kind = Arg.ROOM_DEFAULT if param.kind is Kind.ROOM else Arg.DATA_DEFAULT
            return [kind | [p.name for p in signature.params].index(param.measure) << 8, 0]
        if param.out:
            return [Arg.CELL, 0]
        raise Malformed(f"{where} is not given")

    def plain(self, value: Value, where: str) -> list[int]:
        match value:
            case Int(value=number, loop=None):
                return [Arg.CONST, number]
            case Int(value=number, loop=loop):
                return [Arg.LOOPED | self.loop(loop) << 8, number]
            case Null():
                return [Arg.CONST, 0]
            case Object(number=number):
                return [Arg.OBJECT | number << 8, 0]
            case Ref():
                return self.slot(value)
        raise Malformed(f"{where} cannot be a {type(value).__name__.lower()}")

    def bytes(self, data: Value) -> list[int]:
        match data:
            case Fill(byte=byte, length=length):
                return [Arg.FILL | byte << 8, length]
            case Ramp(start=start, length=length):
                return [Arg.RAMP | start << 8, length]
            case Literal(data=content):
                place = len(self.literals)
                self.literals += content + bytes(-len(content) % 8)
                return [Arg.LITERAL | place << 32, len(content)]
        raise Malformed(f"{type(data).__name__} holds no bytes")

    def check_room(self, length: int, where: str) -> None:
        if length > layout.ROOM_LIMIT:
            raise TooLarge(f"{where}: {length} bytes of caller memory are more than {layout.ROOM_LIMIT}")

    # ------------------------------------------------------------------------------------------------------ slots

    def loop(self, name: str | None) -> int:
        """Depth of the innermost loop called `name`; NO_LOOP for None."""
        if name is None:
            return NO_LOOP
        for depth in range(len(self.loops) - 1, -1, -1):
            if self.loops[depth] == name:
                return depth
        raise Malformed(f"{name} is not the counter of an enclosing repeat")

    def slot(self, ref: Ref) -> list[int]:
        variable, place = self.slots.place(ref)
        loop = self.loop(ref.index.loop if ref.index else None)
        return [Arg.SLOT | loop << 8 | variable.stride << 32, place]

    def element(self, variable: Variable, target: Target) -> list[int]:
        offset = target.index.offset if target.index else 0
        loop = self.loop(target.index.loop if target.index else None)
        return [Arg.SLOT | loop << 8 | variable.stride << 32, variable.base + offset * variable.stride]

    def attempt(self, variable: Variable) -> list[int]:
        return [Arg.SLOT | (len(self.loops) - 1) << 8 | variable.stride << 32, variable.base]

    def area(self, ref: Ref) -> list[int]:
        """Loop and stride, slot of the handle, slot of its area."""
        variable, place = self.slots.place(ref)
        moved = self.slot(ref)[0]
        return [moved, place, place - variable.fields[ref.field] + variable.area]

    def located(self, signature: Signature, given: Mapping[str, Value]) -> list[int]:
        """Where the call notes the data area that it locates, when a program variable stands for the handle and a
        data area is touched through it."""
        if signature.locates is None:
            return []
        handle = given.get(signature.locates.handle)
        if not isinstance(handle, Ref) or not self.slots.variables[handle.name].touched:
            return []
        if self.in_thread and handle.name not in self.own:
            return []  # two threads could note it at the same time
        moved, _, area = self.area(handle)
        return [moved, area]

    def stride(self, variable: Variable) -> int:
        if variable.stride > 255:
            raise TooLarge("more than 250 outputs of one name are used")
        return variable.stride

    def source(self, signature: Signature, output: str) -> int:
        return RETURN if output == RETURNED else [p.name for p in signature.params].index(output)

    def binds(self, signature: Signature, variable: Variable) -> list[int]:
        """One word for each field that the function gives: source, whether NULL counts as unset, slot."""
        words: list[int] = []
        outputs = {p.name for p in signature.params if p.out and p.kind is not Kind.ROOM} | {RETURNED}
        for name, offset in variable.fields.items():
            output = signature.principal if name is None else name
            if output in outputs:
                words.append(self.source(signature, output) | is_handle(signature, output) << 8 | offset << 16)
        return words
