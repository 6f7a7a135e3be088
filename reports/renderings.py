"""Renderings: every form in which results are read, each made from the results alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from acl_cts.reports.html_report import HtmlReport
from acl_cts.reports.junit import junit
from acl_cts.reports.markdown import markdown
from acl_cts.reports.results import Results
from acl_cts.reports.sarif import sarif
from acl_cts.reports.summary import Summary


@dataclass(frozen=True, slots=True)
class Place:
    """Where a report stands: the folder of the `results`, the folder `out` that the rendering goes to, and how the
    reader names the former (`shown`)."""

    results: Path
    out: Path
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Rendering:
    """One form: its usual `file` name, one line about it, and what makes its text."""

    file: str
    about: str
    text: Callable[[Results, Place], str]


RENDERINGS: Mapping[str, Rendering] = {
    "html": Rendering(
        "report.html",
        "one page for people",
        lambda results, place: HtmlReport(results, place.results, place.out).text(),
    ),
    "markdown": Rendering("report.md", "a comment for code hosts", lambda results, place: markdown(results)),
    "junit": Rendering("junit.xml", "for dashboards", lambda results, place: junit(results)),
    "sarif": Rendering("report.sarif", "for code scanning", lambda results, place: sarif(results)),
    "text": Rendering("summary.txt", "what a run prints", lambda results, place: Summary(results, place.shown).text()),
}
"""Every form by its name on the command line."""
