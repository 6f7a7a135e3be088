"""Garbage: when the collector may work. Judging makes many small objects that live long and few cycles."""

from __future__ import annotations

import gc

MANY = 400_000
"""New containers after which garbage is collected, between two cases."""

FULL = 16
"""Of so many times once among all objects, not among the new ones only: what is remembered grows and is no garbage."""


def tidy() -> None:
    """Collect garbage if it is time to. To be called between two cases, with the collector disabled."""
    if gc.get_count()[0] > MANY:
        gc.collect(2 if gc.get_count()[1] >= FULL else 0)
