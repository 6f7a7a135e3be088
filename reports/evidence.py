"""Evidence: what a reader needs to see a failure with their own eyes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """The `program` that failed, the one shell `command` that executes it again, and the `reproducer`: the text of a
    standalone C file, '' for cases whose root cause another case shows already."""

    program: str
    command: str
    reproducer: str = ""
