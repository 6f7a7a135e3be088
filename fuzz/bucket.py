"""Buckets: what tells one finding from another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acl_cts.specs.execution import Judged
from acl_cts.specs.frame import Frame
from acl_cts.specs.judgement import Finding, Judgement, Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.rules import FunctionRules
from acl_cts.specs.trace import CallRecord, End, Ending, Trace
from acl_cts.specs.values import Obj

FRAMES = 2
"""Functions of the library that tell crashes apart."""

ENDED = frozenset({Verdict.CRASH, Verdict.TIMEOUT})
"""Verdicts whose last discrepancy is the one that counts, unless another one explains it: the others were before the
end."""


@dataclass(frozen=True, slots=True)
class Root:
    """What went wrong where. Two clauses never share one. `frames`: of a crash, the innermost functions of the
    library, or else the phase."""

    verdict: str
    clause: str
    function: str
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bucket:
    """A root with the backend that shows it and the state of the handles, in broad strokes, of a minimised program."""

    backend: str
    root: Root
    state: str

    @property
    def name(self) -> str:
        """A name for people and folders, unique by the digest at its end."""
        root = self.root
        whole = "\0".join((self.backend, root.verdict, root.clause, root.function, *root.frames, self.state))
        words = [root.clause or "no-clause", root.function or "no-function", root.verdict]
        return ".".join(words)[:120] + "~" + hashlib.sha256(whole.encode()).hexdigest()[:8]

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Bucket:
        """The bucket that `to_json` gave. Raises KeyError or TypeError for anything else."""
        root = Root(data["verdict"], data["clause"], data["function"], tuple(data["frames"]))
        return Bucket(data["backend"], root, data["state"])

    def to_json(self) -> dict[str, Any]:
        """Its parts."""
        root = self.root
        return {
            "backend": self.backend,
            "verdict": root.verdict,
            "clause": root.clause,
            "function": root.function,
            "frames": list(root.frames),
            "state": self.state,
        }


def accused(judgement: Judgement) -> Finding | None:
    """The discrepancy that a judgement's verdict rests on: a library that has broken a promise about a handle may well
    crash when the handle is used, and that is one fault."""
    if not judgement.discrepancies:
        return None
    first, last = judgement.discrepancies[0], judgement.discrepancies[-1]
    if judgement.verdict not in ENDED:
        return first
    return next((each for each in judgement.discrepancies if each.clause == last.blocked_by), last)


def root_of(judgement: Judgement, trace: Trace, frames: tuple[str, ...]) -> Root:
    """The root of a failing judgement."""
    finding = accused(judgement)
    clause = finding.clause if finding else ""
    function = finding.function if finding else trace.ending.function
    if judgement.verdict in ENDED and finding is not None and finding is not judgement.discrepancies[-1]:
        return Root(Verdict.FAIL.value, clause, function)
    place: tuple[str, ...] = ()
    if judgement.verdict is Verdict.CRASH:
        place = frames[:FRAMES] or ((trace.ending.phase.value,) if trace.ending.phase else ())
    return Root(judgement.verdict.value, clause, function, place)


def state_of(spec: Spec, program: Program, trace: Trace, judgement: Judgement) -> str:
    """The handles of the call that is accused, as they were before it; '' when no call that came back is."""
    finding = accused(judgement)
    if finding is None:
        return ""
    for place, record in enumerate(trace.records):
        if isinstance(record, CallRecord) and (record.step, record.loops) == (finding.step, finding.loops):
            seen = _Last()
            cut = Trace(trace.records[: place + 1], Ending(End.COMPLETED), trace.pointers, trace.capabilities)
            judge(spec, program, cut, seen.watch)
            return seen.text
    return ""


class _Last:
    """Keeps the state before the last call that it was shown."""

    def __init__(self) -> None:
        self.text = ""

    def watch(self, rules: FunctionRules, frame: Frame, judged: Judged) -> None:
        handles = [frame.args[name] for name, _ in rules.inputs]
        words = [_described(item) for item in handles]
        if len(handles) > 1 and handles[0] is handles[1]:
            words.append("same")
        self.text = ", ".join(words)


def _described(item: Any) -> str:
    if not isinstance(item, Obj):
        return "null"
    joined = [n for n, v in item.fields.items() if isinstance(v, tuple) and sum(isinstance(m, Obj) for m in v) > 1]
    return " ".join([item.kind, *joined])
