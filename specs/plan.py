"""Plans: a program followed through the model with made-up answers, before any backend sees it.

At every open point the plan follows both answers, each in a world of its own. So it knows, without executing anything,
whether some answer would make a call undefined, which clauses the program exercises, and what can certainly be given
back at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import factorial, prod
from typing import Any

from acl_cts.specs import expressions as ex
from acl_cts.specs.execution import ATTEMPT, Binding, Execution, Key, Outcome, UnsetError
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import (
    Call,
    Index,
    Invoke,
    Parallel,
    Program,
    Read,
    Ref,
    Repeat,
    Statement,
    Steady,
    UntilSame,
    When,
    Write,
    size,
    steps,
    walk,
)
from acl_cts.specs.rules import FunctionRules
from acl_cts.specs.trace import Ptr
from acl_cts.specs.values import UNKNOWN, Obj

MAX_WORLDS = 24
"""Worlds followed at most; beyond that the remaining open points are taken to be accepted."""

MAX_ITERATIONS = 256
"""Iterations of one repeat that are followed."""

STEADY_ITERATIONS = 2
"""Iterations of one steady block that are followed: each meets what the one before left."""

MAX_THREADED_ITERATIONS = 2
"""Iterations that are followed of a repeat around a parallel block: every one of them takes the same order."""

MAX_ORDERS = 100
"""Orders in which the calls of all parallel blocks together may come; a program with more is no valid one here."""

Orders = Mapping[int, tuple[int, ...]]
"""By step of a parallel block, the thread that each call comes from."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a program beforehand.

    `undefined`: '' or the first call that would be undefined in some world. `clauses`: ids of the clauses it
    exercises. `cleanup`: statements that give back what is certainly alive in every world. `leaves`: objects that may
    be left over. `entangled`: something stays behind that a later program in the same process could see. `opens`:
    steps of open calls.
    """

    undefined: str
    clauses: frozenset[str]
    functions: frozenset[str]
    cleanup: tuple[Statement, ...]
    leaves: int
    entangled: bool
    opens: tuple[int, ...] = ()


@dataclass(slots=True)
class _World:
    """One run through the model with fixed answers at the open points."""

    run: Execution
    choices: dict[int, bool]
    orders: Orders = field(default_factory=dict)
    robust: bool = False
    conditional: bool = False
    met: list[int] = field(default_factory=list)
    clauses: set[str] = field(default_factory=set)
    undefined: str = ""
    failed: bool | None = None
    fresh: int = 1
    iterations: int = MAX_ITERATIONS

    # -- statements

    def block(self, body: tuple[Statement, ...], step: int, counters: dict[str, int]) -> int:
        """Follow `body`, whose first statement has number `step`; the number after it."""
        for statement in body:
            if self.undefined:
                return step
            self.statement(statement, step, counters)
            step += size(statement)
        return step

    def statement(self, statement: Statement, step: int, counters: dict[str, int]) -> None:
        match statement:
            case Call():
                self.call(statement, step, counters)
            case Repeat(count=count, loop=loop, body=body):
                threaded = any(isinstance(each, Parallel) for each in walk(body))
                most = min(self.iterations, MAX_THREADED_ITERATIONS) if threaded else self.iterations
                for k in range(min(count, most)):
                    self.block(body, step + 1, {**counters, loop: k})
            case Parallel():
                self.parallel(statement, step, counters)
            case When(accepted=accepted, body=body):
                if self.failed is not None and self.failed is not accepted:
                    self.block(body, step + 1, counters)
            case Steady(body=body):
                for _ in range(STEADY_ITERATIONS):
                    self.block(body, step + 1, counters)
            case UntilSame():
                self.until(statement, step, counters)
            case Write() | Read():
                self.touch(statement, counters)
            case Invoke():
                self.invoke(statement, counters)

    def parallel(self, statement: Parallel, step: int, counters: dict[str, int]) -> None:
        """Follow the threads in the order of this world; when none is given, one after the other."""
        branches = statement.branches
        starts = [step + 1 + sum(map(len, branches[:number])) for number in range(len(branches))]
        places = [0] * len(branches)
        default = tuple(number for number, branch in enumerate(branches) for _ in branch)
        for number in self.orders.get(step, default):
            if self.undefined:
                return
            place = places[number]
            self.statement(branches[number][place], starts[number] + place, counters)
            places[number] += 1
        self.failed = None
        self.clauses.add("common.threads")

    def invoke(self, statement: Invoke, counters: dict[str, int]) -> None:
        key = self.run.key(statement.function.name, statement.function.index, counters)
        bound = self.run.bindings.get(key)
        if bound is not None:
            clause = self.run.spec.functions[bound.function].invokes.get(statement.function.field or "")
            self.clauses.update((clause,) if clause else ())

    def touch(self, statement: Write | Read, counters: dict[str, int]) -> None:
        key = self.run.key(statement.ref.name, statement.ref.index, counters)
        region = self.run.located.get(key)
        if region is None:
            return
        kind = self.run.spec.kinds[region.kind].region
        if self.run.machine.region_alive(region) is not True:
            self.undefined = "a data area that may be gone is touched"
        elif self.run.outside(region, statement):
            self.undefined = "memory beyond a data area is touched"
        elif kind is not None:
            self.clauses.update((kind.usable, kind.content_clause(region.fields), kind.fresh))

    def until(self, statement: UntilSame, step: int, counters: dict[str, int]) -> None:
        """Found at the first attempt, or never."""
        found = self.choose(step)
        target, like = statement.call.target, self.run.bindings.get(self.run.key(statement.like.name, None, counters))
        if target is None or like is None:
            return
        for k in range(1 if found else statement.at_most):
            bound = self.call(statement.call, step + 1, {**counters, ATTEMPT: k}, like.principal if found else None)
            if bound is None:
                return
            self.run.bindings.pop((target.name, None), None)
            self.run.bindings[target.name, k] = bound
            if found:
                self.run.bindings[statement.found, None] = bound

    def choose(self, step: int) -> bool:
        if step not in self.met:
            self.met.append(step)
        return self.choices.get(step, True)

    # -- calls

    def call(self, call: Call, step: int, counters: dict[str, int], reuse: Any = None) -> Binding | None:
        """Follow one call; the binding when it succeeds."""
        rules = self.run.rules.functions[call.function]
        try:
            frame = self.run.frame(call, counters)
        except UnsetError:
            return None
        judged = self.run.classify(rules, frame)
        if judged.outcome is Outcome.UNDEFINED and self.robust and judged.certain:
            self.failed = True
            return None
        if judged.outcome is Outcome.UNDEFINED:
            self.undefined = f"{call.function} on a handle that may be gone"
            return None
        accepted = judged.outcome is Outcome.SUCCESS
        if judged.outcome is Outcome.OPEN:
            if self.matters(rules, call):
                accepted = self.choose(step)
            else:
                accepted = True
                self.note(rules, frame, accepted=False)
        self.failed = not accepted
        self.clauses.update(rule.clause.id for rule in judged.rules)
        self.answer(rules, frame, accepted, reuse)
        self.note(rules, frame, accepted)
        return self.run.succeed(call, rules, frame, counters) if accepted else None

    def matters(self, rules: FunctionRules, call: Call) -> bool:
        """Whether anything later can depend on the answer at an open point."""
        function = rules.function
        gives = call.target is not None and bool(function.creates or function.aliases)
        return bool(function.effect) or gives or self.conditional

    def answer(self, rules: FunctionRules, frame: Frame, accepted: bool, reuse: Any) -> None:
        """Make up the outputs: new handles where some are created, the expected one for an alias."""
        function = rules.function
        frame.ret = 0 if function.signature.returns is Kind.CODE else None
        if not accepted:
            return
        for param in function.signature.params:
            if param.out and frame.args[param.name] is not None:
                frame.outs[param.name] = UNKNOWN
        for name, _, term in rules.aliases:
            expected = term(frame)
            frame.outs[name] = expected.addresses[0] if isinstance(expected, Obj) and expected.addresses else None
        for name in function.creates:
            self.fresh += 1
            address = reuse.addresses[0] if isinstance(reuse, Obj) else Ptr(self.fresh)
            if name == "ret":
                frame.ret = address
            else:
                frame.outs[name] = address

    def note(self, rules: FunctionRules, frame: Frame, accepted: bool) -> None:
        posts = rules.after["success" if accepted else "refusal"]
        self.clauses.update([posts.rules[number].clause.id for number, truth in posts.met(frame) if truth is True])
        self.clauses.update(posts.implied)


def plan(spec: Spec, body: tuple[Statement, ...], extra: tuple[Statement, ...] = (), *, robust: bool = False) -> Plan:
    """Follow `body`, then the clean-up `extra`, in all worlds; with `robust`, calls on handles that are certainly gone
    are refused without effect instead of undefined."""
    program = Program(body, extra)
    orders = _orders(program)
    worlds = list(_worlds(spec, program, robust, orders or ({},)))
    undefined = next((w.undefined for w in worlds if w.undefined), "")
    if not orders:
        undefined = f"threads whose calls can come in more than {MAX_ORDERS} orders"
    cleanup = () if undefined else _cleanup(spec, program, worlds)
    functions = frozenset(s.function for s in (*walk(body), *walk(extra), *walk(cleanup)) if isinstance(s, Call))
    return Plan(
        undefined,
        frozenset().union(*(w.clauses for w in worlds)),
        functions,
        (*extra, *cleanup),
        max(sum(item.alive is not False for item in w.run.machine.objects) for w in worlds),
        any(_left(w) for w in worlds),
        tuple(sorted({step for w in worlds for step in w.met})),
    )


def follow(spec: Spec, body: tuple[Statement, ...]) -> Execution:
    """The state after `body`, every open point accepted."""
    world = _World(Execution.of(spec, Program(body)), {})
    world.block(body, 0, {})
    return world.run


def follow_into(spec: Spec, body: tuple[Statement, ...], repeat: Repeat, times: int, place: int) -> Execution:
    """The state after `body`, then `times` iterations of `repeat` and the first `place` statements of the next one;
    every open point accepted."""
    world = _World(Execution.of(spec, Program((*body, repeat))), {}, iterations=times)
    step = world.block(body, 0, {})
    if times:
        world.statement(replace(repeat, count=times), step, {})
    world.block(repeat.body[:place], step + 1, {repeat.loop: times})
    return world.run


def _left(world: _World) -> bool:
    return any(world.run.machine.collections.values())


def _orders(program: Program) -> tuple[Orders, ...]:
    """All orders in which the calls of threads may come; nothing when there are more than `MAX_ORDERS`."""
    found: list[Orders] = [{}]
    for step, statement in enumerate(steps(program)):
        if isinstance(statement, Parallel):
            lengths = tuple(map(len, statement.branches))
            if len(found) * _number_of_orders(lengths) > MAX_ORDERS:
                return ()
            found = [{**known, step: order} for known in found for order in _merged(lengths)]
    return tuple(found)


def _number_of_orders(lengths: tuple[int, ...]) -> int:
    return factorial(sum(lengths)) // prod(map(factorial, lengths))


def _merged(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All ways to merge threads with so many calls each."""
    if not any(lengths):
        yield ()
    for number, length in enumerate(lengths):
        if length:
            for rest in _merged((*lengths[:number], length - 1, *lengths[number + 1 :])):
                yield (number, *rest)


