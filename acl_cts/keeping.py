"""What a run keeps for somebody who judges it again elsewhere: its traces, and the challenge that it met."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from acl_cts.backends.backend import Session
from acl_cts.commands.options import Command
from acl_cts.conformance.case import Case
from acl_cts.conformance.challenge import FILE, challenge_to_json, remember
from acl_cts.conformance.trace_file import FOLDER, SUFFIX, KeptProbe, Recorded, TraceFile
from acl_cts.fuzz.challenge import draw_challenge
from acl_cts.reports.files import ReportError, forget_files, write_json
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Trace

LONGEST = 200
"""Characters of a seed."""


def keeping(command: Command) -> Command:
    """--keep-traces, --challenge."""
    kept = click.option("--keep-traces", is_flag=True, help="Keep the answers to every case in traces/ too.")
    return kept(challenging(command))


def challenging(command: Command) -> Command:
    """--challenge, for who makes a run."""
    return _challenge("Further cases, drawn by a reviewer's seed: any text.")(command)


def demanding(command: Command) -> Command:
    """--challenge, for who looks at one."""
    return _challenge("The reviewer's seed, which must have drawn further cases.")(command)


def _challenge(told: str) -> Callable[[Command], Command]:
    return click.option("--challenge", default="", metavar="SEED", callback=_seed, help=told)


def _seed(context: click.Context, option: click.Parameter, seed: str) -> str:
    if len(seed) > LONGEST or not seed.isprintable():
        raise click.BadParameter(f"a seed is printable text of at most {LONGEST} characters")
    return seed


def forget_kept(folder: Path) -> None:
    """Remove what an earlier run has kept in the report folder `folder`. Raises ReportError."""
    forget_files(folder, [FILE])
    forget_files(folder / FOLDER, [path.name for path in (folder / FOLDER).glob(f"*{SUFFIX}")])


def keep_challenge(folder: Path, spec: Spec, seed: str, cases: Iterable[Case], tables: tuple[str, ...]) -> str:
    """Draw the challenge of `seed` into the report folder `folder`: the file, or '' without a seed. Raises
    ReportError."""
    if not seed:
        return ""
    path = folder / FILE
    drawn = draw_challenge(spec, seed, cases)
    write_json(path, challenge_to_json(drawn.challenge))
    remember(str(path), tables, drawn.cases)
    return str(path)


def recording(path: Path | None) -> Callable[[Session], Session]:
    """What has the answers of a search for limits kept in the file at `path`, None for not."""
    if path is None:
        return lambda session: session
    number = 0

    def keep(program: Program, trace: Trace) -> None:
        nonlocal number
        try:
            file = TraceFile(path)
            try:
                file.keep(KeptProbe(number, program, trace))
            finally:
                file.close()
        except OSError as error:
            raise ReportError(f"{path}: cannot be written ({error.strerror}); free disk space and run again") from error
        number += 1

    return lambda session: Recorded(session, keep)
