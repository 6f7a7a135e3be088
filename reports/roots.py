"""Roots: failing cases of one backend that share a cause, told apart by clause, function and verdict."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.reports.exit_code import counts
from acl_cts.reports.results import BackendRun, CaseResult
from acl_cts.specs.judgement import Finding, Strength, Verdict


@dataclass(frozen=True, slots=True)
class Root:
    """Cases with one cause, the shortest to tell first. `clause` is '' when no clause is accused."""

    verdict: Verdict
    clause: str
    function: str
    cases: tuple[CaseResult, ...]

    @property
    def headline(self) -> Finding | None:
        """The discrepancy that the first case shows."""
        found = self.cases[0].discrepancies
        return found[0] if found else None


def roots(run: BackendRun, fail_on: frozenset[Strength]) -> tuple[Root, ...]:
    """Roots of `run`, the one with most cases first; errors of the suite and blocked cases last."""
    groups: dict[tuple[Verdict, str, str], list[CaseResult]] = {}
    for case in run.cases:
        if not counts(case, fail_on) and case.verdict is not Verdict.ERROR:
            continue
        headline = case.discrepancies[0] if case.discrepancies else None
        told = (headline.clause, headline.function) if headline else ("", case.reason)
        groups.setdefault((case.verdict, *told), []).append(case)
    found = [Root(*told, tuple(sorted(cases, key=_length))) for told, cases in groups.items()]
    late = (Verdict.BLOCKED, Verdict.ERROR)
    return tuple(sorted(found, key=lambda root: (root.verdict in late, -len(root.cases))))


def _length(case: CaseResult) -> tuple[bool, bool, int]:
    """How much there is to read in the program of `case`: loops are more than their lines, unknown is most."""
    if case.evidence is None:
        return (True, False, 0)
    lines = case.evidence.program.splitlines()
    return (False, any(line.lstrip().startswith("repeat ") for line in lines), len(lines))
