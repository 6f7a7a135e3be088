"""What ends a command before its time, by whose fault it is."""

from __future__ import annotations


class BadInput(Exception):
    """What the user gave cannot be used. The message is one line: what, where, what to do; exit code 2."""


class SpecError(BadInput, ValueError):
    """A table is wrong. The message names file, line and, where there is one, the clause."""


class SuiteFault(Exception):
    """The suite's own machinery failed; exit code 3."""
