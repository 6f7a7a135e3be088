"""Waivers, baselines and what they are held against, for the tests of both."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import yaml
from made_results import ALLOC

from acl_cts.reports.acceptance import Expectations, accepted
from acl_cts.reports.baseline import load_baseline
from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.results import Results
from acl_cts.reports.universe import Universe
from acl_cts.reports.waivers import load_waivers

A, B, N = "mbuf/g/a~00000000", "mbuf/g/b~00000001", "mbuf/g/n~00000002"
"""Ids of `good()`, `bad()` and `not_run()`."""

KNOWN = Universe(
    cases={A: frozenset({"mbuf.x"}), B: frozenset({"mbuf.x", "mbuf.y"}), N: frozenset({"mbuf.z"})},
    clauses=frozenset({"mbuf.x", "mbuf.y", "mbuf.z", "common.no-crash"}),
    limits=frozenset({"area", "length"}),
    functions=frozenset({ALLOC, "aclrtFreeBuf"}),
    backends=frozenset({"core", "acl"}),
)
"""Everything that there is where results are made by hand."""

UNTIL = "2026-01-01"
"""The day on which results that are made by hand began."""


def waiver(scope: dict[str, Any], id: str = "W-1", **more: str) -> dict[str, Any]:
    """A waiver of `scope` as it stands in a file."""
    usual = {"reason": "known", "owner": "Ann", "link": "https://tracker.example/1", "expires": UNTIL}
    return {"id": id, **usual, **more, "scope": scope}


def waiver_file(folder: Path, *waivers: dict[str, Any]) -> Path:
    """A file of `waivers`."""
    path = folder / "waivers.yaml"
    path.write_text(_text({"format": 1, "waivers": list(waivers)}), encoding="utf-8")
    return path


def baseline_file(folder: Path, *entries: dict[str, Any]) -> Path:
    """A baseline of `entries`."""
    path = folder / "baseline.yaml"
    path.write_text(_text({"format": 1, "backends": list(entries)}), encoding="utf-8")
    return path


def _text(data: dict[str, Any]) -> str:
    """YAML without anything that stands for another part."""
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False)


def held(results: Results, waivers: Path | None = None, baseline: Path | None = None) -> Results:
    """`results` as a run with these files leaves them."""
    expectations = Expectations(
        load_baseline(baseline) if baseline else None, load_waivers(waivers) if waivers else None
    )
    found = accepted(results, expectations, KNOWN)
    holds = holding(found, found.fail_on)
    return dataclasses.replace(found, holds=holds, code=final(holds))
