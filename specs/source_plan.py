"""What a standalone form of a program needs to know before it is written: variables, array sizes, arguments, names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from acl_cts.specs.interface import CallbackType, Interface, Kind, Param, Signature
from acl_cts.specs.program import (
    Call,
    Callback,
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
    steps,
)
from acl_cts.specs.program_rules import ProgramError, check_program
from acl_cts.specs.trace import callback_result

Place = tuple[str, bool]
"""A name of the program, and whether it is used as an array."""

RETURN = "return"
"""In place of a parameter: what the function returned."""


@dataclass(slots=True)
class Plan:
    """A checked program.

    `fields`: the outputs by which each place is referred to, None for the principal one. `sizes`: elements that each
    array needs. `touched`: places whose data area is read or written. `binders`: functions that bind each place.
    """

    program: Program
    interface: Interface
    fields: dict[Place, list[str | None]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    touched: set[Place] = field(default_factory=set)
    binders: dict[Place, list[Signature]] = field(default_factory=dict)
    functions: dict[str, Signature] = field(default_factory=dict)
    callbacks: dict[tuple[str, int], CallbackType] = field(default_factory=dict)

    @property
    def threaded(self) -> bool:
        """Whether there are threads."""
        return any(isinstance(statement, Parallel) for statement in steps(self.program))

    def signature(self, call: Call) -> Signature:
        """Signature of the called function. Raises ProgramError when the tables have none."""
        signature = self.interface.functions.get(call.function)
        if signature is None:
            raise ProgramError(f"{call.function} is in no table; a function of the interface is expected")
        return signature

    def invoked(self, statement: Invoke) -> CallbackType:
        """Type of the function pointer that `statement` calls. Raises ProgramError when no call gives one."""
        ref = statement.function
        for signature in self.binders.get(place(ref), ()):
            name = signature.principal if ref.field is None else ref.field
            for param in signature.params:
                if param.name == name and param.out and param.ctype in self.interface.callbacks:
                    return self._invoked(statement, self.interface.callbacks[param.ctype])
        raise ProgramError(f"'{ref.name}' holds no function pointer; an output of a callback type is expected")

    def _invoked(self, statement: Invoke, kind: CallbackType) -> CallbackType:
        if len(statement.args) != len(kind.params):
            raise ProgramError(
                f"{kind.ctype} takes {len(kind.params)} arguments, not {len(statement.args)}; as many as it "
                "has parameters are expected"
            )
        for value in statement.args:
            if not isinstance(value, Int | Null | Ref | Object):
                raise ProgramError(
                    "a function pointer cannot be given caller memory; numbers, handles and objects are expected"
                )
        return kind

    def again(self) -> tuple[Signature, Signature] | None:
        """A pair of functions that callback 4 calls from inside: one makes a handle of nothing, one takes it back."""
        for make in self.interface.functions.values():
            if make.returns is Kind.HANDLE and not make.params:
                for take in self.interface.functions.values():
                    if (
                        [param.ctype for param in take.params if not param.out]
                        == [make.return_ctype]
                        == [param.ctype for param in take.params]
                    ):
                        return make, take
        return None


def make_plan(program: Program, interface: Interface) -> Plan:
    """Look the whole program through. Raises ProgramError for what has no standalone form."""
    check_program(program)
    plan = Plan(program, interface)
    _Survey(plan).block((*program.body, *program.cleanup), {})
    for statement in steps(program):
        if isinstance(statement, Invoke):
            plan.invoked(statement)
    return plan


def place(where: Ref | Target) -> Place:
    """The place that `where` means an element of."""
    return where.name, where.index is not None


class _Survey:
    """Walks over the program once and fills in the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def block(self, statements: Iterable[Statement], counts: dict[str, int]) -> None:
        for statement in statements:
            self.statement(statement, counts)

    def statement(self, statement: Statement, counts: dict[str, int]) -> None:
        match statement:
            case Call():
                self.call(statement, counts)
            case Repeat(count=count, loop=loop, body=body):
                self.block(body, {**counts, loop: count})
            case When(body=body) | Steady(body=body):
                self.block(body, counts)
            case UntilSame():
                self.until(statement, counts)
            case Write(ref=ref) | Read(ref=ref):
                self.use(ref, counts)
                self.plan.touched.add(place(ref))
            case Invoke(function=function, args=args):
                for value in (function, *args):
                    self.value(value, counts)
            case Parallel(branches=branches):
                for branch in branches:
                    self.block(branch, counts)

    def call(self, call: Call, counts: dict[str, int]) -> None:
        signature = self.plan.signature(call)
        self.plan.functions.setdefault(signature.name, signature)
        for param, value in arguments(call, signature):
            if isinstance(value, Callback):
                self.callback(param, value.number)
            elif value is not None:
                self.value(value, counts)
        if call.target is not None:
            self.element(call.target.name, call.target.index, counts)
            self.plan.binders.setdefault(place(call.target), []).append(signature)

    def callback(self, param: Param, number: int) -> None:
        kind = self.plan.interface.callbacks.get(param.ctype)
        if kind is None:
            raise ProgramError(
                f"{param.ctype} is no callback type; obj(n), null or a handle is expected for {param.name}"
            )
        self.plan.callbacks.setdefault((param.ctype, number), kind)
        pair = self.plan.again() if number == 4 else None
        for signature in pair or ():
            self.plan.functions.setdefault(signature.name, signature)

    def until(self, statement: UntilSame, counts: dict[str, int]) -> None:
        self.use(statement.like, counts)
        array = Target(attempts(statement).name, Index(statement.at_most - 1))
        self.call(Call(statement.call.function, statement.call.args, array), counts)
        self.use(Ref(array.name, array.index), counts)
        self.element(statement.found, None, counts)
        self.plan.binders.setdefault((statement.found, False), []).append(self.plan.signature(statement.call))

    def value(self, value: Value, counts: dict[str, int]) -> None:
        if isinstance(value, Ref):
            self.use(value, counts)

    def use(self, ref: Ref, counts: dict[str, int]) -> None:
        self.element(ref.name, ref.index, counts)
        used = self.plan.fields.setdefault(place(ref), [])
        if ref.field not in used:
            used.append(ref.field)

    def element(self, name: str, index: Index | None, counts: dict[str, int]) -> None:
        self.plan.fields.setdefault((name, index is not None), [])
        if index is not None:
            last = index.offset + (counts[index.loop] - 1 if index.loop else 0)
            self.plan.sizes[name] = max(self.plan.sizes.get(name, 0), last + 1)


