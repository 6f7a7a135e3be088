"""`acl-cts report merge`."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import click

from acl_cts.conformance.failures import forget, tidy
from acl_cts.conformance.journal import JOURNAL
from acl_cts.merging import IncompleteError, Part, failure_folder, merge
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import ReportError, check_files, forget_files, make_folder, write_json, write_text
from acl_cts.reports.renderings import RENDERINGS, Place
from acl_cts.reports.results import Results, to_json
from acl_cts.reports.stored import RESULTS, read_results, results_path
from acl_cts.stdout import show

WRITTEN = (RESULTS, *(rendering.file for rendering in RENDERINGS.values()))


@click.command(
    "merge",
    epilog="""\b
Examples:
  acl-cts run --backend acl --library PATH --shard 1/2 --out shard-1    here
  acl-cts run --backend acl --library PATH --shard 2/2 --out shard-2    elsewhere
  acl-cts report merge report shard-1 shard-2

\b
Proved before anything is written: every shard is there once; all were judged by the same
version, tables and settings, on the same library; each holds exactly its cases of the
case list. Exit codes: 4 a shard is missing, and which is told; 2 the shards are not of
one run; otherwise that of the whole run.""",
)
@click.argument("out", metavar="OUT", type=click.Path(file_okay=False, path_type=Path))
@click.argument("reports", metavar="SHARD...", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge_shards(out: Path, reports: tuple[Path, ...]) -> int:
    """Write to the folder OUT the report of the whole run of which each SHARD is a part.

    It is the report that one run without --shard would have written; there is no journal to go on with.
    """
    gc.disable()
    folders = [results_path(report).parent for report in reports]
    if out.resolve() in {folder.resolve() for folder in folders}:
        raise click.UsageError(f"{out} is one of the shards; name another folder to write to")
    parts = [Part(folder, read_results(report)) for folder, report in zip(folders, reports, strict=True)]
    out = out.absolute()
    try:
        results = merge(parts, out)
    except IncompleteError as error:
        click.echo(f"acl-cts: {error}", err=True)
        return ExitCode.INCOMPLETE
    _write(results, parts, out)
    shown = str(out.relative_to(Path.cwd()) if out.is_relative_to(Path.cwd()) else out)
    show(RENDERINGS["text"].text(results, Place(out, out, shown)), nl=False)
    return results.code


def _write(results: Results, parts: list[Part], out: Path) -> None:
    """The report, in place of what stood there. Raises ReportError."""
    make_folder(out / "failures")
    check_files(out, WRITTEN)
    forget_files(out, (*WRITTEN, JOURNAL))
    forget(out / "failures")
    for part in parts:
        for run in part.results.runs:
            for case in run.cases:
                folder = failure_folder(part, case)
                if folder is not None:
                    _copy(folder, out / folder.relative_to(part.place.resolve()))
    tidy(out / "failures")
    for rendering in RENDERINGS.values():
        write_text(out / rendering.file, rendering.text(results, Place(out, out, str(out))))
    write_json(out / RESULTS, to_json(results))


def _copy(source: Path, target: Path) -> None:
    """The files of a failure; links are left out, they may lead anywhere."""
    target.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.is_file() and not file.is_symlink():
            try:
                shutil.copyfile(file, target / file.name)
            except OSError as error:
                raise ReportError(f"{file}: cannot be copied to {target} ({error.strerror})") from error
