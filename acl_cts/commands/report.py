"""`acl-cts report`: its subcommands, each imported when it is asked for."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    "render": ("render", "render", "HTML, Markdown, JUnit, SARIF and text from a results.json."),
    "diff": ("diff", "diff", "What changed between two runs or more."),
    "trend": ("trend", "history", "The history of a library as pictures."),
    "merge": ("merge", "merge_shards", "Put the shards of a run together."),
}
"""Module behind `report_`, name and one line of every subcommand. A comparison of two runs takes less time than to
import what makes all forms of a report."""


class Reports(click.Group):
    """Imports a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand called `cmd_name`."""
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"acl_cts.commands.report_{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line a command, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group("report", cls=Reports)
def report() -> None:
    """Make reports from the results of a run, or of several."""
