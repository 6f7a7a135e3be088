"""A trial: the cases, one after the other, on one library, with a memo of judgements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from acl_cts.backends.backend import Session
from acl_cts.conformance.case import Case
from acl_cts.conformance.garbage import tidy
from acl_cts.conformance.memo import Memo
from acl_cts.conformance.runner import Runner
from acl_cts.conformance.share import weight
from acl_cts.reports.results import FAILING, CaseResult
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.program import Call, Repeat, Statement, children, steps
from acl_cts.specs.trace import CallRecord, SameRecord, Trace

HEAVY = 20_000
"""Statements executed from which on a case goes to the end: few such cases cost as much as a thousand others."""

HANG = "common.no-hang"


@dataclass(frozen=True, slots=True)
class Tried:
    """One case's result, and the calls that the library answered in it."""

    case: Case
    result: CaseResult
    calls: int

    @property
    def accuses(self) -> bool:
        """Whether it is a discrepancy. A hang that a new process does not show again may be a slow machine: it is not
        one here."""
        verdict = self.result.verdict
        if verdict is Verdict.FLAKY:
            return any(found.clause != HANG for found in self.result.discrepancies)
        return verdict in FAILING


def in_trial_order(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The order of the suite, except that what takes long comes last."""
    return tuple(sorted(cases, key=lambda case: weight(case) > HEAVY))


def tried(memo: Memo, session: Session, cases: Iterable[Case]) -> Iterator[Tried]:
    """The result of each case on `session`, as a run gives it."""
    runner = Runner(memo.spec, session, memo.judge)
    for case in cases:
        outcome = runner.judge(case)
        answered = calls(outcome.trace, steps(case.program)) if outcome.trace is not None else 0
        yield Tried(case, outcome.result, answered)
        tidy()


def calls(trace: Trace, statements: Sequence[Statement]) -> int:
    """How many calls stand in `trace`, iterations that were answered alike among them."""
    count = 0
    for record in trace.records:
        if isinstance(record, CallRecord):
            count += 1
        elif isinstance(record, SameRecord):
            count += record.count * sum(map(_calls, children(statements[record.step])))
    return count


def _calls(statement: Statement) -> int:
    times = statement.count if isinstance(statement, Repeat) else 1
    return isinstance(statement, Call) + times * sum(map(_calls, children(statement)))
