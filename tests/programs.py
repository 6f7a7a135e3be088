"""Hypothesis strategies: arbitrary well-formed programs and traces, as trees."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from acl_cts.specs.program import (
    MAX_REPEAT,
    MAX_STEADY,
    Call,
    Callback,
    Exit,
    FailAllocation,
    Fill,
    Hooks,
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
)
from acl_cts.specs.program_rules import MAX_BYTES
from acl_cts.specs.trace import (
    Breach,
    CallRecord,
    Capability,
    End,
    Ending,
    Hit,
    InvokeRecord,
    LiveRecord,
    MemoryRecord,
    Phase,
    Pointer,
    Ptr,
    Record,
    SameRecord,
    Sample,
    SkipRecord,
    TouchRecord,
    Trace,
)

Loops = tuple[str, ...]

EDGES = sorted(
    {
        number
        for exponent in (0, 7, 8, 12, 16, 31, 32, 63, 64)
        for distance in (-65, -64, -6, -1, 0, 1, 64, 65)
        if 0 <= (number := 2**exponent + distance) < 2**64
    }
)
WORDS = st.sampled_from(EDGES) | st.integers(0, 2**64 - 1)
LENGTHS = st.sampled_from([n for n in EDGES if n <= MAX_BYTES]) | st.integers(0, 300)
LOOP_NAMES = ("i", "j", "k", "n", "outer", "i_2", "h_i", "rc", "_")
NAMES = st.one_of(
    st.sampled_from(["a", "b", "refs", "g", "buf", "size", "int", "main", "errno", "A_1", "__x", "Z" * 64]),
    st.text("abzAZ_059", max_size=6).map("x".__add__),
)
PARAMS = st.sampled_from(["buf", "size", "len", "index", "dataPtr"]) | NAMES
FUNCTIONS = st.sampled_from(["aclrtAllocBuf", "aclrtFreeBuf", "aclrtCopyBufRef", "aclrtAppendBufChain"]) | NAMES


@cache
def indexes(loops: Loops) -> st.SearchStrategy[Index]:
    return st.builds(Index, st.integers(0, 9) | st.just(MAX_REPEAT), st.sampled_from([None, *loops]))


@cache
def refs(loops: Loops) -> st.SearchStrategy[Ref]:
    return st.builds(Ref, NAMES, st.none() | indexes(loops), st.none() | PARAMS)


@cache
def data() -> st.SearchStrategy[Fill | Ramp | Literal]:
    byte = st.integers(0, 255)
    return st.builds(Fill, byte, LENGTHS) | st.builds(Ramp, byte, LENGTHS) | st.builds(Literal, st.binary(max_size=40))


@cache
def values(loops: Loops) -> st.SearchStrategy[Value]:
    number = st.integers(1, 4)
    return st.one_of(
        st.builds(Int, WORDS, st.sampled_from([None, *loops])),
        st.just(Null()),
        refs(loops),
        data(),
        st.builds(Room, LENGTHS),
        st.builds(Callback, number),
        st.builds(Object, number),
    )


@cache
def calls(loops: Loops, targets: st.SearchStrategy[Target | None]) -> st.SearchStrategy[Call]:
    args = st.lists(st.tuples(PARAMS, values(loops)), max_size=5, unique_by=lambda pair: pair[0]).map(tuple)
    return st.builds(Call, FUNCTIONS, args, targets)


@st.composite
def ranges(draw: st.DrawFn, loops: Loops) -> Statement:
    """A read or a write."""
    ref, offset = draw(refs(loops)), draw(WORDS)
    if draw(st.booleans()):
        return Read(ref, offset, draw(st.integers(0, min(2**64 - offset, 2**64 - 1))))
    what = draw(data())
    return Write(ref, min(offset, 2**64 - what.length - 1), what)


@cache
def simple(loops: Loops) -> st.SearchStrategy[Statement]:
    """Statements that hold no others."""
    target = st.builds(Target, NAMES, st.none() | indexes(loops))
    return st.one_of(
        calls(loops, st.none() | target),
        st.builds(UntilSame, NAMES, refs(loops), st.integers(1, MAX_REPEAT), calls(loops, st.builds(Target, NAMES))),
        ranges(loops),
        st.builds(Invoke, refs(loops), st.lists(values(loops), max_size=3).map(tuple)),
        st.builds(FailAllocation, WORDS),
        st.sampled_from([Live(), Hooks(), Exit()]),
    )


@cache
def statements(loops: Loops = (), depth: int = 0) -> st.SearchStrategy[Statement]:
    """Any statement that may stand inside `loops` and `depth` blocks."""
    if depth >= 8:
        return simple(loops)
    inner = st.deferred(lambda: bodies(loops, depth + 1))
    turns = st.lists(st.integers(1, MAX_STEADY), min_size=2, max_size=2).map(sorted)
    steady = st.builds(lambda turns, body: Steady(turns[0], turns[1], body), turns, inner)
    blocks = steady | st.builds(When, st.booleans(), inner) | parallels(loops)
    return st.integers(0, 9).flatmap(
        lambda kind: repeats(loops, depth) if kind == 8 else blocks if kind == 9 else simple(loops)
    )


@st.composite
def parallels(draw: st.DrawFn, loops: Loops) -> Parallel:
    """Two or three threads, each with names of its own for what it binds."""
    branches = []
    for thread in range(draw(st.integers(2, 3))):
        target = st.none() | st.builds(Target, st.just(f"thread_{thread}"), st.none() | indexes(loops))
        branches.append(tuple(draw(st.lists(calls(loops, target), min_size=1, max_size=4))))
    return Parallel(tuple(branches))


@st.composite
def repeats(draw: st.DrawFn, loops: Loops, depth: int) -> Repeat:
    loop = draw(st.sampled_from([name for name in LOOP_NAMES if name not in loops]))
    return Repeat(draw(st.integers(1, MAX_REPEAT)), loop, draw(bodies((*loops, loop), depth + 1)))


@cache
def bodies(loops: Loops = (), depth: int = 0) -> st.SearchStrategy[tuple[Statement, ...]]:
    return st.lists(statements(loops, depth), max_size=2 if depth else 6).map(tuple)


def programs() -> st.SearchStrategy[Program]:
    """Well-formed programs; most of them make no sense to any library."""
    return st.builds(Program, bodies(), bodies())


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Well-formed traces."""
    raw = st.builds(Pointer, st.integers(1, 2**64 - 1), st.sampled_from(["other", "object:1", "callback:T:2"]))
    pointers = (Pointer(0, "null"), *draw(st.lists(raw, max_size=4)))
    numbers = st.integers(-(2**63), 2**64 - 1)
    scalars = numbers | st.builds(Ptr, st.integers(0, len(pointers) - 1))
    loops = st.lists(st.integers(0, 10**6), max_size=2).map(tuple)
    return Trace(
        records=tuple(draw(st.lists(records(loops, scalars), max_size=8))),
        ending=draw(
            st.builds(
                Ending,
                st.sampled_from(End),
                st.none() | st.integers(0, 99),
                loops,
                st.none() | st.sampled_from(Phase),
                st.text(max_size=9),
                st.text(max_size=9),
            )
        ),
        pointers=pointers,
        capabilities=draw(st.frozensets(st.sampled_from(Capability))),
        output=draw(st.text(max_size=9)),
    )


