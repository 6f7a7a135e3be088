"""Field reports retold as programs: every row is there, a conforming library passes, the fault of the row is seen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.simulator.session import SimulatorBackend
from acl_cts.conformance.scenario import Scenario, ScenarioError, load_scenarios
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.plan import plan
from acl_cts.specs.program import Program, Repeat, walk
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.suiting import program_problem
from acl_cts.specs.trace import (
    CallRecord,
    Capability,
    End,
    Ending,
    Hit,
    InvokeRecord,
    LiveRecord,
    Output,
    Phase,
    Pointer,
    Ptr,
    Record,
    TouchRecord,
    Trace,
)

A_ROWS = (1, 2, 4, 6, 7, 8, 9, 11, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 27, 28, 30, 32, 33, 35, 37, 38)
B_ROWS = (1, 2, 4, 6, 7, 9, 10, 12, 13, 15, 16, 17, 18, 20)
ROWS = {f"A{n}" for n in A_ROWS} | {f"B{n}" for n in B_ROWS}
PROFILES = ("opposite", "strict", "lenient", "dirty", "shared-length", "tight-resources")

SPEC = load_spec()
SCENARIOS = {f"{s.id}/{s.name}": s for s in load_scenarios()}
EXECUTED = [key for key, s in SCENARIOS.items() if not s.planned]
LONG = {
    key for key, s in SCENARIOS.items() if any(isinstance(x, Repeat) and x.count > 10000 for x in walk(s.program.body))
}

HELD = {
    "A1": "mbuf.set-user.size mbuf.set-user.offset mbuf.set-user.sum mbuf.get-user.size mbuf.get-user.offset "
    "mbuf.get-user.sum mbuf.set-user.refused-keeps mbuf.set-user.succeeds mbuf.get-user.returns mbuf.get-user.exact",
    "A2": "mbuf.set-user.sum mbuf.get-user.sum mbuf.set-user.refused-keeps common.caller-memory",
    "A4": "mbuf.set-user.succeeds mbuf.get-user.returns mbuf.set-user.zero mbuf.get-user.zero",
    "A6": "mbuf.get-user.stale",
    "A7": "mbuf.copy.private-whole mbuf.get-user.returns",
    "A8": "mbuf.copy.private-own",
    "A9": "mbuf.set-len.limit mbuf.set-len.refused-keeps mbuf.get-len.last-set mbuf.get-len.ref-last-set",
    "A11": "mbuf.alloc.limit mbuf.alloc.between-readings mbuf.alloc.succeeds mbuf.data.size mbuf.data.usable",
    "A13": "mbuf.get-len.last-set mbuf.get-len.ref-last-set mbuf.data.size",
    "A14": "mbuf.get-len.fresh mbuf.chain-num.alone mbuf.from-chain.itself mbuf.data.size",
    "A15": "mbuf.alloc.zero mbuf.set-len.zero mbuf.set-user.zero mbuf.get-user.zero mbuf.set-user.null-empty",
    "A16": "mbuf.alloc.null-output mbuf.free.null mbuf.data.null-handle mbuf.data.null-output "
    "mbuf.set-user.null-handle mbuf.set-user.null-data mbuf.get-user.null-handle mbuf.get-user.null-data "
    "mbuf.get-len.null-handle mbuf.get-len.null-output mbuf.set-len.null-handle mbuf.copy.null-handle "
    "mbuf.copy.null-output mbuf.append.null-head mbuf.append.null-buf mbuf.from-chain.null-handle "
    "mbuf.from-chain.null-output mbuf.chain-num.null-handle mbuf.chain-num.null-output",
    "A17": "mbuf.copy.one-area mbuf.copy.outlives mbuf.copy.same-pointer mbuf.free.gives-back",
    "A20": "mbuf.copy.outlives mbuf.copy.succeeds mbuf.copy.of-ref",
    "A21": "common.threads mbuf.copy.outlives mbuf.free.gives-back",
    "A22": "mbuf.copy.of-ref mbuf.copy.outlives mbuf.free.ref mbuf.free.gives-back",
    "A23": "mbuf.copy.outlives mbuf.copy.same-pointer mbuf.copy.of-ref mbuf.free.gives-back",
    "A24": "mbuf.copy.chained mbuf.free.gives-back",
    "A25": "mbuf.data.size mbuf.data.content mbuf.copy.same-pointer mbuf.get-len.last-set mbuf.get-user.returns",
    "A27": "mbuf.data.same-pointer mbuf.data.content mbuf.copy.one-area",
    "A28": "mbuf.append.self mbuf.chain.limit mbuf.append.to-member mbuf.append.refused-keeps",
    "A30": "mbuf.chain-num.count mbuf.from-chain.order mbuf.from-chain.head-first mbuf.from-chain.index",
    "A32": "mbuf.append.limit mbuf.chain-num.count mbuf.append.chain mbuf.append.chained mbuf.append.refused-keeps",
    "A33": "mbuf.from-chain.index mbuf.from-chain.order mbuf.chain-num.count mbuf.from-chain.alone",
    "A35": "mbuf.append.limit mbuf.append.refused-keeps mbuf.chain-num.alone mbuf.free.gives-back",
    "A37": "mbuf.free.member mbuf.chain-num.count mbuf.copy.one-area mbuf.copy.chained",
    "A38": "common.fault-clean mbuf.free.gives-back",
    "B1": "allocator.register.needs-object allocator.register.needs-alloc allocator.register.needs-free "
    "allocator.register.needs-addr",
    "B2": "allocator.register.optional-advise allocator.get.advise-unset",
    "B4": "allocator.register.last-wins allocator.register.separate allocator.unregister.succeeds "
    "allocator.unregister.unknown allocator.get.object",
    "B6": "allocator.register.again allocator.register.last-wins allocator.register.refused-keeps",
    "B7": "allocator.get.destroyed allocator.unregister.succeeds",
    "B9": "allocator.get.stream-repeated allocator.get.unregistered",
    "B10": "allocator.register.separate allocator.get.object allocator.get.unregistered",
    "B12": "allocator.set.takes-effect allocator.register.refused-keeps "
    "allocator.register.last-wins allocator.set-alloc.again",
    "B13": "allocator.get.arguments",
    "B15": "common.threads allocator.get.object allocator.unregister.succeeds",
    "B16": "allocator.register.again allocator.get.arguments common.no-hang",
    "B17": "allocator.destroy.gives-back allocator.destroy.no-callback common.fault-clean",
    "B18": "common.clean-exit",
    "B20": "allocator.get.unregistered allocator.get.null-stream allocator.get.null-output "
    "allocator.unregister.unknown allocator.unregister.null allocator.destroy.null allocator.set-obj.null-desc "
    "allocator.set-alloc.null-desc allocator.set-advise.null-desc allocator.set-free.null-desc "
    "allocator.set-addr.null-desc allocator.register.null-desc allocator.register.null-stream",
}
"""Clauses that the scenarios of a row must put to the test, and a conforming library keeps."""


def whole(scenario: Scenario) -> Program:
    """The program with its clean-up."""
    return Program(scenario.program.body, plan(SPEC, scenario.program.body, scenario.program.cleanup).cleanup)


@functools.cache
def answered(key: str, profile: str = "default") -> tuple[Program, Trace]:
    """What the simulator answers to a scenario in a process of its own."""
    program = whole(SCENARIOS[key])
    with SimulatorBackend().open(Options(library=profile)) as session:
        return program, session.run(program, solo=True)


@functools.cache
def judged(key: str) -> Judgement:
    return judge(SPEC, *answered(key))


# ----------------------------------------------------------------------------------------------- what is there


def test_every_row_has_a_scenario_and_no_other_has() -> None:
    assert {s.id for s in SCENARIOS.values()} == ROWS
    assert set(HELD) == ROWS


def test_none_is_declared_not_run() -> None:
    assert [s.id for s in SCENARIOS.values() if s.planned] == []


def test_the_rows_of_a_letter_are_those_of_a_family() -> None:
    assert {(s.id[0], s.family) for s in SCENARIOS.values()} == {("A", "mbuf"), ("B", "allocator")}


def test_no_two_scenarios_are_the_same_program() -> None:
    programs: dict[Program, str] = {}
    for key, scenario in SCENARIOS.items():
        assert programs.setdefault(scenario.program, key) == key


def test_a_copy_of_a_copy_is_freed_in_all_six_orders() -> None:
    orders = {
        s.name.rsplit("-", 1)[1] for s in SCENARIOS.values() if s.name.startswith("copy-of-copy-") and s.id == "A22"
    }
    assert {"bcd", "bdc", "cbd", "cdb", "dbc", "dcb"} <= orders


@pytest.mark.parametrize("key", SCENARIOS)
def test_a_scenario_is_valid_and_never_undefined(key: str) -> None:
    scenario = SCENARIOS[key]
    assert program_problem(SPEC.interface, scenario.program) == ""
    assert parse_program(format_program(scenario.program)) == scenario.program
    assert plan(SPEC, scenario.program.body, scenario.program.cleanup).undefined == ""
    assert scenario.title
    assert "\n" not in scenario.title


def test_needs_follow_from_the_statements() -> None:
    assert Capability.STREAMS in SCENARIOS["B6/in-turn"].needs
    assert Capability.STREAMS not in SCENARIOS["B20/null-without-stream-destroy"].needs
    assert Capability.HOOKS in SCENARIOS["B16/hook-calls-api"].needs
    assert Capability.EXIT in SCENARIOS["B18/exit-while-registered"].needs
    assert Capability.FAULT_INJECTION in SCENARIOS["A38/failed-alloc"].needs
    assert Capability.LIVE_COUNT in SCENARIOS["A24/copy-of-head"].needs
    assert Capability.LIVE_COUNT not in SCENARIOS["A17/three-copies"].needs
    assert SCENARIOS["A28/self-append"].needs == frozenset()


def test_what_ends_or_spoils_the_process_has_one_of_its_own() -> None:
    for scenario in SCENARIOS.values():
        if scenario.id == "B18" or Capability.EXIT in scenario.needs:
            assert scenario.solo, scenario.place
    assert SCENARIOS["B9/stream-handle-repeats"].solo


# ------------------------------------------------------------------------------------------- a conforming library


@pytest.mark.parametrize("key", EXECUTED)
def test_the_simulator_passes(key: str) -> None:
    judgement = judged(key)
    assert (judgement.verdict, judgement.reason) == (Verdict.PASS, "")
    assert judgement.discrepancies == judgement.notes == ()


@pytest.mark.parametrize("row", HELD)
def test_a_row_puts_its_clauses_to_the_test(row: str) -> None:
    held = frozenset().union(*(judged(key).held for key in EXECUTED if SCENARIOS[key].id == row))
    assert set(HELD[row].split()) <= held


@pytest.mark.parametrize("profile", PROFILES)
def test_other_answers_at_open_points_are_no_fault(profile: str) -> None:
    fine = {Verdict.PASS, Verdict.NOT_RUN, Verdict.INCONCLUSIVE}
    for key in EXECUTED:
        if key not in LONG:
            judgement = judge(SPEC, *answered(key, profile))
            found = [f.clause for f in (*judgement.discrepancies, *judgement.notes)]
            assert not found, key
            assert judgement.verdict in fine, key


def test_what_wants_a_handle_again_is_not_reached_where_none_repeats() -> None:
    for key in ("A6/recycled-private-same-size", "A14/recycled-head", "B9/stream-handle-repeats"):
        judgement = judge(SPEC, *answered(key, "no-reuse"))
        assert judgement.verdict is Verdict.NOT_RUN
        assert "not reached" in judgement.reason


def test_stale_private_bytes_are_noted() -> None:
    for key in (k for k in EXECUTED if SCENARIOS[k].id == "A6"):
        judgement = judge(SPEC, *answered(key, "stale-private"))
        assert [note.clause for note in judgement.notes] == ["mbuf.get-user.stale"], key


# ------------------------------------------------------------------------------------------------ falsified traces

Change = Callable[[Trace], Trace]


def swap(trace: Trace, kind: type[Record], nth: int, new: Callable[[Record], Record], function: str = "") -> Trace:
    """The trace with record number `nth` of this kind (and function) answered otherwise."""
    places = [
        at
        for at, record in enumerate(trace.records)
        if isinstance(record, kind) and (not function or getattr(record, "function", "") == f"aclrt{function}")
    ]
    at = places[nth]
    return replace(trace, records=(*trace.records[:at], new(trace.records[at]), *trace.records[at + 1 :]))


def call(function: str, nth: int, ret: int | None = None, **outs: Output) -> Change:
    """Call number `nth` of `function` with another return code or other outputs."""

    def change(record: Record) -> Record:
        assert isinstance(record, CallRecord)
        given = {**dict(record.outs), **outs}
        return replace(record, ret=record.ret if ret is None else ret, outs=tuple(given.items()))

    return lambda trace: swap(trace, CallRecord, nth, change, function)


def pointer(function: str, nth: int, name: str, kind: str, raw: int = 0x7000_0000_0010, ret: int = 0) -> Change:
    """Such a call with another pointer: of a known kind, or at another address."""

    def change(trace: Trace) -> Trace:
        known = [k for k, p in enumerate(trace.pointers) if p.kind == kind and kind not in ("other", "")]
        if known:
            return call(function, nth, ret, **{name: Ptr(known[0])})(trace)
        longer = replace(trace, pointers=(*trace.pointers, Pointer(raw, kind)))
        return call(function, nth, ret, **{name: Ptr(len(trace.pointers))})(longer)

    return change


def output_of(function: str, nth: int, name: str, other: str, place: int, source: str) -> Change:
    """Such a call with the output `source` of call number `place` of `other`."""

    def change(trace: Trace) -> Trace:
        calls = [r for r in trace.records if isinstance(r, CallRecord) and r.function == f"aclrt{other}"]
        return call(function, nth, 0, **{name: dict(calls[place].outs)[source]})(trace)

    return change


def refused(function: str, nth: int) -> Change:
    """Such a call was refused; what came after it is cut off, for it would have been another program."""

    def change(trace: Trace) -> Trace:
        places = [
            k for k, r in enumerate(trace.records) if isinstance(r, CallRecord) and r.function == f"aclrt{function}"
        ]
        other = call(function, nth, 100000)(trace)
        return replace(other, records=other.records[: places[nth] + 1])

    return change


def both(*changes: Change) -> Change:
    def change(trace: Trace) -> Trace:
        for each in changes:
            trace = each(trace)
        return trace

    return change


def more_live(nth: int) -> Change:
    """Count number `nth` shows one object more."""

    def change(record: Record) -> Record:
        assert isinstance(record, LiveRecord)
        return replace(record, objects=record.objects + 1, bytes=record.bytes + 64)

    return lambda trace: swap(trace, LiveRecord, nth, change)


def touched(nth: int, **changes: object) -> Change:
    """Read or write number `nth` with another result."""
    return lambda trace: swap(trace, TouchRecord, nth, lambda record: replace(record, **changes))  # type: ignore[arg-type]


def spoiled(nth: int) -> Change:
    """Read number `nth` (writes counted) shows another first byte."""

    def change(record: Record) -> Record:
        assert isinstance(record, TouchRecord)
        assert record.data is not None
        return replace(record, data=bytes([record.data[0] ^ 0xFF]) + record.data[1:])

    return lambda trace: swap(trace, TouchRecord, nth, change)


def ended(kind: End, function: str, nth: int, detail: str = "") -> Change:
    """The program ended in call number `nth` of `function`."""

    def change(trace: Trace) -> Trace:
        name = f"aclrt{function}"
        places = [k for k, r in enumerate(trace.records) if isinstance(r, CallRecord) and r.function == name]
        last = trace.records[places[nth]]
        ending = Ending(kind, last.step, last.loops, Phase.CALL, name, detail)
        return replace(trace, records=trace.records[: places[nth]], ending=ending)

    return change


def ended_at_exit(trace: Trace) -> Trace:
    return replace(trace, ending=replace(trace.ending, kind=End.CRASH, detail="SIGSEGV"))


def reached_with(nth: int, args: tuple[int | Ptr, ...]) -> Change:
    """Invocation number `nth` reached its function with other arguments."""

    def change(record: Record) -> Record:
        assert isinstance(record, InvokeRecord)
        return replace(record, hits=(replace(record.hits[0], args=args),))

    return lambda trace: swap(trace, InvokeRecord, nth, change)


def called_back(function: str, nth: int) -> Change:
    """Call number `nth` of `function` called the user's free function."""

    def change(record: Record) -> Record:
        assert isinstance(record, CallRecord)
        return replace(record, hits=(Hit("aclrtAllocatorFreeFunc", 1, (Ptr(0), Ptr(0)), None),))

    return lambda trace: swap(trace, CallRecord, nth, change, function)


