"""`acl-cts spec profiles` and `acl-cts spec mustpass`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from acl_cts.commands.options import tabled, take_tables
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.mustpass import list_path, list_text, must_pass, read_list
from acl_cts.conformance.profile import Profile, load_profile, profile_names
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import write_text
from acl_cts.reports.words import counted
from acl_cts.specs.loader import load_spec
from acl_cts.stdout import show


@click.command(
    "profiles",
    short_help="What products claim to support.",
    epilog="""\b
Examples:
  acl-cts spec profiles                    which there are
  acl-cts spec profiles general            what one claims, function by function""",
)
@click.argument("name", metavar="[NAME|FILE]", required=False)
@tabled
def profiles(name: str | None, **given: Any) -> None:
    """Print the profiles that come with the suite, or what one profile claims."""
    spec = load_spec(more=take_tables(given))
    for each in (name,) if name else profile_names():
        profile = load_profile(each, spec)
        show(f"{profile.name} {profile.version}: {profile.title_en}")
        numbers = Counter(profile.claims.values())
        told = ", ".join(f"{number} {claim}" for claim, number in numbers.items())
        listed = read_list(profile)
        show(f"    claims     {told or 'nothing'}")
        show(f"    must pass  {counted(len(listed.ids), 'case')}" if listed else "    must pass  no list")
        if name:
            _whole(profile, listed.sha256 if listed else "")


def _whole(profile: Profile, digest: str) -> None:
    show(f"    file       {profile.written.path}")
    show(f"    sha256     {profile.written.sha256}")
    if digest:
        show(f"    list       {digest}")
    for document, edition in profile.documents.items():
        show(f"    document   {document} ({edition})")
    for function, claim in profile.claims.items():
        show(f"    {claim:<11} {function}")


@click.command(
    "mustpass",
    short_help="The cases that a library must have passed for a profile.",
    epilog="""\b
Examples:
  acl-cts spec mustpass general             the list, as it follows from tables and profile
  acl-cts spec mustpass general --check     whether the stored list is that one
  acl-cts spec mustpass mine.yaml --write   mine.mustpass.txt beside it

\b
Exit codes: 0 done, 2 the profile is wrong, 5 the stored list is out of date or not there.""",
)
@click.argument("name", metavar="NAME|FILE")
@click.option("--check", is_flag=True, help="Compare the stored list instead of printing.")
@click.option("--write", is_flag=True, help="Write the list beside the profile.")
@tabled
def mustpass(name: str, check: bool, write: bool, **given: Any) -> int:
    """Print the must-pass list of a profile: every case whose functions it claims and which needs nothing that a
    library may lack. A run with --profile tells how far the stored list was passed."""
    if check and write:
        raise click.UsageError("--check and --write exclude each other")
    spec = load_spec(more=take_tables(given))
    profile = load_profile(name, spec)
    ids = must_pass(profile, spec, cached_cases(spec))
    path = list_path(profile)
    if write:
        write_text(path, list_text(profile, ids))
        show(f"{path}: {counted(len(ids), 'case')}")
        return ExitCode.AS_EXPECTED
    if not check:
        show(list_text(profile, ids), nl=False)
        return ExitCode.AS_EXPECTED
    stored = read_list(profile)
    if stored is not None and stored.ids == ids:
        show(f"{path}: {counted(len(ids), 'case')}, sha256 {stored.sha256[:12]}, up to date")
        return ExitCode.AS_EXPECTED
    known = set(stored.ids) if stored else set()
    told = f"lacks {len(set(ids) - known)}, has {len(known - set(ids))} too many" if stored else "is not there"
    show(f"{path}: {told}; write it with `acl-cts spec mustpass {name} --write`")
    return ExitCode.STALE