def records(
    loops: st.SearchStrategy[tuple[int, ...]], scalars: st.SearchStrategy[int | Ptr]
) -> st.SearchStrategy[Record]:
    """Trace records whose pointers come from `scalars`."""
    step, small, text = st.integers(0, 10**6), st.integers(0, 2**32 - 1), st.text(max_size=9)
    outs = st.tuples(text, scalars | st.binary(max_size=9) | st.none())
    hit = st.builds(Hit, text, st.integers(1, 4), st.lists(scalars, max_size=3).map(tuple), st.none() | scalars)
    hits = st.lists(hit, max_size=2).map(tuple)
    sample = st.builds(Sample, small, st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40))
    breaches = st.lists(st.builds(Breach, text, st.integers(-99, 99)), max_size=2).map(tuple)
    outputs = st.lists(outs, max_size=3).map(tuple)
    return st.one_of(
        st.builds(CallRecord, step, loops, text, scalars, outputs, breaches, hits, st.booleans()),
        st.builds(SkipRecord, step, loops, text),
        st.builds(TouchRecord, step, loops, text, st.none() | st.binary(max_size=9), st.none() | small),
        st.builds(InvokeRecord, step, loops, text, st.none() | scalars, hits),
        st.builds(LiveRecord, step, loops, small, small, st.booleans()),
        st.builds(MemoryRecord, step, loops, st.lists(sample, max_size=3).map(tuple)),
        st.builds(SameRecord, step, loops, small),
    )
