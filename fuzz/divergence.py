"""Divergences: where two backends answered one program in different ways although the documents allow both."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.specs.judgement import Judgement
from acl_cts.specs.trace import CallRecord, Ptr, Trace


@dataclass(frozen=True, slots=True)
class Divergence:
    """`clause`: the open point, '' where the documents leave the value itself free. `what`: the function's result, or
    the output that differs."""

    clause: str
    function: str
    what: str
    one: str
    other: str


def divergence(one: Trace, judged: Judgement, other: Trace, other_judged: Judgement) -> Divergence | None:
    """The first difference of two traces of one program that both conform; what comes after it may follow from it."""
    for mine, theirs in zip(one.records, other.records, strict=False):
        if not (isinstance(mine, CallRecord) and isinstance(theirs, CallRecord)):
            if type(mine) is not type(theirs):
                return None
            continue
        if (mine.step, mine.loops) != (theirs.step, theirs.loops):
            return None
        found = _difference(mine, theirs)
        if found is not None:
            what, left, right = found
            return Divergence(_open_point(mine.step, judged, other_judged), mine.function, what, left, right)
    return None


def _difference(mine: CallRecord, theirs: CallRecord) -> tuple[str, str, str] | None:
    """What differs of two answers, pointers counting as equal when both are given."""
    pairs = [("result", mine.ret, theirs.ret)]
    outs = dict(theirs.outs)
    pairs += [(name, value, outs.get(name)) for name, value in mine.outs]  # type: ignore[misc]
    for name, left, right in pairs:
        a, b = _plain(left), _plain(right)
        if a != b:
            return name, a, b
    return None


def _plain(value: object) -> str:
    if isinstance(value, Ptr):
        return "a pointer" if value.id else "null"
    if isinstance(value, bytes):
        return "bytes"
    return "untouched" if value is None else str(value)


def _open_point(step: int, *judged: Judgement) -> str:
    for judgement in judged:
        for observation in judgement.observations:
            if observation.step == step:
                return observation.clause
    return ""
