"""Suggestions: the names that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

ALIKE = 0.03
"""How much less alike than the nearest name another one may be and still be suggested; names here share much."""


def _likeness(name: str, choice: str) -> float:
    return SequenceMatcher(None, choice, name).ratio()


def suggestion(name: str, choices: Iterable[str]) -> str:
    """'; did you mean a or b?' for the names nearest to `name`, or '' when none is near."""
    listed = list(choices)
    near = get_close_matches(name, listed, n=3, cutoff=0.6)
    best = _likeness(name, near[0]) if near else 0.0
    near = [choice for choice in near if _likeness(name, choice) >= best - ALIKE]
    lowered = name.strip("*").lower()
    if lowered and not near:
        near = [choice for choice in listed if lowered in choice.lower()][:3]
    return f"; did you mean {' or '.join(near)}?" if near else ""
