"""Weaver: rounds of threads, and cycles, put together from the bytes of one decision.

A round brings a handle into one of its states, lets two or three threads loose on it and on what belongs to it, and
asks all about it. A cycle is a small program. What gives back what they made, and whether all of it is defined in every
order, is the follower's business.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from acl_cts.conformance.growth import AT_MOST
from acl_cts.fuzz import capsules
from acl_cts.fuzz.choices import COUNT, SLOTS, SOME_NULL, TAG, Choices, Inner
from acl_cts.fuzz.form import Form
from acl_cts.fuzz.handles import Handle
from acl_cts.fuzz.macros import Macro
from acl_cts.specs.program import Call, Parallel, Repeat, Statement, Steady

if TYPE_CHECKING:
    from acl_cts.fuzz.generator import Builder, Generator

CALLS = 3
"""Calls of one thread at most."""

STRAYING = 4
"""One call in so many strays from plain values."""

REFUSED, FAILING = 168, 208
"""From these bytes on a decision of a cycle has a NULL, or is a call with a failed allocation inside: what a call keeps
that was refused shows nowhere else."""

FULL = 32
"""Below this byte threads want the last place of what is nearly full."""

FEW_ORDERS = 6
"""Orders of the calls of all threads at most: each is followed to the end, at all open points."""

STEPS = 4
"""Decisions of one cycle at most."""

ALIKE, THREE, LIVES = 1, 2, 12
"""Bits of the byte that says what threads are like: all alike; three of them; two, each with a handle of its own."""

_ROUNDS = ((112, 3), (200, 8), (248, 20), (256, 40))
"""Below which byte, how many rounds."""


def filling(macro: Macro) -> tuple[Macro, str, str] | None:
    """A state that is built up, with one turn less: and the function, and its parameter, that would have filled it."""
    for place, statement in enumerate(macro.body):
        if isinstance(statement, Repeat) and statement.count > 2 and isinstance(statement.body[-1], Call):
            last = statement.body[-1]
            fewer = replace(statement, count=statement.count - 1)
            body = (*macro.body[:place], fewer, *macro.body[place + 1 :])
            fixed = [name for name, value in last.args if getattr(value, "index", 0) is None]
            return (replace(macro, name=f"{macro.name}/but-one", body=body), last.function, fixed[0]) if fixed else None
    return None


class Weaver:
    """The rounds of one decision. `inner`: an empty builder."""

    def __init__(self, generator: Generator, inner: Builder, choices: Choices) -> None:
        self._generator = generator
        self._inner = inner
        self._choices = choices
        self._kind = choices.byte(SLOTS + 1)
        self._before: list[Statement] = []
        self._used: set[object] = set()
        self._subjects: list[Handle] = []

    def rounds(self) -> tuple[Repeat, ...]:
        """Rounds of threads, and the same without questions in the end: those may be too much in some order."""
        inner, byte = self._inner, self._choices.byte(COUNT)
        made = self._lives() if self._kind & LIVES == LIVES else self._together(3 if self._kind & THREE else 2)
        threads = [thread for thread in made if thread]
        while len(threads) > 1 and capsules.orders((parallel := Parallel(tuple(map(tuple, threads))),)) > FEW_ORDERS:
            max(threads, key=len).pop()
        if len(threads) < 2:
            return ()
        parallel = Parallel(tuple(map(tuple, threads)))
        start = len(inner.follower.body)
        for subject in self._subjects[:1]:
            if inner.follower.tracker.usable(subject.item):
                inner.ask(subject, 0)
        asked = tuple(inner.follower.body[start:])
        count = next(count for bound, count in _ROUNDS if byte < bound)
        bodies = dict.fromkeys(((*self._before, parallel, *asked), (*self._before, parallel)))
        return tuple(Repeat(count, "round", body) for body in bodies)

    # -- threads on handles that all of them know

    def _together(self, number: int) -> list[list[Call]]:
        wanted = self._set_up()
        threads = []
        for thread in range(2 if wanted else number):
            calls: list[Call] = []
            for turn in range(CALLS):
                like = 0 if self._kind & ALIKE else thread
                byte = self._choices.byte(SLOTS + 3 + CALLS * like + turn)
                if turn and (byte < 128 or wanted):
                    break
                call = self._call(byte >> (turn > 0), thread * CALLS + turn, wanted)
                if call is not None:
                    calls.append(call)
            self._used |= {h.item for h in self._subjects}
            self._inner.follower.conceal({call.target.name for call in calls if call.target is not None})
            threads.append(calls)
        return threads

    def _set_up(self) -> tuple[Form, str] | None:
        """Bring handles into a state; the call that its last place is kept for, if one is."""
        generator, byte = self._generator, self._choices.byte(SLOTS)
        fillings = generator.fillings if self._choices.byte(SLOTS + 2) < FULL else ()
        found = fillings[byte % len(fillings)] if fillings else None
        for statement in (generator.states[byte % len(generator.states)] if found is None else found[0]).body:
            self._inner.follower.add(statement)
        self._before = [*self._inner.follower.body]
        every = [h for kind in generator.handled for h in self._inner.follower.usable(kind) if h.span is None]
        self._subjects = sorted(every, key=lambda handle: handle.ref.name != "x")[:8]
        return None if found is None else (generator.forms[found[1]], found[2])

    def _call(self, byte: int, place: int, use: tuple[Form, str] | None) -> Call | None:
        """One call on one of the handles, on the first one rather than on others."""
        there = [h for h in self._subjects if self._inner.follower.tracker.usable(h.item)]
        if not there:
            return None
        handle = there[byte % len(there) if self._choices.byte(SLOTS + 2) & 1 else 0]
        users = self._generator.users.get(handle.item.kind, ())
        if place == 0:  # what only asks meets nobody
            users = [each for each in users if each[0].facts.function.effect] or users
        form, param = use or (users[byte % len(users)] if users else (None, ""))
        if form is None or form.facts.function.auxiliary or (form.facts.ends and handle.item in self._used):
            return None
        return self._made(form, place, {param: handle}, own=use is not None)

    def _made(self, form: Form, place: int, given: dict[str, Handle], own: bool = False) -> Call | None:
        """The call; what it needs besides is made before the threads start, for it alone now and then, or if `own`."""
        body, mark = self._inner.follower.body, self._choices.byte(TAG)
        start = len(body)
        if own or mark & 1:
            for _, param in form.handles:
                made = None
                if param.name not in given:
                    made = self._inner.insert(self._generator.first[param.handle], 100 + place)
                if made is not None:
                    given[param.name] = made
        simple = (mark + place) % STRAYING > 0
        self._inner.call(form, Inner(0, place, mark & 254 | simple), given)
        *needed, last = body[start:]
        self._before += needed
        return last if isinstance(last, Call) else None

    # -- threads that each have a handle of their own

    def _lives(self) -> list[list[Call]]:
        generator, follower = self._generator, self._inner.follower
        threads: list[list[Call]] = []
        for thread in range(2 if generator.enders else 0):
            byte = self._choices.byte(SLOTS + 3 + (0 if self._kind & ALIKE else thread))
            known, param, kind = generator.enders[byte % len(generator.enders)]
            maker = generator.makers.get(kind)
            made = None if maker is None else self._made(maker, thread, {})
            calls = [made] if made is not None else []
            own = next(
                (h for h in follower.usable(kind) if made and made.target and h.ref.name == made.target.name), None
            )
            users = generator.users.get(kind, ())
            if own is not None and users and byte >= 128:
                form, place = users[(byte >> 1) % len(users)]
                call = None if form.facts.ends else self._made(form, CALLS + thread, {place: own})
                calls += [call] if call is not None else []
            if own is not None:
                calls.append(Call(known.function.name, ((param, own.ref),)))
            follower.conceal({call.target.name for call in calls if call.target is not None})
            threads.append(calls)
        return threads


def cycle(generator: Generator, inner: Builder, choices: Choices) -> Steady | None:
    """A few decisions on their own, to be repeated."""
    for step in range(STEPS):
        place = SLOTS + 3 * step
        operation, seed, more = (choices.byte(place + k) for k in range(3))
        if step and more < 96:
            continue
        mark = (choices.byte(TAG) + step) & 255
        decision = Inner(operation, mark, seed, SOME_NULL if REFUSED <= more < FAILING else 0)
        if more >= FAILING and generator.failing:
            inner.fail(decision)
        elif generator.operations[operation] not in generator.enclosing:
            inner.decide(decision)
    body = tuple(inner.follower.body)
    return Steady(capsules.turns(body), AT_MOST, body) if body else None
