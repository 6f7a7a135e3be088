"""Mutation: small changes to a program, and crossings of two, each again a program without undefined calls."""

from __future__ import annotations

import keyword
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from acl_cts.fuzz.choices import OPERATION, RECORD, records, rolled
from acl_cts.fuzz.follower import Follower
from acl_cts.fuzz.generator import MANY, Builder, Generator
from acl_cts.fuzz.handles import Handle
from acl_cts.fuzz.numbers import EARLIER, OUTPUT, WAYS
from acl_cts.fuzz.patterns import resized
from acl_cts.fuzz.renaming import renamed, variables
from acl_cts.fuzz.schedule import Schedule
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Spec
from acl_cts.specs.plan import MAX_ITERATIONS, plan
from acl_cts.specs.program import (
    MAX_REPEAT,
    Call,
    Callback,
    Fill,
    Index,
    Int,
    Null,
    Object,
    Parallel,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Statement,
    Steady,
    Target,
    Value,
    When,
    Write,
    children,
    walk,
)
from acl_cts.specs.program_rules import MAX_NAME, RESERVED, THREADS
from acl_cts.specs.trace import Capability

LONGEST = 120
"""Top-level statements of a program at most; what is longer only gets shorter."""

LOOKS = 0.5
"""How often a new program ends with questions."""

FEW_OPENS = 4
"""Open points of a program of which all answers are followed."""

CAPSULES = ("threads", "cycle")
"""Operations of a generator that make what stands by itself."""

NOBODY = Ref("nobody")
"""Stands for no handle, so that another one is chosen in its place."""

Origin = tuple[tuple[Schedule, str], ...]
"""The ways in which a program was made, each with the schedule that chose it."""

Path = tuple[int, ...]
Change = Callable[[tuple[Statement, ...]], tuple[Statement, ...] | None]


