"""Executes programs on a simulated process and writes down what it answers."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import cast

from acl_cts.backends.simulator.argument import Argument
from acl_cts.backends.simulator.binding import Binding, Bindings, Unset, Variable
from acl_cts.backends.simulator.builtin import CALLBACKS
from acl_cts.backends.simulator.caller import Cell, Room
from acl_cts.backends.simulator.codes import SUCCESS
from acl_cts.backends.simulator.folding import Folding
from acl_cts.backends.simulator.function import Function, Role
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
)


class Ended(Exception):
    """The process is gone, or the program makes no sense from here on."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.detail)
        self.ending = ending


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
            case p.Steady():
                self.block(node.body)
                self.skip(node, "unavailable")
            case p.Hooks():
                self.process.hooks = True
            case p.When(accepted=accepted):
                if self.accepted is accepted:
                    self.block(node.body)
            case p.Parallel() as threads:
                self.parallel(node, threads)
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

    def parallel(self, node: Node, threads: p.Parallel) -> None:
        """Execute a block of threads in one of the orders that it may take: one call of each thread in turn. They are
        written down thread by thread, as every backend does."""
        outer, rest = self.records, iter(node.body)
        branches = [tuple(islice(rest, len(branch))) for branch in threads.branches]
        answers: list[list[Record]] = [[] for _ in branches]
        try:
            for row in zip_longest(*branches):
                for number, call in enumerate(row):
                    if call is not None:
                        self.records = answers[number]
                        self.block((call,))
            outer += [record for records in answers for record in records]
        finally:
            self.records = outer
        self.accepted = None

    def until_same(self, node: Node, until: p.UntilSame) -> None:
        """Call until the handle wanted comes again."""
        self.bindings.bind((until.found, None), None)
        wanted = self.bindings.value(until.like)
        if wanted is None:
            raise Unset
        (attempt,) = node.body
        around = self.loops
        target = cast(p.Target, until.call.target)
        for count in range(until.at_most):
            self.loops = (*around, count)
            try:
                binding = self.call(attempt, (target.name, count))
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
        arguments = [make(self.bindings) for make in node.makers]
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
        if function.name == "aclrtGetBufData" and not refused:
            self.locate(statement, arguments)
        if place is None:
            if statement.target is None:
                return None
            place = self.bindings.variable(statement.target)
        binding = None if refused else _binding(function, code, arguments)
        self.bindings.bind(place, binding)
        return binding

    def crash(self, node: Node, function: str) -> Ended:
        """The end of a process that touched what it must not touch."""
        return Ended(Ending(End.CRASH, node.step, self.loops, self.phase, function, "SIGSEGV"))

    def locate(self, call: p.Call, arguments: list[Argument]) -> None:
        """Keep the data area that GetBufData told, for the variable that it was asked by."""
        buf, cell = dict(call.args).get("buf"), arguments[1]
        owner = self.bindings.find(buf) if isinstance(buf, p.Ref) else None
        if owner is not None and isinstance(cell, Cell) and cell.value is not None:
            owner.area = cell.value

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
        address = self.bindings.need(invoke.function)
        args = [cast(int, make(self.bindings)) for make in node.makers]
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
        for place, parameter in function.outputs:
            argument = arguments[place]
            if isinstance(argument, Cell):
                raw = argument.value
                plain = raw is None or parameter.role is Role.OUT_INTEGER
                outputs.append((parameter.name, raw if plain else self.pointer(cast(int, raw))))
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
    for place, parameter in function.outputs:
        argument = arguments[place]
        if isinstance(argument, Cell) and parameter.role is not Role.OUT_INTEGER:
            argument.value = 0


def _binding(function: Function, code: int, arguments: list[Argument]) -> Binding:
    """What a successful call gives to its target; a NULL handle counts as never given."""
    outputs = {"return": code} if function.returns_handle else {}
    for place, parameter in function.outputs:
        argument = arguments[place]
        raw = argument.value if isinstance(argument, Cell) else None
        if raw or (raw == 0 and parameter.role is not Role.OUT_HANDLE):
            outputs[parameter.name] = raw
    return Binding(outputs, outputs.get(function.principal))


def _wheel(data: p.Data) -> bytes:
    """The bytes that `data` repeats."""
    match data:
        case p.Fill(byte=byte):
            return bytes([byte])
        case p.Ramp(start=start):
            return p.content(p.Ramp(start, 256))
        case p.Literal(data=exact):
            return exact
