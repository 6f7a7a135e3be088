"""Interleavings: what the threads of parallel blocks answered, explained by some order of their calls.

Of calls made at the same time nobody knows the order. A block is right when at least one order explains every answer in
it: each thread's calls in their own order, each call as a whole. Several orders may, and what comes later tells which
of them cannot have been; until then all states that they lead to are followed side by side. Nothing is accused while
one state explains what was seen.

States that are alike become one, and a state that has met the same answers before goes where it went then: a repeat
around a block costs no more than what is new in it. `MOST_STEPS` and `MOST_STATES` bound the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from acl_cts.specs.program import (
    Call,
    Index,
    Int,
    Parallel,
    Program,
    Ref,
    Repeat,
    Statement,
    Target,
    children,
    size,
    steps,
    walk,
)
from acl_cts.specs.trace import Ending, Record, SameRecord

MOST_STEPS = 20_000
"""Answers that are followed in one trace, counting every state that one is followed in; what comes then is not
judged."""

MOST_STATES = 64
"""States that are followed side by side; where more could be, nothing is judged any more."""


class Follower(Protocol):
    """Follows answers and judges them as if they had come one after the other."""

    def fork(self) -> Self:
        """A copy that goes its own way."""
        ...

    def follow(self, records: Sequence[Record]) -> bool:
        """Take the next answers; False when nothing after them can be judged."""
        ...

    def forget(self, names: frozenset[str]) -> Self:
        """A copy that has forgotten what `names` stood for."""
        ...

    def recall(self, earlier: Self) -> Self:
        """This follower, which need not be kept apart any more, with all that `earlier` has noted besides."""
        ...

    @property
    def faults(self) -> int:
        """How many discrepancies were found so far."""
        ...

    @property
    def blame(self) -> int:
        """How much was noted that does not speak for this order."""
        ...

    def state(self) -> Hashable:
        """Equal for followers that judge alike what is still to come."""
        ...


F = TypeVar("F", bound=Follower)


class TooManyError(Exception):
    """More orders than are followed."""


@dataclass(frozen=True, slots=True)
class Group:
    """Answers that belong together: those of one block, by thread, or others in a row, whose order is known."""

    records: tuple[Record, ...]
    block: int = -1
    threads: tuple[tuple[Record, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where threads are in a program.

    `thread`: block and number of the thread, by step of a call in one. `holding`: names that each turn binds anew, by
    step of the repeats that hold a block. `depth`: how many of those are around, and `inside`: which one is nearest,
    by step. `around`: steps of the outermost statements that hold a block, and of all in them. `turning`: steps of
    statements that ask for a loop's counter.
    """

    statements: tuple[Statement, ...]
    thread: dict[int, tuple[int, int]]
    holding: dict[int, frozenset[str]]
    depth: tuple[int, ...]
    inside: dict[int, int]
    around: frozenset[int]
    turning: frozenset[int]

    @classmethod
    def of(cls, program: Program) -> Blocks:
        """The blocks of `program`."""
        statements = steps(program)
        thread: dict[int, tuple[int, int]] = {}
        for step, statement in enumerate(statements):
            if isinstance(statement, Parallel):
                place = step + 1
                for number, branch in enumerate(statement.branches):
                    thread.update(dict.fromkeys(range(place, place + len(branch)), (step, number)))
                    place += len(branch)
        around: set[int] = set()
        place = 0
        for statement in (*program.body, *program.cleanup):
            if _holds_block(statement):
                around.update(range(place, place + size(statement)))
            place += size(statement)
        holding = {
            step: _renewed(statements, step)
            for step, each in enumerate(statements)
            if isinstance(each, Repeat) and _holds_block(each)
        }
        inside = {at: step for step in holding for at in range(step + 1, step + size(statements[step]))}
        turning = (step for step, each in enumerate(statements) if _turns(each))
        depth = tuple(_depths((*program.body, *program.cleanup), 0))
        return cls(statements, thread, holding, depth, inside, frozenset(around), frozenset(turning))


