"""Near names, for errors that answer a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near(name: str, choices: Iterable[str]) -> str:
    """'; did you mean X?' for the choice that looks most like `name`, '' when none does."""
    found = get_close_matches(name, list(choices), n=1)
    return f"; did you mean {found[0]}?" if found else ""
