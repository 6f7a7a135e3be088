"""Options that several subcommands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from acl_cts.backends.backend import BackendError, Options
from acl_cts.conformance.selection import Selection
from acl_cts.specs.loader import optional_tables

Command = TypeVar("Command", bound=Callable[..., Any])

OWN = ("core", "simulator")
"""Backends of the suite itself: two processes may use them at once without a device in between."""

GROUPS = (
    *("simple", "pair", "limit", "null", "sweep", "state", "related", "crowd", "cycle"),
    *("isolation", "fault", "robustness", "scenario"),
)
"""Groups of cases, for the help: it must not take the time of making the cases."""


def selecting(command: Command) -> Command:
    """Filters: --family, --function, --group, --clause, --case."""
    for decorate in reversed(
        (
            click.option("--family", "families", multiple=True, metavar="NAME", help="Only this family, as mbuf."),
            click.option("--function", "functions", multiple=True, metavar="NAME", help="Only cases that call it."),
            click.option(
                "--group",
                "groups",
                multiple=True,
                metavar="NAME",
                help=f"Only this group of cases: {', '.join(GROUPS)}.",
            ),
            click.option("--clause", "clauses", multiple=True, metavar="ID", help="Only cases that exercise it."),
            click.option(
                "--case", "cases", multiple=True, metavar="GLOB", help="Only case ids that match, as 'mbuf/*'."
            ),
        )
    ):
        command = decorate(command)
    return command


def tabled(command: Command) -> Command:
    """--table: further families."""
    return click.option(
        "--table",
        "tables",
        multiple=True,
        metavar="PATH",
        help=f"Table of a further family, or folder of some; repeatable. By name: {', '.join(optional_tables())}.",
    )(command)


def take_tables(given: dict[str, Any]) -> tuple[str, ...]:
    """The tables in `given`, whose entry is taken out, by paths that hold wherever a process works."""
    return tuple(
        str(Path(name).absolute()) if Path(name).exists() else name for name in dict.fromkeys(given.pop("tables"))
    )


def targeting(command: Command) -> Command:
    """How to reach a library: --library, --device, --data-access, --executor, --call-timeout, --table."""
    access = click.Choice(["auto", "direct", "copy"])
    for decorate in reversed(
        (
            click.option("--library", default="", metavar="PATH", help="Library under test, for --backend acl."),
            click.option("--device", default=0, show_default=True, metavar="N", help="Device number."),
            click.option(
                "--data-access", default="auto", show_default=True, type=access, help="How data areas are touched."
            ),
            click.option(
                "--executor", default="", metavar="PATH", help="Prebuilt executor, where there is no compiler."
            ),
            click.option(
                "--call-timeout",
                default=5.0,
                show_default=True,
                metavar="SECONDS",
                type=click.FloatRange(min=0, min_open=True),
                help="Time without progress after which a call counts as hung.",
            ),
            tabled,
        )
    ):
        command = decorate(command)
    return command


def take_selection(given: dict[str, Any]) -> Selection:
    """The selection in `given`, whose entries are taken out."""
    names = ("families", "functions", "groups", "clauses", "cases")
    return Selection(**{name: tuple(given.pop(name)) for name in names})


def take_options(given: dict[str, Any]) -> Options:
    """The backend options in `given`, whose entries are taken out. Raises BackendError for a library that is none."""
    names = ("library", "device", "data_access", "executor", "call_timeout")
    options = Options(**{name: given.pop(name) for name in names}, tables=take_tables(given))
    if options.library and Path(options.library).is_dir():
        raise BackendError(f"--library {options.library}: is a directory; give the path of the library in it")
    return options


def replay_command(path: str, backend: str, options: Options) -> str:
    """The one shell command that executes the program in `path` again in the same way."""
    words = ["acl-cts", "replay", path, "--backend", backend]
    usual = Options()
    for name in ("library", "device", "data_access", "executor", "call_timeout"):
        value = getattr(options, name)
        if value != getattr(usual, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for table in options.tables:
        words += ["--table", table]
    return shlex.join(words)
