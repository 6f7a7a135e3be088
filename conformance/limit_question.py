"""Questions about a limit: calls at chosen values, put into programs, and what a library answers to each.

Each value meets a set-up of its own, many of them in one program; calls that change nothing share one set-up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from acl_cts.conformance.budget import Budget
from acl_cts.conformance.draft import prefixed
from acl_cts.conformance.limit_contract import Contract, Required
from acl_cts.conformance.worker import DEADLY, Worker
from acl_cts.specs.execution import Outcome
from acl_cts.specs.interface import Kind
from acl_cts.specs.program import Program, Statement, size
from acl_cts.specs.trace import CallRecord, End, Ending, Ptr, SameRecord, SkipRecord, Trace

TOGETHER = 48
"""Values asked in one program."""


class CannotAskError(Exception):
    """Nothing more can be asked. The message says why; `unable`: the backend cannot do it at all."""

    def __init__(self, why: str, *, unable: bool = False) -> None:
        super().__init__(why)
        self.unable = unable


@dataclass(frozen=True, slots=True)
class Answer:
    """What a library said to one value. `accepted` is None when the call was not made or did not return: `why` tells
    the first, `died` the second. `code`: what was returned. `short`: a refusal may be a lack of resources."""

    required: Required
    accepted: bool | None = None
    code: int | None = None
    why: str = ""
    died: str = ""
    short: bool = False

    @property
    def scarce(self) -> bool:
        """Whether it is a refusal that may be a lack of resources."""
        return self.accepted is False and self.short

    @property
    def exceeds(self) -> bool:
        """Whether it accepts what must not be accepted."""
        return self.accepted is True and self.required.outcome is Outcome.ERROR and self.required.counts

    @property
    def early(self) -> bool:
        """Whether it refuses what must be accepted, resources aside."""
        wrong = self.accepted is False and self.required.outcome is Outcome.SUCCESS
        return wrong and self.required.counts and not self.scarce


@dataclass(slots=True)
class Questioner:
    """Asks one recipe's questions of one library and keeps the answers, by value. `expired`: whether time is up."""

    contract: Contract
    worker: Worker
    budget: Budget
    expired: Callable[[], bool]
    answers: dict[int, Answer] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    steps: int = 0
    _leaves: int | None = None

    # -- asking for values of a parameter

    def ask(self, values: Iterable[int]) -> Mapping[int, bool]:
        """Whether each value is accepted; those not asked yet are asked. Raises CannotAskError, and what a session
        raises."""
        values = tuple(values)
        todo = [value for value in dict.fromkeys(values) if value not in self.answers]
        while todo:
            self._ask(todo[:TOGETHER])
            todo = [value for value in todo if value not in self.answers]
        return {value: self.answers[value].accepted is True for value in values}

    def _ask(self, values: list[int]) -> None:
        sheet = self._sheet(values)
        trace = self._execute(sheet.program, len(values))
        self.answers.update(self._read(sheet, trace))
        if trace.ending.kind in DEADLY:
            self._confirm(sheet.reached(trace.ending), trace.ending)
        elif any(value not in self.answers for value in values):
            raise CannotAskError(f"the program ended early: {trace.ending.detail or trace.ending.kind}")
        elif any(self.answers[value].exceeds for value in values):
            # What was accepted beyond the limit may have damaged the library: nobody else shall meet its remains.
            self.worker.restart()

    def _confirm(self, value: int, before: Ending) -> None:
        """The process ended while `value` had its turn: ask it once more, alone in a new process."""
        self.answers.pop(value, None)
        self.worker.restart()
        sheet = self._sheet([value])
        trace = self._execute(sheet.program, 1)
        ending = trace.ending
        answer = self._read(sheet, trace).get(
            value, Answer(self.contract.required(value), why="the process ended before it")
        )
        if ending.kind not in DEADLY:
            self.remarks.append(f"the process ended once around {value} ({death(before)}), in a new one it did not")
        elif ending.step == sheet.spots[0]:
            answer = Answer(answer.required, died=death(ending))
        elif answer.accepted is None:
            answer = replace(answer, why=death(ending))
        else:
            self.remarks.append(
                f"after {value} had been {'accepted' if answer.accepted else 'refused'}, {death(ending)}"
            )
        self.answers[value] = answer

    def _sheet(self, values: list[int]) -> _Sheet:
        """A program that asks `values`."""
        recipe = self.contract.recipe
        before = sum(map(size, recipe.setup))
        if not self.contract.spec.functions[recipe.function].effect:
            calls = tuple(replace(self.contract.call(value), target=None) for value in values)
            program = Program((*recipe.setup, *calls), recipe.program.cleanup)
            return _Sheet(program, values, [0] * len(values), [before + k for k in range(len(values))])
        body: list[Statement] = []
        starts: list[int] = []
        for number, value in enumerate(values):
            starts.append(sum(map(size, body)))
            body.extend(prefixed((*recipe.setup, self.contract.call(value), *recipe.program.cleanup), f"v{number}_"))
        return _Sheet(Program(tuple(body)), values, starts, [start + before for start in starts])

    def _read(self, sheet: _Sheet, trace: Trace) -> dict[int, Answer]:
        """The answers in `trace`, by value, up to where it ends."""
        places = {spot: place for place, spot in enumerate(sheet.spots)}
        refused: list[tuple[int, str]] = []
        found: dict[int, Answer] = {}
        for record in trace.records:
            place = places.get(record.step)
            if place is None:
                if isinstance(record, CallRecord) and self._failed(record):
                    refused.append((record.step, f"{record.function} answered {_code(record)} before it"))
                continue
            value, spot = sheet.values[place], sheet.spots[place]
            why = next((text for step, text in refused if sheet.starts[place] <= step < spot), "")
            if why or not isinstance(record, CallRecord):
                found[value] = Answer(self.contract.required(value), why=why or "it was not called")
            else:
                found[value] = self._called(self.contract.required(value), record)
        return found

    def _called(self, required: Required, record: CallRecord) -> Answer:
        code = record.ret if isinstance(record.ret, int) else None
        short = required.scarce and (required.outcome is not Outcome.ERROR or self.lacking(code))
        return Answer(required, not self._failed(record), code, short=short)

    def _failed(self, record: CallRecord) -> bool:
        by_handle = self.contract.spec.functions[record.function].signature.returns is Kind.HANDLE
        return record.ret == Ptr(0) if by_handle else record.ret != 0

    def lacking(self, code: int | None) -> bool:
        """Whether `code` says that resources are short."""
        return code is not None and self.contract.spec.codes.get(code, ("", ""))[0] == "resources"

    # -- asking how many

    def count(self, number: int) -> int | None:
        """Build up to `number` elements, once. The element that was not taken, None when all were; what it was answered
        is kept, and so is what contradicts it: an element that was taken after one that was not."""
        told, ending = self._built(number)
        if ending.kind in DEADLY:
            self.worker.restart()
            again, second = self._built(number)
            if second.kind not in DEADLY:
                self.remarks.append(f"the process ended once after element {len(told)} ({death(ending)}), not again")
            told, ending = again, second
        first = self.contract.recipe.built + 1
        taken = [isinstance(record, CallRecord) and not self._failed(record) for record in told]
        places = {0, len(told) - 1, *self._documented_places(first)}
        stop = next((at for at, accepted in enumerate(taken) if not accepted), None)
        if stop is not None:
            places |= {stop, taken.index(True, stop) if True in taken[stop:] else stop}
        for at in places & set(range(len(told))):
            self.answers.setdefault(first + at, self._element(first + at, told[at]))
        if stop is None and ending.kind in DEADLY:
            stop = len(told)
            self.answers[first + stop] = Answer(self.contract.required(first + stop), died=death(ending))
        return None if stop is None else first + stop

    def _documented_places(self, first: int) -> set[int]:
        return {value - first + step for _, value in self.contract.documented() for step in (0, 1)}

    def _built(self, number: int) -> tuple[list[CallRecord | SkipRecord], Ending]:
        """What each call was answered, and how the process ended."""
        recipe = self.contract.recipe
        loop = replace(recipe.loop, count=number - recipe.built)
        start = sum(map(size, recipe.setup))
        spot = start + 1 + sum(map(size, loop.body[: recipe.place]))
        trace = self._execute(Program((*recipe.setup, loop), recipe.program.cleanup), loop.count)
        if trace.ending.kind not in (*DEADLY, End.COMPLETED):
            raise CannotAskError(f"the program ended early: {trace.ending.detail or trace.ending.kind}")
        return list(_iterations(trace, start, spot)), trace.ending

    def _element(self, number: int, record: CallRecord | SkipRecord) -> Answer:
        if isinstance(record, CallRecord):
            return self._called(self.contract.required(number), record)
        return Answer(self.contract.required(number), why="what it needs was refused")

    # -- running

    def _execute(self, program: Program, pieces: int) -> Trace:
        """Run `program`, which holds that many pieces or elements."""
        spent = self.budget.spent(self.contract.recipe.functions)
        if spent is not None:
            raise CannotAskError(spent.reason)
        if self.expired():
            raise CannotAskError("the time limit was reached")
        if self._leaves is None:
            self._leaves = self.contract.leaves()
        trace = self.worker.run(f"limit {self.contract.limit.name}", program, leaves=self._leaves * pieces)
        self.budget.charge(trace)
        self.steps += pieces
        if trace.ending.kind is End.UNSUPPORTED:
            raise CannotAskError(f"the backend has no {trace.ending.detail}", unable=True)
        return trace


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A program that asks `values`: the step where the part of each starts, and the step of its call."""

    program: Program
    values: list[int]
    starts: list[int]
    spots: list[int]

    def reached(self, ending: Ending) -> int:
        """The value that had its turn when the process ended."""
        if ending.step is None:
            return self.values[0]
        shared = len(set(self.starts)) < len(self.starts)
        marks = self.spots if shared else self.starts
        return self.values[max((at for at, mark in enumerate(marks) if mark <= ending.step), default=0)]


def death(ending: Ending) -> str:
    """How the process ended, in a few words."""
    verb = {End.CRASH: "crashed", End.RACE: "met a race", End.EXIT: "ended the process", End.TIMEOUT: "did not return"}[
        ending.kind
    ]
    return f"{ending.function or 'the program'} {verb}" + (f" ({ending.detail})" if ending.detail else "")


def _code(record: CallRecord) -> str:
    return "NULL" if record.ret == Ptr(0) else str(record.ret)


def _iterations(trace: Trace, repeat: int, spot: int) -> Iterator[CallRecord | SkipRecord]:
    """What the call at step `spot` was answered in each iteration of the repeat at step `repeat`."""
    last: CallRecord | SkipRecord | None = None
    for record in trace.records:
        if isinstance(record, CallRecord | SkipRecord) and record.step == spot:
            last = record
            yield record
        elif isinstance(record, SameRecord) and record.step == repeat and last is not None:
            yield from itertools.repeat(last, record.count)
