"""The page: results as one self-contained HTML file, in two languages, without anything from elsewhere.

Everything that a library under test may have written is hostile text here: the templates escape all of it, and a
content security policy lets no script run but the page's own.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from acl_cts.reports import chinese
from acl_cts.reports.accepted_list import accepted_list, flaky_list, state
from acl_cts.reports.advice import advice, unjudged
from acl_cts.reports.case_data import case_data
from acl_cts.reports.clause_matrix import ClauseRow, clause_matrix
from acl_cts.reports.limit_cell import Fold, astray, limit_cell
from acl_cts.reports.limit_result import LimitResult
from acl_cts.reports.limit_table import LimitRow, folded, limit_table, readings, units
from acl_cts.reports.open_points import open_points
from acl_cts.reports.results import BackendRun, Results
from acl_cts.reports.roots import Root, roots
from acl_cts.reports.wording import READINGS, SCRIPTED, UNITS, WORDS
from acl_cts.specs.judgement import Verdict

TEMPLATES = Path(__file__).resolve().parent / "templates"

REPRODUCERS = 750_000
"""Characters of C reproducers that one page holds; the first root causes get them."""

TOLD = 100
"""Root causes of one backend that are told in full; the rest are in the list of cases."""

UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that no page can show, or not as what they are."""

GROUPS: Mapping[Verdict, str] = {
    Verdict.PASS: "good",
    Verdict.FAIL: "bad",
    Verdict.CRASH: "bad",
    Verdict.TIMEOUT: "bad",
    Verdict.LEAK: "bad",
    Verdict.FLAKY: "bad",
    Verdict.ERROR: "bad",
    Verdict.BLOCKED: "warn",
    Verdict.INCONCLUSIVE: "warn",
    Verdict.NOT_SUPPORTED: "idle",
    Verdict.NOT_RUN: "idle",
}
"""How a verdict looks."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of the picture of totals; `left` and `width` in per cent."""

    verdict: Verdict
    number: int
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """Renders `results`, which stand in `folder`, as a page for the folder `out`."""

    results: Results
    folder: Path
    out: Path

    def text(self) -> str:
        """The whole page."""
        page = _environment().get_template("report.html.j2").render(self._view())
        return UNSHOWABLE.sub("\ufffd", page)

    def _view(self) -> dict[str, Any]:
        results = self.results
        data = case_data(results) | {"words": {name: WORDS[name] for name in SCRIPTED}}
        return {
            "results": results,
            "runs": [self._run(run) for run in results.runs],
            "limits": limit_table(results),
            "matrix": _by_function(clause_matrix(results)),
            "points": open_points(results),
            "data": embedded(data),
            "policy": _policy(),
            "told": TOLD,
            "sections": self._sections(),
        }

    def _sections(self) -> list[str]:
        """Names of the sections, in order; those about what a run may be told to do only where it was."""
        results = self.results
        names = ["totals", "limits", "discrepancies"]
        names += ["accepted"] if results.expected is not None else []
        names += ["flaky"] if any(case.repeats for run in results.runs for case in run.cases) else []
        return [*names, "matrix", "open", "notes", "support", "unjudged", "defects", "cases", "environment"]

    def _run(self, run: BackendRun) -> dict[str, Any]:
        found = roots(run, self.results.fail_on)
        budget = REPRODUCERS // max(1, len(self.results.runs))
        return {
            "run": run,
            "bars": tuple(bars(run)),
            "roots": found,
            "root_number": len(found),
            "details": _details(run),
            "shown": _within(found[:TOLD], budget),
            "links": {root.cases[0].id: self._link(root.cases[0].files) for root in found[:TOLD]},
            "accepted": accepted_list(run),
            "flaky": flaky_list(run),
            "advice": advice(run),
            "unjudged": unjudged(run),
            "file": Path(str(run.identity.get("library", ""))).name,
            "lacking": run.lacking,
            "strengths": run.by_strength,
        }

    def _link(self, files: str) -> str:
        """The address of a failure folder as seen from the page; '' when there is none, or none below the results."""
        if not files or UNSHOWABLE.search(files):
            return ""
        base = self.folder.resolve()
        place = (base / files).resolve()
        if not place.is_relative_to(base) or place == base or not place.is_dir():
            return ""
        return "./" + quote(Path(os.path.relpath(place, self.out.resolve())).as_posix()) + "/"