@dataclass(slots=True)
class _Way(Generic[F]):
    """A follower and the number of its state."""

    follower: F
    state: int

    @property
    def likelihood(self) -> tuple[int, int]:
        return self.follower.faults, self.follower.blame


_Level = dict[tuple[int, ...], dict[int, _Way[F]]]
"""By how many answers of each thread were followed, the states that this may have led to."""


@dataclass(slots=True)
class Interleaver(Generic[F]):
    """Follows the records of a trace in every order that they may have come in.

    `moved` gives a record of another iteration. `unexplained` is told a follower that got as far as any in a block that
    no order explains, and the answer that it cannot explain; nothing is followed after it.
    """

    program: Program
    ending: Ending
    moved: Callable[[Record, tuple[int, ...]], Record]
    unexplained: Callable[[F, F, Record], None]
    blocks: Blocks = field(init=False)
    blocks_met: int = 0
    _steps: int = 0
    _states: dict[Hashable, int] = field(default_factory=dict)
    _met: dict[tuple[int, Hashable], tuple[_Way[F], ...]] = field(default_factory=dict)
    _turn: tuple[int, tuple[int, ...]] = (-1, ())
    _end: F | None = None

    def __post_init__(self) -> None:
        self.blocks = Blocks.of(self.program)

    def run(self, first: F, records: Sequence[Record]) -> F:
        """The follower that saw all of `records`, the likeliest if there are several. Raises TooManyError."""
        ways = [_Way(first, -1)]
        place = 0
        while place < len(records) and self._end is None:
            threaded = records[place].step in self.blocks.around
            end = place
            while end < len(records) and (records[end].step in self.blocks.around) is threaded:
                end += 1
            stretch, place = records[place:end], end
            if threaded or len(ways) > 1:
                ways = self._records([self._way(way.follower) for way in ways], stretch)
            elif not ways[0].follower.follow(stretch):
                self._end = ways[0].follower
        return self._end or min(ways, key=lambda way: way.likelihood).follower

    def _way(self, follower: F) -> _Way[F]:
        return _Way(follower, self._states.setdefault(follower.state(), len(self._states)))

    def _records(self, ways: list[_Way[F]], records: Sequence[Record]) -> list[_Way[F]]:
        place = 0
        while place < len(records) and self._end is None:
            record = records[place]
            if isinstance(record, SameRecord) and record.step in self.blocks.holding:
                ways = self._same(ways, record, records[:place])
                place += 1
                continue
            ways = self._turned(ways, record)
            group = self._group(records, place)
            place += len(group.records)
            if not self._cut_off(group):
                self.blocks_met += group.block >= 0
                ways = self._take(ways, group)
        return ways

    def _turned(self, ways: list[_Way[F]], record: Record) -> list[_Way[F]]:
        """In a new turn of a repeat, nothing depends on what it will bind anew."""
        repeat = self.blocks.inside.get(record.step, -1)
        turn = repeat, record.loops[: self.blocks.depth[record.step]]
        if repeat < 0 or turn == self._turn:
            return ways
        self._turn = turn
        found: dict[int, _Way[F]] = {}
        for way in ways:
            known = self._met.get((way.state, repeat))
            if known is None:
                known = (self._way(way.follower.forget(self.blocks.holding[repeat])),)
                self._met[way.state, repeat] = known
                _keep(found, known[0])
            else:
                _keep(found, _Way(known[0].follower.recall(way.follower), known[0].state))
        return list(found.values())

    # ------------------------------------------------------------------------------------------------------- groups

    def _group(self, records: Sequence[Record], place: int) -> Group:
        """The group that begins at `place`."""
        first = records[place]
        block, _ = self.blocks.thread.get(first.step, (-1, 0))
        statement = self.blocks.statements[block]
        if block < 0 or not isinstance(statement, Parallel):
            return Group(self._row(records, place))
        threads: list[list[Record]] = [[] for _ in statement.branches]
        taken: list[Record] = []
        for record in records[place:]:
            where, thread = self.blocks.thread.get(record.step, (-1, 0))
            if where != block or record.loops != first.loops or (taken and record.step <= taken[-1].step):
                break
            threads[thread].append(record)
            taken.append(record)
        return Group(tuple(taken), block, tuple(map(tuple, threads)))

    def _row(self, records: Sequence[Record], place: int) -> tuple[Record, ...]:
        """The records from `place` on up to the next of a block, or of another iteration of what holds one."""
        depth = self.blocks.depth[records[place].step]
        loops, end = records[place].loops[:depth], place
        while end < len(records):
            step = records[end].step
            if step in self.blocks.thread or step in self.blocks.holding:
                break
            if self.blocks.depth[step] != depth or records[end].loops[:depth] != loops:
                break
            end += 1
        return tuple(records[place:end])

    def _cut_off(self, group: Group) -> bool:
        """Whether the process ended inside this block: what had begun may have worked without being told."""
        step = self.ending.step
        if step is None or group.block < 0 or self.ending.loops != group.records[0].loops:
            return False
        return group.block in (step, self.blocks.thread.get(step, (-1, 0))[0])

    def _same(self, ways: list[_Way[F]], record: SameRecord, before: Sequence[Record]) -> list[_Way[F]]:
        """Follow the last iteration again for each further one, until the states come again that were there before."""
        depth = len(record.loops)
        block = self._last_iteration(record, before)
        seen: dict[frozenset[int], int] = {}
        turn, end = (block[-1].loops[depth] + 1 if block else 0), record.count
        if not block:
            return ways
        end += turn
        alike = not any(old.step in self.blocks.turning for old in block)
        while turn < end and self._end is None:
            if alike:
                known = seen.setdefault(frozenset(way.state for way in ways), turn)
                if known < turn:
                    alike, end = False, turn + (end - turn) % (turn - known)
                    continue
            again = [self.moved(old, (*old.loops[:depth], turn, *old.loops[depth + 1 :])) for old in block]
            ways = self._records(ways, again)
            turn += 1
        return ways

    def _last_iteration(self, record: SameRecord, before: Sequence[Record]) -> list[Record]:
        """The records of the iteration that `record` says came again."""
        depth = len(record.loops)
        inside = range(record.step + 1, record.step + size(self.blocks.statements[record.step]))
        block: list[Record] = []
        for earlier in reversed(before):
            if earlier.step not in inside or earlier.loops[:depth] != record.loops:
                break
            if block and earlier.loops[depth] != block[0].loops[depth]:
                break
            block.append(earlier)
        return block[::-1]

    # ---------------------------------------------------------------------------------------------------- following

    def _take(self, ways: list[_Way[F]], group: Group) -> list[_Way[F]]:
        """Every state that some order of `group` leads to; when there is none, the likeliest one, accused."""
        answers = self._answers(group)
        found: dict[int, _Way[F]] = {}
        for way in ways:
            for further in self._known(way, group, answers):
                _keep(found, further)
        if self._end is not None:
            return []
        if len(found) > MOST_STATES:
            raise TooManyError
        return list(found.values()) or [self._accused(min(ways, key=lambda way: way.likelihood), group)]

    def _known(self, way: _Way[F], group: Group, answers: Hashable) -> Iterable[_Way[F]]:
        """Where `group` leads from `way`: as it did before, if it was met before."""
        met = self._met.get((way.state, answers))
        if met is not None:
            return [_Way(known.follower.recall(way.follower), known.state) for known in met]
        level = self._explored(way, group)
        whole = tuple(len(thread) for thread in group.threads or (group.records,))
        made = tuple(level.get(whole, {}).values())
        self._met[way.state, answers] = made
        return made

    def _explored(self, way: _Way[F], group: Group) -> _Level[F]:
        """How far the orders of `group` explain its answers, and the states that they lead to, each once."""
        if group.block < 0:
            made = self._next(way, group.records)
            return {} if made is None else {(len(group.records),): {made.state: made}}
        threads = group.threads
        level: _Level[F] = {(0,) * len(threads): {way.state: way}}
        for _ in group.records:
            further: _Level[F] = {}
            for places, states in level.items():
                for number, thread in enumerate(threads):
                    if places[number] < len(thread):
                        after = (*places[:number], places[number] + 1, *places[number + 1 :])
                        for each in states.values():
                            made = self._next(each, (thread[places[number]],))
                            if made is not None:
                                _keep(further.setdefault(after, {}), made)
            if not further or self._end is not None:
                return level
            level = further
        return level

    def _next(self, way: _Way[F], records: Sequence[Record]) -> _Way[F] | None:
        """`way` after these answers; None when they are not explained."""
        self._steps += len(records)
        if self._steps > MOST_STEPS:
            raise TooManyError
        follower = way.follower.fork()
        going_on = follower.follow(records)
        if follower.faults > way.follower.faults:
            return None
        if not going_on:
            self._end = follower
        return self._way(follower)

    def _accused(self, way: _Way[F], group: Group) -> _Way[F]:
        """`way` after `group`, which nothing explains."""
        if group.block < 0:
            follower = way.follower.fork()
            if not follower.follow(group.records):
                self._end = follower
            return self._way(follower)
        places, states = next(iter(self._explored(way, group).items()))
        nearest = min(states.values(), key=lambda each: each.likelihood).follower
        number = next(k for k, thread in enumerate(group.threads) if places[k] < len(thread))
        record = group.threads[number][places[number]]
        follower = nearest.fork()
        follower.follow((record,))
        self.unexplained(way.follower, follower, record)
        self._end = follower
        return _Way(follower, -1)

    def _answers(self, group: Group) -> Hashable:
        """What was answered; in which iteration, only where that matters."""
        if any(record.step in self.blocks.turning for record in group.records):
            return group.records
        return tuple(self.moved(record, ()) for record in group.records)


