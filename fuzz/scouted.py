"""Scouted programs: what a scout did, read from its transcript, as a program like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from acl_cts.fuzz.scout_layout import (
    BACK_OPEN,
    BACK_REFUSED,
    OP_CALL,
    OP_CLEAN,
    OP_FAIL,
    OP_RECORD,
    OP_TOUCH,
    TAG_CALLBACK,
    TAG_CELL,
    TAG_DATA,
    TAG_HANDLE,
    TAG_NULL,
    TAG_NUMBER,
    TAG_OBJECT,
    TAG_ROOM,
)
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import (
    Call,
    Callback,
    FailAllocation,
    Index,
    Int,
    Live,
    Null,
    Object,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Room,
    Statement,
    Target,
    Value,
    When,
)
from acl_cts.specs.program_rules import MAX_NESTING

FEW = 3
"""Equal calls in a row from which on they are written as a repetition."""

Word = tuple[int, int]
"""Tag and value of an argument."""


@dataclass(frozen=True, slots=True)
class _Done:
    """A call: number of the function, arguments, the objects that each creating output made (0 for none), and the
    answer where either was right: whether it was accepted."""

    function: int
    args: tuple[Word, ...]
    made: tuple[int, ...]
    answer: bool | None = None


@dataclass(slots=True)
class _Reader:
    spec: Spec
    mark: str = ""
    answered: bool = False
    functions: list[Function] = field(default_factory=list)
    names: dict[int, Ref] = field(default_factory=dict)
    body: list[Statement] = field(default_factory=list)
    count: int = 0
    outer: list[tuple[list[Statement], bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.functions = list(self.spec.functions.values())

    def read(self, words: Sequence[int], clean_up: bool) -> None:
        """Append what the words tell; what was done to clean up only with `clean_up`."""
        at, run = 0, list[_Done]()
        while at < len(words):
            kind, low = words[at] >> 56, words[at] & (1 << 56) - 1
            if kind == OP_CALL:
                done, at = self._call(words, at)
                run.append(done)
                continue
            self._flush(run)
            at += 1
            if kind == OP_TOUCH:
                ref = self.names[words[at]]
                if not low:
                    raise ValueError("a scout's transcript has an area of no bytes")
                self.body += [Read(ref, 0, 1), Read(ref, low - 1, 1)]
                at += 1
            elif kind == OP_FAIL:
                self.body.append(FailAllocation(low))
            elif kind == OP_CLEAN and not clean_up:
                return
            elif kind not in (OP_CLEAN, OP_RECORD):
                raise ValueError(f"a scout's transcript has no word {kind}")
        self._flush(run)

    def finish(self) -> tuple[Statement, ...]:
        """All statements, blocks closed."""
        while self.outer:
            body, (outer, accepted) = self.body, self.outer.pop()
            self.body = [*outer, When(accepted, tuple(body))] if body else outer
        return tuple(self.body)

    def _call(self, words: Sequence[int], at: int) -> tuple[_Done, int]:
        number = words[at] & (1 << 56) - 1
        function = self.functions[number]
        params, creating = len(function.signature.params), _creating(function)
        start, end = at + 1, at + 1 + 2 * params
        args = tuple(zip(words[start:end:2], words[start + 1 : end : 2], strict=True))
        back = words[end] if end < len(words) else 0
        made = tuple(words[end + 1 : end + 1 + len(creating)]) if back else ()
        answer = not back & BACK_REFUSED if back & BACK_OPEN else None
        return _Done(number, args, made, answer), end + 1 + len(made)

    def _flush(self, run: list[_Done]) -> None:
        """Write the calls of one record, as one repetition where they are alike."""
        if len(run) >= FEW and (loop := self._repeated(run)) is not None:
            self.body.append(loop)
        else:
            for done in run:
                self.body.append(self._written(done, [self._value(done, place) for place in range(len(done.args))]))
                if self.answered and done.answer is not None and len(self.outer) < MAX_NESTING - 1:
                    self.outer.append((self.body, done.answer))
                    self.body = []
        run.clear()

    def _repeated(self, run: list[_Done]) -> Repeat | None:
        open_ = self.answered and any(done.answer is not None for done in run)
        if open_ or len({done.function for done in run}) > 1:
            return None
        loop = f"{self.mark}t{self.count + 1}"
        values: list[Value | None] = []
        for place in range(len(run[0].args)):
            each = [self._value(done, place) for done in run]
            value = each[0] if len(set(each)) == 1 else _counted(each, loop)
            if value is None and each[0] is not None:
                return None
            values.append(value)
        call = self._written(run[0], values, loop)
        if call.target is not None:
            for turn, done in enumerate(run[1:], 1):
                self._name(done, call.target.name, turn)
        return Repeat(len(run), loop, (call,))

    def _written(self, done: _Done, values: Sequence[Value | None], loop: str = "") -> Call:
        function = self.functions[done.function]
        names = [param.name for param in function.signature.params]
        args = tuple((name, value) for name, value in zip(names, values, strict=True) if value is not None)
        if not _creating(function):
            return Call(function.name, args)
        self.count += 1
        name = f"{self.mark}h{self.count}"
        self._name(done, name, 0 if loop else None)
        return Call(function.name, args, Target(name, Index(0, loop) if loop else None))

    def _name(self, done: _Done, name: str, turn: int | None) -> None:
        creating = _creating(self.functions[done.function])
        for output, number in zip(creating, done.made, strict=False):
            if number:
                field_ = output if len(creating) > 1 else None
                self.names[number - 1] = Ref(name, None if turn is None else Index(turn), field_)

    def _value(self, done: _Done, place: int) -> Value | None:
        tag, value = done.args[place]
        if tag == TAG_HANDLE:
            return self.names.get(value, Null())
        return _plain(tag, value)


def _plain(tag: int, value: int) -> Value | None:
    match tag:
        case _ if tag == TAG_NULL:
            return Null()
        case _ if tag == TAG_NUMBER:
            return Int(value)
        case _ if tag == TAG_DATA:
            return Ramp(value & 0xFF, value >> 8)
        case _ if tag == TAG_ROOM:
            return Room(value)
        case _ if tag == TAG_CALLBACK:
            return Callback(value)
        case _ if tag == TAG_OBJECT:
            return Object(value)
        case _ if tag == TAG_CELL:
            return None
    raise ValueError(f"a scout's transcript has no argument {tag}")


def _counted(values: Sequence[Value | None], loop: str) -> Value | None:
    """Handles that follow each other in one array, by the counter of the loop; None for anything else."""
    first = values[0]
    if not isinstance(first, Ref) or first.index is None:
        return None
    name, start = first.name, first.index.offset
    wanted = [Ref(name, Index(start + turn), first.field) for turn in range(len(values))]
    return Ref(name, Index(start, loop), first.field) if list(values) == wanted else None


def _creating(function: Function) -> tuple[str, ...]:
    """The outputs that are handles of something new, in the order of a transcript."""
    params = [param.name for param in function.signature.params if param.name in function.creates]
    return (*params, *(("ret",) if "ret" in function.creates else ()))


def split_transcript(words: Sequence[int]) -> tuple[list[Sequence[int]], Sequence[int]]:
    """The transcripts of the programs before, and that of the last one: how many there are before stands in front, and
    how many words each has in front of it. Raises IndexError for words that are damaged."""
    found: list[Sequence[int]] = []
    at = 1
    for _ in range(words[0]):
        found.append(words[at + 1 : at + 1 + words[at]])
        at += 1 + words[at]
    return found, words[at:]


def read_transcript(
    spec: Spec,
    words: Sequence[int],
    *,
    clean_up: bool = False,
    counted: bool = False,
    answered: bool = False,
    mark: str = "",
) -> Program:
    """The program that a transcript tells of; `clean_up`: with what was done to give everything back, `counted`: with a
    count of what is live in front, `answered`: what follows an answer that could have been another is done after that
    answer only, `mark`: with this in front of each name. Raises ValueError or IndexError for a transcript that is
    damaged."""
    reader = _Reader(spec, mark, answered)
    reader.read(words, clean_up)
    return Program((*((Live(),) if counted else ()), *reader.finish()))
