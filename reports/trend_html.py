"""A history as one self-contained page of pictures; nothing of it needs a script."""

from __future__ import annotations

from typing import Any

from acl_cts.reports.page import page
from acl_cts.reports.trend import Trend
from acl_cts.reports.trend_picture import Pictures
from acl_cts.reports.trend_wording import TREND_WORDS


def trend_html(history: Trend) -> str:
    """The whole page."""
    return page(
        "trend.html.j2",
        TREND_WORDS,
        ("report.css", "trend.css"),
        ("switches.js", "trend.js"),
        history=history,
        backends=[_backend(history, name) for name in history.backends],
    )


def _backend(history: Trend, name: str) -> dict[str, Any]:
    pictures = Pictures(history, name)
    limits, points = pictures.limits(), pictures.points()
    return {
        "name": name,
        "failures": pictures.failures(),
        "clauses": pictures.clauses(),
        "limits": [strip for strip in limits if strip.changed],
        "steady_limits": [strip for strip in limits if not strip.changed],
        "points": [strip for strip in points if strip.changed],
        "steady_points": [strip for strip in points if not strip.changed],
        "moments": [point.moments.get(name) for point in history.points],
    }
