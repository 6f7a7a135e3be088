"""Which call of a failing program its reproducer watches, or which count, and what it told."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acl_cts.specs.judgement import Finding
from acl_cts.specs.model import Clause, Spec
from acl_cts.specs.source_plan import is_cell
from acl_cts.specs.source_watch import Watched
from acl_cts.specs.trace import CallRecord, LiveRecord, Output, Ptr, Trace

LONGEST = 256
"""Bytes of a room that are compared; of a longer one the call decides nothing."""

BESIDE = frozenset({"common.caller-memory", "common.threads"})
"""Clauses about something else than what one call returns and writes into its outputs."""


def watched(finding: Finding, trace: Trace, spec: Spec) -> Watched | None:
    """What the call told that broke the clause of `finding`; None where no call of its own did, or its answer does not
    tell."""
    counted = _counted(trace, finding)
    if counted is not None:
        return counted
    clause = spec.clauses.get(finding.clause)
    record = _answered(trace, finding)
    if clause is None or record is None or clause.id in BESIDE:
        return None
    code = record.ret if isinstance(record.ret, int) else None
    accepted = _accepted(record)
    if _at_all(clause, finding, accepted):
        return Watched(record.step, finding.loops, accepted, ret=code)
    cells = {param.name for param in spec.interface.functions[record.function].params if is_cell(param)}
    told = [(name, _number(value)) for name, value in record.outs if _matters(name, clause)]
    outs = tuple((name, v) for name, v in told if name in cells and (v is None or isinstance(v, int)))
    rooms = tuple((name, v) for name, v in told if isinstance(v, bytes) and len(v) <= LONGEST)
    decides = len(outs) + len(rooms) == len(told) > 0
    return Watched(record.step, finding.loops, None, code, outs, rooms, decides)


def _counted(trace: Trace, finding: Finding) -> Watched | None:
    """The count of what lives that tells of more than the first one did."""
    counts = [record for record in trace.records if isinstance(record, LiveRecord)]
    last = next((r for r in reversed(counts) if (r.step, r.loops) == (finding.step, finding.loops)), None)
    if last is None or last.lost:
        return None
    more = (last.objects - counts[0].objects, last.bytes - counts[0].bytes)
    return Watched(last.step, last.loops, live=more) if min(more) >= 0 and max(more) > 0 else None


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


def _answered(trace: Trace, finding: Finding) -> CallRecord | None:
    """The record of the call of `finding`; of turns that answered alike only the first is recorded."""
    found: Iterable[CallRecord] = [r for r in trace.records if isinstance(r, CallRecord) and r.step == finding.step]
    for depth, turn in enumerate(finding.loops):
        before = [r for r in found if len(r.loops) > depth and r.loops[depth] <= turn]
        last = max((r.loops[depth] for r in before), default=0)
        found = [r for r in before if r.loops[depth] == last]
    return next(reversed(list(found)), None)
