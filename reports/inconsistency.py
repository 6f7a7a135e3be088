"""Inconsistencies: what a qualification package says that cannot all be true, each kind with a name that stays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Wrong(StrEnum):
    """Kinds of inconsistency. The words are a contract: they do not change from version to version."""

    SIGNATURE = "signature"
    MANIFEST = "manifest"
    MEMBER_MISSING = "member-missing"
    MEMBER_EXTRA = "member-extra"
    MEMBER_CHANGED = "member-changed"
    ABOUT = "about"
    SEAL = "seal"
    RESULTS = "results"
    TOTALS = "totals"
    EXIT = "exit"
    TABLES = "tables"
    CASE_LIST = "case-list"
    CASE_MISSING = "case-missing"
    CASE_TWICE = "case-twice"
    CASE_UNKNOWN = "case-unknown"
    CASE = "case"
    TRACE = "trace"
    TRACE_MISSING = "trace-missing"
    TRACE_TWICE = "trace-twice"
    TRACE_EXTRA = "trace-extra"
    VERDICT = "verdict"
    JUDGEMENT = "judgement"
    NOT_EXECUTED = "not-executed"
    SUPPORT = "support"
    LIMIT = "limit"
    NOTES = "notes"
    JOURNAL = "journal"
    PROFILE = "profile"
    MUST_PASS = "must-pass"
    WAIVERS = "waivers"
    ACCEPTED = "accepted"
    CHALLENGE = "challenge"
    EVIDENCE = "evidence"
    FAIL_ON = "fail-on"


MEANING = {
    Wrong.SIGNATURE: "the signature does not fit the package, or is of another key",
    Wrong.MANIFEST: "the manifest is not as `qualify` writes one, or names a member twice",
    Wrong.MEMBER_MISSING: "the manifest names a member that is not there, or one that every package has is not",
    Wrong.MEMBER_EXTRA: "there is a member that the manifest does not name",
    Wrong.MEMBER_CHANGED: "size or SHA-256 of a member differ from the manifest",
    Wrong.ABOUT: "what the manifest says of library, tool or tables differs from the results",
    Wrong.SEAL: "results or challenge were changed after they were written",
    Wrong.RESULTS: "the results are not as `run` writes them",
    Wrong.TOTALS: "totals are not those of the cases",
    Wrong.EXIT: "exit code or its reasons do not follow from the results",
    Wrong.TABLES: "another contract than the verifier's",
    Wrong.CASE_LIST: "the list of cases is not the verifier's",
    Wrong.CASE_MISSING: "a case that must be there has no result",
    Wrong.CASE_TWICE: "a case has two results",
    Wrong.CASE_UNKNOWN: "a result belongs to no case",
    Wrong.CASE: "what stands beside a case's verdict (clauses, functions, attempts) is not the case's",
    Wrong.TRACE: "a trace cannot be read, or does not belong to the program",
    Wrong.TRACE_MISSING: "an executed case has no trace",
    Wrong.TRACE_TWICE: "a case has two traces",
    Wrong.TRACE_EXTRA: "there is a trace of what was not executed",
    Wrong.VERDICT: "judging the trace again gives another verdict",
    Wrong.JUDGEMENT: "judging the trace again gives the verdict for another reason",
    Wrong.NOT_EXECUTED: "a case was not executed for no reason that the rules know",
    Wrong.SUPPORT: "which functions are supported does not follow from the answers",
    Wrong.LIMIT: "the edge of a limit does not follow from the answers",
    Wrong.NOTES: "notes about the run do not follow from its cases",
    Wrong.JOURNAL: "the journal of the run tells something else than the results",
    Wrong.PROFILE: "the profile is not the one that was asked for, or not the verifier's",
    Wrong.MUST_PASS: "numbers of the must-pass list do not follow from the cases",
    Wrong.WAIVERS: "the waivers are not valid, or not the ones that the results name",
    Wrong.ACCEPTED: "what is marked as accepted does not follow from the waivers",
    Wrong.CHALLENGE: "the challenge is not the one that the seed draws, or another seed's",
    Wrong.EVIDENCE: "what is kept of a failure is missing, or not of that failure",
    Wrong.FAIL_ON: "only some strengths counted; a qualification counts all",
}
"""One line about every kind."""


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """One thing that is wrong: its kind, where it was seen, and what."""

    kind: Wrong
    where: str
    what: str
