"""`acl-cts baseline`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from acl_cts.commands.options import tabled, take_tables
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.expecting import everything_known
from acl_cts.reports.acceptance import Expectations, accepted
from acl_cts.reports.baseline import Baseline, baseline_text, load_baseline
from acl_cts.reports.baseline_update import updated
from acl_cts.reports.exit_code import ExitCode, final, holding, stale
from acl_cts.reports.files import make_folder, write_text
from acl_cts.reports.results import Results
from acl_cts.reports.stored import read_results
from acl_cts.reports.summary import MEANING
from acl_cts.reports.waivers import Waiver, load_waivers
from acl_cts.reports.words import counted
from acl_cts.specs.loader import load_spec
from acl_cts.stdout import show

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("baseline")
def baseline() -> None:
    """What is known to fail: keep a baseline, and look at waivers.

    A baseline is the accepted state of a backend, written by `baseline update`. A waiver is one accepted failure with
    a reason, an owner and a date, written by hand. Both keep nothing from being executed or shown.
    """


@baseline.command(
    "update",
    short_help="Take over the state of a run as the accepted one.",
    epilog="""\b
Examples:
  acl-cts baseline update report --baseline baseline.yaml
  acl-cts baseline update report --baseline baseline.yaml --for-version '8.0.*'""",
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--baseline", "file", required=True, metavar="FILE", type=FILE, help="Made when it is not there yet.")
@click.option(
    "--for-version",
    "version",
    default="*",
    show_default=True,
    metavar="PATTERN",
    help="Libraries that the entries are for: version, build id or SHA-256.",
)
def update(results: Path, file: Path, version: str) -> None:
    """Take over what failed, was flaky or was skipped in RESULTS, a results.json or the folder of a report.

    Of a whole run everything is taken over, of a selection what it selected; the rest of FILE stays. What a waiver
    covers is left to the waiver. Comments in FILE are lost.
    """
    found = read_results(results)
    old = load_baseline(file) if file.exists() else Baseline()
    new, changes = updated(old, found, version)
    make_folder(file.absolute().parent)
    write_text(file, baseline_text(new))
    for change in changes:
        show(f"{change.backend}: added {_numbers(change.added)}; removed {_numbers(change.removed)}")
    show(str(file))


@baseline.command(
    "check",
    short_help="Look for what is wrong or out of date in a baseline or waivers.",
    epilog="""\b
Examples:
  acl-cts baseline check --waivers waivers.yaml
  acl-cts baseline check --baseline baseline.yaml --results report

\b
Exit codes: 0 as expected, 2 a file is wrong, 5 something is out of date;
with --results those of `acl-cts run`.""",
)
@click.option("--baseline", "file", metavar="FILE", type=FILE, help="A baseline.")
@click.option("--waivers", metavar="FILE", type=FILE, help="Waivers.")
@click.option("--results", metavar="PATH", type=click.Path(path_type=Path), help="Hold them against this report.")
@tabled
def check(file: Path | None, waivers: Path | None, results: Path | None, **given: Any) -> int:
    """Check files by themselves: their form, dates, and that every pattern names something; or, with --results,
    against a report, as if it had been run with them."""
    if file is None and waivers is None:
        raise click.UsageError("nothing to check; name a file with --baseline or --waivers")
    tables = take_tables(given)
    found = read_results(results) if results else None
    spec = load_spec(more=tables or _tables_of(found))
    expectations = Expectations(load_baseline(file) if file else None, load_waivers(waivers) if waivers else None)
    known = everything_known(spec, cached_cases(spec))
    if found is None:
        return _static(accepted(_nothing(), expectations, known))
    fresh = _unmarked(found)
    held = accepted(fresh, expectations, known)
    holds = holding(held, held.fail_on)
    for each in holds:
        show(f"[exit code {each.code}] {each.reason}")
    code = final(holds)
    show(f"exit code {code}: {MEANING[code]}")
    return code


@baseline.command(
    "show",
    short_help="Print a baseline or waivers for people.",
    epilog="""\b
