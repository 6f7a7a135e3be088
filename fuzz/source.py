"""The source of a campaign's programs: new ones, changed ones and crossings, each way as often as it pays."""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.share import work
from acl_cts.fuzz.capsules import burden, holds
from acl_cts.fuzz.corpus import Corpus, Entry
from acl_cts.fuzz.mutation import CAPSULES, Mutator, Origin
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

WOVEN = 400
"""As `HEAVY`, for what has a share of its own."""

SHARE, RACING_SHARE = 0.15, 0.6
"""Part of everything that goes to new programs of threads, and to new ones with a cycle: among all others they would
be one in hundreds. The second for threads where a sanitizer watches them, which has nothing else to do."""

OPENINGS_EVERY = 3
"""One program in so many is what a macro does by itself, until each was there once: what the tables know to lead
somewhere is not left to chance."""

LIGHT = 300
"""Statements up to which a conformance case is a seed."""

REMEMBERED = 200_000
"""Programs that are remembered, so that none is executed twice."""

TRIES = 20
"""Programs that may be made for one that is taken."""


OPENING = "macro"
"""How an opening was made."""


@dataclass(frozen=True, slots=True)
class Made:
    """A program to execute: its compact form, how it was made, and the entry that it was made from."""

    program: Program
    data: bytes
    way: str
    origin: Origin = ()
    parent: Entry | None = None


STORED = frozenset({"corpus", "import"})
"""Ways of programs that come from the folder of the corpus."""


@dataclass(slots=True)
class Source:
    """Makes programs from dice and corpus. The same seed, corpus and rewards give the same programs.

    `capabilities`: what every backend of the campaign has. `missing`: functions that one of them does not have.
    `racing`: a sanitizer watches threads.
    """

    spec: Spec
    corpus: Corpus
    capabilities: frozenset[Capability]
    missing: frozenset[str]
    seed: str
    racing: bool = False
    _dice: random.Random = field(init=False)
    _ways: Schedule = field(init=False)
    _mutators: dict[frozenset[str], Mutator] = field(default_factory=dict)
    _known: set[bytes] = field(default_factory=set)
    _spent: int = 0
    _spent_deep: int = 0
    _spent_woven: dict[str, int] = field(default_factory=dict)
    _openings: deque[Program] | None = None
    _made: int = 0

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
            made = self._opening(avoided) or self._next(mutator)
            if made.way == OPENING or self._wanted(made, avoided):
                found.append(made)
        return found

    def made_of(self, program: Program, other: Program | None, avoided: frozenset[str]) -> Made | None:
        """One that was not made before: a new one, `program` changed, or both crossed, each as often as it pays; None
        when none comes to hand."""
        mutator = self._mutator(avoided)
        if (opening := self._opening(avoided)) is not None:
            return opening
        for _ in range(TRIES):
            made = self._woven(mutator) or self._changed(mutator, program, other)
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
            sound = not mending and (way not in STORED or self.corpus.own(program))
            mended = program if sound else mutator.mend(program)
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

    def _changed(self, mutator: Mutator, program: Program, other: Program | None) -> Made:
        way = self._ways.pick(self._dice) if program.body else "fresh"
        if way == "fresh":
            found = mutator.fresh()
        elif way == "cross" and other is not None:
            found = mutator.cross(program, other)
        else:
            way, found = "mutate", mutator.mutate(program)
        return Made(found, encode_program(found), way, mutator.origin)

    def _next(self, mutator: Mutator) -> Made:
        parent: Entry | None = None
        woven = self._woven(mutator)
        if woven is not None:
            return woven
        way = self._ways.pick(self._dice) if self.corpus.entries else "fresh"
        if way == "fresh":
            program = mutator.fresh()
        else:
            parent = self.corpus.pick(self._dice)
            if way == "mutate":
                program = mutator.mutate(parent.program)
            else:
                program = mutator.cross(parent.program, self.corpus.pick(self._dice).program)
        return Made(program, encode_program(program), way, mutator.origin, parent)

    def _opening(self, avoided: frozenset[str]) -> Made | None:
        """Now and then the next opening that was not executed before; one that is to be avoided comes later."""
        self._made += 1
        if self._made % OPENINGS_EVERY:
            return None
        if self._openings is None:  # what a scout finds at once need not wait for them
            self._openings = deque(self._mutator(frozenset()).openings())
        for _ in range(len(self._openings)):
            program = self._openings.popleft()
            if _calls(program, avoided):
                self._openings.append(program)
                continue
            data = encode_program(program)
            if program.body and self._is_new(data):
                self._spent += burden(program)
                return Made(program, data, OPENING)
        return None

    def _woven(self, mutator: Mutator) -> Made | None:
        """A program of a capsule whose share was not had."""
        for capsule in mutator.capsules:
            if self._spent_woven.get(capsule, 0) <= self._share(capsule) * self._spent:
                program = mutator.woven(capsule)
                return Made(program, encode_program(program), capsule, mutator.origin)
        return None

    def _share(self, capsule: str) -> float:
        return RACING_SHARE if self.racing and capsule == "threads" else SHARE

    def _wanted(self, made: Made, avoided: frozenset[str]) -> bool:
        woven = made.way in CAPSULES
        if not made.program.body or (woven and not any(map(holds, made.program.body))):
            return False
        cost = burden(made.program)
        deep = cost > DEEP and (self._spent_deep + cost) * DEEP_SHARE <= self._spent
        if cost * self._dice.random() ** 2 > (WOVEN if woven else HEAVY) and not deep:
            return False
        if _calls(made.program, avoided):
            return False
        if not self._is_new(made.data):
            return False
        self._spent += cost
        self._spent_deep += cost if deep else 0
        if woven:
            self._spent_woven[made.way] = self._spent_woven.get(made.way, 0) + cost
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


def _calls(program: Program, functions: frozenset[str]) -> bool:
    return bool(functions) and any(isinstance(s, Call) and s.function in functions for s in steps(program))