OLD = bytes(0xEE for _ in range(96))
FREE = "callback:aclrtAllocatorFreeFunc"
ALLOC = "callback:aclrtAllocatorAllocFunc"

FALSIFIED: tuple[tuple[str, Change, str], ...] = (
    ("A1/set-outside-50-at-50", call("SetBufUserData", 2, 0), "mbuf.set-user.sum"),
    ("A1/set-outside-97-at-0", call("SetBufUserData", 2, 0), "mbuf.set-user.size"),
    ("A1/set-outside-1-at-96", call("GetBufUserData", 0, dataPtr=OLD), "mbuf.set-user.refused-keeps"),
    ("A1/get-outside-96-at-1", call("GetBufUserData", 0, 0), "mbuf.get-user.sum"),
    ("A1/set-outside-on-member-50-at-50", call("SetBufUserData", 1, 0), "mbuf.set-user.sum"),
    ("A2/set-wraps-10-at-minus-6", call("SetBufUserData", 2, 0), "mbuf.set-user.offset"),
    ("A2/set-wraps-all-at-1", call("GetBufUserData", 1, dataPtr=OLD), "mbuf.get-user.returns"),
    ("A2/get-wraps-halves", ended(End.CRASH, "GetBufUserData", 0, "SIGSEGV"), "common.no-crash"),
    ("A4/ends-at-the-end-1-at-95", call("SetBufUserData", 1, 100000), "mbuf.set-user.succeeds"),
    ("A4/ends-at-the-end-96-at-0", call("GetBufUserData", 0, 100000), "mbuf.get-user.succeeds"),
    ("A8/original-then-copy", call("GetBufUserData", 0, dataPtr=b"\x5a" * 96), "mbuf.copy.private-own"),
    ("A9/beyond-area-4096-at-4096", call("SetBufDataLen", 1, 0), "mbuf.set-len.limit"),
    ("A9/beyond-area-4096-at-last", call("GetBufDataLen", 0, len=2**64 - 1), "mbuf.set-len.refused-keeps"),
    ("A9/beyond-area-on-reference-at-4096", call("SetBufDataLen", 1, 0), "mbuf.set-len.limit"),
    ("A9/last-allowed-4096", call("SetBufDataLen", 0, 100000), "mbuf.set-len.succeeds"),
    ("A11/over-4g-2p64-minus-1", pointer("AllocBuf", 1, "buf", "other"), "mbuf.alloc.limit"),
    ("A11/between-readings-2p32", touched(1, error="fault"), "mbuf.data.usable"),
    ("A11/large-2p31-plus-1", call("GetBufData", 0, size=1), "mbuf.data.size"),
    ("A13/lengths-of-two-bytes-alone", call("GetBufDataLen", 1, len=0), "mbuf.get-len.last-set"),
    ("A13/lengths-on-reference", call("GetBufDataLen", 1, len=0), "mbuf.get-len.ref-last-set"),
    ("A13/sizes-exact-65536", call("GetBufData", 0, size=0), "mbuf.data.size"),
    ("A14/recycled-is-fresh-same-size", call("GetBufDataLen", 0, len=50), "mbuf.get-len.fresh"),
    ("A14/recycled-head", call("GetBufChainNum", 0, num=2), "mbuf.chain-num.alone"),
    ("A16/null-copy-output", call("CopyBufRef", 0, 0), "mbuf.copy.null-output"),
    ("A16/null-free-handle", ended(End.CRASH, "FreeBuf", 0, "SIGSEGV"), "common.no-crash"),
    ("A17/three-copies", spoiled(1), "mbuf.copy.outlives"),
    ("A17/written-through-each", spoiled(1), "mbuf.copy.one-area"),
    ("A17/three-copies", more_live(1), "mbuf.free.gives-back"),
    ("A17/data-released-once", more_live(1), "mbuf.free.gives-back"),
    ("A20/300-copies", spoiled(-1), "mbuf.copy.outlives"),
    ("A20/around-256-copies", touched(-1, error="fault"), "mbuf.data.usable"),
    ("A22/copy-of-copy-bcd", refused("CopyBufRef", 1), "mbuf.copy.of-ref"),
    ("A22/copy-of-copy-dcb", more_live(1), "mbuf.free.gives-back"),
    ("A23/source-freed-first-4096", spoiled(2), "mbuf.copy.outlives"),
    ("A23/source-freed-first-4096", pointer("GetBufData", 3, "dataPtr", "other"), "mbuf.copy.same-pointer"),
    ("A24/copy-of-head", more_live(2), "mbuf.free.gives-back"),
    ("A24/copy-of-member", more_live(3), "mbuf.free.gives-back"),
    ("A25/members-keep-their-sizes-small-first", call("GetBufData", 4, size=16), "mbuf.data.size"),
    ("A25/copies-in-a-chain-keep-their-sizes", call("GetBufData", 4, size=16), "mbuf.data.size"),
    ("A25/members-keep-their-lengths", call("GetBufDataLen", 1, len=15), "mbuf.get-len.last-set"),
    ("A27/area-stays-4096", spoiled(1), "mbuf.data.content"),
    ("A27/area-stays-4096", pointer("GetBufData", 1, "dataPtr", "other"), "mbuf.data.same-pointer"),
    ("A27/area-stays-after-refusals", spoiled(1), "mbuf.data.content"),
    ("A28/self-append", call("GetBufChainNum", 0, num=2), "mbuf.append.refused-keeps"),
    ("A28/self-append", both(call("AppendBufChain", 0, 0), call("GetBufChainNum", 0, num=200)), "mbuf.chain.limit"),
    ("A28/self-append", ended(End.TIMEOUT, "GetBufChainNum", 0), "common.no-hang"),
    ("A28/closed-circle-of-two", ended(End.TIMEOUT, "FreeBuf", 0), "common.no-hang"),
    ("A30/five-appends", call("GetBufChainNum", 0, num=5), "mbuf.chain-num.count"),
    (
        "A30/order-after-every-append",
        output_of("GetBufFromChain", 2, "buf", "AllocBuf", 2, "buf"),
        "mbuf.from-chain.order",
    ),
    (
        "A30/order-after-every-append",
        output_of("GetBufFromChain", 1, "buf", "AllocBuf", 1, "buf"),
        "mbuf.from-chain.head-first",
    ),
    ("A32/128-and-one-more", call("AppendBufChain", -1, 0), "mbuf.append.limit"),
    ("A32/128-and-one-more", call("AppendBufChain", -2, 100000), "mbuf.append.succeeds"),
    ("A32/128-and-one-more", call("GetBufChainNum", 2, num=129), "mbuf.append.refused-keeps"),
    (
        "A32/chains-joined-64-and-65",
        both(call("AppendBufChain", -1, 0), call("GetBufChainNum", 2, num=129)),
        "mbuf.chain.limit",
    ),
    (
        "A33/full-chain-index-256",
        output_of("GetBufFromChain", 2, "buf", "AllocBuf", 0, "buf"),
        "mbuf.from-chain.index",
    ),
    ("A33/full-chain-index-128", call("GetBufChainNum", 0, num=0), "mbuf.chain-num.count"),
    ("A35/refused-append-leaves-both-buffer", more_live(1), "mbuf.free.gives-back"),
    ("A35/refused-append-leaves-both-buffer", call("GetBufChainNum", 0, num=2), "mbuf.append.refused-keeps"),
    ("A37/free-of-member-middle", call("GetBufChainNum", 0, num=3), "mbuf.chain-num.count"),
    ("A37/copy-of-member-survives-head-copied-before", touched(-1, error="fault"), "mbuf.data.usable"),
    ("A37/copy-of-member-survives-head-copied-after", spoiled(-1), "mbuf.copy.one-area"),
    ("A38/failed-alloc", more_live(1), "common.fault-clean"),
    ("A38/failed-append", call("GetBufChainNum", 1, num=2), "common.fault-clean"),
    ("A38/failed-in-use", call("GetBufDataLen", 0, len=0), "common.fault-clean"),
    ("B1/without-object-recycled", call("AllocatorRegister", 0, 0), "allocator.register.needs-object"),
    ("B1/without-alloc-recycled", call("AllocatorRegister", 0, 0), "allocator.register.needs-alloc"),
    ("B1/without-free-on-dirty-heap", call("AllocatorRegister", 0, 0), "allocator.register.needs-free"),
    ("B1/without-addr-on-dirty-heap", call("AllocatorRegister", 0, 0), "allocator.register.needs-addr"),
    ("B1/registered-before", call("AllocatorRegister", 1, 0), "allocator.register.needs-free"),
    ("B2/advise-unset", call("AllocatorRegister", 0, 100000), "allocator.register.optional-advise"),
    ("B2/advise-unset", pointer("AllocatorGetByStream", 0, "allocAdviseFunc", "other"), "allocator.get.advise-unset"),
    (
        "B2/advise-unset-after-another",
        pointer("AllocatorGetByStream", 1, "allocAdviseFunc", "callback:aclrtAllocatorAllocAdviseFunc:1"),
        "allocator.get.advise-unset",
    ),
    ("B4/destroy-of-replaced", call("AllocatorGetByStream", 0, 100000), "allocator.get.succeeds"),
    ("B4/unregister-of-another", call("AllocatorGetByStream", 0, 100000), "allocator.get.succeeds"),
    ("B6/replaced-and-again", call("AllocatorRegister", 1, 100000), "allocator.register.again"),
    (
        "B6/replaced-and-again",
        pointer("AllocatorGetByStream", 1, "allocFunc", f"{ALLOC}:1"),
        "allocator.register.last-wins",
    ),
    (
        "B7/destroyed-then-others",
        pointer("AllocatorGetByStream", 0, "allocFunc", f"{ALLOC}:3"),
        "allocator.get.destroyed",
    ),
    ("B7/destroyed-while-registered", call("AllocatorUnregister", 0, 100000), "allocator.unregister.succeeds"),
    ("B9/unregistered-before", call("AllocatorGetByStream", 0, 0), "allocator.get.unregistered"),
    ("B10/two-streams", pointer("AllocatorGetByStream", 0, "allocator", "object:2"), "allocator.register.separate"),
    ("B10/two-streams", pointer("AllocatorGetByStream", 2, "allocator", "object:2"), "allocator.get.unregistered"),
    (
        "B12/refused-without-free",
        pointer("AllocatorGetByStream", 0, "freeFunc", f"{FREE}:2"),
        "allocator.register.refused-keeps",
    ),
    ("B12/replaced", pointer("AllocatorGetByStream", 1, "freeFunc", f"{FREE}:1"), "allocator.register.last-wins"),
    (
        "B12/one-slot-changed-free",
        pointer("AllocatorGetByStream", 0, "freeFunc", f"{FREE}:1"),
        "allocator.set.takes-effect",
    ),
    ("B13/arguments-last", reached_with(0, (Ptr(0), 2**32 - 1)), "allocator.get.arguments"),
    ("B13/arguments-zero", reached_with(0, (Ptr(0), 1)), "allocator.get.arguments"),
    ("B16/hook-calls-api", ended(End.TIMEOUT, "AllocatorRegister", 0), "common.no-hang"),
    ("B17/100000-descriptions", more_live(1), "allocator.destroy.gives-back"),
    ("B17/100000-registrations", more_live(1), "allocator.destroy.gives-back"),
    ("B17/refused-calls", more_live(1), "allocator.destroy.gives-back"),
    ("B17/failed-create", more_live(1), "common.fault-clean"),
    ("B17/destroy-calls-nobody", called_back("AllocatorDestroyDesc", 0), "allocator.destroy.no-callback"),
    ("B18/exit-while-registered", ended_at_exit, "common.clean-exit"),
    ("B20/get-unknown", call("AllocatorGetByStream", 0, 0), "allocator.get.unregistered"),
    ("B20/unregister-three-times", call("AllocatorUnregister", 2, 100000), "allocator.unregister.unknown"),
    ("B20/null-register-description", call("AllocatorRegister", 1, 0), "allocator.register.null-desc"),
    ("B20/null-register-stream", call("AllocatorRegister", 1, 0), "allocator.register.null-stream"),
    ("B20/null-set-free", call("AllocatorSetFreeFuncToDesc", 1, 0), "allocator.set-free.null-desc"),
)


