"""`acl-cts fuzz`."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from acl_cts import __version__
from acl_cts.backends.backend import BackendError, Options
from acl_cts.commands.options import tabled, take_options, take_tables, targeting
from acl_cts.conformance.failures import PROGRAM
from acl_cts.conformance.launch import Usage
from acl_cts.conformance.regression import FOLDER as REGRESSIONS
from acl_cts.conformance.regression import SUFFIX
from acl_cts.fuzz.atheris_campaign import embedding_of, served
from acl_cts.fuzz.corpus import QUOTA, Corpus
from acl_cts.fuzz.findings import FOLDER, bucket_in, copy, known, program_in
from acl_cts.fuzz.fleet import Fleet
from acl_cts.fuzz.lane import open_lane
from acl_cts.fuzz.log import LOG, Log
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.outcome import Outcome
from acl_cts.fuzz.patrol import prepare_patrol
from acl_cts.fuzz.plan import ATHERIS, WORKER, CampaignPlan, Event
from acl_cts.fuzz.pruning import pruned, replace_programs
from acl_cts.fuzz.standalone_target import write_target
from acl_cts.fuzz.terms import Terms
from acl_cts.progress import Stderr
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import ReportError, make_folder, write_text
from acl_cts.reports.words import counted
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Program
from acl_cts.specs.suiting import program_problem
from acl_cts.stdout import show

CORPUS = "acl-cts-corpus"
SECONDS = 600.0
STATUS_EVERY = 5.0
"""Seconds between two status lines."""

OWN_TIMEOUT = 2.0
"""Seconds without progress after which a call of the core of this package hangs: nobody waits for a device there."""

EPILOG = """\b
Examples:
  acl-cts fuzz --max-time 10m                               the built-in core
  acl-cts fuzz --backend acl --library PATH --max-time 1h --corpus nightly --jobs 2
  acl-cts fuzz --backend core --backend simulator           both answer every program
  acl-cts fuzz --engine worker --runs 5000 --seed 7 --empty  the same run every time
  acl-cts fuzz triage nightly                               what was found so far
  acl-cts replay nightly                                    which findings still fail
  acl-cts fuzz merge nightly other-machine                  two corpora into one
  acl-cts fuzz promote nightly/findings/NAME                a regression for acl-cts run

\b
Exit codes: 0 nothing new, 1 a new finding, 2 usage, 3 the suite itself failed,
4 nothing was judged, or coverage or speed fell far below the last campaign,
130 interrupted (what was found is kept)."""

_PARTS = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?")


class Duration(click.ParamType[float]):
    """Seconds, or hours, minutes and seconds as in 1h30m."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float):
            return value
        parts = _PARTS.fullmatch(str(value))
        if not value or parts is None:
            self.fail(f"{value!r} is no time; give seconds, or 10m, 1h, 1h30m", param, ctx)
        hours, minutes, seconds = (int(part or 0) for part in parts.groups())
        total = float(hours * 3600 + minutes * 60 + seconds)
        if not total:
            self.fail("must be more than nothing", param, ctx)
        return total


@click.group("fuzz", invoke_without_command=True, epilog=EPILOG)
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Backend, repeatable. [default: core]")
@click.option("--max-time", type=Duration(), metavar="TIME", help="As 600, 10m, 1h. [default: 10m, unless --runs]")
@click.option("--runs", type=click.IntRange(1), metavar="N", help="Programs to make; seeds and corpus apart.")
@click.option("--corpus", default=CORPUS, show_default=True, metavar="DIR", help="Programs, findings and log.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 256), metavar="N", help="Processes.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), metavar="S", help="Of all choices.")
@click.option("--empty", is_flag=True, help="Start without the programs of the conformance cases.")
@click.option(
    "--engine",
    type=click.Choice([ATHERIS, WORKER]),
    help="What makes the programs; atheris is for core and simulator alone. [default: atheris where it serves and "
    "clang is there, else worker]",
)
@click.option(
    "--scout/--no-scout",
    default=True,
    show_default=True,
    help="Let a scout in C, made of the same tables, try what the oracle has no time for; not with --runs.",
)
@click.option(
    "--quota", default=QUOTA >> 20, show_default=True, type=click.IntRange(1), metavar="MIB", help="Size of the corpus."
)
@targeting
@click.option("-q", "--quiet", is_flag=True, help="No status lines.")
@click.pass_context
def fuzz(context: click.Context, /, **given: Any) -> int:
    """Search for faults with random programs, guided by what each of them reaches.

    Every program is free of undefined calls and is judged as a conformance case is. What reaches something new, in the
    library if it was built to tell, in the model otherwise, is kept in the corpus and built on. A failure is confirmed
    in a new process, minimised, repeated, and put into a folder of its own.
    """
    if context.invoked_subcommand is not None:
        return 0
    if context.get_parameter_source("call_timeout") is not ParameterSource.COMMANDLINE and not given["library"]:
        given["call_timeout"] = OWN_TIMEOUT
    quiet = given.pop("quiet")
    seconds = given.pop("max_time") or (None if given["runs"] else SECONDS)
    if given["runs"] and context.get_parameter_source("scout") is ParameterSource.COMMANDLINE and given["scout"]:
        raise Usage("--scout: has no part in a campaign of --runs, which repeats; leave one of them out")
    return _campaign(_plan(given, quiet), seconds, quiet)


