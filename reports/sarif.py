"""SARIF 2.1.0: every discrepancy as a result, for code hosts and editors that show those of static analysis."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from acl_cts.reports.advice import advice, unjudged
from acl_cts.reports.exit_code import counts, counts_limit
from acl_cts.reports.html_report import UNSHOWABLE
from acl_cts.reports.limit_grid import cell, documented, where
from acl_cts.reports.limit_result import BROKEN, LimitResult
from acl_cts.reports.results import RED, BackendRun, CaseResult, Results
from acl_cts.reports.summary import MEANING
from acl_cts.reports.words import counted, first_line
from acl_cts.specs.judgement import Strength, Verdict

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

LEVELS: Mapping[Strength, str] = {
    Strength.EXPLICIT: "error",
    Strength.OBLIGATION: "error",
    Strength.IMPLIED: "warning",
    Strength.ADVISORY: "note",
}
"""How loudly a broken clause is told."""

MOST = 5_000
"""Results of one backend: code hosts show no more. The others are counted in a notification."""

SNIPPET = 3_000
"""Characters of a program that are quoted."""


def sarif(results: Results) -> str:
    """The document, a SARIF run for each backend."""
    runs = [_run(results, run) for run in results.runs]
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}
    return UNSHOWABLE.sub("\ufffd", json.dumps(document, ensure_ascii=False, indent=1)) + "\n"


def _run(results: Results, run: BackendRun) -> dict[str, Any]:
    found = [*_of_cases(results, run), *_of_limits(results, run), *_of_notes(run)]
    rules = {name: place for place, name in enumerate(dict.fromkeys(one["ruleId"] for one in found))}
    shown = [one | {"ruleIndex": rules[one["ruleId"]]} for one in found[:MOST]]
    identity = {name: str(run.identity[name]) for name in ("library", "sha256", "build_id") if run.identity.get(name)}
    properties: dict[str, Any] = {"backend": run.backend, "tables": results.spec, "caseList": run.case_list} | identity
    if results.shard is not None:
        properties["shard"] = str(results.shard)
    if results.profile is not None:
        properties["profile"] = f"{results.profile.name} {results.profile.version}"
    return {
        "tool": {
            "driver": {
                "name": "acl-cts",
                "version": results.version,
                "rules": [_rule(results, name) for name in rules],
            }
        },
        "automationDetails": {"id": f"acl-cts/{_quoted(run.backend)}{_suffix(results)}/"},
        "originalUriBaseIds": {"REPORT": {"description": {"text": "the folder of the report"}}},
        "invocations": [_invocation(results, run, len(found) - len(shown))],
        "results": shown,
        "properties": properties,
    }


def _suffix(results: Results) -> str:
    return f"/{results.shard.number}-of-{results.shard.of}" if results.shard else ""


def _rule(results: Results, name: str) -> dict[str, Any]:
    """What a clause says; for what is no clause, its name."""
    text = results.tables.clauses.get(name)
    if text is None:
        limit = results.tables.limits.get(name.removeprefix("limit/"))
        return {"id": name, "shortDescription": {"text": (limit.text if limit else "") or name}}
    strengths = {strength.value: strength for strength in Strength}
    level = LEVELS[strengths[text.strength]] if text.strength in strengths else "warning"
    return {
        "id": name,
        "shortDescription": {"text": text.text or name},
        "help": {"text": f"{text.text} ({text.source})"},
        "defaultConfiguration": {"level": level},
        "properties": {"strength": text.strength, "function": text.function, "family": text.family, "zh": text.zh},
    }


def _of_cases(results: Results, run: BackendRun) -> Iterator[dict[str, Any]]:
    """Failing cases, those that count first."""
    red = [case for case in run.cases if case.verdict in RED - {Verdict.ERROR} or case.breach]
    for case in sorted(red, key=lambda case: not counts(case, results.fail_on)):
        headline = case.discrepancies[0] if case.discrepancies else None
        said = f"expected: {headline.expected} Observed: {headline.observed}" if headline else first_line(case.reason)
        level = LEVELS[headline.strength] if headline else "error"
        if not case.accepted and not counts(case, results.fail_on):
            level = "note"
        rule = headline.clause if headline and headline.clause else f"verdict/{case.verdict}"
        place = {"physicalLocation": _program(case)} if case.files else {}
        function = headline.function if headline else ""
        names = [{"fullyQualifiedName": case.id, "kind": "resource"}]
        names += [{"name": function, "kind": "function"}] if function else []
        properties: dict[str, Any] = {"verdict": case.verdict.value, "case": case.id, "clauses": list(_clauses(case))}
        if case.evidence is not None:
            properties["reproduce"] = case.evidence.command
        yield {
            "ruleId": rule,
            "level": level,
            "message": {"text": f"{case.verdict}, case {case.id}: {said}"},
            "locations": [place | {"logicalLocations": names}],
            "partialFingerprints": {"case/v1": _digest(run.backend, rule, case.id)},
            "properties": properties,
            **_suppressed(case.accepted),
        }


def _program(case: CaseResult) -> dict[str, Any]:
    """Where the program of a failing case stands, seen from the report."""
    region: dict[str, Any] = {"startLine": 1}
    if case.evidence is not None and case.evidence.program:
        region["snippet"] = {"text": case.evidence.program[:SNIPPET]}
    uri = _quoted(f"{case.files}/program.txt", "/")
    return {"artifactLocation": {"uri": uri, "uriBaseId": "REPORT"}, "region": region}


def _clauses(case: CaseResult) -> Iterator[str]:
    yield from dict.fromkeys(found.clause for found in case.discrepancies)


def _of_limits(results: Results, run: BackendRun) -> Iterator[dict[str, Any]]:
    for limit in run.limits:
        if limit.verdict in BROKEN:
            told = f"{limit.verdict}: {where(limit)}: documented {documented(limit)}; here {cell(limit)}"
            yield {
                "ruleId": f"limit/{limit.limit}",
                "level": "error" if counts_limit(limit, results.fail_on) or limit.accepted else "note",
                "message": {"text": f"{told}. {limit.detail}".rstrip(". ") + "."},
                "locations": [{"logicalLocations": [{"name": limit.function, "kind": "function"}]}],
                "partialFingerprints": {"limit/v1": _digest(run.backend, *_probe(limit))},
                **_suppressed(limit.accepted),
            }


def _probe(limit: LimitResult) -> tuple[str, ...]:
    return limit.limit, limit.function, limit.param, limit.context


def _of_notes(run: BackendRun) -> Iterator[dict[str, Any]]:
    """Advice, once for each clause, function and observation."""
    for entry in advice(run):
        found = entry.finding
        yield {
            "ruleId": found.clause or "advice",
            "level": "note",
            "message": {"text": f"{found.expected} Observed: {found.observed} ({counted(entry.number, 'case')})"},
            "locations": [
                {
                    "logicalLocations": [
                        {"fullyQualifiedName": entry.example, "kind": "resource"},
                        {"name": found.function, "kind": "function"},
                    ]
                }
            ],
            "partialFingerprints": {"note/v1": _digest(run.backend, found.clause, found.function, found.observed)},
        }


def _suppressed(accepted: tuple[str, ...]) -> dict[str, Any]:
    """Failures that somebody expects are told, and marked."""
    if not accepted:
        return {}
    reason = f"accepted by {', '.join(accepted)}"
    return {"suppressions": [{"kind": "external", "justification": reason}]}


def _invocation(results: Results, run: BackendRun, left: int) -> dict[str, Any]:
    """How the run went, and everything that is no result."""
    notes = [_notice("note", f"{one.number} × {one.verdict}: {one.reason}") for one in unjudged(run)]
    notes += [_notice("error", held.reason) for held in results.holds if held.code in (3, 130)]
    notes += [_notice("error", f"{case.id}: {case.reason}") for case in run.cases if case.verdict is Verdict.ERROR]
    notes += [_notice("warning", held.reason) for held in results.holds if held.code in (4, 5)]
    if results.shard is not None:
        notes.append(_notice("warning", f"{results.shard}: the other shards hold the other cases"))
    if left:
        notes.append(_notice("warning", f"{counted(left, 'result')} left out here; results.json holds all"))
    broken = bool(run.trouble) or any(case.verdict is Verdict.ERROR for case in run.cases)
    times = {"startTimeUtc": _utc(results.started), "endTimeUtc": _utc(results.ended)}
    return {
        "executionSuccessful": results.finished and not broken,
        "exitCode": results.code,
        "exitCodeDescription": MEANING.get(results.code, "unknown"),
        "toolExecutionNotifications": notes,
        **{name: time for name, time in times.items() if time},
    }


def _notice(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}


def _utc(time: str) -> str:
    """A time as SARIF wants it, '' when it is none."""
    if not re.fullmatch(r"[-0-9T:.+Z]+", time, re.ASCII):
        return ""
    try:
        return datetime.fromisoformat(time).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return ""


def _quoted(text: str, safe: str = "") -> str:
    """Any text as part of an address."""
    return quote(text.encode("utf-8", "replace"), safe=safe)


def _digest(*parts: str) -> str:
    """What tells a result of one run to be that of another."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()
