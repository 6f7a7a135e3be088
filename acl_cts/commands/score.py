"""`acl-cts score`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from acl_cts import __version__
from acl_cts.backends.backend import HarnessError
from acl_cts.backends.core_defects import Defect, DefectsError, Kind, load_defects
from acl_cts.backends.core_equivalents import EquivalentsError, load_equivalents
from acl_cts.backends.core_mutants import mutants
from acl_cts.backends.core_variants import variants
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.score import measure
from acl_cts.conformance.score_plan import ScorePlan, planned
from acl_cts.conformance.selection import SelectionError, suggestion
from acl_cts.reports.files import check_files, make_folder, write_json, write_text
from acl_cts.reports.score_html import score_html
from acl_cts.reports.score_result import Score, score_to_json
from acl_cts.reports.score_text import score_text
from acl_cts.score_progress import ScoreProgress
from acl_cts.specs.loader import load_spec
from acl_cts.stdout import show

MUTANTS = 150
"""Mutants by default: a sample; all of them would take an hour."""

WRITTEN = ("score.json", "score.html")

EPILOG = """\b
Examples:
  acl-cts score                                    everything, some five minutes
  acl-cts score --defect references-8-bit          one planted defect
  acl-cts score --kind leak --out score            all of one kind, with a page
  acl-cts score --sample 60                        what fits into a minute
  acl-cts score --mutants all --no-variants        every mutant

\b
Exit codes: 0 every defect found, no false alarm, 95 % of the mutants killed,
95 % of the lines and 90 % of the branches reached; 1 the suite is not that
good; 2 usage; 3 the measurement failed; 4 coverage cannot be measured here;
130 interrupted. A sample says what it left out and is judged by itself."""


class MutantCount(click.ParamType[int]):
    """A number of mutants, or `all` (given as -1)."""

    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that `value` says."""
        if value == "all":
            return -1
        try:
            number = int(value)
        except ValueError:
            number = -1
        if number < 0:
            self.fail(f"{value!r} is neither a number from 0 nor 'all'", param, ctx)
        return number


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the command line asks for; None where it says nothing."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    variants: bool | None
    mutants: int | None
    coverage: bool | None

    @property
    def whole(self) -> bool:
        """Whether everything is measured that is not refused: no defect is named."""
        return not (self.names or self.kinds)


@click.command("score", epilog=EPILOG)
@click.option("--defect", "names", multiple=True, metavar="ID", help="Only this planted defect. Repeatable.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice([k.value for k in Kind]), help="Only defects of this kind."
)
@click.option("--variants/--no-variants", default=None, help="Conforming builds. [default: unless defects are named]")
@click.option(
    "--mutants",
    type=MutantCount(),
    help=f"How many mutants, a sample that is always the same. [default: {MUTANTS}, 0 if defects are named]",
)
@click.option("--coverage/--no-coverage", default=None, help="Lines and branches. [default: unless defects are named]")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), metavar="N", help="Processes.")
@click.option(
    "--sample",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Only what fits into this time on two processors, always the same; what is left out is told.",
)
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False), help="Write score.json and score.html here.")
@click.option("--format", "form", default="text", type=click.Choice(["text", "json"]), help="Form of the output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def score(jobs: int, sample: float | None, out: str | None, form: str, quiet: bool, **given: Any) -> int:
    """Measure the suite itself with planted defects, conforming builds and mutants of the C core.

    Every defect must be found, no conforming build may be accused, and nearly every small change of the core's source
    must be noticed.
    """
    wish = _Wish(given["names"], given["kinds"], given["variants"], given["mutants"], given["coverage"])
    folder = Path(out).absolute() if out else None
    if folder is not None:
        make_folder(folder)
        check_files(folder, WRITTEN)
    measured = _measured(wish, sample, jobs, ScoreProgress(quiet))
    data = score_to_json(measured)
    if folder is not None:
        write_json(folder / "score.json", data)
        write_text(folder / "score.html", score_html(measured))
    show(json.dumps(data, ensure_ascii=False, indent=1) if form == "json" else score_text(measured))
    return measured.code


def _measured(wish: _Wish, sample: float | None, jobs: int, progress: ScoreProgress) -> Score:
    spec = load_spec()
    every = mutants()
    try:
        catalogue, equivalents = load_defects(), load_equivalents(every)
    except (DefectsError, EquivalentsError) as error:
        raise HarnessError(str(error)) from error
    defects = _chosen(catalogue, wish)
    number = wish.mutants if wish.mutants is not None else MUTANTS if wish.whole else 0
    cover = wish.whole if wish.coverage is None else wish.coverage
    whole = ScorePlan(
        defects=defects,
        variants=tuple(variants()) if (wish.whole if wish.variants is None else wish.variants) else (),
        mutants=every if number else (),
        clean=cover,
        coverage=cover,
        detectors=wish.whole,
    )
    plan = planned(whole, None if number < 0 else number, sample)
    return measure(spec, cached_cases(spec), plan, equivalents, jobs, __version__, progress.watch)


def _chosen(catalogue: tuple[Defect, ...], wish: _Wish) -> tuple[Defect, ...]:
    """The defects that are asked for. Raises SelectionError."""
    by_name: Mapping[str, Defect] = {defect.id: defect for defect in catalogue}
    for name in wish.names:
        if name not in by_name:
            raise SelectionError(f"--defect: no defect is called {name!r}{suggestion(name, by_name)}")
    chosen = [d for d in catalogue if not wish.names or d.id in wish.names]
    chosen = [d for d in chosen if not wish.kinds or d.kind.value in wish.kinds]
    if not chosen:
        raise SelectionError(f"no planted defect is of the kind {', '.join(wish.kinds)} and is named; leave one out")
    return tuple(chosen)