def _plan(given: dict[str, Any], quiet: bool) -> CampaignPlan:
    options = take_options(given)
    runs = given["runs"] or 0
    jobs = given["jobs"]
    if runs and runs < jobs:
        raise Usage(f"--runs {runs}: is less than one program for each of {jobs} jobs; ask for more runs or fewer jobs")
    plan = CampaignPlan(
        backends=tuple(dict.fromkeys(given["backends"])) or ("core",),
        options=options,
        corpus=Path(given["corpus"]).absolute(),
        seed=given["seed"],
        runs=runs,
        jobs=jobs,
        empty=given["empty"],
        quota=given["quota"] << 20,
        scout=given["scout"],
        repeatable=bool(runs) and jobs == 1,
    )
    return replace(plan, engine=_engine(plan, given["engine"], quiet))


def _engine(plan: CampaignPlan, asked: str | None, quiet: bool) -> str:
    """The engine to use. Raises BackendError when the one asked for is not to be had."""
    if asked == WORKER or (asked is None and (plan.options.library or not served(plan))):
        return WORKER
    if not quiet and served(plan):
        click.echo("looking for atheris; what it needs and is not built yet is built now", err=True)
    try:
        embedding_of(plan)
    except BackendError as error:
        if asked is not None:
            raise
        click.echo(f"--engine worker, as {error}", err=True)
        return WORKER
    return ATHERIS


def _campaign(plan: CampaignPlan, seconds: float | None, quiet: bool) -> int:
    """`seconds`: for the campaign itself; what is built only once is not counted."""
    make_folder(plan.corpus)
    if not quiet:
        click.echo(f"starting, engine {plan.engine}; what is not built yet is built now", err=True)
    _prepare(plan)
    plan = replace(plan, deadline=None if seconds is None else time.monotonic() + seconds)
    outcome, fleet = Outcome((*plan.backends, plan.options.library, plan.engine)), Fleet(plan)
    telling = _Telling(outcome, quiet)
    outcome.check(plan.corpus)
    with closing(Log(plan.corpus)) as log, _stopping(fleet, outcome):
        for event in fleet.run():
            log.write(event)
            outcome.take(event)
            telling.tell(event)
    held = outcome.conclude(plan.corpus)
    show("\n".join(_summary(plan, outcome)))
    (code, reason), *others = held or [(ExitCode.AS_EXPECTED, "nothing new")]
    for lesser, besides in others:
        show(f"[exit code {lesser.value}] {besides}")
    show(f"exit code {code.value}: {reason}")
    return code


def _prepare(plan: CampaignPlan) -> None:
    """Build what is needed. Raises BackendError or HarnessError: what cannot be opened is told before processes are
    started."""
    spec = load_spec(more=plan.options.tables)
    with ExitStack() as stack:
        lane = open_lane(stack, spec, plan.backends[0], plan.options, set(), lambda: False)
        if plan.scout and not plan.runs:
            prepare_patrol(spec, lane)