def bars(run: BackendRun) -> Iterator[Bar]:
    """The totals of `run` as stretches of one bar; even a single case is wide enough to be seen."""
    totals = {Verdict(name): number for name, number in run.totals.items() if number}
    widths = {verdict: max(number / len(run.cases), 0.008) for verdict, number in totals.items()}
    whole, left = sum(widths.values()), 0.0
    for verdict, width in widths.items():
        share = 100 * width / whole
        yield Bar(verdict, totals[verdict], round(left, 3), round(share, 3))
        left += share


def embedded(data: Any) -> Markup:
    """`data` as JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def word(name: str) -> Markup:
    """An interface word in both languages, of which the page shows one."""
    return both(*WORDS[name])


def both(text: str, zh: str = "") -> Markup:
    """`text` in English and Chinese, of which the page shows one; English alone where there is no Chinese."""
    if not zh:
        return Markup('<span lang="en">{}</span>').format(text)
    return Markup('<span class="en" lang="en">{}</span><span class="zh" lang="zh-CN">{}</span>').format(text, zh)


def quantity(number: int, unit: str) -> Markup:
    """`number` with its unit, in both languages."""
    return both(units(number, unit), f"{number} {UNITS.get(unit, unit)}")


def documented(row: LimitRow) -> Markup:
    """What the documents say of a limit, in both languages."""
    if row.text is None or row.text.relative:
        return both(row.documented)
    return both(row.documented, _in_chinese(row.text.readings, row.text.unit))


def documented_here(result: LimitResult) -> Markup:
    """What the documents say of a limit in the situation of one probe, in both languages."""
    return both(readings(result.documented, result.unit), _in_chinese(result.documented, result.unit))


def _in_chinese(values: tuple[tuple[str, int], ...], unit: str) -> str:
    named = [f"（{READINGS.get(name, name)}）" if len(values) > 1 else "" for name, _ in values]
    told = [f"{value} {UNITS.get(unit, unit)}{name}" for (_, value), name in zip(values, named, strict=True)]
    return WORDS["or"][1].join(told) or WORDS["no-number"][1]


def folded_both(fold: Fold) -> Markup:
    """Probes that are all alike, in both languages."""
    number = len(fold.probes)
    lead = WORDS["probes-all" if fold.whole and number > 1 else "probes"][1]
    return both(folded(fold), f"{number} {lead}{WORDS[f'limit-{fold.verdict}'][1]}")


def sentence(text: str, kind: str) -> Markup:
    """A sentence out of results, in both languages where it is one of ours: a `reason` or a `situation`."""
    told = {"reason": chinese.reason, "situation": chinese.situation}[kind](text)
    if not told:
        return Markup('<span lang="en">{}</span>').format(_quoted(text))
    return both(_quoted(text), _quoted(told))


def _policy() -> str:
    """Content security policy: the page's own style and script, nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash('report.css')}'; script-src '{_hash('report.js')}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(name: str) -> Markup:
    """The style or the script, as it stands in the page. Both are our own and hold nothing of the results."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(name: str) -> str:
    digest = hashlib.sha256(_source(name).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _within(found: tuple[Root, ...], budget: int) -> frozenset[str]:
    """Ids of the first cases whose reproducers fit into `budget` characters together."""
    shown = set()
    for root in found:
        evidence = root.cases[0].evidence
        length = len(evidence.reproducer) if evidence else 0
        if length <= budget:
            budget -= length
            shown.add(root.cases[0].id)
    return frozenset(shown)


def _details(run: BackendRun) -> list[tuple[str, str]]:
    """What the backend tells of itself beside its file: versions, flavour, SoC."""
    details = run.identity.get("details")
    return [(str(name), str(value)) for name, value in details.items()] if isinstance(details, dict) else []


def _by_function(rows: tuple[ClauseRow, ...]) -> list[tuple[str, list[ClauseRow]]]:
    groups: dict[str, list[ClauseRow]] = {}
    for row in rows:
        groups.setdefault(row.text.function, []).append(row)
    return list(groups.items())


def _anchor(name: str) -> str:
    """`name` as the id of an element; distinct names may only meet where they differ in unusual characters."""
    return re.sub("[^A-Za-z0-9._-]", "-", name)


def _quoted(text: str) -> Markup:
    """Hostile text in a line: escaped, and with its direction marks kept to itself."""
    return Markup("<bdi>") + escape(text) + Markup("</bdi>")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(t=word, both=both, words=WORDS, groups=GROUPS, source=_source)
    environment.globals.update(quantity=quantity, documented=documented)
    environment.globals.update(documented_here=documented_here, chinese=sentence, limit_cell=limit_cell)
    environment.globals.update(folded=folded_both, astray=astray, waiver_state=state)
    environment.filters.update(anchor=_anchor, quoted=_quoted)
    return environment
