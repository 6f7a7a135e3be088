"""One program seen through the model: what names are bound to, what a call is judged to be, what a success changes.

The oracle follows a backend's answers with it, the planner follows answers that it makes up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.machine import Machine, Region
from acl_cts.specs.model import Spec
from acl_cts.specs.program import (
    BLOCKS,
    Call,
    Callback,
    Data,
    Fill,
    Index,
    Int,
    Literal,
    Null,
    Object,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Room,
    Statement,
    UntilSame,
    Value,
    Write,
    children,
    content,
)
from acl_cts.specs.rules import FunctionRules, Rule, Rules, compile_rules
from acl_cts.specs.trace import Ptr
from acl_cts.specs.values import CELL, UNKNOWN, Obj

ATTEMPT = "attempt"
"""Name under which the counter of a `until` block is known."""

NO_COUNTERS: dict[str, int] = {}
"""Outside all loops; never written to."""

Key = tuple[str, int | None]


class Outcome(StrEnum):
    """What a call must do."""

    UNDEFINED = "undefined"
    ERROR = "must fail"
    OPEN = "open"
    SUCCESS = "must succeed"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a call is: its outcome, the rules that say so, and for an undefined one whether the broken handle is
    certainly freed and its value not handed out again."""

    outcome: Outcome
    rules: tuple[Rule, ...] = ()
    certain: bool = False


@dataclass(slots=True)
class Binding:
    """What a name stands for: the principal handle (None for NULL) and every output of a call of `function`."""

    principal: Any
    outs: dict[str, Any]
    function: str


class UnsetError(Exception):
    """A handle that a statement needs was never given."""


