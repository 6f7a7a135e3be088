"""A memo of judgements: the same answers to the same program are judged once.

A judgement follows from program and trace alone. Two traces that differ in nothing but raw addresses nearly always get
the same one, but the oracle may ask an address something: how it is aligned, whether one area lies over another. So a
trace is judged with addresses that write down every question they are asked. A later trace with equal records gets the
stored judgement if its addresses give the same answers. An address knows the questions below and no others: an oracle
that asked more would fail, not be misjudged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from acl_cts.specs.judgement import Judgement
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability, Ending, Pointer, Record, Trace

KEPT = 64
"""Traces of one program that are remembered; further ones are judged anew every time."""


@dataclass(frozen=True, slots=True)
class Below:
    """Whether address `left` plus `gap` bytes is below address `right`; both by their numbers in the trace."""

    left: int
    gap: int
    right: int

    def answer(self, pointers: Sequence[Pointer]) -> bool:
        """What the addresses of a trace answer."""
        return pointers[self.left].raw + self.gap < pointers[self.right].raw


@dataclass(frozen=True, slots=True)
class Rest:
    """Whether address `pointer` divided by `divisor` leaves `rest`."""

    pointer: int
    divisor: int
    rest: int

    def answer(self, pointers: Sequence[Pointer]) -> bool:
        """What the addresses of a trace answer."""
        return pointers[self.pointer].raw % self.divisor == self.rest


@dataclass(frozen=True, slots=True)
class Is:
    """Whether address `pointer` is exactly `raw`."""

    pointer: int
    raw: int

    def answer(self, pointers: Sequence[Pointer]) -> bool:
        """What the addresses of a trace answer."""
        return pointers[self.pointer].raw == self.raw


Question = Below | Rest | Is


@dataclass(slots=True)
class _Asked:
    """The questions that a judgement has asked of `pointers`, with their answers."""

    pointers: Sequence[Pointer]
    answers: dict[Question, bool] = field(default_factory=dict)

    def ask(self, question: Question) -> bool:
        answer = self.answers[question] = question.answer(self.pointers)
        return answer


class _Address:
    """Stands for the raw value of a pointer, plus `gap` bytes. Has no hash and no other arithmetic, on purpose."""

    __slots__ = ("asked", "gap", "number")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, asked: _Asked, number: int, gap: int = 0) -> None:
        self.asked = asked
        self.number = number
        self.gap = gap

    def __add__(self, gap: int) -> _Address:
        return _Address(self.asked, self.number, self.gap + gap)

    def __lt__(self, other: _Address) -> bool:
        return self.asked.ask(Below(self.number, self.gap - other.gap, other.number))

    def __mod__(self, divisor: int) -> _Remainder:
        if self.gap:
            raise TypeError("only the address itself has a remainder")
        return _Remainder(self.asked, self.number, divisor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            raise TypeError("an address is compared with a number only")
        return self.asked.ask(Is(self.number, other - self.gap))


class _Remainder:
    """Stands for the remainder of an address."""

    __slots__ = ("asked", "divisor", "number")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, asked: _Asked, number: int, divisor: int) -> None:
        self.asked = asked
        self.number = number
        self.divisor = divisor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            raise TypeError("a remainder is compared with a number only")
        return self.asked.ask(Rest(self.number, self.divisor, other))


@dataclass(frozen=True, slots=True)
class Essence:
    """What of a trace a judgement depends on besides raw addresses; what the library printed is not part of it."""

    records: tuple[Record, ...]
    ending: Ending
    capabilities: frozenset[Capability]
    kinds: tuple[str, ...]

    @staticmethod
    def of(trace: Trace) -> Essence:
        """The essence of `trace`."""
        kinds = tuple([pointer.kind for pointer in trace.pointers])
        return Essence(trace.records, trace.ending, trace.capabilities, kinds)


@dataclass(frozen=True, slots=True)
class _Known:
    """A judgement, and the answers of the addresses that it rests on."""

    answers: tuple[tuple[Question, bool], ...]
    judgement: Judgement

    def fits(self, pointers: Sequence[Pointer]) -> bool:
        return all(question.answer(pointers) == answer for question, answer in self.answers)


@dataclass(slots=True)
class _Page:
    """What is known of one program."""

    program: Program
    known: dict[Essence, list[_Known]] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True)
class Memo:
    """Judges traces under `spec`, each kind once. Lives in one process and is never stored, so no judgement outlives
    the tables or the oracle that made it. `hits` and `misses` count what it was asked."""

    spec: Spec
    hits: int = 0
    misses: int = 0
    _pages: dict[int, _Page] = field(default_factory=dict)

    def judge(self, spec: Spec, program: Program, trace: Trace) -> Judgement:
        """As `oracle.judge`. Raises ValueError for other tables than the memo's own."""
        if spec is not self.spec:
            raise ValueError("a memo judges under the tables that it was made for")
        # Programs are told apart by identity; the page keeps its program alive, so that no other one gets its id.
        page = self._pages.setdefault(id(program), _Page(program))
        essence = Essence.of(trace)
        for known in page.known.get(essence, ()):
            if known.fits(trace.pointers):
                self.hits += 1
                return known.judgement
        self.misses += 1
        asked = _Asked(trace.pointers)
        judgement = judge(spec, program, _asking(trace, essence, asked))
        if page.size < KEPT:
            page.size += 1
            page.known.setdefault(essence, []).append(_Known(tuple(asked.answers.items()), judgement))
        return judgement


def _asking(trace: Trace, essence: Essence, asked: _Asked) -> Trace:
    """`trace` with addresses that write down what they are asked, and without what the library printed."""
    pointers = tuple(Pointer(cast(int, _spy(asked, number)), kind) for number, kind in enumerate(essence.kinds))
    return Trace(trace.records, trace.ending, pointers, trace.capabilities)


def _spy(asked: _Asked, number: int) -> Any:
    return _Address(asked, number)