Examples:
  acl-cts baseline show --waivers waivers.yaml
  acl-cts baseline show --baseline baseline.yaml""",
)
@click.option("--baseline", "file", metavar="FILE", type=FILE, help="A baseline.")
@click.option("--waivers", metavar="FILE", type=FILE, help="Waivers.")
def show_command(file: Path | None, waivers: Path | None) -> None:
    """Print what is accepted, by whom and how long, a line or two each."""
    if file is None and waivers is None:
        raise click.UsageError("nothing to show; name a file with --baseline or --waivers")
    for line in [*_of_baseline(file), *_of_waivers(waivers)]:
        show(line)


def _of_baseline(file: Path | None) -> Iterator[str]:
    for entry in load_baseline(file).entries if file else ():
        yield f"{entry.backend}, version {entry.version}"
        for name, known in sorted(entry.failures.items()):
            clauses = f" ({', '.join(sorted(known.clauses))})" if known.clauses else ""
            yield f"  {known.verdict:<14} {name}{clauses}"
        yield from (f"  {'flaky':<14} {name}" for name in entry.flakes)
        yield from (f"  {verdict:<14} {name}" for name, verdict in sorted(entry.skips.items()))
        yield from (f"  {verdict:<14} limit {name}" for name, verdict in sorted(entry.limits.items()))
        yield from (f"  {'not-supported':<14} function {name}" for name in entry.unsupported)


def _of_waivers(file: Path | None) -> Iterator[str]:
    for waiver in load_waivers(file).waivers if file else ():
        yield f"{waiver.id}, until {waiver.expires}, {waiver.owner}: {waiver.reason}"
        yield f"  {waiver.link}"
        yield f"  backend {waiver.backend}, version {waiver.version}; {_scope(waiver)}"


def _scope(waiver: Waiver) -> str:
    kinds: dict[str, list[str]] = {}
    for kind, _, pattern in waiver.scope.patterns:
        kinds.setdefault(kind, []).append(pattern)
    told = [f"{kind} {', '.join(patterns)}" for kind, patterns in kinds.items()]
    if waiver.scope.cases or waiver.scope.clauses:
        told.append(f"verdicts {', '.join(sorted(waiver.scope.verdicts))}")
    return "; ".join(told)


def _static(held: Results) -> int:
    """What is out of date whatever a library does."""
    assert held.expected is not None
    reasons = tuple(stale(held.expected))
    for reason in reasons:
        show(f"[exit code {int(ExitCode.STALE)}] {reason}")
    if reasons:
        return ExitCode.STALE
    waivers = counted(len(held.expected.waivers), "waiver") if held.expected.waiver_file else ""
    show(", ".join(filter(None, (waivers, "baseline" if held.expected.baseline else ""))) + ": nothing out of date")
    return ExitCode.AS_EXPECTED


def _nothing() -> Results:
    """Results of no run at all, today."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Results("", "", now, now, True, False, None, {}, ())


def _unmarked(results: Results) -> Results:
    """`results` without what an earlier baseline and earlier waivers accepted."""
    runs = tuple(
        dataclasses.replace(
            run,
            cases=tuple(dataclasses.replace(case, accepted=()) for case in run.cases),
            limits=tuple(dataclasses.replace(limit, accepted=()) for limit in run.limits),
            support=tuple(dataclasses.replace(entry, accepted=()) for entry in run.support),
        )
        for run in results.runs
    )
    return dataclasses.replace(results, runs=runs, expected=None)


def _tables_of(results: Results | None) -> tuple[str, ...]:
    """The further tables that the run of `results` was given."""
    told = results.options.get("tables", ()) if results else ()
    return tuple(name for name in told if isinstance(name, str)) if isinstance(told, list) else ()


def _numbers(changes: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in changes.items()) or "nothing"