@contextmanager
def _stopping(fleet: Fleet, outcome: Outcome) -> Iterator[None]:
    """The first Ctrl-C, or SIGTERM, ends the campaign in order; a second one at once."""

    def stop(number: int, frame: object) -> None:
        if outcome.interrupted:
            raise KeyboardInterrupt
        outcome.interrupted = True
        fleet.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class _Telling:
    """Status lines and findings on stderr."""

    outcome: Outcome
    quiet: bool
    _next: float = 0.0

    def tell(self, event: Event) -> None:
        """Say what is worth it."""
        console = Stderr(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        if event.kind == "finding":
            console.print(f"finding: {event.data['summary']}: {event.data['folder']}")
        elif event.kind == "start" and event.data["left"]:
            left = counted(event.data["left"], "program")
            console.print(f"the last campaign was killed; what was running then, {left}, comes first")
        elif event.kind == "loaded" and event.data["damaged"]:
            console.print(f"left out of the corpus, remove them: {'; '.join(event.data['damaged'])}")
        if event.figures is not None and not self.quiet and time.monotonic() >= self._next:
            self._next = time.monotonic() + STATUS_EVERY
            console.print(self.outcome.figures.line())


def _summary(plan: CampaignPlan, outcome: Outcome) -> Iterator[str]:
    figures = outcome.figures
    yield figures.line()
    yield f"corpus            {plan.corpus}"
    if figures.unjudged or figures.inconclusive:
        yield f"not judged        {figures.unjudged}, inconclusive {figures.inconclusive}"
    if figures.notes or figures.divergences:
        yield f"in the log        {counted(figures.notes, 'note')}, {counted(figures.divergences, 'divergence')}"
    if figures.repeated:
        yield f"known             {counted(figures.repeated, 'failure')} of findings that are in {plan.corpus / FOLDER}"
    for number, found in enumerate(outcome.findings, 1):
        yield f"{number}. {found['summary']}"
        yield f"   reproduce      acl-cts replay {found['folder']}"


# ------------------------------------------------------------------------------------------------------- maintenance


@fuzz.command("triage")
@click.argument("corpus", type=click.Path(exists=True, file_okay=False, path_type=Path))
def triage(corpus: Path) -> int:
    """List the findings of a corpus by clause; acl-cts replay CORPUS tells which still fail."""
    if not any((corpus / name).exists() for name in (FOLDER, LOG)):
        raise ReportError(f"{corpus}: is no corpus of a campaign; acl-cts fuzz --corpus DIR makes one")
    found = sorted(known(corpus / FOLDER), key=lambda each: (each.bucket.root.clause, each.folder.name))
    for each in found:
        show(f"{each.summary}\n    {each.folder}")
    show(counted(len(found), "finding"))
    return 0


@fuzz.command("merge")
@click.argument("corpus", type=click.Path(file_okay=False, path_type=Path))
@click.argument("others", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--backend", default="core", show_default=True, metavar="NAME", help="Tells what programs reach.")
@targeting
def merge(corpus: Path, others: tuple[Path, ...], backend: str, **given: Any) -> int:
    """Bring programs and findings of OTHERS into CORPUS, and keep the few programs that reach as much."""
    make_folder(corpus)
    copied = sum(copy(found, corpus / FOLDER) for other in others for found in known(other / FOLDER))
    kept, removed = _minimised(corpus, (corpus, *others), backend, take_options(given))
    show(f"{corpus}: {counted(kept, 'program')}, {removed} left out; {counted(copied, 'finding')} added")
    return 0


@fuzz.command("prune")
@click.argument("corpus", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--backend", default="core", show_default=True, metavar="NAME", help="Tells what programs reach.")
@targeting
def prune(corpus: Path, backend: str, **given: Any) -> int:
    """Keep the few programs of CORPUS, small ones first, that reach as much as all of them."""
    kept, removed = _minimised(corpus, (corpus,), backend, take_options(given))
    show(f"{corpus}: {counted(kept, 'program')}, {removed} left out")
    return 0


@fuzz.command("promote")
@click.argument("finding", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), help=f"Folder. [default: {REGRESSIONS}]")
@tabled
def promote(finding: Path, to: Path | None, **given: Any) -> int:
    """Make the program of FINDING a regression, which acl-cts run executes from then on.

    Another folder than the default is named to acl-cts run by the environment variable ACL_CTS_REGRESSIONS.
    """
    bucket = bucket_in(finding)
    if bucket is None:
        raise ReportError(f"{finding}: is no finding; acl-cts fuzz triage CORPUS lists some")
    if any(finding.glob("before-*.txt")):
        raise ReportError(f"{finding}: fails only after other programs in the same process, which no regression keeps")
    program = program_in(finding / PROGRAM)
    problem = program_problem(load_spec(more=take_tables(given)).interface, program)
    if problem:
        raise ReportError(f"{finding / PROGRAM}: {problem}; no run could execute it")
    folder = to or REGRESSIONS
    make_folder(folder)
    place = folder / f"{bucket.name}{SUFFIX}"
    write_text(place, (finding / PROGRAM).read_text(encoding="utf-8"))
    show(f"{place}: acl-cts run --group regression executes it")
    return 0


@fuzz.command("target")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write to.")
@tabled
def target(out: Path, **given: Any) -> int:
    """Write a self-contained fuzz target in C, for libFuzzer, AFL++, ClusterFuzzLite and OSS-Fuzz.

    The folder gets the target, build.sh, a corpus of seeds from the conformance cases, a dictionary, and a
    .clusterfuzzlite folder to be copied to the root of a repository.
    """
    if out.exists() and any(out.iterdir()) and not (out / "target.c").exists():
        raise ReportError(f"{out}: holds something else; choose an empty folder")
    made = write_target(load_spec(more=take_tables(given)), out, __version__)
    show(f"{made.folder}: target.c, {counted(made.seeds, 'seed')}; {made.folder}/build.sh replay LIBRARY builds it")
    return 0


def _minimised(corpus: Path, sources: tuple[Path, ...], backend: str, options: Options) -> tuple[int, int]:
    """Make the corpus the pruned programs of `sources`: how many it has, and how many were left out."""
    spec = load_spec(more=options.tables)
    with ExitStack() as stack:
        lane = open_lane(stack, spec, backend, options, set(), lambda: False)
        session = lane.target.session
        mender = Mutator(spec, session.capabilities, 0, without=session.missing)
        terms = Terms(spec.digest, frozenset(map(str, session.capabilities)), session.missing)
        programs: list[Program] = []
        for source in sources:
            reading, mending = Corpus(source), not terms.hold(source)
            read = list(reading.unread(spec.interface))
            programs += map(mender.mend, read) if mending else read
            if reading.damaged:
                raise ReportError(f"{source}: {reading.damaged[0]}; remove that file")
        if not programs:
            raise BackendError(f"{sources[-1]}: holds no program; acl-cts fuzz --corpus DIR makes some")
        kept = pruned(spec, lane, programs)
    replace_programs(corpus, kept)
    terms.note(corpus)
    return len(kept), len(programs) - len(kept)
