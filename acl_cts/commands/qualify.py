"""`acl-cts qualify`."""

from __future__ import annotations

import gc
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from acl_cts.commands.options import selecting, tabled, take_tables, targeting
from acl_cts.commands.run import run
from acl_cts.conformance.profile import profile_names
from acl_cts.keeping import challenging, demanding
from acl_cts.progress import Stderr
from acl_cts.qualification.package import write_package
from acl_cts.qualification.signing import Signature, check_signer, sign
from acl_cts.qualification.telling import plain, text
from acl_cts.qualification.verification import Asked, verify_package
from acl_cts.reports.archive import ArchiveError
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.inconsistency import MEANING
from acl_cts.reports.stored import read_results
from acl_cts.reports.words import counted
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts qualify --backend acl --library PATH --profile general --out release-9.zip
  acl-cts qualify --backend acl --library PATH --challenge "words of the reviewer" --out release-9.zip
  acl-cts qualify --from release-9 --sign minisign:secret.key --out release-9.zip
  acl-cts qualify verify release-9.zip --challenge "words of the reviewer"

\b
The report of the run goes to the folder beside the package (release-9/ here), with
statement.txt. Fill that in, then pack and sign with --from: nothing is executed again.
The exit code is that of the run; an interrupted run gives no package."""

VERIFY_EPILOG = """\b
Examples:
  acl-cts qualify verify release-9.zip
  acl-cts qualify verify release-9.zip --challenge "my words" --profile general
  acl-cts qualify verify release-9.zip --signed-by minisign:vendor.pub --json

\b
Exit codes: 0 consistent, and the library is as expected; 1 consistent, and it is not;
3 and 4 consistent, and the run met a fault of the suite, or is incomplete; 5 consistent,
and a waiver is out of date; 6 inconsistent; 2 not safe to read, or bad input.