def _worlds(spec: Spec, program: Program, robust: bool, orders: tuple[Orders, ...]) -> Iterator[_World]:
    """All worlds of every order of calls in threads."""
    for order in orders:
        yield from _worlds_of(spec, program, robust, order)


def _worlds_of(spec: Spec, program: Program, robust: bool, order: Orders) -> Iterator[_World]:
    """All worlds of one order, by depth-first choice: the first one accepts everything that is open."""
    conditional = any(isinstance(s, When) for s in walk(program.body))
    todo: list[dict[int, bool]] = [{}]
    count = 0
    while todo and count < MAX_WORLDS:
        choices = todo.pop()
        world = _World(Execution.of(spec, program), choices, order, robust, conditional)
        after = world.block(program.body, 0, {})
        world.block(program.cleanup, after, {})
        count += 1
        yield world
        for place, step in enumerate(world.met):
            if step not in choices:
                taken = {s: choices.get(s, True) for s in world.met[:place]}
                todo.append({**taken, step: False})


# -------------------------------------------------------------------------------------------------------- clean-up


def _cleanup(spec: Spec, program: Program, worlds: list[_World]) -> tuple[Statement, ...]:
    """Calls that certainly succeed in every world and give something back, in an order in which they stay valid."""
    calls: list[tuple[Function, str, Key]] = []
    for function, param, kind in _removers(spec):
        for key in _variables(worlds, kind):
            if _held_somewhere(worlds, key) and _try(worlds, function, param, key):
                calls.append((function, param, key))
    for function, param, kind in _destroyers(spec):
        for key in reversed(
            _variables(worlds, kind)
        ):  # last made, first freed: cycles then meet the same handles again
            if _try(worlds, function, param, key):
                calls.append((function, param, key))
    return _compress(calls)


