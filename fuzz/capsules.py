"""Capsules: threads, and cycles that memory is watched over, each closed in itself.

What threads do to a handle depends on the order in which they come, so nothing outside may share a handle with them;
and a cycle is repeated as often as it takes, so each turn must give back all that it made. A capsule is a statement
that holds threads or a cycle and keeps to both: every handle that it uses is made in it and given back in it. What is
true of it in every order, and at every open point, a plan decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial, prod

from acl_cts.conformance.growth import AT_LEAST, AT_MOST, CALLS, FEWEST, LARGE, MANY
from acl_cts.conformance.share import work
from acl_cts.specs.model import Spec
from acl_cts.specs.plan import MAX_ITERATIONS, MAX_ORDERS, plan
from acl_cts.specs.program import (
    Call,
    FailAllocation,
    Int,
    Parallel,
    Program,
    Repeat,
    Statement,
    Steady,
    UntilSame,
    When,
    children,
    walk,
)

MOST_ROUNDS = 64
"""Times that the threads of one capsule meet at most."""

LEAVING_ROUNDS = 2
"""As many at most where a round cannot give back all that it made."""

MOST_ORDERS, MOST_TOGETHER = MAX_ORDERS, 20
"""Orders in which the calls of all threads may come, in one capsule and in all of a program together."""

MOST_FOLLOWED = 600
"""Statements that are followed for one round or turn at most, all orders of its calls together."""

HUGE = 5 * 10**9
"""Bytes of an area that nobody grants."""

SIMPLEST = 2
"""Statements of the shortest cycle: one thing made and given back."""

TURN_COST = 10
"""Turns of a cycle, call by call, that cost as much as one statement executed and judged; measured."""

THREAD_COST = 5
"""What a statement in rounds of threads costs more than one elsewhere: its answers are followed in every order."""

CROWDED = 64
"""Iterations of repeats after which no capsule comes: what is alive then has to be carried along in every order."""


def holds(statement: Statement) -> bool:
    """Whether threads or a watched cycle are in `statement`."""
    if isinstance(statement, Parallel | Steady):
        return True
    return isinstance(statement, Repeat | When) and any(map(holds, statement.body))


def contents(capsule: Statement) -> tuple[Statement, ...]:
    """What one round or one turn consists of."""
    return capsule.body if isinstance(capsule, Repeat | Steady) else (capsule,)


def filled(capsule: Statement, body: tuple[Statement, ...], leaves: bool) -> Repeat | Steady:
    """A capsule like this one, of what `body` holds, repeated as often as can be afforded. `leaves`: a round does not
    give back all that it makes."""
    if isinstance(capsule, Steady):
        return Steady(
            min(capsule.at_least, most_turns(body)), min(max(capsule.at_least, capsule.at_most), AT_MOST), body
        )
    count = min(capsule.count if isinstance(capsule, Repeat) else 1, LEAVING_ROUNDS if leaves else MOST_ROUNDS)
    return Repeat(count, capsule.loop if isinstance(capsule, Repeat) else "round", body)


def turns(body: tuple[Statement, ...]) -> int:
    """How often a cycle turns at the least: so often that its calls are enough to tell, and not many more."""
    count = AT_LEAST
    while count > FEWEST and count * executed(body) > CALLS:
        count //= 2
    return count


def most_turns(body: tuple[Statement, ...]) -> int:
    """How often a cycle may turn at the least: more often than 16 bits count where it makes one thing and no more."""
    return MANY if executed(body) <= SIMPLEST else turns(body)


def executed(body: tuple[Statement, ...]) -> int:
    """Statements that are executed in `body`, every iteration counted and every cycle turned as seldom as it may be."""
    return sum(map(_executed, body))


def _executed(statement: Statement) -> int:
    inner = executed(children(statement))
    match statement:
        case Repeat(count=count) | Steady(at_least=count) | UntilSame(at_most=count):
            return max(1, count * inner)
    return max(1, inner)


def burden(program: Program) -> int:
    """What a program may cost, in statements executed and judged."""
    return work(program) + sum(_burden(s) for s in program.body)


def _burden(statement: Statement) -> int:
    """What executing costs beside judging."""
    if not isinstance(statement, Steady) and holds(statement):
        return executed((statement,)) * THREAD_COST
    return executed((statement,)) // TURN_COST


def orders(body: tuple[Statement, ...]) -> int:
    """In how many orders the calls of threads in `body` can come."""
    return prod(_orders(tuple(map(len, each.branches))) for each in walk(body) if isinstance(each, Parallel))


def _orders(lengths: tuple[int, ...]) -> int:
    return factorial(sum(lengths)) // prod(map(factorial, lengths))


def cleanup(spec: Spec, body: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], bool]:
    """What gives back what `body` has made, whichever thread came first; and whether something may be left even so."""
    first = plan(spec, _flat(body, 1))
    if orders(body) == 1:
        return first.cleanup, bool(first.leaves)
    last = plan(spec, _flat(body, -1))
    both = tuple(statement for statement in first.cleanup if statement in last.cleanup)
    return both, bool(first.leaves or last.leaves) or both != first.cleanup or both != last.cleanup


def _flat(body: tuple[Statement, ...], way: int) -> tuple[Statement, ...]:
    """One order of `body`: its threads one after the other, the last one first where `way` is -1."""
    made: list[Statement] = []
    for each in body:
        branches = each.branches[::way] if isinstance(each, Parallel) else ((each,),)
        made += [statement for branch in branches for statement in branch]
    return tuple(made)


def affordable(capsule: Statement) -> bool:
    """Whether a capsule is made of what one may be made of, and can be followed in all its orders."""
    if isinstance(capsule, Repeat):
        most, nested = MOST_ROUNDS, [s for s in capsule.body if holds(s) and not isinstance(s, Parallel)]
        fits = capsule.count <= most and not nested and any(isinstance(s, Parallel) for s in capsule.body)
        body, fails = capsule.body, any(isinstance(s, FailAllocation) for s in walk(capsule.body))
    elif isinstance(capsule, Steady):
        body, fails = capsule.body, disarmed(capsule.body) != capsule.body
        fits = capsule.at_least <= most_turns(body) and capsule.at_most <= AT_MOST and not any(map(holds, body))
    else:
        return False
    repeats = (s.count for s in walk(body) if isinstance(s, Repeat))
    number = orders(body)
    return (
        fits
        and not fails
        and all(count <= MAX_ITERATIONS for count in repeats)
        and number <= MOST_ORDERS
        and number * executed(body) <= MOST_FOLLOWED
    )


def swells(spec: Spec, capsule: Repeat | Steady) -> bool:
    """Whether the areas that a round or turn takes may be more than a library must have, or than one takes again and
    again."""
    largest = 0
    for call in walk(capsule.body):
        takes = spec.functions[call.function].takes if isinstance(call, Call) else None
        asked = dict(call.args).get(takes.size) if isinstance(call, Call) and takes is not None else None
        if isinstance(asked, Int) and asked.value < HUGE:
            largest = max(largest, asked.value)
    return largest > LARGE or largest * executed(capsule.body) > spec.floor.live_bytes


def disarmed(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` with every injected fault around one call of it and taken back behind that; others are left out."""
    made: list[Statement] = []
    for place, statement in enumerate(body):
        before = body[place - 1] if place else None
        if isinstance(statement, FailAllocation):
            follows = body[place + 1] if place + 1 < len(body) else None
            if statement.nth and isinstance(follows, Call):
                made.append(statement)
            continue
        made.append(statement)
        if isinstance(statement, Call) and isinstance(before, FailAllocation) and before.nth:
            made.append(FailAllocation(0))
    return tuple(made)


def leaves(spec: Spec, capsule: Repeat | Steady) -> int | None:
    """How many objects a round or turn may leave behind; None when this is no capsule: some call could be undefined, or
    it does not give back what it can. A call with an injected fault may be refused, and is left out in its turn. One
    round tells of all, as each binds its names anew and finds nothing of the one before."""
    most = 0
    for body in _versions(capsule.body):
        known = plan(spec, body)
        if known.undefined or known.cleanup or known.entangled:
            return None
        most = max(most, known.leaves)
    return most


def _versions(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    yield body
    doubted = [k for k, s in enumerate(body[1:], 1) if isinstance(b := body[k - 1], FailAllocation) and b.nth]
    for place in doubted:
        yield (*body[:place], *body[place + 1 :])
    if len(doubted) > 1:
        yield tuple(s for k, s in enumerate(body) if k not in doubted)
