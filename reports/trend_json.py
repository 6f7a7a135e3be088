"""A history as JSON. Its schema is `trend.schema.json`."""

from __future__ import annotations

from typing import Any

from acl_cts.reports.diff_json import version_json
from acl_cts.reports.trend import Moment, Trend

TREND_FORMAT = 1
"""Version of the JSON form."""


def trend_json(history: Trend) -> dict[str, Any]:
    """JSON of the whole history."""
    return {
        "format": TREND_FORMAT,
        "tool": {"name": "acl-cts", "version": history.tool},
        "points": [
            version_json(point.version) | {"backends": {name: _moment(one) for name, one in point.moments.items()}}
            for point in history.points
        ],
        "unreadable": [{"path": version.path, "reason": version.unreadable} for version in history.unreadable],
    }


def _moment(moment: Moment) -> dict[str, Any]:
    return {
        "totals": dict(moment.totals),
        "failed": moment.failed,
        "accepted": moment.accepted,
        "failures": dict(sorted(moment.failures.items())),
        "limits": [
            {
                "limit": limit.limit,
                "function": limit.function,
                "param": limit.param,
                "context": limit.context,
                "verdict": limit.verdict.value,
                "measured": limit.measured,
                "unit": limit.unit,
            }
            for limit in moment.limits.values()
        ],
        "open_points": {
            clause: [[answer, number] for answer, number in seen] for clause, seen in moment.open_points.items()
        },
    }
