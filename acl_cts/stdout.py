"""Output to people and pipes."""

from __future__ import annotations

import os

import click


def show(text: str, *, nl: bool = True) -> None:
    """Print `text` on stdout. When its reader has gone away, whatever else is printed is lost without complaint: what
    the command does, and its exit code, do not depend on who listens."""
    try:
        click.echo(text, nl=nl)
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Send stdout nowhere from here on; Python would complain once more about a closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
