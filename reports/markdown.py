"""Markdown: a summary for comments on code hosts, which take no long ones."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.reports.accepted_list import accepted_list, flaky_list, state
from acl_cts.reports.advice import unjudged
from acl_cts.reports.limit_table import limit_table
from acl_cts.reports.limit_table import told as told_limits
from acl_cts.reports.markdown_text import code, fence, fitted, prose, table
from acl_cts.reports.open_points import open_points
from acl_cts.reports.results import BackendRun, Results
from acl_cts.reports.roots import Root, roots
from acl_cts.reports.summary import MEANING
from acl_cts.reports.words import counted, first_line

PROGRAM = 3_000
"""Characters of a program that are shown."""


def markdown(results: Results) -> str:
    """The comment. What does not fit is left out from the end, and the number of parts left out is told."""
    return fitted(_parts(results), "the other reports hold all")


def _parts(results: Results) -> Iterator[str]:
    yield _head(results)
    yield _totals(results)
    yield _limits(results)
    for run in results.runs:
        found = roots(run, results.fail_on)
        if found:
            yield f"### {prose(run.backend)}: {counted(len(found), 'root cause')}\n"
        for root in found:
            yield _root(results, root)
    yield _expected(results)
    for run in results.runs:
        yield _flaky(run)
        yield _unjudged(run)
    yield _divergences(results)


def _head(results: Results) -> str:
    lines = [
        f"## acl-cts {prose(results.version)}: exit code {results.code}, {MEANING.get(results.code, 'unknown')}",
        "",
        f"Tables {code(results.spec[:12])}, {prose(results.started)}."
        + _profile(results)
        + (f" **{str(results.shard).capitalize()}.**" if results.shard else "")
        + (" A selection of the cases." if results.filtered else "")
        + ("" if results.finished else " **Interrupted: the results are partial.**"),
        "",
        *(f"- {held.code}: {prose(held.reason)}" for held in results.holds[:20]),
    ]
    return "\n".join(lines) + "\n"


def _profile(results: Results) -> str:
    profile = results.profile
    return f" Profile {code(f'{profile.name} {profile.version}')} ({code(profile.sha256[:12])})." if profile else ""


def _totals(results: Results) -> str:
    seen = (name for run in results.runs for name, number in run.totals.items() if number)
    names = list(dict.fromkeys(("pass", "fail", *seen)))
    rows = [[prose(run.backend), *(str(run.totals[name]) for name in names)] for run in results.runs]
    if results.expected is not None:
        names += ["waived", "known to the baseline"]
        for row, run in zip(rows, results.runs, strict=True):
            row += map(str, run.accepted.values())
    if any(run.must_pass for run in results.runs):
        names.append("must pass")
        for row, run in zip(rows, results.runs, strict=True):
            row.append(f"{run.must_pass.passed} of {run.must_pass.listed}" if run.must_pass else "–")
    return table(["backend", *names], rows) if rows else ""


def _limits(results: Results) -> str:
    rows = []
    for row in limit_table(results):
        cells = [told_limits(row.results[run.backend]) for run in results.runs]
        rows.append([code(row.limit), prose(row.documented), *map(prose, cells)])
    if not rows:
        return ""
    return "### Limits\n\n" + table(["limit", "documented", *(prose(run.backend) for run in results.runs)], rows)


def _root(results: Results, root: Root) -> str:
    case, headline = root.cases[0], root.headline
    told = f"{root.clause} ({headline.strength}), {root.function}" if headline else first_line(case.reason)
    lines = [
        "<details>",
        f"<summary>{root.verdict}: {prose(told)}, {counted(len(root.cases), 'case')}</summary>",
        "",
    ]
    if headline is not None:
        text = results.tables.clauses.get(root.clause)
        lines += [f"- expected: {prose(headline.expected)}", f"- observed: {prose(headline.observed)}"]
        if text is not None:
            same = text.text == headline.expected
            lines.append(f"- documents: {prose(text.source if same else f'{text.text} ({text.source})')}")
    if case.reason and headline is not None and case.reason != headline.observed:
        lines.append(f"- reason: {prose(case.reason)}")
    lines.append(f"- case: {code(case.id)}")
    if case.after:
        lines.append(f"- fails after: {', '.join(map(code, case.after[:3]))}")
    if case.evidence is not None:
        program = case.evidence.program
        cut = "\n..." if len(program) > PROGRAM else ""
        lines += ["", fence(program[:PROGRAM] + cut), "", fence(case.evidence.command, "sh")]
    return "\n".join([*lines, "", "</details>", ""])


def _expected(results: Results) -> str:
    """Waivers with what became of them, and everything that is accepted."""
    expected = results.expected
    if expected is None:
        return ""
    rows = [
        [code(w.id), prose(state(w)), prose(w.reason), prose(w.owner), prose(w.expires), prose(w.link)]
        for w in expected.waivers
    ]
    lines = ["### Accepted beforehand", ""]
    if rows:
        lines.append(table(["waiver", "covers", "reason", "owner", "until", "link"], rows))
    if expected.baseline is not None:
        lines += [f"Baseline {code(expected.baseline.file)}, {len(expected.baseline.stale)} out of date.", ""]
    for run in results.runs:
        found = accepted_list(run)
        for each in found[:15]:
            told = f"{each.number} × {each.verdict}: {prose(each.what)} ({prose(', '.join(each.names))})"
            lines.append(f"- {prose(run.backend)}: {told}")
        if len(found) > 15:
            lines.append(f"- {prose(run.backend)}: {counted(len(found) - 15, 'more cause')}")
    return "\n".join(lines) + "\n"


def _flaky(run: BackendRun) -> str:
    found = flaky_list(run)
    if not found:
        return ""
    rows = [[f"{case.failed} of {case.repeats}", code(case.id)] for case in found[:15]]
    more = f"{counted(len(found) - 15, 'more case')}\n" if len(found) > 15 else ""
    return f"### {prose(run.backend)}: flaky\n\n{table(['failed', 'case'], rows)}{more}"


def _unjudged(run: BackendRun) -> str:
    found = unjudged(run)
    if not found:
        return ""
    lines = [f"- {entry.number} × {entry.verdict}: {prose(entry.reason)}" for entry in found[:15]]
    more = [f"- {counted(len(found) - 15, 'more reason')}"] if len(found) > 15 else []
    return "\n".join([f"### {prose(run.backend)}: not judged", "", *lines, *more, ""])


def _divergences(results: Results) -> str:
    points = [point for point in open_points(results) if point.differs]
    if not points:
        return ""
    rows = [
        [code(point.clause), *(prose(", ".join(answer for answer, _ in found[:6])) or "–" for found in point.answers)]
        for point in points
    ]
    told = table(["clause", *(prose(run.backend) for run in results.runs)], rows)
    summary = f"<summary>{counted(len(points), 'open point')} answered differently</summary>"
    return f"<details>\n{summary}\n\n{told}\n</details>\n"