\b
Kinds of inconsistency, which are told as "id: what it means" and listed with --json:
""" + "\n".join(f"  {kind:<15} {meaning}" for kind, meaning in MEANING.items())

PACKING = frozenset({"out", "source", "logs", "sign", "quiet"})
"""Options that have a meaning when nothing is executed."""

PATIENCE = 2.0
"""Seconds of silence after which a line is written."""


@click.group("qualify", epilog=EPILOG, invoke_without_command=True)
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Repeatable. [default: acl]")
@targeting
@click.option(
    "--profile", default="", metavar="NAME|FILE", help=f"What the product claims: {', '.join(profile_names())}."
)
@click.option("--waivers", default="", metavar="FILE", help="Failures that are answered for.")
@challenging
@click.option("--out", default="", metavar="FILE", help="The package, a zip file.")
@click.option("--run", "folder", default="", metavar="DIR", help="Folder of the run. [default: FILE without .zip]")
@click.option(
    "--from", "source", default="", metavar="DIR", help="Pack this run, which kept its traces; execute nothing."
)
@click.option(
    "--logs", multiple=True, metavar="PATH", help="Logs to pack: a file or folder; repeatable. [default: the vendor's]"
)
@click.option("--sign", default="", metavar="TOOL:KEY", help="gpg:KEYID or minisign:SECRETKEYFILE.")
@selecting
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Test processes, as of run.")
@click.option("--max-time", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="As of run.")
@click.option("-q", "--quiet", is_flag=True, help="Only the last lines.")
@click.pass_context
def qualify(context: click.Context, /, **given: Any) -> int | None:
    """Judge a library, and pack everything that the verdict rests on into one file that another party can verify.

    The package holds results, journal, every trace, the list of cases, profile and waivers as used, what the vendor's
    installation tells of itself, logs, reproducers of failures, and a statement to fill in; a manifest has size and
    SHA-256 of every member. With --challenge it also holds cases that nobody could know before the reviewer named the
    seed. `acl-cts qualify verify` checks all of it elsewhere.
    """
    if context.invoked_subcommand is not None:
        typed = _typed(context, frozenset())
        if typed:
            raise click.UsageError(f"options of verify stand behind it; {typed[0]} is none of them, or move it there")
        return None
    return _qualify(context, given)


def _qualify(context: click.Context, given: dict[str, Any]) -> int:
    out, folder, source = given.pop("out"), given.pop("folder"), given.pop("source")
    logs = tuple(map(Path, given.pop("logs")))
    by = Signature.parse(sign_with) if (sign_with := given.pop("sign")) else None
    if by is not None:
        check_signer(by)
    if not out:
        raise click.UsageError("--out FILE names the package, as --out release-9.zip")
    package = Path(out)
    if package.is_dir():
        raise click.UsageError(f"--out {out}: is a folder; name a file, as {package / 'package.zip'}")
    if source:
        typed = _typed(context, PACKING)
        if typed:
            raise click.UsageError(f"--from packs a run that was made; {typed[0]} is for a new one")
        code = read_results(Path(source)).code
        place = Path(source)
    else:
        place = Path(folder) if folder else package.with_suffix("") if package.suffix else Path(f"{out}.run")
        given["backends"] = given["backends"] or ("acl",)
        code = int(context.invoke(run, **given, out=str(place), keep_traces=True))
        if code == ExitCode.INTERRUPTED or any(part.trouble for part in read_results(place).runs):
            click.echo("acl-cts: the run did not come to its end, so there is no package of it", err=True)
            return code
    manifest = write_package(place, package, logs)
    size = package.stat().st_size
    show(f"package  {package}: {counted(len(manifest.members), 'member')}, {size} bytes")
    show(f"run      {place}: fill in {place / 'statement.txt'}, then pack again with --from {place}")
    if by is not None:
        show(f"signed   {sign(package, by)}")
    return code


def _typed(context: click.Context, free: frozenset[str]) -> list[str]:
    """Options that stood on the command line, those called `free` aside."""
    return [
        option.opts[0]
        for option in context.command.params
        if option.name not in free and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    ]


@qualify.command("verify", epilog=VERIFY_EPILOG)
@click.argument("package", type=click.Path(path_type=Path))
@demanding
@click.option("--profile", default="", metavar="NAME|FILE", help="The profile that must have been used.")
@click.option("--signed-by", default="", metavar="TOOL:KEY", help="gpg:FINGERPRINT|FILE or minisign:PUBLICKEY|FILE.")
@click.option(
    "--signature",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The signature. [default: PACKAGE.asc or PACKAGE.minisig]",
)
@tabled
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but the last line.")
def verify(package: Path, as_json: bool, quiet: bool, **given: Any) -> int:
    """Verify PACKAGE, which `acl-cts qualify` wrote. Needs no device, no library and no compiler.

    Looks whether the package is whole; whether every case of this version's own list is there once; judges every trace
    again and holds verdict and reasons against the stated ones; works out again which functions are supported, where
    limits lie, what waivers cover, how the must-pass list is fulfilled, every total and the exit code; and draws the
    challenge again. What a package without a signature proves is told in docs/threat-model.md.
    """
    asked = Asked(
        challenge=given["challenge"],
        profile=given["profile"],
        tables=take_tables(given),
        signed_by=given["signed_by"],
        signature=given["signature"],
    )
    if asked.signature and not asked.signed_by:
        raise click.UsageError("--signature needs --signed-by: a signature of nobody in particular proves nothing")
    progress = _Progress(quiet or as_json)
    gc.disable()  # what is read stays to the end
    try:
        found = verify_package(package, asked, progress.watch)
    except ArchiveError as error:
        if as_json:
            show(json.dumps({"package": str(package), "exit": {"code": 2}, "unreadable": error.kind}, indent=1))
        raise
    if as_json:
        show(json.dumps(plain(found), indent=1))
    else:
        told = text(found)
        show(told.splitlines()[-1] if quiet else told)
    return int(found.code)


@dataclass(slots=True)
class _Progress:
    """Tells how far it is, where it takes a while."""

    quiet: bool
    _last: float = field(default_factory=time.monotonic)
    _console: Stderr = field(default_factory=lambda: Stderr(stderr=True, highlight=False, markup=False, emoji=False))

    def watch(self, done: int, total: int) -> None:
        """`done` of `total` traces were judged again."""
        now = time.monotonic()
        if not self.quiet and now - self._last >= PATIENCE:
            self._last = now
            self._console.print(f"verify: {done} of {counted(total, 'trace')} judged again", soft_wrap=True)