@pytest.mark.parametrize(
    ("key", "change", "clause"), FALSIFIED, ids=[f"{k}-{n}" for n, (k, _, _) in enumerate(FALSIFIED)]
)
def test_the_fault_of_a_row_is_seen(key: str, change: Change, clause: str) -> None:
    program, trace = answered(key)
    judgement = judge(SPEC, program, change(trace))
    assert judgement.discrepancies, judgement.reason
    assert judgement.discrepancies[0].clause == clause, judgement.discrepancies[0].observed


def test_a_leak_is_called_one() -> None:
    program, trace = answered("A17/three-copies")
    assert judge(SPEC, program, more_live(1)(trace)).verdict is Verdict.LEAK


@pytest.mark.parametrize(
    ("key", "change", "clause"),
    [
        (
            "A7/copy-takes-all-or-nothing",
            call("GetBufUserData", 1, dataPtr=bytes(range(1, 49)) + bytes(48)),
            "mbuf.copy.private-whole",
        ),
        (
            "A15/empty-length",
            both(call("SetBufDataLen", 2, 100000), call("GetBufDataLen", 1, len=100)),
            "common.same-answer",
        ),
    ],
)
def test_what_is_only_advised_becomes_a_note(key: str, change: Change, clause: str) -> None:
    program, trace = answered(key)
    judgement = judge(SPEC, program, change(trace))
    assert [note.clause for note in judgement.notes] == [clause]
    assert judgement.verdict is Verdict.PASS


