"""The follower: takes statements one by one, keeps what is defined in every world, mends or drops what is not.

Everything that generators and mutators put together goes through it, so whatever comes out is a program without
undefined calls. Threads and watched cycles are kept in capsules only (see `capsules`). Left out for good are statements
that need a process of their own (`exit`) or change it for those that come after (`hooks`).
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

from acl_cts.conformance.scenario import asked_for
from acl_cts.fuzz import capsules
from acl_cts.fuzz.giving_back import compressed, givers
from acl_cts.fuzz.handles import Bound, Chooser, Handle, Key, last
from acl_cts.fuzz.patterns import longer, resized
from acl_cts.fuzz.renaming import apart, numbered, renamed, variables
from acl_cts.fuzz.tracker import Tracker
from acl_cts.fuzz.vital import Facts, facts
from acl_cts.specs.execution import Outcome
from acl_cts.specs.interface import Kind, Param, default_room
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import (
    Call,
    Callback,
    FailAllocation,
    Fill,
    Index,
    Int,
    Invoke,
    Literal,
    Live,
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
    walk,
)
from acl_cts.specs.program_rules import MAX_NAME, MAX_THREAD_CALLS, THREADS, ProgramError, check_statement
from acl_cts.specs.rules import Rules, compile_rules
from acl_cts.specs.trace import Capability
from acl_cts.specs.values import CELL, UNKNOWN, Obj

Counters = dict[str, int]

EXACT = 3
"""Iterations of a repeat that are followed: all of up to 3, otherwise the first, one for the bulk, and the last."""

MOST_ATTEMPTS = 256
"""Attempts of one `until` block at most."""

LARGEST_TOUCH = 65536
"""Bytes of one read or write of a data area at most."""

MOST_STEPS = 150_000
"""Statements that one program executes at most, every iteration of its repeats counted."""

NOTHING: Counters = {}


class _BrokenError(Exception):
    """A statement that was fine in the first iteration is not in a later one."""


@dataclass(slots=True)
class Follower:
    """One growing program. `body`: what was kept so far. `choose`: see Chooser. `only`: functions that are there, all
    when None."""

    spec: Spec
    capabilities: frozenset[Capability]
    choose: Chooser = last
    only: frozenset[str] | None = None
    facts: dict[str, Facts] = field(init=False)
    tracker: Tracker = field(init=False)
    body: list[Statement] = field(default_factory=list)
    handles: dict[str, dict[Key, Handle]] = field(init=False)
    bound: dict[Key, Bound] = field(default_factory=dict)
    located: dict[Key, Obj] = field(default_factory=dict)
    _bulks: dict[str, tuple[int, int]] = field(default_factory=dict)
    _renamed: dict[str, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _strict: bool = False
    _armed: bool = False
    _weight: int = 1
    _steps: int = 0
    _enclosing: bool = False
    _enclosed_names: set[str] = field(default_factory=set)
    _enclosed_steps: int = 0
    _orders: int = 1

    def __post_init__(self) -> None:
        every = facts(self.spec)
        self.facts = every if self.only is None else {name: every[name] for name in every if name in self.only}
        self.tracker = Tracker(self.spec)
        self.handles = {kind: {} for kind in self.spec.kinds}

    # -- what users ask and do

    def add(self, statement: Statement) -> bool:
        """Append `statement`, mended where need be; whether anything of it was kept."""
        kept = self._follow(statement, NOTHING)
        if kept is not None:
            self.body.append(kept)
        return kept is not None

    def insert(self, body: tuple[Statement, ...]) -> None:
        """Append statements that are known to be fine together and whose names stand for nothing yet. Where some of
        their functions are not to be called, what is left is mended."""
        if self.only is not None and any(s.function not in self.facts for s in walk(body) if isinstance(s, Call)):
            for statement in body:
                self.add(statement)
            return
        for statement in body:
            self._trust(statement, NOTHING)
        self.body.extend(body)

    def add_all(self, program: Program) -> None:
        """Append the body of `program`; its clean-up is made anew."""
        self._names.update(variables(program.body))
        for statement in program.body:
            self.add(statement)

    def enclose(self, capsule: Statement) -> bool:
        """Append threads or a cycle, with a clean-up of its own for each round or turn; whether it was kept."""
        kept = self._kept(self._made_anew(capsule)) if self._can_enclose() else None
        if kept is not None:
            self.body.append(kept)
        return kept is not None

    def arguments(self, call: Call) -> dict[str, Any] | None:
        """Model values of the arguments of `call`, if it can stand here."""
        known = self.facts.get(call.function)
        ready = None if known is None else self._arguments(call, known, NOTHING)
        return None if ready is None else ready[1]

    def usable(self, kind: str) -> list[Handle]:
        """Handles of `kind` that can be used here, in the order of their making."""
        usable = self.tracker.usable
        return [handle for handle in self.handles[kind].values() if usable(handle.item)]

    def name(self, base: str, mark: int) -> str:
        """A name that stands for nothing yet: `base` and `mark`, or the next number that is free."""
        base = base[: MAX_NAME - 8]
        while (made := f"{base}{mark}") in self._names:
            mark += 1
        return made

    def conceal(self, names: set[str]) -> None:
        """The handles called `names` are not to be used any more."""
        for pool in self.handles.values():
            for key in [key for key in pool if key[0] in names]:
                del pool[key]

    def taken(self, names: frozenset[str]) -> bool:
        """Whether one of `names` stands for something already."""
        return not self._names.isdisjoint(names)

    def finish(self) -> Program:
        """The program, with the clean-up that gives back what is certainly alive."""
        first: tuple[Statement, ...] = (FailAllocation(0),) if self._armed else ()
        if self._armed:
            self.tracker.doubtful = False
        last = (Live(),) if Live() in self.body else ()
        return apart(Program(tuple(self.body), (*first, *self._cleanup(), *last)))

    def place(
        self, call: Call, known: Facts, args: dict[str, Any], counters: Counters = NOTHING, mark: int | None = None
    ) -> bool:
        """Follow a call whose arguments are fine, with their model values in `args`; whether it may be accepted."""
        outcome, items = Outcome.OPEN, dict[str, Obj]()
        if known.vital:
            outcome, items = self.tracker.call(known, args)
        if known.locates:
            self._locate(call, known, args, counters)
        if call.target is not None:
            self._bind(call.target, known, items, counters, mark)
        return outcome is not Outcome.ERROR

    def append(self, call: Call, known: Facts, args: dict[str, Any], mark: int, bulky: bool) -> bool:
        """Append a call that needs no mending; `bulky`: a handle of it stands for many. As `place`."""
        shortened = self.tracker.shortened
        self.tracker.shortened = shortened or bulky
        accepted = self.place(call, known, args, NOTHING, mark)
        self.tracker.shortened = shortened
        self.body.append(call)
        return accepted

    # -- names

    def key(self, name: str, index: Index | None, counters: Counters) -> Key:
        """The variable that a name with an index means; one for all in the bulk of an array."""
        if index is None:
            return name, None
        place = index.offset + (counters.get(index.loop, 0) if index.loop else 0)
        bulk = self._bulks.get(name)
        return (name, bulk[0]) if bulk is not None and bulk[0] <= place < bulk[1] else (name, place)

    def _bulky(self, key: Key) -> bool:
        bulk = self._bulks.get(key[0])
        return bulk is not None and bulk[0] == key[1]

    def _bind(
        self, target: Target, known: Facts, items: dict[str, Obj], counters: Counters, mark: int | None = None
    ) -> None:
        key = self.key(target.name, target.index, counters)
        principal = items.get(known.answer)
        old = self.bound.get(key)
        if old is not None:
            self.located.pop(key, None)
            if old.principal is not None:
                self.handles[old.principal.kind].pop(key, None)
        self._names.add(target.name)
        self.bound[key] = Bound(known, items, principal)
        if principal is not None:
            if mark is None:
                mark = (zlib.crc32(target.name.encode()) + (key[1] or 0)) & 255
            index = None if key[1] is None else Index(key[1])
            span = self._bulks.get(target.name) if self._bulky(key) else None
            self.handles[principal.kind][key] = Handle(Ref(target.name, index), principal, mark, span)

    def _locate(self, call: Call, known: Facts, args: dict[str, Any], counters: Counters) -> None:
        locates = known.function.signature.locates
        if locates is None or args[locates.base] is None:
            return
        for name, value in call.args:
            if name == locates.handle and isinstance(value, Ref):
                region = self.tracker.region(args[name])
                if region is not None:
                    self.located[self.key(value.name, value.index, counters)] = region

    def _ref(self, ref: Ref) -> Ref:
        new = self._renamed.get(ref.name)
        return ref if new is None else Ref(new, ref.index, ref.field)

    def _target(self, target: Target | None, counters: Counters) -> Target | None:
        """A target that stands for nothing yet: where an older value could shine through, the name is another one."""
        if target is None or self._strict:
            return target
        name = self._renamed.get(target.name, target.name)
        enclosed = name in self._enclosed_names
        # A single variable and an array of one name are the same place for an executor.
        alone = (name, None) in self.bound or (target.index is None and any(known == name for known, _ in self.bound))
        if alone or enclosed or self.key(name, target.index, counters) in self.bound:
            name = self._renamed[target.name] = self.name(target.name.rstrip("0123456789") or "v", 1)
        self._names.add(name)
        return Target(name, target.index)

    def _free_name(self, name: str) -> str:
        """`name`, or another one in its place when it stands for something already."""
        now = self._renamed.get(name, name)
        if now in self._enclosed_names or not {(now, None), (now, 0)}.isdisjoint(self.bound):
            now = self._renamed[name] = self.name(name.rstrip("0123456789") or "v", 1)
        self._names.add(now)
        return now

    # -- statements that need no mending

    def _trust(self, statement: Statement, counters: Counters) -> None:
        if isinstance(statement, Call):
            self._trust_call(statement, counters)
        elif capsules.holds(statement):
            self._note(statement)
        elif isinstance(statement, Repeat):
            self._trust_repeat(statement, counters)
        elif not isinstance(statement, Write | Read | Invoke | Live):
            self._follow(statement, counters)

    def _trust_call(self, call: Call, counters: Counters) -> None:
        known = self.facts[call.function]
        if not known.vital and call.target is None and not known.locates:
            return
        args: dict[str, Any] = dict.fromkeys(known.names, CELL)
        bulky = False
        for name, value in call.args:
            if value.__class__ is Ref:
                key = self.key(value.name, value.index, counters)
                bound = self.bound.get(key)
                if bound is None or bound.principal is None:
                    return
                args[name] = bound.principal
                bulky = bulky or self._bulky(key)
            else:
                args[name] = _plain(value, known.ctypes[name], counters)
        shortened = self.tracker.shortened
        self.tracker.shortened = shortened or bulky
        self.place(call, known, args, counters)
        self.tracker.shortened = shortened

    def _trust_repeat(self, repeat: Repeat, counters: Counters) -> None:
        places, body = _places_of(repeat.count), repeat.body
        if not any(isinstance(s, Call) and s.target is not None and s.target.index is not None for s in body):
            places = places[:2]
        self._steps += repeat.count * len(body)
        shortened = self.tracker.shortened
        self.tracker.shortened = shortened or repeat.count > EXACT
        for place in places:
            if place == 1 and repeat.count > EXACT:
                self._begin_bulk(body, repeat.loop, repeat.count - 1)
            for statement in body:
                self._trust(statement, {**counters, repeat.loop: place})
        self.tracker.shortened = shortened

    # -- statements

    def _follow(self, statement: Statement, counters: Counters) -> Statement | None:
        """What is kept of `statement`; None for nothing. In strict mode it is kept as it is or breaks."""
        if capsules.holds(statement):
            if isinstance(statement, Parallel) and self._enclosing:
                return self._threads(statement, counters)
            return self._capsule(statement)
        match statement:
            case Call():
                return self._call(statement, counters)
            case Repeat():
                return self._repeat(statement, counters)
            case UntilSame():
                return self._until(statement, counters)
            case Write() | Read():
                return self._touch(statement, counters)
            case Invoke():
                return self._invoke(statement, counters)
            case When():
                return self._when(statement, counters)
            case FailAllocation(nth=nth):
                return self._fail(statement, nth)
            case Live():
                return statement if Capability.LIVE_COUNT in self.capabilities else None
        return None

    # -- threads and cycles

    def _capsule(self, statement: Statement) -> Statement | None:
        """Threads or a cycle, as they are when they are closed, otherwise with a clean-up made anew."""
        if self._strict:
            raise _BrokenError
        if not self._can_enclose():
            return None
        return self._kept(statement) or self._kept(self._made_anew(statement))

    def _can_enclose(self) -> bool:
        """Whether no call may be refused here that is accepted elsewhere: no fault is armed, and nothing is scarce."""
        steps = self._steps - self._enclosed_steps
        scarce = self.tracker.machine.live_bytes * (1 + steps) > self.spec.floor.live_bytes
        return not (scarce or steps > capsules.CROWDED or self.tracker.doubtful or self._strict)

    def _kept(self, capsule: Statement | None) -> Statement | None:
        """The capsule, with names of its own, when it is one that can stand here."""
        if capsule is None or not self._has_all(capsule) or not closed(self.spec, capsule):
            return None
        if self._orders > 1 and self._orders * capsules.orders((capsule,)) > capsules.MOST_TOGETHER:
            return None
        if self._steps + capsules.executed((capsule,)) > MOST_STEPS:
            return None
        known, own = {name for name, _ in self.bound} | self._enclosed_names, variables((capsule,))
        taken = sorted(own & known)
        self._names |= own
        names: dict[str, Ref] = {}
        for name in taken:
            names[name] = Ref(self.name(name.rstrip("0123456789") or "v", 1))
            self._names.add(names[name].name)
        (capsule,) = renamed((capsule,), names) if names else (capsule,)
        self._note(capsule)
        return capsule

    def _has_all(self, capsule: Statement) -> bool:
        there = all(s.function in self.facts for s in walk((capsule,)) if isinstance(s, Call))
        return there and asked_for(Program((capsule,))) <= self.capabilities

    def _note(self, capsule: Statement) -> None:
        """`capsule` stands here: its names are no others', and it costs what it costs."""
        names, steps = variables((capsule,)), capsules.executed((capsule,))
        self._names |= names
        self._enclosed_names |= names
        self._steps += steps
        self._enclosed_steps += steps
        self._orders *= capsules.orders((capsule,))

    def _made_anew(self, capsule: Statement) -> Statement | None:
        """What is left of a capsule when it is followed as a program of its own, which gives back all that it made."""
        inner = Follower(self.spec, self.capabilities - {Capability.LIVE_COUNT}, self.choose, self.only)
        inner._enclosing = True
        inner._names.update(variables((capsule,)))
        body = capsules.contents(capsule)
        if isinstance(capsule, Steady):
            body = capsules.disarmed(tuple(s for s in body if not isinstance(s, When) and not capsules.holds(s)))
        else:
            body = tuple(s for s in body if not isinstance(s, FailAllocation | When))
        counters = {capsule.loop: 0} if isinstance(capsule, Repeat) else {}
        try:
            kept = tuple(s for s in (inner._follow(each, counters) for each in body) if s is not None)
        except _BrokenError:
            return None
        if not kept:
            return None
        given_back, leaves = capsules.cleanup(self.spec, kept)
        return capsules.filled(capsule, (*kept, *given_back), leaves)

    def _threads(self, parallel: Parallel, counters: Counters) -> Parallel:
        """The calls of each thread, one thread after the other; what one has made no other one uses. Raises
        _BrokenError where fewer than two are left."""
        made: list[tuple[dict[Key, Bound], dict[Key, Handle]]] = []
        branches: list[tuple[Statement, ...]] = []
        for branch in parallel.branches[: THREADS[1]]:
            before = dict(self.bound)
            calls = (s for s in branch[:MAX_THREAD_CALLS] if isinstance(s, Call))
            kept = tuple(call for call in (self._call(call, counters) for call in calls) if call is not None)
            made.append(self._hidden(before))
            self._enclosed_names |= {name for name, _ in made[-1][0]}
            if kept:
                branches.append(kept)
        for bound, handles in made:
            self._enclosed_names -= {name for name, _ in bound}
            self.bound.update(bound)
            for key, handle in handles.items():
                self.handles[handle.item.kind][key] = handle
        if len(branches) < THREADS[0]:
            raise _BrokenError
        return Parallel(tuple(branches))

    def _hidden(self, before: dict[Key, Bound]) -> tuple[dict[Key, Bound], dict[Key, Handle]]:
        """What was bound since `before`, and its handles, which stand for nothing until they are brought back."""
        bound = {key: self.bound.pop(key) for key in [*self.bound] if before.get(key) is not self.bound[key]}
        handles = {key: pool.pop(key) for pool in self.handles.values() for key in bound if key in pool}
        return bound, handles

    def _call(self, call: Call, counters: Counters) -> Call | None:
        known = self.facts.get(call.function)
        if known is None:
            return None
        ready = self._arguments(call, known, counters)
        if ready is None:
            return None
        values, args, bulky = ready
        mended = Call(call.function, values, self._target(call.target, counters))
        shortened = self.tracker.shortened
        self.tracker.shortened = shortened or bulky
        self.place(mended, known, args, counters)
        self.tracker.shortened = shortened
        return mended

    def _repeat(self, repeat: Repeat, counters: Counters) -> Repeat | None:
        """Follow the iterations that stand for all; where a later one breaks, the count ends before it."""
        count = self._allowed(repeat)
        places = _places_of(count)
        shortened, outer = self.tracker.shortened, self._strict
        self.tracker.shortened = shortened or count > EXACT
        self._weight *= count
        try:
            kept = [s for s in (self._follow(s, {**counters, repeat.loop: 0}) for s in repeat.body) if s is not None]
            done = self._again(tuple(kept), repeat.loop, places[1:], counters)
        finally:
            self.tracker.shortened, self._strict = shortened, outer
            self._weight //= count
        if done < len(places) and outer:
            raise _BrokenError
        if done < len(places):
            self.tracker.blur()
            count = done
        return replace(repeat, count=count, body=tuple(kept)) if kept else None

    def _allowed(self, repeat: Repeat) -> int:
        """The number of iterations, cut to what one program may execute."""
        if self._strict:
            return repeat.count
        each = self._weight * max(1, len(repeat.body))
        count = max(1, min(repeat.count, (MOST_STEPS - self._steps) // each))
        self._steps += count * each
        return count

    def _again(self, body: tuple[Statement, ...], loop: str, places: Any, counters: Counters) -> int:
        """How many iterations could be followed, the first included."""
        self._strict, done = True, 1
        for place in places:
            if place == 1 and places[-1] >= EXACT:
                self._begin_bulk(body, loop, places[-1])
            before = dict(self.bound)
            try:
                if place >= EXACT and self._alike(body, loop, place, counters):
                    return len(places) + 1
                for statement in body:
                    self._follow(statement, {**counters, loop: place})
            except _BrokenError:
                self._forget(before)
                return done
            done += 1
        return done

    def _forget(self, before: dict[Key, Bound]) -> None:
        """What was bound since `before` stands for nothing that can be used: it is not so in the program."""
        for key, bound in self.bound.items():
            if before.get(key) is not bound:
                for pool in self.handles.values():
                    pool.pop(key, None)
                self.located.pop(key, None)
                self.bound[key] = Bound(bound.facts, {}, None)

    def _alike(self, body: tuple[Statement, ...], loop: str, place: int, counters: Counters) -> bool:
        """Whether the iteration would meet the very handles, in the bulk of arrays, that iteration 1 has met."""
        refs = [value for s in body if isinstance(s, Call) for _, value in s.args if isinstance(value, Ref)]
        moving = [ref for ref in refs if ref.index is not None and ref.index.loop == loop]
        return any(
            self._bulky(key) and key == self.key(ref.name, ref.index, {**counters, loop: 1})
            for ref in moving
            for key in (self.key(ref.name, ref.index, {**counters, loop: place}),)
        )

    def _begin_bulk(self, body: tuple[Statement, ...], loop: str, end: int) -> None:
        """From here on one place stands for all places 1 to `end - 1` of the arrays that the loop fills."""
        for statement in body:
            target = statement.target if isinstance(statement, Call) else None
            if target is not None and target.index is not None and target.index.loop == loop:
                self._bulks.setdefault(target.name, (target.index.offset + 1, target.index.offset + end))

    def _until(self, until: UntilSame, counters: Counters) -> UntilSame | None:
        """As if the handle came again at the first attempt: what is found and the first attempt are then one."""
        known, target, like = self.facts.get(until.call.function), until.call.target, self._ref(until.like)
        bound = self.bound.get(self.key(like.name, like.index, counters))
        if known is None or not known.made or target is None or bound is None or bound.principal is None:
            self._refuse()
            return None
        ready = self._arguments(until.call, known, counters)
        if ready is None:
            return None
        if not self._strict:
            name, found = self._free_name(target.name), self._free_name(until.found)
            until = replace(
                until, found=found, like=like, call=Call(until.call.function, ready[0], Target(name, target.index))
            )
        addresses = bound.principal.addresses
        outcome, items = self.tracker.call(known, ready[1], addresses[0] if addresses else None)
        if outcome is not Outcome.ERROR and until.call.target is not None:
            self._bind(Target(until.call.target.name, Index(0)), known, items, counters)
            self._bind(Target(until.found), known, items, counters)
        return replace(until, at_most=min(until.at_most, MOST_ATTEMPTS))

    def _touch(self, touch: Write | Read, counters: Counters) -> Write | Read | None:
        ref = self._ref(touch.ref)
        key = self.key(ref.name, ref.index, counters)
        region, bound = self.located.get(key), self.bound.get(key)
        if Capability.DATA_ACCESS not in self.capabilities or region is None or bound is None:
            self._refuse()
            return None
        size = self.tracker.machine.size_of(region)
        alias = not bound.facts.made and bound.principal is not None and not self.tracker.settled(bound.principal)
        if size == 0 or alias or not self.tracker.touchable(region):
            self._refuse()
            return None
        return self._clamped(replace(touch, ref=ref), size)

    def _clamped(self, touch: Write | Read, size: int) -> Write | Read | None:
        """The touch, moved and cut so that it ends within `size` bytes."""
        length = touch.length if isinstance(touch, Read) else touch.data.length
        fitting = min(length, size, LARGEST_TOUCH)
        offset = min(touch.offset, size - fitting)
        if (fitting, offset) == (length, touch.offset):
            return touch
        if self._strict:
            raise _BrokenError
        if isinstance(touch, Read):
            return replace(touch, offset=offset, length=fitting)
        return replace(touch, offset=offset, data=resized(touch.data, fitting))

    def _invoke(self, invoke: Invoke, counters: Counters) -> Invoke | None:
        ref = self._ref(invoke.function)
        bound = self.bound.get(self.key(ref.name, ref.index, counters))
        if bound is None or (ref.field or "") not in bound.facts.function.invokes:
            self._refuse()
            return None
        return replace(invoke, function=ref)

    def _when(self, when: When, counters: Counters) -> When | None:
        doubtful = self.tracker.doubtful
        self.tracker.doubtful = True
        try:
            kept = [s for s in (self._follow(s, counters) for s in when.body) if s is not None]
        finally:
            self.tracker.doubtful = doubtful
        return replace(when, body=tuple(kept)) if kept else None

    def _fail(self, statement: FailAllocation, nth: int) -> FailAllocation | None:
        if Capability.FAULT_INJECTION not in self.capabilities:
            return None
        self._armed = self.tracker.doubtful = nth > 0
        return statement

    def _refuse(self) -> None:
        if self._strict:
            raise _BrokenError

    # -- arguments

    def _arguments(
        self, call: Call, known: Facts, counters: Counters
    ) -> tuple[tuple[tuple[str, Value], ...], dict[str, Any], bool] | None:
        """Arguments that can be used, their model values, and whether one stands for many handles."""
        given = dict(call.args)
        args: dict[str, Any] = {}
        values: list[tuple[str, Value]] = []
        bulky = False
        for param in known.function.signature.params:
            value = self._argument(known.function, param, given, counters)
            if value is _DROP:
                return None
            if value is None:
                args[param.name] = CELL
                continue
            args[param.name] = self._model(value, param, counters)
            values.append((param.name, value))
            if isinstance(value, Ref):
                bulky = bulky or self._bulky(self.key(value.name, value.index, counters))
        return tuple(values), args, bulky

    def _argument(self, function: Function, param: Param, given: dict[str, Value], counters: Counters) -> Any:
        """A value that fits `param`; None to leave it out, `_DROP` when there is none."""
        value = given.get(param.name)
        if isinstance(value, Null) and (param.out or param.kind is not Kind.INTEGER):
            return value
        if param.out:
            return None
        if param.kind is Kind.HANDLE:
            return self._handle(param, value, counters)
        if param.kind is Kind.INTEGER:
            return self._integer(function, param, value, counters)
        if param.kind is Kind.ROOM:
            return value if isinstance(value, Room) and value.size >= self._measured(param, given) else None
        if param.kind is Kind.DATA:
            data = (
                value if isinstance(value, Fill | Ramp | Literal) else function.typical.get(param.name, Fill(0x5A, 8))
            )
            needed = self._measured(param, given)
            return data if isinstance(data, Fill | Ramp | Literal) and data.length >= needed else longer(data, needed)
        if param.kind is Kind.CALLBACK:
            return value if isinstance(value, Callback) and value.number < 4 else Callback(1)
        return value if isinstance(value, Object) else Object(1)

    def _handle(self, param: Param, value: Value | None, counters: Counters) -> Any:
        if isinstance(value, Ref):
            ref = self._ref(value)
            bound = self.bound.get(self.key(ref.name, ref.index, counters))
            item = None if bound is None else bound.items.get(ref.field) if ref.field else bound.principal
            if item is not None and item.kind == param.handle and self.tracker.usable(item):
                return ref
        if self._strict:
            raise _BrokenError
        there = self.usable(param.handle)
        return self.choose(there).ref if there else _DROP

    def _integer(self, function: Function, param: Param, value: Value | None, counters: Counters) -> Any:
        if isinstance(value, Int):
            if value.value >> param.bits:
                return replace(value, value=value.value & ((1 << param.bits) - 1))
            return value
        if isinstance(value, Ref) and not any(p.measure == param.name for p in function.signature.params):
            ref = self._ref(value)
            bound = self.bound.get(self.key(ref.name, ref.index, counters))
            if bound is not None and any(
                p.name == ref.field and p.out and p.kind is Kind.INTEGER for p in bound.facts.function.signature.params
            ):
                return ref
        if self._strict:
            raise _BrokenError
        return function.typical.get(param.name, Int(1))

    def _measured(self, param: Param, given: dict[str, Value]) -> int:
        """Bytes of the caller that a call which states its measure may use."""
        measure = given.get(param.measure)
        if not isinstance(measure, Int):
            return 1
        return max(1, default_room(measure.value)) if measure.loop is None else 4096

    def _model(self, value: Value, param: Param, counters: Counters) -> Any:
        if isinstance(value, Ref):
            bound = self.bound[self.key(value.name, value.index, counters)]
            item = bound.items.get(value.field) if value.field else bound.principal
            return UNKNOWN if item is None else item
        return _plain(value, param.ctype, counters)

    # -- clean-up

    def _cleanup(self) -> tuple[Statement, ...]:
        """Calls that take away what is registered, then calls that give handles back, last made first."""
        made: list[Statement] = []
        for act, reverse in (("drop", False), ("free", True)):
            for known, param, kind in givers(self.spec, act):
                if known.function.name not in self.facts:
                    continue
                keys = [*self.handles[kind]]
                calls = [
                    h
                    for key in (reversed(keys) if reverse else keys)
                    if (h := self._given_back(known, param, kind, key, act))
                ]
                made.extend(compressed(known.function.name, param, calls))
        return tuple(made)

    def _given_back(self, known: Facts, param: str, kind: str, key: Key, act: str) -> Handle | None:
        """The handle, when the call on it certainly succeeds and is needed; it is followed then."""
        handle, tracker = self.handles[kind][key], self.tracker
        if not tracker.usable(handle.item):
            return None
        if act == "drop" and not any(handle.item in held for held in tracker.machine.collections.values()):
            return None
        outcome, _ = tracker.call(known, {param: handle.item}, certainly=True)
        return handle if outcome is Outcome.SUCCESS else None


def closed(spec: Spec, capsule: Statement) -> bool:
    """Whether a capsule can stand in any program: whatever the order of its calls and the answers at open points, none
    of them is undefined, and all that it made and can give back is given back."""
    return _closed(compile_rules(spec), numbered((capsule,))[0])


@functools.lru_cache(maxsize=8192)
def _closed(rules: Rules, capsule: Statement) -> bool:
    spec = rules.spec
    if not isinstance(capsule, Repeat | Steady) or not capsules.affordable(capsule) or capsules.swells(spec, capsule):
        return False
    if not (_well_formed(capsule) and _unmended(spec, capsule)):
        return False
    left = capsules.leaves(spec, capsule)
    if left:
        return isinstance(capsule, Repeat) and capsule.count <= capsules.LEAVING_ROUNDS
    return left == 0


def _well_formed(capsule: Statement) -> bool:
    try:
        check_statement(capsule, ())
    except ProgramError:
        return False
    return True


def _unmended(spec: Spec, capsule: Repeat | Steady) -> bool:
    """Whether every statement of a capsule can stay as it is, as far as one order of them tells."""
    follower = Follower(spec, frozenset(Capability) - {Capability.LIVE_COUNT})
    follower._strict = follower._enclosing = follower.tracker.lenient = True
    counters = {capsule.loop: 0} if isinstance(capsule, Repeat) else {}
    try:
        return all(follower._follow(each, counters) == each for each in capsule.body)
    except _BrokenError:
        return False


_DROP = object()


def _plain(value: Value, ctype: str, counters: Counters) -> Any:
    """The model value of an argument that refers to nothing; bytes are only not NULL."""
    match value:
        case Int(value=number, loop=loop):
            return number + (counters[loop] if loop else 0)
        case Null():
            return None
        case Callback(number=number):
            return f"callback:{ctype}:{number}"
        case Object(number=number):
            return f"object:{number}"
    return CELL


def _places_of(count: int) -> tuple[int, ...]:
    """The iterations that stand for all of `count`."""
    return tuple(range(count)) if count <= EXACT else (0, 1, count - 1)
