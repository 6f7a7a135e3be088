"""Executes programs on a simulated process and writes down what it answers."""

from __future__ import annotations

from typing import cast

from acl_cts.backends.simulator.binding import Binding, Bindings, Variable, result
from acl_cts.backends.simulator.builtin import CALLBACKS, callback_address, object_address
from acl_cts.backends.simulator.caller import Cell, Room, default_size
from acl_cts.backends.simulator.codes import SUCCESS
from acl_cts.backends.simulator.folding import Folding
from acl_cts.backends.simulator.function import Function, Parameter, Role
from acl_cts.backends.simulator.memory import Fault
from acl_cts.backends.simulator.plan import Node, Refused, plan
from acl_cts.backends.simulator.process import Process, Reached
from acl_cts.specs import program as p
from acl_cts.specs.trace import (
    READ_LIMIT,
    CallRecord,
    Capability,
    End,
    Ending,
    Hit,
    InvokeRecord,
    LiveRecord,
    Output,
    Phase,
    PointerTable,
    Ptr,
    Record,
    SkipRecord,
    TouchRecord,
    Trace,
    sentinel,
)

WORD = 1 << 64
"""Numbers are below this."""

Argument = int | bytes | Cell | Room | None
"""What a function gets for one parameter; None is NULL."""


class Ended(Exception):
    """The process is gone, or the program makes no sense from here on."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.detail)
        self.ending = ending


class Unset(Exception):
    """An argument refers to something that was never given."""


def execute(process: Process, program: p.Program, capabilities: frozenset[Capability]) -> Trace:
    """Run `program` on `process` and tell what it answered. Only after an ending `completed` or `unsupported` is the
    process fit for another program."""
    process.begin_program()
    execution = Execution(process)
    try:
        body, after = plan(program.body, 0)
        cleanup, _ = plan(program.cleanup, after)
    except Refused as refused:
        ending = Ending(refused.kind, refused.step, (), Phase.CHECK, refused.function, refused.detail)
    else:
        ending = execution.run(body, cleanup)
    return Trace(tuple(execution.records), ending, tuple(execution.pointers.pointers), capabilities)


class Execution:
    """One run of one program."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.bindings = Bindings()
        self.pointers = PointerTable()
        self.records: list[Record] = []
        self.loops: tuple[int, ...] = ()
        self.phase = Phase.CALL
        self.accepted: bool | None = None

    def run(self, body: tuple[Node, ...], cleanup: tuple[Node, ...]) -> Ending:
        """Execute both parts; how it ended."""
        try:
            self.block(body)
            self.phase = Phase.CLEAN_UP
            self.block(cleanup)
        except Ended as ended:
            return ended.ending
        return Ending(End.COMPLETED)

    def block(self, nodes: tuple[Node, ...]) -> None:
        """Execute statements in order. Raises Ended when the process does not survive one."""
        for node in nodes:
            try:
                self.statement(node)
            except Unset:
                self.skip(node, "unset")

    def statement(self, node: Node) -> None:
        """Execute one statement. Raises Unset when it needs what was never given, Ended as `block` does."""
        match node.statement:
            case p.Call():
                self.call(node)
            case p.Repeat() as repeat:
                self.repeat(node, repeat)
            case p.UntilSame() as until:
                self.until_same(node, until)
            case p.Write() as write:
                self.write(node, write)
            case p.Read() as read:
                self.read(node, read)
            case p.Invoke() as invoke:
                self.invoke(node, invoke)
            case p.FailAllocation(nth=nth):
                self.process.heap.arm(nth)
            case p.Live():
                heap = self.process.heap
                self.records.append(LiveRecord(node.step, self.loops, heap.objects, heap.bytes))
            case p.Hooks():
                self.process.hooks = True
            case p.When(accepted=accepted):
                if self.accepted is accepted:
                    self.block(node.body)
            case p.Exit():
                raise Ended(Ending(End.EXIT, node.step, self.loops, self.phase, detail="0"))

    def skip(self, node: Node, reason: str) -> None:
        """Note that a statement was not executed; what it should have given is unset."""
        self.records.append(SkipRecord(node.step, self.loops, reason))
        if isinstance(node.statement, p.Call) and node.statement.target is not None:
            self.bindings.bind(self.bindings.variable(node.statement.target), None)

    # ---------------------------------------------------------------------------------------------------- blocks

    def repeat(self, node: Node, repeat: p.Repeat) -> None:
        """Execute a body again and again; iterations that answer alike are written down once."""
        outer, around, hidden = self.records, self.loops, self.bindings.counters.get(repeat.loop)
        folding = Folding(outer, node.step, around)
        try:
            for count in range(repeat.count):
                self.loops = (*around, count)
                self.bindings.counters[repeat.loop] = count
                self.records = []
                self.block(node.body)
                folding.add(self.records)
                self.records = []
        finally:
            folding.close()
            outer += self.records
            self.records, self.loops = outer, around
        if hidden is None:
            self.bindings.counters.pop(repeat.loop, None)
        else:
            self.bindings.counters[repeat.loop] = hidden

    def until_same(self, node: Node, until: p.UntilSame) -> None:
        """Call until the handle wanted comes again."""
        self.bindings.bind((until.found, None), None)
        wanted = self.bindings.value(until.like)
        if wanted is None:
            raise Unset
        (attempt,) = node.body
        target = until.call.target
        around = self.loops
        for count in range(until.at_most):
            self.loops = (*around, count)
            place = None if target is None else (target.name, count)
            try:
                binding = self.call(attempt, place)
            except Unset:
                self.skip(attempt, "unset")
                binding = None
            finally:
                self.loops = around
            if binding is None:
                break
            if binding.principal == wanted:
                self.bindings.bind((until.found, None), binding.copy())
                return
        self.skip(node, "not-repeated")

    # ----------------------------------------------------------------------------------------------------- calls

    def call(self, node: Node, place: Variable | None = None) -> Binding | None:
        """Call a function, write down its answer and bind it to `place`, by default the statement's target; what it
        bound, None when it was refused."""
        function, process = node.function, self.process
        statement = node.statement
        assert isinstance(statement, p.Call)
        assert function is not None
        arguments = self.arguments(node)
        process.heap.fired = False
        try:
            code = function.code(process, *arguments)
        except Fault:
            raise self.crash(node, function.name) from None
        refused = code == 0 if function.returns_handle else code != SUCCESS
        if refused and process.profile.refused_outputs_null:
            _clear(function, arguments)
        self.accepted = not refused
        self.records.append(
            CallRecord(
                node.step,
                self.loops,
                function.name,
                self.pointer(code) if function.returns_handle else code,
                self.outputs(function, arguments),
                hits=self.hits(),
                fault_fired=process.heap.fired,
            )
        )
        binding = None if refused else _binding(function, code, arguments)
        if place is None and statement.target is not None:
            place = self.bindings.variable(statement.target)
        if place is not None:
            self.bindings.bind(place, binding)
        if binding is not None and function.name == "aclrtGetBufData":
            self.locate(statement, binding)
        return binding

    def crash(self, node: Node, function: str) -> Ended:
        """The end of a process that touched what it must not touch."""
        return Ended(Ending(End.CRASH, node.step, self.loops, self.phase, function, "SIGSEGV"))

    def locate(self, statement: p.Call, binding: Binding) -> None:
        """Keep the data area that GetBufData told, for the variable that it was asked by."""
        buf = dict(statement.args).get("buf")
        owner = self.bindings.find(buf) if isinstance(buf, p.Ref) else None
        address = binding.outputs.get("dataPtr")
        if owner is not None and address is not None:
            owner.area = address

    def arguments(self, node: Node) -> list[Argument]:
        """What the function gets. Raises Unset when a reference is unset."""
        size = 0
        arguments: list[Argument] = []
        for parameter, value in reversed(node.arguments):  # a size stands behind the memory that it measures
            argument = self.argument(parameter, value, size)
            if parameter.name == "size" and isinstance(argument, int):
                size = argument
            arguments.append(argument)
        arguments.reverse()
        return arguments

    def argument(self, parameter: Parameter, value: p.Value | None, size: int) -> Argument:
        """What the function gets for one parameter; memory that the program leaves out fits `size` bytes."""
        match parameter.role:
            case Role.INTEGER:
                return self.integer(value, parameter.ctype) & ((1 << parameter.bits) - 1)
            case Role.POINTER | Role.CALLBACK:
                return self.integer(value, parameter.ctype)
        if isinstance(value, p.Null):
            return None
        if parameter.role is Role.ROOM:
            return Room(value.size if isinstance(value, p.Room) else default_size(size))
        if parameter.role is Role.DATA:
            return sentinel(default_size(size)) if value is None else p.content(cast(p.Data, value))
        return Cell()

    def integer(self, value: p.Value | None, ctype: str = "") -> int:
        """The raw value of a number or pointer; `ctype`: of a callback. Raises Unset when a reference is unset."""
        match value:
            case p.Int(value=number, loop=loop):
                return number if loop is None else (number + self.bindings.counters[loop]) & (WORD - 1)
            case p.Ref():
                raw = self.bindings.value(value)
                if raw is None:
                    raise Unset
                return raw
            case p.Callback(number=number):
                return callback_address(ctype, number)
            case p.Object(number=number):
                return object_address(number)
        return 0

    # -------------------------------------------------------------------------------------- data areas, pointers

    def write(self, node: Node, write: p.Write) -> None:
        """Write to a data area."""
        address = self.located(node, write.ref)
        if address is None:
            return
        error = ""
        try:
            self.process.memory.write(address + write.offset, _wheel(write.data), write.data.length)
        except Fault:
            error = "fault"
        self.records.append(TouchRecord(node.step, self.loops, error))

    def read(self, node: Node, read: p.Read) -> None:
        """Read from a data area."""
        address = self.located(node, read.ref)
        if address is None:
            return
        memory, where = self.process.memory, address + read.offset
        try:
            if read.length <= READ_LIMIT:
                record = TouchRecord(node.step, self.loops, data=memory.read(where, read.length))
            else:
                record = TouchRecord(node.step, self.loops, crc=memory.checksum(where, read.length))
        except Fault:
            record = TouchRecord(node.step, self.loops, "fault")
        self.records.append(record)

    def located(self, node: Node, ref: p.Ref) -> int | None:
        """Where the data area of `ref` lies; None, and a note of it, when nobody asked. Raises Unset."""
        binding = self.bindings.find(ref)
        if binding is None or self.bindings.value(ref) is None:
            raise Unset
        if binding.area is None:
            self.skip(node, "unlocated")
        return binding.area

    def invoke(self, node: Node, invoke: p.Invoke) -> None:
        """Call a function pointer that the library returned."""
        address = self.integer(invoke.function)
        args = [self.integer(value) for value in invoke.args]
        code = self.process.executables.get(address)
        if code is None:
            self.records.append(InvokeRecord(node.step, self.loops, "invalid"))
            return
        if code.takes != len(args):
            detail = f"the function takes {code.takes} arguments, the program gives {len(args)}"
            raise Ended(Ending(End.ERROR, node.step, self.loops, self.phase, detail=detail))
        try:
            raw = self.process.execute(address, *args)
        except Fault:
            raise self.crash(node, "") from None
        ret = None if raw is None else self.pointer(raw)
        self.records.append(InvokeRecord(node.step, self.loops, ret=ret, hits=self.hits()))

    def pointer(self, raw: int) -> Ptr:
        """The symbol of a raw pointer."""
        return self.pointers.symbol(raw, self.process.kind(raw))

    def outputs(self, function: Function, arguments: list[Argument]) -> tuple[tuple[str, Output], ...]:
        """Out parameters and rooms after the call."""
        outputs: list[tuple[str, Output]] = []
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if isinstance(argument, Cell):
                value = argument.value
                integer = value is None or parameter.role is Role.OUT_INTEGER
                outputs.append((parameter.name, value if integer else self.pointer(cast(int, value))))
            elif isinstance(argument, Room):
                outputs.append((parameter.name, argument.content))
        return tuple(outputs)

    def hits(self) -> tuple[Hit, ...]:
        """Built-in callbacks reached since this was asked last."""
        if not self.process.reached:
            return ()
        hits = tuple(self.hit(reached) for reached in self.process.reached)
        self.process.reached.clear()
        return hits

    def hit(self, reached: Reached) -> Hit:
        """One call of a built-in callback, its pointers symbolic."""
        ctype, number, args, raw = reached
        kinds = CALLBACKS[ctype]
        symbols = tuple(a if kind == "size" else self.pointer(a) for kind, a in zip(kinds, args, strict=True))
        return Hit(ctype, number, symbols, None if raw is None else self.pointer(raw))


def _clear(function: Function, arguments: list[Argument]) -> None:
    """Set the pointer outputs of a refused call to NULL."""
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if isinstance(argument, Cell) and parameter.role is not Role.OUT_INTEGER:
            argument.value = 0


def _binding(function: Function, code: int, arguments: list[Argument]) -> Binding:
    """What a successful call gives to its target."""
    outputs = {
        parameter.name: argument.value
        for parameter, argument in zip(function.parameters, arguments, strict=True)
        if isinstance(argument, Cell) and argument.value is not None
    }
    if function.returns_handle:
        outputs["return"] = code
    handles = {parameter.name for parameter in function.parameters if parameter.role is Role.OUT_HANDLE}
    return result(outputs, function.principal, frozenset(handles))


def _wheel(data: p.Data) -> bytes:
    """The bytes that `data` repeats."""
    match data:
        case p.Fill(byte=byte):
            return bytes([byte])
        case p.Ramp(start=start):
            return p.content(p.Ramp(start, 256))
        case p.Literal(data=exact):
            return exact
