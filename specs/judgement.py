"""Judgements: what the oracle says of one trace."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Strength(StrEnum):
    """How firmly the documents state a clause."""

    EXPLICIT = "explicit"
    OBLIGATION = "obligation"
    IMPLIED = "implied"
    ADVISORY = "advisory"


class Verdict(StrEnum):
    """The one word for one case."""

    PASS = "pass"
    FAIL = "fail"
    CRASH = "crash"
    TIMEOUT = "timeout"
    LEAK = "leak"
    BLOCKED = "blocked"
    NOT_SUPPORTED = "not-supported"
    INCONCLUSIVE = "inconclusive"
    FLAKY = "flaky"
    NOT_RUN = "not-run"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated clause: a discrepancy, or a note when its strength is advisory. `step` and `loops` say where in the
    program; `expected` and `observed` are one plain sentence each. `blocked_by`: the root clause that explains it."""

    clause: str
    strength: Strength
    function: str
    step: int
    loops: tuple[int, ...]
    expected: str
    observed: str
    blocked_by: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """The answer at an open point. `key` tells the situations apart in which one answer is expected to repeat."""

    clause: str
    answer: str
    step: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that the oracle says of one trace.

    `discrepancies` holds one entry per root cause, the headline first; what follows from them is in `blocked`. `held`:
    ids of the clauses that were put to the test and kept. `succeeded`: functions with a judged must-succeed call that
    succeeded. `reason` explains verdicts other than pass and fail. `granted`: the largest data area granted, in bytes.
    """

    verdict: Verdict
    discrepancies: tuple[Finding, ...] = ()
    blocked: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    observations: tuple[Observation, ...] = ()
    held: frozenset[str] = frozenset()
    succeeded: frozenset[str] = frozenset()
    reason: str = ""
    granted: int = 0