class Mutator:
    """Changes programs at random, the same seed and calls giving the same programs.

    It takes programs that a generator, a mutator or `mend` made. `reward` tells it that the last one was worth while.
    """

    def __init__(
        self, spec: Spec, capabilities: frozenset[Capability], seed: int, *, without: frozenset[str] = frozenset()
    ) -> None:
        self._dice = random.Random(seed)
        self._spec = spec
        self._generator = Generator(spec, capabilities, without=without)
        families = sorted({form.facts.function.family for form in self._generator.forms.values()})
        self._families = [
            Generator(spec, capabilities, without=without, families=frozenset((family,))) for family in families
        ]
        self._macros = {macro.name: macro for macro in self._generator.macros}
        self._ways: dict[str, Callable[[Program], Program]] = {
            "insert": self._insert,
            "macro": self._macro,
            "drop": self._drop,
            "duplicate": self._duplicate,
            "swap": self._swap,
            "retarget": self._retarget,
            "nudge": self._nudge,
            "count": self._count,
            "threads": self._threads,
            "inside": self._inside,
            "look": self._look,
        }
        self._schedule = Schedule(self._ways)
        self._macro_schedule = Schedule(self._macros)
        self._last: list[tuple[Schedule, str]] = []

    # -- what users ask

    def fresh(self, decisions: int = 8) -> Program:
        """A new program, most often about one family only."""
        self._last = []
        dice = self._dice
        generator = self._generator if dice.random() < 0.25 else dice.choice(self._families)
        builder = generator.begin()
        for record in rolled(dice, dice.randint(1, decisions)):
            builder.decide(record)
        if dice.random() < LOOKS:
            builder.look(rolled(dice, 1)[0])
        return builder.finish()

    def openings(self) -> Iterator[Program]:
        """For each macro the program of nothing else, and of questions about its handle."""
        for macro in (*self._generator.macros, *self._generator.heavy):
            builder = Builder(self._generator)
            handle = builder.insert(macro, 0)
            if handle is not None:
                builder.ask(handle, 0)
            program = builder.finish()
            long = any(isinstance(s, Repeat) and s.count > MAX_ITERATIONS for s in walk(program.body))
            yield self.mend(program) if long else program  # a clean-up is made of fewer turns than mending looks at

    @property
    def capsules(self) -> tuple[str, ...]:
        """What `woven` can make here: rounds of threads, and cycles."""
        return tuple(name for name in CAPSULES if getattr(Builder, name) in self._generator.operations)

    def woven(self, capsule: str) -> Program:
        """A new program of nothing but one capsule of this name, most often about one family only; now and then the
        bytes make none, and what comes holds none."""
        self._last = []
        dice, operation = self._dice, getattr(Builder, capsule)
        generator = self._generator if dice.random() < 0.25 else dice.choice(self._families)
        if operation not in generator.operations:
            generator = self._generator
        record = bytearray(dice.randbytes(RECORD))
        record[OPERATION] = generator.operations.index(operation)
        return generator.program(records(bytes(record)))

    def mend(self, program: Program) -> Program:
        """`program` without undefined calls, and without what cannot be done here; for what comes from elsewhere."""
        return self._certain(program) or self._followed(program)

    def _certain(self, program: Program) -> Program | None:
        """A program with blocks that depend on an answer as it is, if it is free of undefined calls whatever is
        answered: following it as it grows cannot know that."""
        inside = [s for s in walk(program.body) if not isinstance(s, Call)]
        if not inside or not all(isinstance(s, When) for s in inside):
            return None
        if not all(s.function in self._generator.forms for s in walk(program.body) if isinstance(s, Call)):
            return None
        known = plan(self._spec, program.body)
        return None if known.undefined or len(known.opens) > FEW_OPENS else Program(program.body, known.cleanup)

    def _followed(self, program: Program) -> Program:
        follower = self._follower()
        follower.add_all(program)
        return follower.finish()

    def mutate(self, program: Program) -> Program:
        """`program` with one or a few changes."""
        self._last = []
        changed = program
        for _ in range(1 + (self._dice.random() < 0.3)):
            changed = self._once(changed)
        return changed

    def cross(self, first: Program, second: Program) -> Program:
        """The start of one program and the end of another; or one inside the other, each with handles of its own."""
        self._last = []
        dice, head = self._dice, self._cut(first)
        if dice.random() < 0.5:
            start = dice.randrange(len(second.body)) if second.body else 0
            return self._joined(first.body[:head], second.body[start:])
        mark = dice.choice("abcdefgh")
        other = renamed(second.body, {name: Ref(_fitting(mark + name)) for name in variables(second.body)})
        return self._joined(first.body[:head], (*other, *first.body[head:]))

    @property
    def origin(self) -> Origin:
        """How the last program was made, for a later `reward`."""
        return tuple(self._last)

    def reward(self, origin: Origin | None = None) -> None:
        """What the last call gave, or one before, was worth while: what made it is done more often."""
        for schedule, name in self._last if origin is None else origin:
            schedule.reward(name)

    # -- the ways

    def _once(self, program: Program) -> Program:
        for _ in range(4):
            way = self._schedule.pick(self._dice) if program.body else "insert"
            if len(program.body) > LONGEST:
                way = "drop"
            changed = self._ways[way](program)
            if changed.body != program.body:
                self._last.append((self._schedule, way))
                return changed
        return self._insert(program)

    def _insert(self, program: Program) -> Program:
        place, builder = self._opened(program)
        for record in rolled(self._dice, self._dice.choice((1, 1, 1, 2, 3))):
            builder.decide(record)
        return self._closed(builder, program.body[place:])

    def _macro(self, program: Program) -> Program:
        if not self._macros:
            return program
        name = self._macro_schedule.pick(self._dice)
        self._last.append((self._macro_schedule, name))
        place, builder = self._opened(program)
        builder.insert(self._macros[name], self._dice.randrange(256))
        return self._closed(builder, program.body[place:])

    def _look(self, program: Program) -> Program:
        """Questions in the end."""
        builder = Builder(self._generator, balanced=False)
        builder.follower.choose = self._choose
        builder.follower.insert(program.body)
        builder.look(rolled(self._dice, 1)[0])
        return builder.follower.finish()

    def _drop(self, program: Program) -> Program:
        if len(program.body) > 3 and self._dice.random() < 0.3:
            start = self._dice.randrange(len(program.body))
            end = start + self._dice.randint(1, max(1, len(program.body) // 2))
            return self._joined(program.body[:start], program.body[end:])
        return self._at(program, lambda found: ())

    def _duplicate(self, program: Program) -> Program:
        body, dice = program.body, self._dice
        start = dice.randrange(len(body))
        end = min(len(body), start + dice.choice((1, 1, 1, 2, 3)))
        place = dice.randint(end, len(body))
        return self._joined(body[:place], (*body[start:end], *body[place:]))

    def _swap(self, program: Program) -> Program:
        body = program.body
        if len(body) < 2:
            return program
        place = self._dice.randrange(len(body) - 1)
        return self._joined(body[:place], (body[place + 1], body[place], *body[place + 2 :]))

    def _retarget(self, program: Program) -> Program:
        def change(found: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
            (call,) = found
            if not isinstance(call, Call):
                return None
            names = [name for name, value in call.args if isinstance(value, Ref) and value.field is None]
            if not names:
                return None
            chosen = self._dice.choice(names)
            return (replace(call, args=tuple((n, NOBODY if n == chosen else v) for n, v in call.args)),)

        return self._at(program, change)

    def _nudge(self, program: Program) -> Program:
        place = self._dice.randrange(len(program.body))
        follower = self._follower()
        follower.insert(program.body[:place])
        found = program.body[place]
        if isinstance(found, Call):
            made = self._nudged_call(follower, found)
            return self._rest(follower, (made, *program.body[place + 1 :])) if made != found else program
        return self._at(program, lambda inner: self._nudged(inner[0]))

    def _nudged(self, statement: Statement) -> tuple[Statement, ...] | None:
        """A touch somewhere else, or a call inside a block with a number a little off."""
        dice = self._dice
        if isinstance(statement, Read):
            return (
                replace(statement, offset=self._near(statement.offset), length=self._near(statement.length) % 65537),
            )
        if isinstance(statement, Write):
            data = resized(statement.data, self._near(statement.data.length) % 65537)
            return (replace(statement, offset=self._near(statement.offset), data=data),)
        numbers = [n for n, v in statement.args if isinstance(v, Int)] if isinstance(statement, Call) else []
        if not isinstance(statement, Call) or not numbers:
            return None
        chosen = dice.choice(numbers)
        return (
            replace(
                statement,
                args=tuple(
                    (n, Int(self._near(v.value), v.loop) if n == chosen and isinstance(v, Int) else v)
                    for n, v in statement.args
                ),
            ),
        )

    def _near(self, number: int) -> int:
        """A number not far from `number`, in one sense or another."""
        other = self._dice.choice((number + 1, number - 1, number * 2, number // 2, self._dice.randrange(256), 0))
        return other & (2**64 - 1) if other < 2**63 else other % 2**64

    def _nudged_call(self, follower: Follower, call: Call) -> Call:
        """`call` with one argument of another value, chosen with its limits in mind."""
        form = self._generator.form(call.function)
        if form is None:
            return call
        params = [p for p in form.facts.function.signature.params if p.kind is not Kind.ROOM]
        if not params:
            return call
        param, given = self._dice.choice(params), dict(call.args)
        value: Value | None
        if param.kind is Kind.INTEGER and not param.out:
            value = self._number(follower, call, param.name, given.get(param.name))
        else:
            value = self._other(given.get(param.name), param.out)
        if value is None:
            given.pop(param.name, None)
        else:
            given[param.name] = value
        ordered = tuple((name, given[name]) for name in form.order if name in given)
        return replace(call, args=ordered)

    def _number(self, follower: Follower, call: Call, name: str, old: Value | None) -> Value:
        form, dice = self._generator.forms[call.function], self._dice
        limits = next(limits for _, p, limits, _ in form.numbers if p.name == name)
        args, way = follower.arguments(call), dice.choice(WAYS)
        if args is None or way in (EARLIER, OUTPUT):
            return Int(self._near(old.value if isinstance(old, Int) else limits.typical))
        number = limits.number(way, dice.randrange(256), dice.randrange(256), Frame(follower.tracker.machine, args))
        return Int(number)

    def _other(self, old: Value | None, out: bool) -> Value | None:
        """Another value of the same sort, now and then NULL."""
        dice = self._dice
        if isinstance(old, Null) or (out and old is not None):
            return None
        if out or dice.random() < 0.15:
            return Null()
        match old:
            case Fill(length=length) | Ramp(length=length):
                return Ramp(dice.randrange(256), length) if dice.random() < 0.7 else Fill(dice.randrange(256), length)
            case Callback():
                return Callback(dice.randint(1, 3))
            case Object():
                return Object(dice.randint(1, 3))
        return NOBODY if isinstance(old, Ref) else old

    def _count(self, program: Program) -> Program:
        """Another number of iterations; or one call many times, or a repeat only once."""
        dice = self._dice

        def change(found: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
            (statement,) = found
            if isinstance(statement, Repeat):
                near = (statement.count + 1, statement.count - 1, statement.count * 2, statement.count // 2)
                count = dice.choice((*near, *self._generator.near))
                return (replace(statement, count=max(1, min(count, MAX_REPEAT))),)
            return None

        blocks = [path for path, statement in _all(program.body) if isinstance(statement, Repeat)]
        if blocks and dice.random() < 0.7:
            return self._changed(program, dice.choice(blocks), change)
        place = dice.randrange(len(program.body))
        call = program.body[place]
        if not isinstance(call, Call):
            return program
        target = None if call.target is None else Target(_fitting(call.target.name + "s"), Index(0, "n"))
        repeat = Repeat(dice.choice((2, 3, 5, MANY, *self._generator.near)), "n", (replace(call, target=target),))
        return self._joined(program.body[:place], (call, repeat, *program.body[place + 1 :]))

    def _threads(self, program: Program) -> Program:
        """A call of one thread in another one too, or instead; or threads in another order."""
        dice = self._dice
        blocks = [path for path, statement in _all(program.body) if isinstance(statement, Parallel)]

        def change(found: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
            branches = [[*branch] for each in found if isinstance(each, Parallel) for branch in each.branches]
            source, target = dice.sample(range(len(branches)), 2)
            place, way = dice.randrange(len(branches[source])), dice.choice(("move", "copy", "copy", "swap", "thread"))
            if way == "swap":
                branches[source], branches[target] = branches[target], branches[source]
            elif way == "thread":
                branches.append(branches[source][place:])
            else:
                branches[target].insert(dice.randint(0, len(branches[target])), branches[source][place])
                if way == "move":
                    del branches[source][place]
            return (Parallel(tuple(map(tuple, branches))),)

        return self._changed(program, dice.choice(blocks), change) if blocks else program

    def _inside(self, program: Program) -> Program:
        """A change of what is repeated until memory is steady, as if it were a program of its own."""
        places = [place for place, statement in enumerate(program.body) if isinstance(statement, Steady)]
        if not places:
            return program
        place = self._dice.choice(places)
        cycle = program.body[place]
        assert isinstance(cycle, Steady)
        inner = self._once(Program(cycle.body))
        return self._joined(program.body[:place], (replace(cycle, body=inner.body), *program.body[place + 1 :]))

    # -- putting together

    def _follower(self) -> Follower:
        generator = self._generator
        return Follower(generator.spec, generator.capabilities, self._choose, generator.functions)

    def _choose(self, handles: list[Handle]) -> Handle:
        return self._dice.choice(handles)

    def _cut(self, program: Program) -> int:
        return self._dice.randint(0, len(program.body))

    def _opened(self, program: Program) -> tuple[int, Builder]:
        """A place in the program, and a builder that has what is before it."""
        place = self._cut(program)
        builder = Builder(self._generator, balanced=False)
        builder.follower.choose = self._choose
        builder.follower.insert(program.body[:place])
        return place, builder

    def _closed(self, builder: Builder, rest: tuple[Statement, ...]) -> Program:
        return self._rest(builder.follower, rest)

    def _joined(self, start: tuple[Statement, ...], rest: tuple[Statement, ...]) -> Program:
        """`start`, which is fine as it is, then `rest`, mended."""
        follower = self._follower()
        follower.insert(start)
        return self._rest(follower, rest)

    def _rest(self, follower: Follower, rest: tuple[Statement, ...]) -> Program:
        follower.add_all(Program(rest))
        return follower.finish()

    def _at(self, program: Program, change: Change) -> Program:
        """The program with one statement, at whatever depth, changed."""
        paths = [path for path, _ in _all(program.body)]
        return self._changed(program, self._dice.choice(paths), change)

    def _changed(self, program: Program, path: Path, change: Change) -> Program:
        made = _replaced(program.body[path[0]], path[1:], change)
        if made is None:
            return program
        return self._joined(program.body[: path[0]], (*made, *program.body[path[0] + 1 :]))


def _fitting(name: str) -> str:
    """`name`, cut to what may be one, and no word that means something else."""
    short = name if len(name) <= MAX_NAME else name[:8] + name[16:]
    return f"{short}_" if keyword.iskeyword(short) or short in RESERVED else short


def _all(body: tuple[Statement, ...]) -> list[tuple[Path, Statement]]:
    """Every statement that can be changed, with the way to it."""
    found: list[tuple[Path, Statement]] = []
    for place, statement in enumerate(body):
        found.append(((place,), statement))
        if isinstance(statement, Repeat | Steady | Parallel):
            found.extend(((place, *path), inner) for path, inner in _all(children(statement)))
    return found


def _replaced(statement: Statement, path: Path, change: Change) -> tuple[Statement, ...] | None:
    """What stands in the place of `statement` once what lies at `path` in it is changed; None for no change."""
    if not path:
        return change((statement,))
    if isinstance(statement, Parallel):
        return _replaced_in_thread(statement, path, change)
    if not isinstance(statement, Repeat | Steady):
        return None
    inner = _replaced(statement.body[path[0]], path[1:], change)
    if inner is None:
        return None
    body = (*statement.body[: path[0]], *inner, *statement.body[path[0] + 1 :])
    return (replace(statement, body=body),) if body else ()


def _replaced_in_thread(block: Parallel, path: Path, change: Change) -> tuple[Statement, ...] | None:
    """As `_replaced`; a thread of which nothing is left goes, and with the last but one of them the whole block."""
    branches, place = [*block.branches], path[0]
    number = 0
    while place >= len(branches[number]):
        place -= len(branches[number])
        number += 1
    inner = change((branches[number][place],))
    if inner is None:
        return None
    branches[number] = (*branches[number][:place], *inner, *branches[number][place + 1 :])
    left = tuple(branch for branch in branches if branch)
    return (Parallel(left),) if len(left) >= THREADS[0] else ()