def _removers(spec: Spec) -> list[tuple[Function, str, str]]:
    """Functions that take a key out of a keyed collection: function, parameter, kind of the key."""
    return [found for f in spec.functions.values() for found in _acting(f, "drop", 1)]


def _destroyers(spec: Spec) -> list[tuple[Function, str, str]]:
    """Functions that free a handle: function, parameter, kind."""
    found = [entry for f in spec.functions.values() for entry in _acting(f, "free", 0)]
    return sorted(found, key=lambda entry: entry[0].auxiliary)


def _acting(function: Function, act: str, place: int) -> list[tuple[Function, str, str]]:
    return [
        (function, argument.name, function.signature.param(argument.name).handle)
        for effect in function.effect
        if isinstance(effect, ex.Act) and effect.name == act
        for argument in effect.args[place : place + 1]
        if isinstance(argument, ex.Name)
    ]


def _variables(worlds: list[_World], kind: str) -> list[Key]:
    """Variables that stand for a handle of `kind` in some world, in the order of their creation."""
    seen: dict[Key, None] = {}
    for world in worlds:
        for key, bound in world.run.bindings.items():
            if isinstance(bound.principal, Obj) and bound.principal.kind == kind:
                seen.setdefault(key)
    return list(seen)


def _held_somewhere(worlds: list[_World], key: Key) -> bool:
    for world in worlds:
        bound = world.run.bindings.get(key)
        if bound is not None and any(bound.principal in c for c in world.run.machine.collections.values()):
            return True
    return False


