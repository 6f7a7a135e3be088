"""The summary of a run: what a person reads first, on the terminal and in summary.txt."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from acl_cts.reports.accepted_list import accepted_list, flaky_list, state, total_accepted
from acl_cts.reports.expected import BaselineUse
from acl_cts.reports.limit_grid import cell, documented, where
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.profile_use import Claim
from acl_cts.reports.results import BackendRun, FunctionSupport, Results, Support
from acl_cts.reports.roots import Root, roots
from acl_cts.reports.words import counted, first_line
from acl_cts.specs.judgement import Verdict

DETAILED = 3
"""Failures of one backend that are told in full; with more, the summary would not fit a screen or two."""

ROOTS = 8
"""Root causes of one backend that are told at all, each with the command that shows it again."""

LISTED = 8
"""Limits that get a line each."""

ACCEPTED_LINES = 8
"""Accepted causes of one backend that get a line each."""

AFTER = 3
"""Cases before a failing one that are named."""

ACCEPTED = {"waived": "waived", "baseline": "known to the baseline"}
"""Who accepts a failure."""

PROGRAM_LINES = 5
"""Lines of a program that are shown."""

WIDTH = 116
"""Columns after which a line is cut."""

QUIET = frozenset({LimitVerdict.AS_DOCUMENTED, LimitVerdict.NOT_SUPPORTED})
"""Verdicts on limits that need no line of their own."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Renders results. `folder`: the report's folder as the reader names it, '' when they are in it."""

    results: Results
    folder: str = ""

    def text(self) -> str:
        """The whole summary, ending in a newline."""
        return "\n".join(line.rstrip() for line in self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        results = self.results
        seed = "" if results.seed is None else f" · shuffled with seed {results.seed}"
        part = f" · {results.shard}" if results.shard else ""
        part += " · a selection" if results.filtered else ""
        profile = results.profile
        claims = f" · profile {profile.name} {profile.version} ({profile.sha256[:12]})" if profile else ""
        yield f"acl-cts {results.version} · tables {results.spec[:12]}{claims}{part}{seed}"
        for run in results.runs:
            yield ""
            yield from self._run(run)
        for run in results.runs:
            yield from self._failures(run)
        yield from self._expected()
        yield ""
        for held in results.holds[:6]:
            yield _cut(f"[exit code {held.code}] {first_line(held.reason)}")
        if len(results.holds) > 6:
            yield f"    and {counted(len(results.holds) - 6, 'more reason')}: see results.json"
        shard = f"; {results.shard}" if results.shard else ""
        others = sorted({held.code for held in results.holds} - {results.code})
        outranked = f"; outranks {' and '.join(map(str, others))}, which hold too" if others else ""
        yield f"exit code {results.code}: {MEANING[results.code]}{outranked}{self._accepted()}{shard}"

    def _run(self, run: BackendRun) -> Iterator[str]:
        totals = " · ".join(f"{number} {verdict}" for verdict, number in run.totals.items() if number)
        yield f"{run.backend}: {counted(len(run.cases), 'case')} in {run.duration:.1f} s: {totals or 'none'}"
        identity = run.identity
        if identity.get("library"):
            digest = str(identity.get("sha256", ""))[:12]
            yield f"  library           {_from_home(identity['library'])}  sha256 {digest}"
        details = identity.get("details") or {}
        if details.get("warning"):
            yield f"  warning           {details['warning']}"
        yield "  discrepancies     " + " · ".join(f"{number} {name}" for name, number in run.by_strength.items())
        if any(run.accepted.values()):
            told = " · ".join(f"{number} {ACCEPTED[name]}" for name, number in run.accepted.items() if number)
            yield f"  accepted          {told}; in the numbers above too"
        yield from _must_pass(run)
        yield from _repeats(run)
        notes = sum(len(case.notes) for case in run.cases) + len(run.notes)
        observed = sum(len(case.observations) for case in run.cases)
        points = len({observation.clause for case in run.cases for observation in case.observations})
        yield f"  notes             {notes}; {counted(observed, 'answer')} at {counted(points, 'open point')}"
        yield from self._support(run)
        yield f"  largest area      {_size(run.granted)}"
        yield from self._limits(run)
        for reason, number in _reasons(run)[:4]:
            yield _cut(f"  not judged        {number} × {reason}")
        for note in run.notes[:2]:
            answers = ", ".join(f"{answer} ({number}×)" for answer, number, _ in note.answers)
            yield _cut(f"  note              {note.clause}: {answers}")

    def _limits(self, run: BackendRun) -> Iterator[str]:
        """How many limits were probed, and those that are not simply as documented."""
        if not run.limits:
            return
        numbers = Counter(result.verdict for result in run.limits)
        told = " · ".join(f"{numbers[verdict]} {verdict}" for verdict in LimitVerdict if numbers[verdict])
        yield f"  limits            {counted(len(run.limits), 'probe')}: {told}"
        doubtful = [result for result in run.limits if result.verdict not in QUIET]
        for result in doubtful[:LISTED]:
            measured = f"documented {documented(result)}; here {cell(result)}"
            accepted = f" (accepted: {', '.join(result.accepted)})" if result.accepted else ""
            yield _cut(f"  limit             {result.limit}, {where(result)}: {measured}{accepted}")
        if len(doubtful) > LISTED:
            yield f"  limit             and {len(doubtful) - LISTED} more: see results.json"

    def _support(self, run: BackendRun) -> Iterator[str]:
        lacking = [entry for entry in run.lacking if entry.state is Support.NOT_SUPPORTED]
        asked = run.asked
        for family in dict.fromkeys(entry.family for entry in lacking):
            names = [entry.function for entry in lacking if entry.family == family]
            whole = sum(e.family == family and not e.auxiliary and e.function in asked for e in run.support)
            reserved = _as_claimed([entry for entry in lacking if entry.family == family])
            told = "all functions" if len(names) == whole else ", ".join(names)
            yield _cut(f"  not supported     {family} ({len(names)} of {whole}{reserved}): {told}")

    def _failures(self, run: BackendRun) -> Iterator[str]:
        found = roots(run, self.results.fail_on)
        if not found:
            return
        yield ""
        yield f"{run.backend}: failures by root cause"
        told = [root for root in found[:DETAILED] if root.cases[0].files or root.headline]
        for number, root in enumerate(told, 1):
            yield from self._detail(number, root)
        rest = found[len(told) :]
        for number, root in enumerate(rest[: ROOTS - len(told)], len(told) + 1):
            yield _cut(f"{number}. {_title(root)}")
            yield from _command(root)
        if len(found) > ROOTS:
            yield f"and {counted(len(found) - ROOTS, 'more root cause')}: see results.json"

    def _expected(self) -> Iterator[str]:
        """Every waiver, what the baseline knows, and what they cover: accepted is not forgotten."""
        expected = self.results.expected
        if expected is None:
            return
        yield ""
        yield "accepted beforehand"
        for waiver in expected.waivers:
            yield f"  waiver {waiver.id}: {state(waiver)}"
            yield f"      {waiver.reason}; {waiver.owner}, until {waiver.expires}, {waiver.link}"
        if expected.baseline is not None:
            yield f"  baseline {expected.baseline.file}: {_known(expected.baseline)}"
        for run in self.results.runs:
            found = accepted_list(run)
            for each in found[:ACCEPTED_LINES]:
                number = f", {counted(each.number, 'case')}" if each.kind == "cases" else ""
                yield _cut(f"  {run.backend}: {each.verdict}: {each.what}{number} ({', '.join(each.names)})")
            if len(found) > ACCEPTED_LINES:
                yield f"  {run.backend}: and {len(found) - ACCEPTED_LINES} more: see results.json"

    def _accepted(self) -> str:
        """How many failures are accepted, for the last line."""
        numbers = {name: number for name, number in total_accepted(self.results).items() if number}
        told = " and ".join(f"{counted(number, 'failure')} {ACCEPTED[name]}" for name, number in numbers.items())
        return f"; {told}" if told else ""

    def _detail(self, number: int, root: Root) -> Iterator[str]:
        case, headline = root.cases[0], root.headline
        yield _cut(f"{number}. {_title(root)}")
        yield f"   case       {case.id}"
        if headline is not None:
            yield _cut(f"   expected   {headline.expected}")
            yield _cut(f"   observed   {headline.observed}")
            clause = self.results.tables.clauses.get(headline.clause)
            if clause is not None:
                # The expectation is the clause's own text most of the time; then its source is all there is to add.
                same = clause.text == headline.expected
                yield _cut(f"   documents  {clause.source if same else f'{clause.text} ({clause.source})'}")
        if case.reason and (headline is None or case.verdict is Verdict.FLAKY):
            yield _cut(f"   reason     {first_line(case.reason)}")
        if case.after:
            more = f", and {len(case.after) - AFTER} more" if len(case.after) > AFTER else ""
            yield f"   fails after {', '.join(case.after[:AFTER])}{more}"
        program = case.evidence.program.splitlines() if case.evidence else []
        for line in program[:PROGRAM_LINES]:
            yield _cut(f"   |  {line}")
        if len(program) > PROGRAM_LINES:
            yield f"   |  ... {counted(len(program) - PROGRAM_LINES, 'more line')}"
        if case.files:
            yield f"   files      {Path(self.folder) / case.files}"
        if case.evidence:
            yield from _command(root)


MEANING = {
    0: "as expected",
    1: "the library does not keep to the documents",
    2: "usage or bad input",
    3: "the suite itself failed; the results cannot be relied on",
    4: "incomplete: something selected was not judged",
    5: "an expectation is out of date",
    130: "interrupted",
}
"""What each exit code says."""


def _known(baseline: BaselineUse) -> str:
    numbers = ((baseline.failures, "failure"), (baseline.flakes, "flake"), (baseline.skips, "skip"))
    more = ((baseline.limits, "limit probe"), (baseline.functions, "function"))
    told = " · ".join(counted(number, noun) for number, noun in (*numbers, *more) if number)
    stale = f"; {len(baseline.stale)} out of date" if baseline.stale else ""
    return f"{told or 'nothing'} as known{stale}"


def _must_pass(run: BackendRun) -> Iterator[str]:
    """How the backend stands to the must-pass list."""
    found = run.must_pass
    if found is None:
        return
    words = ("passed", "tolerated", "failed", "accepted", "missing")
    told = " · ".join(f"{getattr(found, word)} {word}" for word in words if getattr(found, word))
    yield f"  must pass         {counted(found.listed, 'case')} listed: {told or 'none'}"


def _repeats(run: BackendRun) -> Iterator[str]:
    """How often cases were repeated, and the rate of those that failed in some repeats only."""
    most = max((case.repeats for case in run.cases), default=0)
    if not most:
        return
    flaky = flaky_list(run)
    yield f"  repeats           each case up to {most} times; {counted(len(flaky), 'case')} failed in some of them only"
    for case in flaky[:LISTED]:
        yield _cut(f"  flaky             {case.failed} of {case.repeats}: {case.id}")
    if len(flaky) > LISTED:
        yield f"  flaky             and {len(flaky) - LISTED} more: see results.json"


def _as_claimed(entries: list[FunctionSupport]) -> str:
    """What profile or tables say of functions that are not supported."""
    claims = {entry.claim for entry in entries} - {Claim.NONE}
    if claims:
        return f", {' and '.join(sorted(claims))} by the profile"
    return ", reserved by the documents" if any(entry.reserved for entry in entries) else ""


def _title(root: Root) -> str:
    many = counted(len(root.cases), "case")
    if root.headline is None:
        return f"{root.verdict}: {first_line(root.cases[0].reason)} ({many})"
    return f"{root.verdict}: {root.clause} ({root.headline.strength}), {root.function}, {many}"


def _command(root: Root) -> Iterator[str]:
    """The command that shows the first case of `root` again, or its id where nothing was kept of it."""
    case = root.cases[0]
    yield f"   reproduce  {case.evidence.command}" if case.evidence else f"   case       {case.id}"


def _reasons(run: BackendRun) -> list[tuple[str, int]]:
    """Why cases were not run or inconclusive, most frequent first."""
    numbers: dict[str, int] = {}
    for case in run.cases:
        if case.verdict in (Verdict.NOT_RUN, Verdict.INCONCLUSIVE):
            reason = f"{case.verdict}: {case.reason}"
            numbers[reason] = numbers.get(reason, 0) + 1
    return sorted(numbers.items(), key=lambda pair: -pair[1])


def _size(number: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= factor:
            return f"{number / factor:.6g} {unit} ({number} bytes)"
    return f"{number} bytes" if number else "none granted"


def _from_home(path: str) -> str:
    """`path` as short as a shell takes it."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
