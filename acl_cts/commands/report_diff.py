"""`acl-cts report diff`."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from acl_cts import __version__
from acl_cts.aside import gathered
from acl_cts.reports.comparison import compare
from acl_cts.reports.diff_json import diff_json
from acl_cts.reports.diff_text import diff_text
from acl_cts.reports.difference import Difference
from acl_cts.reports.files import ReportError, make_folder, write_json, write_text
from acl_cts.reports.version import named, tolerated
from acl_cts.stdout import show


def _html(found: Difference) -> str:
    from acl_cts.reports.diff_html import diff_html  # takes a tenth of a second that the other forms don't need

    return diff_html(found)


def _markdown(found: Difference) -> str:
    from acl_cts.reports.diff_markdown import diff_markdown

    return diff_markdown(found)


FORMS: Mapping[str, Callable[[Difference], str]] = {
    "html": _html,
    "markdown": _markdown,
    "json": lambda found: json.dumps(diff_json(found), ensure_ascii=False, indent=1) + "\n",
    "text": diff_text,
}
"""Every form by its name on the command line."""

FILES = {"html": "diff.html", "markdown": "diff.md", "json": "diff.json"}
"""What is written to a folder."""


@click.command(
    "diff",
    epilog="""\b
Examples:
  acl-cts report diff report-8.0 report-8.1
  acl-cts report diff 8.0 8.1 8.2 --out changes       diff.html, diff.md, diff.json in changes/
  acl-cts report diff old new --format markdown       for a comment on a code host

\b
Exit codes: 0 nothing newly fails; 1 a case or a limit newly fails, or a case fails in a
worse way or breaks a further clause, and nobody has accepted it; 4 the comparison is
incomplete: something was judged by one side only, or a run did not come to its end;
2 bad input: less than two results can be read (then nothing is compared), or one of
several cannot. If several hold: 2, 1, 4. JSON schema: reports/diff.schema.json.""",
)
@click.argument("reports", metavar="A B [C]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help=f"Write {', '.join(FILES.values())}."
)
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(list(FORMS)), help="Form on stdout."
)
@click.option("--all", "everything", is_flag=True, help="Every line of the text, not the first 40 of a category.")
def diff(reports: tuple[Path, ...], out: Path | None, form: str, everything: bool) -> int:
    """Tell what changed from A to B, or from the first to the last of several.

    A, B and so on are reports of `acl-cts run`: folders, or their results.json. With three or more, there is a column
    for each; what changed is told from the first to the last.
    """
    gc.disable()  # all that is read stays to the end
    if len(reports) < 2:
        raise click.UsageError("name two reports at least, as: acl-cts report diff OLD NEW")
    versions = named(gathered(tolerated, reports))
    broken = [version.unreadable for version in versions if version.unreadable]
    if len(versions) - len(broken) < 2:
        raise ReportError(broken[0])
    found = compare(versions, __version__)
    if out is not None:
        make_folder(out)
        write_json(out / FILES["json"], diff_json(found))
        write_text(out / FILES["html"], _html(found))
        write_text(out / FILES["markdown"], _markdown(found))
    show(diff_text(found, everything) if form == "text" else FORMS[form](found), nl=False)
    for reason in broken:
        click.echo(f"acl-cts: {reason}", err=True)
    return found.code