@dataclass(slots=True)
class Execution:
    """State of one program's run through the model."""

    spec: Spec
    rules: Rules
    machine: Machine
    statements: tuple[Statement, ...]
    contexts: tuple[tuple[str, ...], ...]
    bindings: dict[Key, Binding] = field(default_factory=dict)
    located: dict[Key, Obj] = field(default_factory=dict)
    last: dict[str, Binding] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Spec, program: Program) -> Execution:
        """A fresh execution of `program`."""
        statements: list[Statement] = []
        contexts: list[tuple[str, ...]] = []
        for statement in (*program.body, *program.cleanup):
            _number(statement, (), statements, contexts)
        holds = {name: kind.holds for name, kind in spec.kinds.items() if kind.holds}
        regions = {n: Region(k.region.base, k.region.size) for n, k in spec.kinds.items() if k.region}
        machine = Machine(holds, regions, {name: {} for name in spec.collections})
        return cls(spec, compile_rules(spec), machine, tuple(statements), tuple(contexts))

    # -- names and arguments

    def counters(self, step: int, loops: tuple[int, ...]) -> dict[str, int]:
        """Loop counters by name at `step`."""
        names = self.contexts[step]
        return dict(zip(names, loops, strict=False)) if names else NO_COUNTERS

    def key(self, name: str, index: Index | None, counters: dict[str, int]) -> Key:
        """The variable that a name with an index means."""
        if index is None:
            return name, None
        return name, index.offset + (counters[index.loop] if index.loop else 0)

    def binding(self, ref: Ref, counters: dict[str, int]) -> Binding:
        """What `ref` is bound to. Raises UnsetError."""
        index = ref.index
        found = self.bindings.get((ref.name, None) if index is None else self.key(ref.name, index, counters))
        if found is None:
            raise UnsetError(ref.name)
        return found

    def value(self, value: Value, kind: Kind, ctype: str, counters: dict[str, int]) -> Any:
        """The model value of an argument. Raises UnsetError."""
        if value.__class__ is Ref and value.field is None:  # the usual one first: this is asked for every argument
            principal = self.binding(value, counters).principal
            if principal is None:
                raise UnsetError(value.name)
            return principal
        match value:
            case Int(value=number, loop=loop):
                return number + (counters[loop] if loop else 0)
            case Null():
                return None
            case Ref(field=name):
                outs = self.binding(value, counters).outs
                return outs.get(name or "", UNKNOWN)
            case Callback(number=number):
                return f"callback:{ctype}:{number}"
            case Object(number=number):
                return f"object:{number}"
            case Room():
                return CELL
            case Fill() | Ramp() | Literal():
                return _bytes(value)

    def frame(self, call: Call, counters: dict[str, int]) -> Frame:
        """The frame of `call` before its answer. Raises UnsetError."""
        given = dict(call.args)
        args: dict[str, Any] = {}
        for name, kind, ctype in self.rules.functions[call.function].params:
            value = given.get(name)
            if value is None:
                args[name] = CELL
            elif value.__class__ is Int and not value.loop:  # the usual ones first: this is asked for every argument
                args[name] = value.value
            else:
                args[name] = self.value(value, kind, ctype, counters)
        return Frame(self.machine, args)

    # -- judging and following

    def classify(self, rules: FunctionRules, frame: Frame) -> Judged:
        """What the call must do: undefined, must fail, open or must succeed, in that order."""
        broken = [
            item
            for name, kind in rules.inputs
            if (item := frame.args[name]) is not None
            and (item.__class__ is not Obj or item.alive is not True or item.kind != kind)
        ]
        if broken:
            certain = all(isinstance(item, Obj) and self._certainly_bad(item) for item in broken)
            return Judged(Outcome.UNDEFINED, (), certain)
        errors = rules.wrong(frame)
        wrong = tuple([rules.errors[number] for number, truth in errors if truth is True]) if errors else ()
        if wrong:
            return Judged(Outcome.ERROR, wrong)
        points = rules.doubtful(frame)
        if points or errors:
            sure = [rules.opens[number] for number, truth in points if truth is True]
            uncertain = [rules.opens[number] for number, truth in points if truth is UNKNOWN]
            uncertain += [rules.errors[number] for number, truth in errors if truth is UNKNOWN]
            return Judged(Outcome.OPEN, (*sure, *uncertain))
        met = rules.right(frame)
        return _success(tuple([rules.successes[number] for number, truth in met if truth is True]) if met else ())

    def scarce(self, rules: FunctionRules, frame: Frame) -> bool:
        """Whether a refusal may stand for a lack of resources."""
        takes, floor = rules.function.takes, self.spec.floor
        if takes is None:
            return False
        asked = frame.args[takes.size] if takes.size else 0
        return bool(
            (isinstance(asked, int) and asked > floor.allocation)
            or self.machine.live_bytes > floor.live_bytes
            or self.machine.live_objects > floor.live_objects
        )

    def handles(self, rules: FunctionRules, frame: Frame) -> list[Obj]:
        """The objects given as input handles."""
        args = frame.args
        return [item for name, _ in rules.inputs if (item := args[name]).__class__ is Obj]

    def _certainly_bad(self, item: Obj) -> bool:
        """Whether a freed handle, or one of another kind, is so for certain and its value was not handed out again."""
        if item.alive is UNKNOWN:
            return False
        kinds, holder = self.spec.kinds, self.machine.holder
        return all(holder(kind, address) in (None, item) for kind in kinds for address in item.addresses)

    def succeed(self, call: Call, rules: FunctionRules, frame: Frame, counters: dict[str, int]) -> Binding:
        """Carry out what a success changes, and bind the call's target."""
        function, outs = rules.function, frame.outs
        if function.creates:
            frame.addresses = {n: frame.ret if n == "ret" else outs.get(n) for n in function.creates}
        rules.effect(frame)
        if function.creates or rules.aliases:
            outs = dict(outs)
            for name, address in frame.addresses.items():
                outs[name] = frame.locals.get(name) if address.__class__ is Ptr else None
            for name, kind, term in rules.aliases:
                outs[name] = self._aliased(kind, term(frame), frame.outs.get(name))
        bound = Binding(outs.get(rules.principal), outs, function.name)
        if function.signature.locates is not None:
            self.locate(call, rules, frame, counters)
        if call.target is not None:
            key = self.key(call.target.name, call.target.index, counters)
            self.bindings[key] = bound
            self.located.pop(key, None)
        return bound

    def _aliased(self, kind: str, expected: Any, pointer: Any) -> Any:
        """The object that an alias output names: whose handle it is, or else the expected one under a new handle."""
        if pointer is None:
            return None
        if isinstance(pointer, Ptr):
            holder = self.machine.holder(kind, pointer)
            if holder is not None and (holder is expected or holder.alive is True):
                return holder
            if isinstance(expected, Obj):
                self.machine.alias(expected, pointer)
        return expected if isinstance(expected, Obj) else Obj(kind, {}, UNKNOWN)

    def outside(self, region: Obj, touch: Write | Read) -> bool:
        """Whether a touch goes beyond the end of a data area: undefined, whatever the library does."""
        size = region.fields.get(self.machine.regions[region.kind].size)
        length = touch.data.length if isinstance(touch, Write) else touch.length
        return isinstance(size, int) and touch.offset + length > size

    def locate(self, call: Call, rules: FunctionRules, frame: Frame, counters: dict[str, int]) -> None:
        """Remember where a data area lies, for the program variable through which it was asked."""
        locates = rules.function.signature.locates
        if locates is None:
            return
        owner = frame.args[locates.handle]
        ref = dict(call.args)[locates.handle]
        region = self.machine.region_of(owner) if isinstance(owner, Obj) else None
        if isinstance(ref, Ref) and region is not None and frame.args[locates.base] is not None:
            self.located[self.key(ref.name, ref.index, counters)] = region


@lru_cache(maxsize=1024)
def _success(rules: tuple[Rule, ...]) -> Judged:
    """The same few answers are given again and again."""
    return Judged(Outcome.SUCCESS, rules)


DATA_LIMIT = 4096
"""Bytes of an argument that the model looks at; no documented area that takes one is larger."""


def _bytes(data: Data) -> bytes:
    match data:
        case Fill(byte=byte, length=length):
            return content(Fill(byte, min(length, DATA_LIMIT)))
        case Ramp(start=start, length=length):
            return content(Ramp(start, min(length, DATA_LIMIT)))
        case Literal(data=exact):
            return exact[:DATA_LIMIT]


def _number(
    statement: Statement, loops: tuple[str, ...], statements: list[Statement], contexts: list[tuple[str, ...]]
) -> None:
    """Number statements in pre-order, with the names of the loops around them, outermost first."""
    statements.append(statement)
    contexts.append(loops)
    inner = loops
    if isinstance(statement, Repeat):
        inner = (*loops, statement.loop)
    elif isinstance(statement, UntilSame):
        inner = (*loops, ATTEMPT)
    if isinstance(statement, BLOCKS):
        for child in children(statement):
            _number(child, inner, statements, contexts)
