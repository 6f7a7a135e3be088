"""The statement of a qualification: what the one who hands a package over signs with their name, to be filled in."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.reports.results import BackendRun, Results
from acl_cts.reports.words import counted

STATEMENT = "statement.txt"


def statement(results: Results) -> str:
    """The form, with what is known filled in."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    yield "STATEMENT OF QUALIFICATION"
    yield ""
    yield "Fill in what stands in brackets, then pack again: acl-cts qualify --from FOLDER --out PACKAGE.zip"
    yield ""
    yield f"Suite                acl-cts {results.version}, tables {results.spec}"
    yield f"Run                  {results.started} to {results.ended} (UTC), exit code {results.code}"
    profile = results.profile
    yield f"Profile              {f'{profile.name} {profile.version}' if profile else 'none'}"
    for run in results.runs:
        yield ""
        yield from _library(run)
    yield ""
    yield "Product and release  [name, version, build number]"
    yield "Vendor               [company, address]"
    yield "Device               [model, number of devices, firmware]"
    yield "System               [host, operating system, container image]"
    yield "Changes to it        [patches, settings, variables that differ from a fresh installation; or: none]"
    yield "Waivers              [why each one is acceptable, and until when; or: none]"
    yield "Known faults         [what users have to know; or: none]"
    yield ""
    yield "The library named above by its SHA-256 is the one that the product ships. It was judged unchanged, on the"
    yield "device named above, and nothing was taken out of this package or added to it by hand."
    yield ""
    yield "Name and function    [who answers for this statement]"
    yield "Date and place       [day, place]"


def _library(run: BackendRun) -> Iterator[str]:
    identity = run.identity
    yield f"Library              {identity.get('library') or run.backend}"
    for label, key in (("  SHA-256", "sha256"), ("  build id", "build_id")):
        if identity.get(key):
            yield f"{label:<20} {identity[key]}"
    for name, value in sorted(identity.get("details", {}).items()):
        yield f"  {name:<18} {value}"
    verdicts = " · ".join(f"{number} {verdict}" for verdict, number in run.totals.items() if number)
    yield f"  verdicts           {counted(len(run.cases), 'case')}: {verdicts}"
