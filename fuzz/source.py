"""The source of a campaign's programs: new ones, changed ones and crossings, each way as often as it pays."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.share import work
from acl_cts.fuzz.capsules import burden
from acl_cts.fuzz.corpus import Corpus, Entry
from acl_cts.fuzz.mutation import Mutator, Origin
from acl_cts.fuzz.schedule import Schedule
from acl_cts.fuzz.terms import Terms
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Exit, Hooks, Program, steps, walk
from acl_cts.specs.program_bytes import encode_program
from acl_cts.specs.trace import Capability

HEAVY = 40
"""Statements executed and judged from which on a program is heavy: of those with k times as much, one in the root
of k is taken, so that long programs neither eat the time nor die out."""

DEEP, DEEP_SHARE = 20_000, 20
"""A program that costs more than the first would hardly ever be taken: it is when all such programs together are not
more than one part in the second of everything."""

LIGHT = 300
"""Statements up to which a conformance case is a seed."""

REMEMBERED = 200_000
"""Programs that are remembered, so that none is executed twice."""

TRIES = 20
"""Programs that may be made for one that is taken."""


@dataclass(frozen=True, slots=True)
class Made:
    """A program to execute: its compact form, how it was made, and the entry that it was made from."""

    program: Program
    data: bytes
    way: str
    origin: Origin = ()
    parent: Entry | None = None


@dataclass(slots=True)
class Source:
    """Makes programs from dice and corpus. The same seed, corpus and rewards give the same programs.

    `capabilities`: what every backend of the campaign has. `missing`: functions that one of them does not have.
    """

    spec: Spec
    corpus: Corpus
    capabilities: frozenset[Capability]
    missing: frozenset[str]
    seed: str
    _dice: random.Random = field(init=False)
    _ways: Schedule = field(init=False)
    _mutators: dict[frozenset[str], Mutator] = field(default_factory=dict)
    _known: set[bytes] = field(default_factory=set)
    _spent: int = 0
    _spent_deep: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._ways = Schedule(("fresh", "mutate", "cross"))

    def batch(self, size: int, avoided: frozenset[str]) -> list[Made]:
        """Up to `size` programs that were not made before, without calls of the functions `avoided`."""
        mutator = self._mutator(avoided)
        found: list[Made] = []
        for _ in range(size * TRIES):
            if len(found) == size:
                break
            made = self._next(mutator)
            if self._wanted(made, avoided):
                found.append(made)
        return found

    def made_of(self, program: Program, other: Program | None, avoided: frozenset[str]) -> Made | None:
        """One that was not made before: a new one, `program` changed, or both crossed, each as often as it pays; None
        when none comes to hand."""
        mutator = self._mutator(avoided)
        for _ in range(TRIES):
            way = self._ways.pick(self._dice) if program.body else "fresh"
            if way == "fresh":
                found = mutator.fresh()
            elif way == "cross" and other is not None:
                found = mutator.cross(program, other)
            else:
                way, found = "mutate", mutator.mutate(program)
            made = Made(found, encode_program(found), way, mutator.origin)
            if self._wanted(made, avoided):
                return made
        return None

    def takes(self, made: Made, avoided: frozenset[str]) -> bool:
        """Whether `made` is worth executing, which can be asked once: not known, and neither too heavy nor avoided."""
        return self._wanted(made, avoided)

    @property
    def terms(self) -> Terms:
        """What the programs made here are free of undefined calls under."""
        return Terms(self.spec.digest, frozenset(map(str, self.capabilities)), self.missing)

    def given(self, programs: Iterable[Program], way: str, mending: bool) -> Iterator[Made]:
        """Programs from elsewhere, those that are known left out. `mending`: they were not made under these terms."""
        mutator = self._mutator(frozenset())
        for program in programs:
            mended = mutator.mend(program) if mending else program
            data = encode_program(mended)
            if mended.body and self._is_new(data):
                yield Made(mended, data, way)

    def seeds(self) -> Iterator[Program]:
        """The programs of the conformance cases that are short and can be executed here."""
        for case in cached_cases(self.spec):
            if case.planned or case.solo or case.group == "robustness" or not case.needs <= self.capabilities:
                continue
            if case.functions & self.missing or work(case.program) > LIGHT:
                continue
            if not any(isinstance(s, Exit | Hooks) for s in walk(case.program.body)):
                yield case.program

    def reward(self, made: Made) -> None:
        """`made` reached something new."""
        self._mutator(frozenset()).reward(made.origin)
        if made.way in ("fresh", "mutate", "cross"):
            self._ways.reward(made.way)
        if made.parent is not None:
            made.parent.paid += 1

    def _next(self, mutator: Mutator) -> Made:
        way = self._ways.pick(self._dice) if self.corpus.entries else "fresh"
        parent: Entry | None = None
        if way == "fresh":
            program = mutator.fresh()
        else:
            parent = self.corpus.pick(self._dice)
            if way == "mutate":
                program = mutator.mutate(parent.program)
            else:
                program = mutator.cross(parent.program, self.corpus.pick(self._dice).program)
        return Made(program, encode_program(program), way, mutator.origin, parent)

    def _wanted(self, made: Made, avoided: frozenset[str]) -> bool:
        if not made.program.body:
            return False
        cost = burden(made.program)
        deep = cost > DEEP and (self._spent_deep + cost) * DEEP_SHARE <= self._spent
        if cost * self._dice.random() ** 2 > HEAVY and not deep:
            return False
        if avoided and any(isinstance(s, Call) and s.function in avoided for s in steps(made.program)):
            return False
        if not self._is_new(made.data):
            return False
        self._spent += cost
        self._spent_deep += cost if deep else 0
        return True

    def _is_new(self, data: bytes) -> bool:
        key = hashlib.blake2b(data, digest_size=8).digest()
        if key in self._known:
            return False
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known.add(key)
        return True

    def _mutator(self, avoided: frozenset[str]) -> Mutator:
        known = self._mutators.get(avoided)
        if known is None:
            number = int.from_bytes(hashlib.sha256(f"{self.seed}/{sorted(avoided)}".encode()).digest()[:8], "little")
            known = Mutator(self.spec, self.capabilities, number, without=self.missing | avoided)
            self._mutators[avoided] = known
        return known
