"""`acl-cts report trend`."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from acl_cts import __version__
from acl_cts.aside import gathered
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import ReportError, make_folder, write_json, write_text
from acl_cts.reports.stored import RESULTS
from acl_cts.reports.trend import Trend, found_in, point_of, trend
from acl_cts.reports.trend_json import trend_json
from acl_cts.reports.words import counted
from acl_cts.stdout import show


@click.command(
    "trend",
    epilog="""\b
Examples:
  acl-cts report trend nightly                 nightly/trend.html and nightly/trend.json
  acl-cts report trend nightly --out page

\b
Exit codes: 0 done; 2 there is no run, or one cannot be read (the page is made of the
others and says so). JSON schema: reports/trend.schema.json.""",
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for trend.html and trend.json. [default: the folder of the runs]",
)
def history(folder: Path, out: Path | None) -> int:
    """Show the runs below DIR as a history: failures by clause, limits, open points.

    Every results.json below DIR is a run. They stand in the order of the time at which they began.
    """
    gc.disable()
    files = found_in(folder)
    if not files:
        raise ReportError(f"{folder}: there is no {RESULTS} in it; name the folder in which reports are kept")
    found = trend(gathered(point_of, files), folder, __version__)
    if not found.points:
        raise ReportError(found.unreadable[0].unreadable)
    place = folder if out is None else out
    make_folder(place)
    _write(found, place)
    for point in found.points:
        failed = ", ".join(f"{name} {moment.failed} failed" for name, moment in point.moments.items())
        show(f"{point.version.started[:16].replace('T', ' ')}  {point.version.name}  {failed or 'nothing judged'}")
    show(f"{counted(len(found.points), 'run')}: {place / 'trend.html'} {place / 'trend.json'}")
    for version in found.unreadable:
        click.echo(f"acl-cts: {version.unreadable}", err=True)
    return ExitCode.USAGE if found.unreadable else ExitCode.AS_EXPECTED


def _write(found: Trend, place: Path) -> None:
    from acl_cts.reports.trend_html import trend_html  # needs what the rest does not

    write_json(place / "trend.json", trend_json(found))
    write_text(place / "trend.html", trend_html(found))
