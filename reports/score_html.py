"""A score as one self-contained HTML page, in the look of the report and without any script."""

from __future__ import annotations

import base64
import hashlib

import jinja2
from markupsafe import Markup

from acl_cts.reports.html_report import TEMPLATES, UNSHOWABLE
from acl_cts.reports.score_result import Fate, Proof, Score
from acl_cts.reports.score_text import totals

LOOKS = {Proof.PROVED: "good", Proof.FAILED: "bad", Proof.NOT_PLANTED: "warn", Proof.NOT_CHECKED: "idle"}
"""How a proof looks."""


def score_html(score: Score) -> str:
    """The whole page."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("score.html.j2").render(
        score=score,
        totals=totals(score),
        survivors=score.fated(Fate.SURVIVED),
        reviewed=[each for each in score.fated(Fate.EQUIVALENT) if each.evidence.startswith("reviewed")],
        looks=LOOKS,
        style=Markup(style),  # our own, and holds nothing of the results
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    )
    return UNSHOWABLE.sub("\ufffd", page)
