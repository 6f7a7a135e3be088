"""Ledgers: what judging one trace has found so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from acl_cts.specs.judgement import Finding, Observation
from acl_cts.specs.model import Spec


@dataclass(slots=True)
class Ledger:
    """What has been found so far.

    `observations` by clause, answer and question; `held`: clauses that held; `succeeded`: functions. `scarce`: a
    refusal that may be a lack of resources, `missed`: what was not reached, `leak`: the clause that lost memory is put
    down to, `stopped`: why nothing after it could be judged; '' for none. `kept`: whether a call was refused, so that
    state had to be kept. `granted`: bytes of the largest size that was granted.
    """

    discrepancies: list[Finding] = field(default_factory=list)
    blocked: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    observations: dict[tuple[str, str, str], Observation] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)
    scarce: str = ""
    missed: str = ""
    leak: str = ""
    kept: bool = False
    fault_fired: bool = False
    granted: int = 0
    stopped: str = ""

    def fork(self) -> Ledger:
        """A copy that goes its own way."""
        return replace(
            self,
            discrepancies=[*self.discrepancies],
            blocked=[*self.blocked],
            notes=[*self.notes],
            observations=dict(self.observations),
            held=set(self.held),
            succeeded=set(self.succeeded),
        )

    def add(self, other: Ledger) -> None:
        """Take over what `other` has found besides, in a state like this one."""
        self.discrepancies = [*other.discrepancies]
        self.blocked = _united(other.blocked, self.blocked)
        self.notes = _united(other.notes, self.notes)
        self.observations = {**self.observations, **other.observations}
        self.held |= other.held
        self.succeeded |= other.succeeded
        self.scarce = self.scarce or other.scarce
        self.missed = self.missed or other.missed
        self.fault_fired |= other.fault_fired
        self.granted = max(self.granted, other.granted)


def _united(first: list[Finding], further: list[Finding]) -> list[Finding]:
    known = {(finding.clause, finding.step) for finding in first}
    return [*first, *(finding for finding in further if (finding.clause, finding.step) not in known)]


def inconsistent(spec: Spec, observations: Iterable[Observation]) -> list[Finding]:
    """Notes for questions that got different answers, of clauses where the same answer is expected every time."""
    answers: dict[tuple[str, str], dict[str, int]] = {}
    for seen in observations:
        if seen.clause and spec.clauses[seen.clause].consistent:
            answers.setdefault((seen.clause, seen.key), {}).setdefault(seen.answer, seen.step)
    clause = spec.clauses["common.same-answer"]
    return [
        Finding(
            clause.id,
            clause.strength,
            spec.clauses[name].function,
            max(given.values()),
            (),
            f"{clause.text_en} ({name})",
            f"{key or spec.clauses[name].function}: {' and '.join(sorted(given))}",
        )
        for (name, key), given in answers.items()
        if len(given) > 1
    ]
