"""Cases of threads: what functions do to each other when they are called at the same time.

Every round builds its handles anew, lets the threads run, asks all about the handles and gives them back; the round is
repeated, for the threads meet in another way each time. Which answers are right, every order of the calls taken
together tells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from acl_cts.conformance.draft import (
    OTHER,
    RESULT,
    SUBJECT,
    Draft,
    call_on,
    ends,
    handle_params,
    kinds_of,
    prefixed,
    probe,
    rename,
    state,
)
from acl_cts.conformance.matrix import users
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import (
    Call,
    Callback,
    Fill,
    Index,
    Int,
    Object,
    Parallel,
    Ramp,
    Repeat,
    Statement,
    Target,
)
from acl_cts.specs.trace import Capability

ROUNDS = 40
"""Times that the threads of one case meet."""

ROUNDS_THAT_LEAVE = 1
"""As many where a round cannot give back all that it made."""

PACK = 3
"""Calls of the second thread, beside one of the first: fewer cases, each with few orders."""

LAST_PLACES = 2
"""Rounds in which two threads want the last place; each has a full state to build."""

LIVES = 3
"""Threads that each make a handle and give it back."""

Use = tuple[Function, str]
"""A function and the parameter that takes the handle."""


def thread_drafts(spec: Spec) -> Iterator[Draft]:
    """All cases with threads."""
    yield from _on_one_handle(spec)
    yield from _on_related_handles(spec)
    yield from _on_handles_apart(spec)
    yield from _lives(spec)
    yield from _last_places(spec)


def _on_one_handle(spec: Spec) -> Iterator[Draft]:
    """Every two functions that do not end it, on one handle; a function beside itself as well."""
    for kind, described in spec.kinds.items():
        lasting = [use for use in _judged(spec, kind) if not ends(use[0], kind)]
        for name in described.pairs[:1] if len(lasting) > PACK else described.pairs:
            for place, use in enumerate(lasting):
                for pack in _packs(lasting[place:]):
                    # Last what is called beside itself: calls behind it would put an end to what a race detector sees.
                    pack = pack[::-1]
                    yield from _beside(spec, kind, name, (use, SUBJECT), [(each, SUBJECT) for each in pack])


def _on_related_handles(spec: Spec) -> Iterator[Draft]:
    """What makes or ends a handle that belongs to another one, beside all that can be done to the other one."""
    for kind, described in spec.kinds.items():
        for name in described.pairs:
            made = _made(spec, state(spec, kind, name))
            other = next((each for each in made if each != SUBJECT), "")
            for subject, beside in _ordered(made, other):
                own, its = made[subject], made[beside]
                for use in _judged(spec, own):
                    if ends(use[0], own) or own in use[0].creates.values():
                        for pack in _packs(sorted(_judged(spec, its), key=lambda each: ends(each[0], its))):
                            yield from _beside(spec, kind, name, (use, subject), [(each, beside) for each in pack])


def _ordered(made: dict[str, str], other: str) -> tuple[tuple[str, str], ...]:
    """Which handle is made or ended beside which: of two of one kind, one way is as good as the other."""
    if not other:
        return ()
    alike = made[SUBJECT] == made[other]
    return ((SUBJECT, other),) if alike else ((SUBJECT, other), (other, SUBJECT))


def _on_handles_apart(spec: Spec) -> Iterator[Draft]:
    """The same functions on two handles that have nothing to do with each other."""
    for kind, described in spec.kinds.items():
        lasting = [use for use in _judged(spec, kind) if not ends(use[0], kind)]
        for name in described.pairs[-1:]:
            for pack in _packs(lasting):
                setup = (*prefixed(state(spec, kind, name), "f"), *prefixed(state(spec, kind, name), "g"))
                before, threads = _threads(spec, [[(use, half + SUBJECT) for use in pack] for half in "fg"])
                label = f"{kind}-{name}/{_names(spec, pack, kind)}-apart"
                asked = (*probe(spec, kind, "f" + SUBJECT), *probe(spec, kind, "g" + SUBJECT))
                yield _draft(spec, pack[0][0], label, (*setup, *before), threads, asked)


def _lives(spec: Spec) -> Iterator[Draft]:
    """Threads that each make a handle and give it back."""
    for kind in spec.kinds:
        makers = [f for f in spec.functions.values() if kind in f.creates.values() and not kinds_of(f)]
        enders = [f for f in spec.functions.values() if ends(f, kind)]
        for maker in makers[:1] if enders else ():
            threads = []
            for thread in range(LIVES):
                names = {RESULT: f"r{thread}"}
                args = tuple((name, maker.typical[name]) for name in maker.typical)
                made = Call(maker.name, args, Target(names[RESULT]))
                ended = call_on(spec, enders[0], handle_params(enders[0], kind)[0].name, names[RESULT])
                threads.append((made, *ended))
            if all(len(thread) == 2 for thread in threads):
                yield _draft(spec, maker, f"{kind}/{LIVES}-lives", (), Parallel(tuple(threads)), ())


def _last_places(spec: Spec) -> Iterator[Draft]:
    """A state that is full, with one place left for two threads."""
    for kind, described in spec.kinds.items():
        for name in described.states:
            setup = state(spec, kind, name)
            for place, filling in enumerate(setup):
                if isinstance(filling, Repeat) and filling.count > 1:
                    most = filling.count - 1
                    turns = [_turned(filling.body, filling.loop, most + thread) for thread in range(2)]
                    making = tuple(s for turn in turns for s in turn if isinstance(s, Call) and s.target)
                    threads = Parallel(tuple(tuple(s for s in turn if not _makes(s)) for turn in turns))
                    before = (*setup[:place], dataclasses.replace(filling, count=most), *making, *setup[place + 1 :])
                    function = _last_called(spec, threads)
                    if function is not None:
                        label = f"{kind}-{name}/last-place"
                        yield _draft(spec, function, label, before, threads, probe(spec, kind), LAST_PLACES)


# ------------------------------------------------------------------------------------------------------------- parts


def _beside(spec: Spec, kind: str, name: str, one: tuple[Use, str], pack: Sequence[tuple[Use, str]]) -> Iterator[Draft]:
    """One call beside a few others; beside each of them alone where some order of all could be undefined."""
    (function, param), subject = one
    setup = state(spec, kind, name)
    before, threads = _threads(spec, [[one], list(pack)])
    if len(pack) > 1 and plan(spec, (*setup, *before, threads)).undefined:
        for each in pack:
            yield from _beside(spec, kind, name, one, [each])
        return
    own = _made(spec, setup)[subject]
    its = _made(spec, setup)[pack[0][1]]
    which = "" if subject == pack[0][1] == SUBJECT else f"/{subject}-and-{pack[0][1]}"
    taken = f"{param}-" if len(handle_params(function, own)) > 1 else ""
    label = f"{kind}-{name}{which}/{taken}beside-{_names(spec, [use for use, _ in pack], its)}"
    kinds = {subject: own, pack[0][1]: its}
    asked = [s for handle, its_kind in kinds.items() for s in probe(spec, its_kind, handle)]
    yield _draft(spec, function, label, (*setup, *before), threads, tuple(asked))


def _threads(spec: Spec, threads: Sequence[Sequence[tuple[Use, str]]]) -> tuple[tuple[Statement, ...], Parallel]:
    """A thread for each list of calls, with names and values of its own, and what must be there before."""
    before: list[Statement] = []
    branches: list[tuple[Statement, ...]] = []
    for letter, uses in zip("pqr", threads, strict=False):
        calls: list[Statement] = []
        for number, ((function, param), subject) in enumerate(uses):
            mark = f"{letter}{number or ''}"
            names = {OTHER: f"{mark}_{OTHER}", RESULT: f"{mark}_{RESULT}"}
            made = call_on(spec, function, param, subject)
            *needed, call = made if letter == "p" else _varied(made)
            if isinstance(call, Call) and not function.creates:
                call = dataclasses.replace(call, target=None)  # another name of what has one: given back once only
            before += rename(tuple(needed), names)
            calls += rename((call,), names)
        branches.append(tuple(calls))
    return tuple(before), Parallel(tuple(branches))


def _draft(
    spec: Spec,
    function: Function,
    label: str,
    before: tuple[Statement, ...],
    threads: Parallel,
    asked: tuple[Statement, ...],
    rounds: int = 0,
) -> Draft:
    """Rounds of these threads. The questions are left out where some order could make them undefined."""
    for questions in dict.fromkeys((asked, ())):
        body = (*before, threads, *questions)
        known = plan(spec, body)
        if not known.undefined:
            break
    rounds = rounds or (ROUNDS_THAT_LEAVE if known.leaves else ROUNDS)
    body = (Repeat(rounds, "round", (*body, *known.cleanup)),)
    needs = frozenset((Capability.THREAD_SAFE,))
    return Draft(function.family, "threads", function.name, label, body, needs=needs)


def _judged(spec: Spec, kind: str) -> list[Use]:
    """What takes a handle of `kind`, functions aside that only help to make others callable."""
    return [use for use in users(spec, kind) if not use[0].auxiliary]


def _packs(uses: Sequence[Use]) -> Iterator[Sequence[Use]]:
    for place in range(0, len(uses), PACK):
        yield uses[place : place + PACK]


def _names(spec: Spec, uses: Sequence[Use], kind: str) -> str:
    """The functions, without what all names of their family begin with."""
    return "+".join(
        function.name[_shared(spec.families[function.family].functions) :]
        + (f"({param})" if len(handle_params(function, kind)) > 1 else "")
        for function, param in uses
    )


def _shared(names: Sequence[str]) -> int:
    """How many characters all `names` begin with alike."""
    return next((k for k, letters in enumerate(zip(*names, strict=False)) if len({*letters}) > 1), 0)


def _made(spec: Spec, setup: tuple[Statement, ...]) -> dict[str, str]:
    """Names of single handles that `setup` makes, and their kinds."""
    calls = [s for s in setup if isinstance(s, Call) and s.target is not None and s.target.index is None]
    return {
        call.target.name: kind
        for call in calls
        for kind in spec.functions[call.function].creates.values()
        if call.target is not None
    }


def _makes(statement: Statement) -> bool:
    return isinstance(statement, Call) and statement.target is not None


def _last_called(spec: Spec, threads: Parallel) -> Function | None:
    """The function that the threads call last; None when a thread is no short row of calls."""
    rows = [[s for s in branch if isinstance(s, Call)] for branch in threads.branches]
    if any(len(row) != len(branch) or not row for row, branch in zip(rows, threads.branches, strict=True)):
        return None
    return spec.functions[rows[0][-1].function]


def _varied(node: Any) -> Any:
    """The same call with other bytes, objects, callbacks and numbers, so that whose values are there can be told."""
    if isinstance(node, Callback | Object):
        return dataclasses.replace(node, number=node.number % 3 + 1)
    if isinstance(node, Fill):
        return dataclasses.replace(node, byte=node.byte ^ 0xFF)
    if isinstance(node, Ramp):
        return dataclasses.replace(node, start=(node.start + 100) % 256)
    if isinstance(node, Int) and node.value > 1:
        return dataclasses.replace(node, value=node.value - 1)
    if isinstance(node, tuple):
        return tuple(_varied(item) for item in node)
    if isinstance(node, Call):
        return dataclasses.replace(node, args=_varied(node.args))
    if isinstance(node, Repeat):
        return dataclasses.replace(node, body=_varied(node.body))
    return node


def _turned(node: Any, loop: str, turn: int) -> Any:
    """The same statements as in one turn of `loop`."""
    if isinstance(node, Index) and node.loop == loop:
        return Index(node.offset + turn)
    if isinstance(node, Int) and node.loop == loop:
        return Int(node.value + turn)
    if isinstance(node, tuple):
        return tuple(_turned(item, loop, turn) for item in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        changes = {f.name: _turned(getattr(node, f.name), loop, turn) for f in dataclasses.fields(node)}
        return dataclasses.replace(node, **changes)
    return node