def attempts(statement: UntilSame) -> Target:
    """The array that the attempts of `statement` fill."""
    if statement.call.target is None:
        raise ProgramError("the call of 'until' has no array to fill; a target like c[k] is expected")
    return statement.call.target


# ---------------------------------------------------------------------------------------------------------- arguments


def arguments(call: Call, signature: Signature) -> list[tuple[Param, Value | None]]:
    """What is passed for each parameter, in order; None = a cell or memory by default. Raises ProgramError."""
    given = dict(call.args)
    matched: list[tuple[Param, Value | None]] = []
    for param in signature.params:
        value = given.pop(param.name, None)
        if not _suits(param, value):
            what = "is missing" if value is None else f"cannot be {type(value).__name__}"
            raise ProgramError(f"{call.function}: {param.name} {what}; {_wanted(param)} is expected")
        matched.append((param, value))
    for name in given:
        raise ProgramError(f"{call.function} has no parameter {name}; one of its own is expected")
    return matched


def is_cell(param: Param) -> bool:
    """Whether the function writes one value of the parameter's own type through a pointer."""
    return param.out and not is_memory(param)


def is_memory(param: Param) -> bool:
    """Whether the function gets the address of bytes of the caller."""
    return param.kind in (Kind.DATA, Kind.ROOM)