# --------------------------------------------------------------------------------------------------- wrong files

GOOD = """\
- id: A1
  name: one
  title: something
  program: |
    a = aclrtAllocBuf(size=4096)
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: A1\n", "x.yaml:1: a list of scenarios is expected"),
        ("- [\n", "x.yaml:2: not valid YAML"),
        (GOOD + "  colour: red\n", "x.yaml:1: unknown key 'colour'"),
        (GOOD + GOOD, "x.yaml:6: A1 one stands at x.yaml:1 already"),
        (GOOD.replace("size=4096)", "size=)"), "x.yaml:5: one: "),
        (GOOD.replace("4096", "$size"), "x.yaml:1: one: the words ['size'] stand in the program, [] are given"),
        (GOOD + "  needs: [wings]\n", "x.yaml:1: 'needs' is a list of capabilities"),
        (GOOD.replace("name: one", "name: One Two"), "x.yaml:1: name 'One Two'"),
        (GOOD.replace("id: A1", "id: one"), "x.yaml:1: id 'one'"),
        (GOOD.replace("  title: something\n", ""), "x.yaml:1: 'title' is missing or no text"),
        (GOOD + "  name: two\n", "x.yaml:1: a key is given twice"),
        (GOOD + "  variants: {}\n", "x.yaml:1: 'variants' is a mapping"),
        (GOOD + "- 7\n", "x.yaml:6: an entry is a mapping"),
        (GOOD.replace("4096", "$ 1"), "x.yaml:1: one: "),
    ],
)
def test_a_wrong_file_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenarios(tmp_path)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_variants_stand_for_a_scenario_each(tmp_path: Path) -> None:
    text = GOOD.replace("4096", "$size") + "  variants: {small: {size: 1}, large: {size: 2**16}}\n  solo: true\n"
    (tmp_path / "x.yaml").write_text(text)
    small, large = load_scenarios(tmp_path)
    assert (small.name, large.name, small.family, small.solo) == ("one-small", "one-large", "x", True)
    assert large.program == parse_program("a = aclrtAllocBuf(size=65536)")


def test_a_folder_without_scenarios_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no scenario"):
        load_scenarios(tmp_path)
