"""The suite as pytest sees it; the plugin makes an item of every group of cases."""

from __future__ import annotations

from collections.abc import Iterable

from acl_cts.conformance.plugin import verdict_of
from acl_cts.reports.results import CaseResult


def test_conformance(results: Iterable[CaseResult]) -> None:
    """Every case keeps to the documents."""
    verdict_of(results)