def _suits(param: Param, value: Value | None) -> bool:
    match param.kind:
        case Kind.DATA:
            return value is None or isinstance(value, Null | Fill | Ramp | Literal)
        case Kind.ROOM:
            return value is None or isinstance(value, Null | Room)
    if param.out:
        return value is None or isinstance(value, Null)
    return isinstance(value, Int | Null | Ref | Object) or (param.kind is Kind.CALLBACK and isinstance(value, Callback))


def _wanted(param: Param) -> str:
    if is_memory(param):
        return "bytes(...), ramp(...) or null" if param.kind is Kind.DATA else "room(...) or null"
    return "null or nothing" if param.out else "a number, a handle, an object or null"


def measured(param: Param, matched: list[tuple[Param, Value | None]]) -> Value:
    """What the call states as the size of the memory for `param`. Raises ProgramError when it states none."""
    for other, value in matched:
        if other.name == param.measure and value is not None:
            return value
    raise ProgramError(f"the size of {param.name} is stated by no argument; {_wanted(param)} is expected")


def references(values: Iterable[Value | None]) -> list[Ref]:
    """The handles that must have been given before `values` can be passed."""
    found: list[Ref] = []
    for value in values:
        if isinstance(value, Ref) and value not in found:
            found.append(value)
    return found


def output(signature: Signature, name: str | None) -> tuple[str, bool] | None:
    """Parameter (or RETURN) behind the output `name`, None for the principal one, and whether it is a handle."""
    wanted = signature.principal if name is None else name
    if wanted == RETURN:
        return RETURN, signature.returns is Kind.HANDLE
    for param in signature.params:
        if param.name == wanted and is_cell(param):
            return wanted, param.kind is Kind.HANDLE
    return None


# -------------------------------------------------------------------------------------------------------------- names

_PLAIN = re.compile(r"(?!out_|mem_|h_)[a-z][A-Za-z0-9_]*")


class Names:
    """Gives each variable of a program an identifier that collides with nothing: its own name where possible, which it
    is not for names that stand beside those of the system's headers (`marked`)."""

    def __init__(self, reserved: Iterable[str], marked: bool = False) -> None:
        self.taken = set(reserved)
        self.marked = marked
        self.given: dict[object, str] = {}

    def name(self, key: object, wanted: str) -> str:
        """Identifier of the variable `key`, made from `wanted` the first time."""
        if key not in self.given:
            plain = _PLAIN.fullmatch(wanted) and wanted not in self.taken and not self.marked
            name = wanted if plain else f"h_{wanted}"
            while name in self.taken:
                name += "_"
            self.taken.add(name)
            self.given[key] = name
        return self.given[key]


def words(text: str) -> set[str]:
    """Every identifier in `text`."""
    return set(re.findall(r"[A-Za-z_]\w*", text))


def needed(pieces: Iterable[tuple[str, str]], text: str) -> list[str]:
    """Those pieces of code (words that they define, code) that `text`, or another piece, uses; in their order."""
    kept: list[str] = []
    used = words(text)
    for defines, code in reversed(list(pieces)):
        if used.intersection(defines.split()):
            kept.append(code)
            used |= words(code)
    return kept[::-1]


def result_base(kind: CallbackType, number: int) -> int:
    """What callback `number` of `kind` returns when asked for nothing."""
    return callback_result(kind.ctype, number, 0)


def measure_of(kind: CallbackType) -> str:
    """The parameter of a callback that states a size; '' when it has none."""
    return "" if kind.measure is None else kind.params[kind.measure][1]


def is_pointer(ctype: str, interface: Interface) -> bool:
    """Whether a value of C type `ctype` is an address."""
    if "*" in ctype or ctype in interface.callbacks:
        return True
    return any(re.search(rf"\*\s*{re.escape(ctype)}\s*;?\s*$", line) for line in interface.typedefs)
