"""One execution of a case, with what the oracle says of it."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.reports.results import FAILING
from acl_cts.specs.judgement import Judgement, Verdict
from acl_cts.specs.trace import CallRecord, Trace


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was answered, and what it means."""

    trace: Trace
    judgement: Judgement

    @property
    def failing(self) -> bool:
        """Whether it accuses the library."""
        return self.judgement.verdict in FAILING

    @property
    def clause(self) -> str:
        """The headline clause, '' without a discrepancy."""
        return self.judgement.discrepancies[0].clause if self.judgement.discrepancies else ""

    @property
    def root(self) -> tuple[Verdict, str, str]:
        """What tells root causes apart: verdict, headline clause, function."""
        headline = self.judgement.discrepancies[0] if self.judgement.discrepancies else None
        function = headline.function if headline else self.trace.ending.function
        return self.judgement.verdict, self.clause, function

    @property
    def breach(self) -> bool:
        """Whether a call wrote outside the caller's memory."""
        return any(isinstance(record, CallRecord) and record.breaches for record in self.trace.records)

    @property
    def reason(self) -> str:
        """One line: the oracle's reason, otherwise the headline."""
        if self.judgement.reason:
            return self.judgement.reason
        if not self.judgement.discrepancies:
            return ""
        headline = self.judgement.discrepancies[0]
        return f"expected {headline.expected}; observed {headline.observed}"