def _keep(found: dict[int, _Way[F]], made: _Way[F]) -> None:
    """Of two ways to the same state, the likelier one stays."""
    other = found.get(made.state)
    if other is None or made.likelihood < other.likelihood:
        found[made.state] = made


def _holds_block(statement: Statement) -> bool:
    return any(isinstance(each, Parallel) for each in walk((statement,)))


def _renewed(statements: tuple[Statement, ...], step: int) -> frozenset[str]:
    """Names that each turn of the repeat at `step` binds before it uses them, and nothing outside uses."""
    body = range(step + 1, step + size(statements[step]))
    used: dict[str, bool] = {}  # whether a name is bound where it is first met
    for at in body:
        statement = statements[at]
        target = statement.target if isinstance(statement, Call) else None
        for name in _names(statement):
            used.setdefault(name, False)
        if target is not None:
            used.setdefault(target.name, target.index is None)
    outside = {name for at, each in enumerate(statements) if at not in body for name in _names(each)}
    return frozenset(name for name, bound in used.items() if bound and name not in outside)


def _names(node: Any) -> Iterator[str]:
    """Names that `node` refers to, statements that it holds aside."""
    if isinstance(node, Ref):
        yield node.name
    elif isinstance(node, tuple):
        for each in node:
            yield from _names(each)
    else:
        yield from _names(tuple(getattr(node, name) for name in _PARTS if hasattr(node, name)))


_PARTS = ("ref", "function", "like", "args", "call")
"""Parts of statements in which names and counters may stand."""


def _depths(statements: Sequence[Statement], depth: int) -> Iterator[int]:
    for statement in statements:
        yield depth
        inner = depth + (isinstance(statement, Repeat) and _holds_block(statement))
        yield from _depths(children(statement), inner)


def _turns(node: Any) -> bool:
    """Whether a loop's counter stands in `node`, statements that it holds aside."""
    if isinstance(node, Int | Index):
        return node.loop is not None
    if isinstance(node, tuple):
        return any(map(_turns, node))
    if isinstance(node, Call):
        return _turns(node.args) or _turns(node.target)
    if isinstance(node, Ref | Target):
        return _turns(node.index)
    return _turns(tuple(getattr(node, name) for name in _PARTS if hasattr(node, name)))
