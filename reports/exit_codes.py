"""The exit codes of `acl-cts`, and which one is given where several hold."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The only exit codes of `acl-cts` that are a contract."""

    AS_EXPECTED = 0
    DISCREPANCY = 1
    USAGE = 2
    HARNESS = 3
    INCOMPLETE = 4
    STALE = 5
    INCONSISTENT = 6
    INTERRUPTED = 130


PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.HARNESS,
    ExitCode.DISCREPANCY,
    ExitCode.INCOMPLETE,
    ExitCode.STALE,
)
"""Which code is returned when several hold."""
