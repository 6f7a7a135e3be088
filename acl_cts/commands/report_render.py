"""`acl-cts report render`."""

from __future__ import annotations

from pathlib import Path

import click

from acl_cts.reports.files import check_files, make_folder, write_text
from acl_cts.reports.renderings import RENDERINGS, Place
from acl_cts.reports.stored import read_results, results_path
from acl_cts.stdout import show


@click.command(
    "render",
    epilog="""\b
Examples:
  acl-cts report render report                       every form, beside the results
  acl-cts report render report --format html --out page.html
  acl-cts report render report/results.json --format markdown --out -

\b
Forms and their usual names:
"""
    + "\n".join(f"  {name:<10} {rendering.file:<12} {rendering.about}" for name, rendering in RENDERINGS.items()),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "forms",
    multiple=True,
    type=click.Choice(list(RENDERINGS)),
    help="Repeatable. [default: all]",
)
@click.option(
    "--out",
    metavar="PATH",
    help="A folder; with one --format also a file, or - for standard output. [default: the folder of the results]",
)
def render(results: Path, forms: tuple[str, ...], out: str | None) -> None:
    """Make reports from RESULTS: a results.json, or the folder of a report that holds one.

    Everything comes from that file; failure folders beside it are linked where they exist.
    """
    path = results_path(results)
    found = read_results(path)
    chosen = tuple(dict.fromkeys(forms)) or tuple(RENDERINGS)
    if out == "-":
        if len(chosen) > 1:
            raise click.UsageError("--out - takes one form only; name it with --format")
        show(RENDERINGS[chosen[0]].text(found, Place(path.parent, Path.cwd(), str(path.parent))), nl=False)
        return
    for form, target in _targets(path, chosen, out):
        write_text(target, RENDERINGS[form].text(found, Place(path.parent, target.parent, str(path.parent))))
        show(str(target))


def _targets(path: Path, forms: tuple[str, ...], out: str | None) -> list[tuple[str, Path]]:
    """The file for each form, in a folder that takes files. Raises ReportError."""
    if out == "":
        raise click.UsageError("--out '' names no path; leave it out for the folder of the results")
    place = path.parent if out is None else Path(out)
    if out is not None and len(forms) == 1 and not place.is_dir() and not out.endswith("/"):
        make_folder(place.parent)
        return [(forms[0], place)]
    make_folder(place)
    files = [RENDERINGS[form].file for form in forms]
    check_files(place, files)
    return [(form, place / file) for form, file in zip(forms, files, strict=True)]
