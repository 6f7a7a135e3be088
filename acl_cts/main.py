"""The command `acl-cts`."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import traceback
from typing import NoReturn

import click

from acl_cts import __version__
from acl_cts.reports.exit_codes import ExitCode
from acl_cts.specs.faults import BadInput, SuiteFault
from acl_cts.specs.suggestion import suggestion
from acl_cts.stdout import OutputError, silence, unwritten

COMMANDS = {
    "run": ("acl_cts.commands.run", "run", "Judge a library and write results, summary and reproducers."),
    "list": ("acl_cts.commands.list_cases", "list_cases", "Print case ids, one a line."),
    "replay": ("acl_cts.commands.replay", "replay", "Execute stored programs again, or judge stored traces."),
    "qualify": ("acl_cts.commands.qualify", "qualify", "Run, and pack what another party can verify; verify it."),
    "report": ("acl_cts.commands.report", "report", "Make HTML, Markdown, JUnit and text from results."),
    "fuzz": ("acl_cts.commands.fuzz", "fuzz", "Search for faults with random programs, guided by coverage."),
    "baseline": ("acl_cts.commands.baseline", "baseline", "Keep what is known to fail; look at waivers."),
    "limits": ("acl_cts.commands.limits", "limits", "Search the real edge of every documented limit."),
    "spec": ("acl_cts.commands.spec", "spec", "Read the tables: clauses, coverage, defects of the documents."),
    "score": ("acl_cts.commands.score", "score", "Measure the suite with planted defects, variants and mutants."),
    "executor": ("acl_cts.commands.executor", "executor", "Build an executor for another machine, or look at one."),
    "backends": ("acl_cts.commands.backends", "backends_command", "What can be judged here, and why not."),
}
"""Module, name and one line of every subcommand; a module is imported when its command is used."""

EPILOG = """\b
Examples:
  acl-cts run                                      judge the built-in core and simulator
  acl-cts run --backend acl --library libascendcl.so --out report
  acl-cts list --function aclrtSetBufUserData
  acl-cts replay report                            every failure of a run again
  acl-cts limits --backend acl --library libascendcl.so
  acl-cts spec show aclrtAllocBuf

\b
Exit codes: 0 as expected, 1 discrepancy, 2 usage, 3 the suite itself failed,
4 incomplete, 5 a waiver, or part of the baseline, is out of date, 6 a package
contradicts itself (qualify verify), 130 interrupted."""


class Commands(click.Group):
    """Imports a subcommand when it is asked for, and suggests near names for unknown ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand called `cmd_name`."""
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion in the error."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = suggestion(args[0], COMMANDS) or f"; there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command is called {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line a command, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="acl-cts", message="%(prog)s %(version)s")
def cli() -> None:
    """Conformance tests for the shared buffer and allocator descriptor APIs of the Ascend CANN runtime.

    The documented contract is stated in tables; programs derived from them are executed by a backend, and every answer
    is judged against the clause that speaks about it.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line and leave with one of the documented exit codes."""
    _tolerate_any_locale()
    code = _guarded(sys.argv[1:] if args is None else args)
    if args is None:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """End the process at once. Taking hundreds of thousands of objects apart one by one, as Python does at the end,
    takes longer than writing a report of them."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or nobody listens any more
            stream.flush()
    os._exit(code)


def _guarded(args: list[str]) -> int:
    """The exit code of the command in `args`; errors become one line on stderr."""
    try:
        # Not cli.main(): it turns a closed pipe into exit code 1, which here means a discrepancy.
        with cli.make_context("acl-cts", args) as context:
            code = cli.invoke(context)
        lost = unwritten()
        return _lost(lost) if lost else code if isinstance(code, int) else ExitCode.AS_EXPECTED
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except BadInput as error:
        return _say(error, ExitCode.USAGE)
    except SuiteFault as error:
        return _say(error, ExitCode.HARNESS)
    except OutputError as error:
        return _lost(error)
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        silence()
        return ExitCode.AS_EXPECTED
    except Exception as error:
        # Help pages are printed by click, which does not name the stream; one more character shows whether it was it.
        lost = unwritten("\n") if isinstance(error, OSError) else None
        if lost:
            return _lost(lost)
        # A fault of the suite; Python's own exit code for it, 1, would accuse the library.
        traceback.print_exc()
        return _say("internal error, please report it with the lines above", ExitCode.HARNESS)


def _lost(error: OutputError) -> ExitCode:
    """Tell that stdout takes nothing; what is still unwritten is dropped, or Python would fail on it once more."""
    silence()
    return _say(error, ExitCode.HARNESS)


def _say(error: object, code: ExitCode) -> ExitCode:
    with contextlib.suppress(BrokenPipeError):
        click.echo(f"acl-cts: {error}", err=True)
    return code


def _tolerate_any_locale() -> None:
    """Let characters that the terminal cannot show become question marks instead of errors."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
