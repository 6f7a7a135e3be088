"""Confirmation: a failing verdict stands only when a new worker gives it too; otherwise its history is searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.case import Case
from acl_cts.conformance.culprit import culprit
from acl_cts.conformance.worker import DEADLY, Executed, Worker
from acl_cts.reports.results import FAILING, CaseResult
from acl_cts.specs.judgement import Verdict

CONFIRMATIONS = 10
"""Confirmed cases of one root cause, after which further ones are believed at once: a start may cost seconds."""

SEARCHES = 10
"""Histories that one session bisects; later failures that do not repeat get their rate only."""

REPEATS = 5
"""Runs in new workers from which the rate of a failure that does not repeat is told."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The attempt that stands for the case. `flaky`: '' or what was found of a failure that did not repeat.

    `history`: the programs that bring such a failure back when they are executed first. `attempts` after the first one.
    """

    attempt: Attempt
    attempts: int = 0
    flaky: str = ""
    history: tuple[Executed, ...] = ()


@dataclass(slots=True)
class Confirmer:
    """Confirms failures of one session. `try_once` executes and judges a case in the present worker."""

    worker: Worker
    try_once: Callable[[Case], Attempt]
    expired: Callable[[], bool]
    _confirmed: Counter[tuple[Verdict, str, str]] = field(default_factory=Counter)
    _searches: int = 0

    def recall(self, result: CaseResult) -> None:
        """Count the confirmation that `result` of an earlier process rests on, if it rests on one."""
        if result.verdict in FAILING and result.attempts > 1:
            headline = result.discrepancies[0] if result.discrepancies else None
            clause, function = (headline.clause, headline.function) if headline else ("", "")
            self._confirmed[result.verdict, clause, function] += 1

    def confirm(self, case: Case, first: Attempt) -> Confirmed:
        """What stands after `first`, a failing attempt of `case`. Leaves a worker that no failure has touched."""
        if self._confirmed[first.root] >= CONFIRMATIONS:
            return Confirmed(first)
        history = self.worker.past
        second = self._fresh(case)
        if second.failing:
            self._confirmed[second.root] += 1
            self.worker.restart()
            return Confirmed(second, 1)
        flaky = self._search(case, first, history)
        self.worker.restart()
        return flaky

    def _fresh(self, case: Case) -> Attempt:
        self.worker.restart()
        return self.try_once(case)

    def _search(self, case: Case, first: Attempt, history: Sequence[Executed]) -> Confirmed:
        """The rate in new workers, and the shortest stretch of `history` that brings the failure back."""
        runs, failed, attempts = 1, 0, 1
        while runs < (2 if first.judgement.verdict is Verdict.TIMEOUT else REPEATS) and not self.expired():
            failed += self._fresh(case).failing
            runs += 1
        attempts = runs
        rate = f"failed in the running worker, then in {failed} of {runs} new ones"
        if not history or self._searches >= SEARCHES:
            return Confirmed(first, attempts, rate)
        self._searches += 1

        def fails_after(programs: Sequence[Executed]) -> bool:
            nonlocal attempts
            attempts += 1
            return self._fails_after(case, programs)

        found = culprit(history, fails_after)
        if found is None:
            rate += f"; the worker's {len(history)} programs before it do not bring it back"
            return Confirmed(first, attempts, rate)
        names = ", ".join(executed.id for executed in found[:3]) + (", ..." if len(found) > 3 else "")
        return Confirmed(first, attempts, f"{rate}; fails again after {len(found)} program(s): {names}", tuple(found))

    def _fails_after(self, case: Case, programs: Sequence[Executed]) -> bool:
        if self.expired():
            return False
        self.worker.restart()
        for executed in programs:
            if self.worker.run(executed.id, executed.program).ending.kind in DEADLY:
                return False
        return self.try_once(case).failing
