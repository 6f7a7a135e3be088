"""Output to people and pipes."""

from __future__ import annotations

import os
import sys

import click


class OutputError(Exception):
    """Stdout takes no more. The message is one line: what, where, what to do."""


def show(text: str, *, nl: bool = True) -> None:
    """Print `text` on stdout. When its reader has gone away, whatever else is printed is lost without complaint: what
    the command does, and its exit code, do not depend on who listens. Raises OutputError when the text was not taken
    for another reason, as on a full disk."""
    try:
        click.echo(text, nl=nl)
    except BrokenPipeError:
        silence()
    except OSError as error:
        raise _refused(error) from error


def unwritten(text: str = "") -> OutputError | None:
    """What keeps stdout from taking `text` and the rest of what was printed; None when it takes it. For what others
    print, as the help pages."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        return None
    except OSError as error:
        return _refused(error)
    return None


def _refused(error: OSError) -> OutputError:
    why = error.strerror or str(error)
    return OutputError(f"standard output: {why[:1].lower()}{why[1:]}; send it elsewhere")


def silence() -> None:
    """Send stdout nowhere from here on; Python would complain once more about a closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
