"""What a run is told to expect: the product's profile, a baseline, waivers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from acl_cts.backends.registry import backends
from acl_cts.commands.options import Command
from acl_cts.conformance.case import Case
from acl_cts.conformance.mustpass import MustPassList, fulfilled, read_list
from acl_cts.conformance.profile import Profile, load_profile, profile_names
from acl_cts.reports.acceptance import Expectations, accepted
from acl_cts.reports.baseline import load_baseline
from acl_cts.reports.results import Results
from acl_cts.reports.universe import Universe, universe
from acl_cts.reports.waivers import load_waivers
from acl_cts.specs.model import Spec

NAMES = ("profile", "baseline", "waivers")


@dataclass(frozen=True, slots=True)
class Expecting:
    """Everything that is expected of the backends of a run. `listed`: the must-pass list of the profile. `given`: the
    options, with paths that hold wherever a process works."""

    profile: Profile | None = None
    listed: MustPassList | None = None
    expectations: Expectations = field(default_factory=Expectations)
    known: Universe | None = None
    given: dict[str, str] = field(default_factory=dict)

    def applied(self, results: Results) -> Results:
        """`results` with what is claimed, what is accepted, and what is out of date."""
        if self.profile is not None:
            use = self.profile.use(self.listed.sha256 if self.listed else "")
            results = dataclasses.replace(results, profile=use, runs=tuple(map(self.profile.claimed, results.runs)))
        if self.known is not None:
            results = accepted(results, self.expectations, self.known)
        listed = self.listed
        if listed is None:
            return results
        runs = (dataclasses.replace(run, must_pass=fulfilled(listed, run)) for run in results.runs)
        return dataclasses.replace(results, runs=tuple(runs))


def expecting(command: Command) -> Command:
    """--profile, --baseline, --waivers."""
    file = click.Path(dir_okay=False)
    for decorate in reversed(
        (
            click.option(
                "--profile",
                default="",
                metavar="NAME|FILE",
                help=f"What the product claims: {', '.join(profile_names())}, or a file.",
            ),
            click.option("--baseline", default="", metavar="FILE", type=file, help="Known failures, flakes and skips."),
            click.option("--waivers", default="", metavar="FILE", type=file, help="Failures that are answered for."),
        )
    ):
        command = decorate(command)
    return command


def take_expecting(given: dict[str, Any], spec: Spec, cases: Iterable[Case]) -> Expecting:
    """What is expected by `given`, whose entries are taken out. Raises ReportError for files that are none."""
    names = {name: given.pop(name, "") for name in NAMES}
    profile = load_profile(names["profile"], spec) if names["profile"] else None
    expectations = Expectations(
        load_baseline(Path(names["baseline"])) if names["baseline"] else None,
        load_waivers(Path(names["waivers"])) if names["waivers"] else None,
    )
    held = {name: str(Path(text).absolute()) if Path(text).is_file() else text for name, text in names.items() if text}
    if names["profile"] in profile_names():
        held["profile"] = names["profile"]
    return Expecting(
        profile=profile,
        listed=read_list(profile) if profile else None,
        expectations=expectations,
        known=everything_known(spec, cases) if expectations else None,
        given=held,
    )


def everything_known(spec: Spec, cases: Iterable[Case]) -> Universe:
    """Everything that a pattern may name here."""
    return universe(spec, {case.id: case.clauses for case in cases}, backends())