def _frame(world: _World, function: Function, param: str, key: Key) -> Frame | None:
    bound = world.run.bindings.get(key)
    if bound is None or not isinstance(bound.principal, Obj):
        return None
    return Frame(world.run.machine, {param: bound.principal})


def _try(worlds: list[_World], function: Function, param: str, key: Key) -> bool:
    """Whether the call must succeed in every world where the variable is set; if so it is carried out in all."""
    if len(function.signature.params) != 1:
        return False
    frames = [(world, _frame(world, function, param, key)) for world in worlds]
    for world, frame in frames:
        if frame is not None:
            rules = world.run.rules.functions[function.name]
            if world.run.classify(rules, frame).outcome is not Outcome.SUCCESS:
                return False
    for world, frame in frames:
        if frame is not None:
            world.run.rules.functions[function.name].effect(frame)
    return True


def _compress(calls: list[tuple[Function, str, Key]]) -> tuple[Statement, ...]:
    """Calls on neighbouring members of one array become one repeat."""
    made: list[Statement] = []
    at = 0
    while at < len(calls):
        function, param, (name, index) = calls[at]
        end = at + 1
        while index is not None and calls[end : end + 1] == [(function, param, (name, index - (end - at)))]:
            end += 1
        if index is None or end == at + 1:
            place = Index(index) if index is not None else None
            made.append(Call(function.name, ((param, Ref(name, place)),)))
        else:
            call = Call(function.name, ((param, Ref(name, Index(index - (end - at) + 1, "i"))),))
            made.append(Repeat(end - at, "i", (call,)))
        at = end
    return tuple(made)
