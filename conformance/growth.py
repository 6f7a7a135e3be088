"""Cases of growth: what gives back all that it takes, so often that memory which is never given back shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from acl_cts.conformance.case import Case
from acl_cts.conformance.draft import SUBJECT, Draft, probe, state, touches
from acl_cts.conformance.share import weight
from acl_cts.specs.model import Clause, Function, Spec
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Call, Int, Live, Repeat, Statement, Steady, Target, children
from acl_cts.specs.trace import Capability

GROUP = "growth"

AT_MOST = 2**22
"""Turns after which even the smallest piece of memory, lost in each, is more than a library may keep for later."""

AT_LEAST = 2**10
"""Turns of a short cycle. What is lost piece by piece may show in the process only whenever a large block is full."""

MANY = 2**16
"""Turns of the simplest cycle of each kind. It has a process of its own: a table that only grows would be large after
other cases, and not grow again for long."""

FEWEST = 2**7
"""Turns of the longest cycles."""

CALLS = 2**13
"""Calls that a case makes at least, if that is not more turns than `AT_LEAST`."""

LARGE = 2**22
"""Bytes of an area that an allocator treats otherwise than small ones: its memory comes from elsewhere."""

NEEDS = frozenset({Capability.MEMORY})

_SELF_CONTAINED = frozenset({"simple", "limit", "null", "state"})
"""Groups of cases of which one alone tells how a call is refused."""


def growth_drafts(spec: Spec, cases: Iterable[Case]) -> Iterator[Draft]:
    """Every state built and given back; every way to be refused; every call with a failed inner allocation. `cases`:
    those that are made otherwise, of which the refused calls are taken."""
    usable = [case for case in cases if not (case.leaves or case.solo or case.planned)]
    yield from _states(spec)
    for function in spec.functions.values():
        yield from _large(spec, function)
        yield from _refused(function, [c for c in usable if c.group in _SELF_CONTAINED and not c.needs])
        yield from _failed(function, [c for c in usable if c.group == "fault"])


def _states(spec: Spec) -> Iterator[Draft]:
    for kind, described in spec.kinds.items():
        makers = [f.name for f in spec.functions.values() if kind in f.creates.values()]
        for place, name in enumerate(described.states):
            once = state(spec, kind, name)
            known = plan(spec, once)
            if not (known.undefined or known.leaves):
                cycle = (*once, *known.cleanup)
                label = f"{kind}-{name}"
                draft = _draft(described.family, makers[0], label, cycle, _turns(cycle) if place else MANY)
                yield replace(draft, solo=not place)


def _large(spec: Spec, function: Function) -> Iterator[Draft]:
    """A large area, touched at both ends: memory that nobody touched costs nothing, so that its loss would not show."""
    kind = next(iter(function.creates.values()), "")
    if not kind or not spec.kinds[kind].holds or function.takes is None or not function.takes.size:
        return
    args = {**function.typical, function.takes.size: Int(LARGE)}
    call = Call(function.name, tuple(args.items()), Target(SUBJECT))
    once = (call, *probe(spec, kind), *touches(SUBJECT, LARGE))
    cycle = (*once, *plan(spec, once).cleanup)
    draft = _draft(function.family, function.name, f"{kind}/{LARGE}-bytes", cycle, AT_LEAST)
    yield replace(draft, needs=NEEDS | {Capability.DATA_ACCESS})


def _refused(function: Function, cases: list[Case]) -> Iterator[Draft]:
    """Every clause by which the function refuses a call, each in the shortest case that exercises it."""
    taken: dict[str, Case] = {}
    for clause in _refusals(function):
        own = (c for c in cases if clause.id in c.clauses and c.id.split("/")[2] == function.name)
        shortest = min(own, key=lambda case: (weight(case), case.id), default=None)
        if shortest is not None:
            taken.setdefault(shortest.id, shortest)
    if taken:
        cycle = tuple(statement for case in taken.values() for statement in _uncounted(case))
        yield _draft(function.family, function.name, "refused", cycle, _turns(cycle))


def _refusals(function: Function) -> list[Clause]:
    return [clause for clause in function.clauses if clause.outcome == "error"]


def _failed(function: Function, cases: list[Case]) -> Iterator[Draft]:
    for case in cases:
        _, _, name, label = case.id.partition("~")[0].split("/", 3)
        if name == function.name:
            cycle = _uncounted(case)
            drafted = _draft(function.family, name, f"failed/{label}", cycle, _turns(cycle))
            yield replace(drafted, needs=NEEDS | case.needs)


def _uncounted(case: Case) -> tuple[Statement, ...]:
    """The whole program of a case, without its counts of what lives."""
    return tuple(s for s in (*case.program.body, *case.program.cleanup) if not isinstance(s, Live))


def _draft(family: str, function: str, label: str, cycle: tuple[Statement, ...], turns: int) -> Draft:
    body = (Steady(turns, AT_MOST, cycle),)
    return Draft(family, GROUP, function, label, body, needs=NEEDS, balance=False)


def _turns(cycle: tuple[Statement, ...]) -> int:
    """A power of two: as many as make enough calls."""
    turns = AT_LEAST
    while turns > FEWEST and turns * sum(map(_calls, cycle)) > CALLS:
        turns //= 2
    return turns


def _calls(statement: Statement) -> int:
    times = statement.count if isinstance(statement, Repeat) else 1
    return isinstance(statement, Call) + times * sum(map(_calls, children(statement)))
