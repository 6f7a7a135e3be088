"""Which call of a failing program its reproducer watches, or which read or count, and what it told."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from acl_cts.specs.judgement import Finding
from acl_cts.specs.model import Clause, Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Call, Callback, Object, Parallel, Program, Read, UntilSame, size, steps, walk
from acl_cts.specs.source_plan import RETURN, is_cell
from acl_cts.specs.source_watch import Pointer, Same, Seen, Watched
from acl_cts.specs.trace import (
    CallRecord,
    LiveRecord,
    MemoryRecord,
    Output,
    Ptr,
    Record,
    SameRecord,
    TouchRecord,
    Trace,
)

LONGEST = 256
"""Bytes of a room that are compared; of a longer one the call decides nothing."""

MEMORY = "common.caller-memory"
"""The clause about what a call is lent."""

BESIDE = frozenset({"common.threads", "common.no-crash", "common.no-exit", "common.no-hang", "common.clean-exit"})
"""Clauses about something else than what a call does with its outputs and with what it is lent."""

HITS = "hits()"
"""In what a clause demands: which callbacks a call reaches."""

TURNS = 16
"""Turns that answered in different ways which are compared one by one."""

MOST = 32
"""Addresses of which one that is like none of them is compared with each."""

PLACES = re.compile(r"\b(disjoint|callable)\(")
"""In what a clause demands: where a data area lies, or that it is code, which an address alone does not tell."""


def watched(finding: Finding, program: Program, trace: Trace, spec: Spec) -> Watched | None:
    """What the call or the read told that broke the clause of `finding`; None where none of its own did, or its answer
    does not tell."""
    found = _counted(trace, finding) or _grown(trace, finding) or _read(trace, finding)
    found = found or _called(finding, program, trace, spec)
    if found is None:
        return None
    seen = _seen_before(found.step, finding, program, trace, spec)
    return replace(found, seen=seen or (), decides=found.decides and seen is not None)


def _called(finding: Finding, program: Program, trace: Trace, spec: Spec) -> Watched | None:
    clause = spec.clauses.get(finding.clause)
    record = _answered(trace, finding)
    if clause is None or record is None or clause.id in BESIDE:
        return None
    if clause.id == MEMORY:
        return Watched(record.step, finding.loops, memory=True)
    code = record.ret if isinstance(record.ret, int) else None
    accepted = _accepted(record)
    if _at_all(clause, finding, accepted):
        return Watched(record.step, finding.loops, accepted, ret=code)
    told = [(name, _number(value)) for name, value in record.outs if _matters(name, clause)]
    outs, rooms = _integers(record, spec, told), _rooms(told)
    pointers = tuple(_pointers(record, program, trace, spec, clause, told))
    hits = len(record.hits) if HITS in clause.ensures_text else None
    decides = len(outs) + len(rooms) + len(pointers) == len(told) and bool(told or hits is not None)
    return Watched(record.step, finding.loops, None, code, outs, rooms, pointers, hits, decides=decides)


def _counted(trace: Trace, finding: Finding) -> Watched | None:
    """The count of what lives that tells of more than the first one did."""
    counts = [record for record in trace.records if isinstance(record, LiveRecord)]
    last = next((r for r in reversed(counts) if (r.step, r.loops) == (finding.step, finding.loops)), None)
    if last is None:
        return None
    if last.lost:
        return Watched(last.step, last.loops, lost=True)
    more = (last.objects - counts[0].objects, last.bytes - counts[0].bytes)
    return Watched(last.step, last.loops, live=more) if min(more) >= 0 and max(more) > 0 else None


def _grown(trace: Trace, finding: Finding) -> Watched | None:
    """The block in which the memory that the process holds grew without end."""
    for record in trace.records:
        if isinstance(record, MemoryRecord) and record.samples and record.step == finding.step:
            last = record.samples[-1]
            return Watched(record.step, record.loops, growth=(last.host, last.turns)) if last.host > 0 else None
    return None


def _read(trace: Trace, finding: Finding) -> Watched | None:
    """The read that found another content."""
    for record in trace.records:
        if isinstance(record, TouchRecord) and (record.step, record.loops) == (finding.step, finding.loops):
            crc = _crc(record)
            return None if crc is None else Watched(record.step, record.loops, crc=crc)
    return None


def _crc(record: TouchRecord) -> int | None:
    if record.error:
        return None
    return record.crc if record.data is None else zlib.crc32(record.data)


def _at_all(clause: Clause, finding: Finding, accepted: bool) -> bool:
    """Whether what is wrong is that the call was accepted, or refused, whatever it told besides. A clause of another
    function speaks of state that an earlier call should have kept."""
    if clause.id == "common.robust-refusal":
        return accepted
    if clause.function != finding.function:
        return False
    return clause.outcome == "error" if accepted else clause.outcome != "error" and clause.on == "success"


def _accepted(record: CallRecord) -> bool:
    return record.ret != Ptr(0) if isinstance(record.ret, Ptr) else record.ret == 0


def _matters(name: str, clause: Clause) -> bool:
    """Whether the output `name` has a part in what `clause` says; all have where it names none."""
    named = re.findall(r"\bout\.(\w+)", clause.ensures_text)
    return name in named or not named


def _number(value: Output) -> Output:
    return 0 if value == Ptr(0) else value


def _integers(record: CallRecord, spec: Spec, told: list[tuple[str, Output]]) -> tuple[tuple[str, int | None], ...]:
    cells = {param.name for param in spec.interface.functions[record.function].params if is_cell(param)}
    return tuple((name, v) for name, v in told if name in cells and (v is None or isinstance(v, int)))


def _rooms(told: list[tuple[str, Output]]) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, v) for name, v in told if isinstance(v, bytes) and len(v) <= LONGEST)


def _pointers(
    record: CallRecord, program: Program, trace: Trace, spec: Spec, clause: Clause, told: list[tuple[str, Output]]
) -> Iterator[Same]:
    """How the addresses in `told` stand to what the user passed, and to those given before. Turns that are not recorded
    gave no others."""
    passed = _passed(program, spec)
    earlier: dict[Ptr, Pointer] = {}
    for each in trace.records[: trace.records.index(record)]:
        if isinstance(each, CallRecord):
            given = [(RETURN, each.ret), *each.outs]
            pointers = [(name, value) for name, value in given if isinstance(value, Ptr) and value != Ptr(0)]
            for name, value in pointers:
                earlier.setdefault(value, (each.step, each.loops, name))
    for name, address in told:
        if not isinstance(address, Ptr):
            continue
        kind = trace.pointers[address.id].kind
        if kind != "other":
            if kind in passed:
                yield Same(name, known=passed[kind])
        elif address in earlier:
            yield Same(name, like=earlier[address])
        elif 0 < len(earlier) <= MOST and not PLACES.search(clause.ensures_text):
            yield Same(name, unlike=tuple(earlier.values()), foreign=tuple(sorted(passed.values())))


def _passed(program: Program, spec: Spec) -> dict[str, str]:
    """The callbacks and objects of the user that the program passes: C expressions by kind of pointer."""
    found: dict[str, str] = {}
    for statement in steps(program):
        calls = [statement.call if isinstance(statement, UntilSame) else statement]
        for call in (each for each in calls if isinstance(each, Call)):
            params = {param.name: param for param in spec.interface.functions[call.function].params}
            for name, value in call.args:
                if isinstance(value, Callback):
                    ctype = params[name].ctype
                    found[f"callback:{ctype}:{value.number}"] = f"{ctype}_{value.number}"
                elif isinstance(value, Object):
                    found[f"object:{value.number}"] = f"object({value.number})"
    return found


def _answered(trace: Trace, finding: Finding) -> CallRecord | None:
    """The record of the call of `finding`; of turns that answered alike only the first is recorded."""
    found: Iterable[CallRecord] = [r for r in trace.records if isinstance(r, CallRecord) and r.step == finding.step]
    for depth, turn in enumerate(finding.loops):
        before = [r for r in found if len(r.loops) > depth and r.loops[depth] <= turn]
        last = max((r.loops[depth] for r in before), default=0)
        found = [r for r in before if r.loops[depth] == last]
    return next(reversed(list(found)), None)


# --------------------------------------------------------------------------------------------------- what came before


def _seen_before(step: int, finding: Finding, program: Program, trace: Trace, spec: Spec) -> tuple[Seen, ...] | None:
    """What was answered in front of `step`; None when that cannot be compared: threads answered, or many turns in
    different ways, not all of them recorded."""
    threads = _in_threads(program)
    places: dict[int, list[CallRecord | TouchRecord]] = {}
    for record in trace.records:
        if record.step < step and isinstance(record, CallRecord | TouchRecord):
            if record.step in threads:
                return None
            places.setdefault(record.step, []).append(record)
    found: list[Seen] = []
    for place, records in sorted(places.items()):
        answers = [_seen(record, spec) for record in records]
        if len(set(answers)) > 1:
            if len(records) > TURNS or any(map(_shortened, trace.records)):
                return None
            answers = [replace(each, loops=record.loops) for each, record in zip(answers, records, strict=True)]
        content = any(each.rooms or each.crc is not None for each in answers)
        needed = not content or _needed(place, finding, program, trace, spec)
        found += dict.fromkeys(each if needed else replace(each, rooms=(), crc=None) for each in answers)
    return tuple(found)


def _shortened(record: Record) -> bool:
    """Whether it stands for turns that are not recorded."""
    return isinstance(record, SameRecord)


def _seen(record: CallRecord | TouchRecord, spec: Spec) -> Seen:
    if isinstance(record, TouchRecord):
        return Seen(record.step, crc=_crc(record))
    told = [(name, _number(value)) for name, value in record.outs]
    code = record.ret if isinstance(record.ret, int) else None
    return Seen(record.step, code, _integers(record, spec, told), _rooms(told))


def _in_threads(program: Program) -> frozenset[int]:
    found: set[int] = set()
    for place, statement in enumerate(steps(program)):
        if isinstance(statement, Parallel):
            found.update(range(place + 1, place + 1 + sum(1 for _ in walk(sum(statement.branches, ())))))
    return frozenset(found)


def _needed(step: int, finding: Finding, program: Program, trace: Trace, spec: Spec) -> bool:
    """Whether the content that is told at `step` may have a part in `finding`: not, when that is found without."""
    place = _top_level(program, step)
    statement = None if place is None else program.body[place]
    if place is None or not (isinstance(statement, Read) or (isinstance(statement, Call) and statement.target is None)):
        return True
    rest = Program((*program.body[:place], *program.body[place + 1 :]), program.cleanup)
    records = tuple(_moved(record, step) for record in trace.records if record.step != step)
    ending = _moved(trace.ending, step) if trace.ending.step is not None else trace.ending
    again = judge(spec, rest, replace(trace, records=records, ending=ending)).discrepancies
    wanted = (finding.clause, finding.step - 1, finding.loops)
    return not any((each.clause, each.step, each.loops) == wanted for each in again)


def _top_level(program: Program, step: int) -> int | None:
    """Where in the body the statement of `step` stands, None when it is inside another one or in the clean-up."""
    begins = 0
    for place, statement in enumerate(program.body):
        if begins == step:
            return place
        begins += size(statement)
    return None


def _moved(told: Any, step: int) -> Any:
    """The same when the statement of `step` is not there."""
    return replace(told, step=told.step - 1) if told.step is not None and told.step > step else told
