"""`acl-cts run`."""

from __future__ import annotations

import dataclasses
import gc
import json
import secrets
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from acl_cts import __version__
from acl_cts.aside import Aside
from acl_cts.backends.backend import HarnessError, Options
from acl_cts.backends.native import layout
from acl_cts.backends.registry import open_backend
from acl_cts.commands.options import OWN, replay_command, selecting, take_options, take_selection, targeting
from acl_cts.conformance.case import Case
from acl_cts.conformance.challenge import cases_in
from acl_cts.conformance.consistency import inconsistent
from acl_cts.conformance.events import Begun, Finished, Left, Opened
from acl_cts.conformance.failures import PROGRAM, REPRODUCER, forget, tidy
from acl_cts.conformance.journal import JOURNAL, Journal, Past, Story, read_journal, stands
from acl_cts.conformance.launch import Launch
from acl_cts.conformance.limit_probe import probe_backend
from acl_cts.conformance.plan import Plan
from acl_cts.conformance.plugin import everything
from acl_cts.conformance.sharding import sharded
from acl_cts.conformance.trace_file import trace_file
from acl_cts.expecting import Expecting, expecting, take_expecting
from acl_cts.keeping import forget_kept, keep_challenge, keeping, recording
from acl_cts.part import checked_shard, taken_shard
from acl_cts.progress import RunProgress
from acl_cts.reports.environment import environment
from acl_cts.reports.evidence import Evidence
from acl_cts.reports.exit_code import ExitCode, final, holding
from acl_cts.reports.files import ReportError, check_files, forget_files, make_folder, write_json, write_text
from acl_cts.reports.limit_result import LimitResult
from acl_cts.reports.renderings import RENDERINGS, Place
from acl_cts.reports.results import DISCREPANCY, BackendRun, CaseResult, FunctionSupport, Held, Results, to_json
from acl_cts.reports.roots import roots
from acl_cts.reports.shard import Shard
from acl_cts.reports.tables import tables_of
from acl_cts.rerun import failed_in, narrowed
from acl_cts.resume import check_opened, check_same, options_of
from acl_cts.specs.judgement import Strength
from acl_cts.specs.model import Limit, Spec
from acl_cts.specs.recipe import Recipe
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts run                                      core and simulator, everything
  acl-cts run --backend core:asan --family mbuf    the core under sanitizers
  acl-cts run --backend acl --library PATH --out report
  acl-cts run --backend acl --library PATH --max-time 600 --fail-on explicit
  acl-cts run --shuffle --seed 7 --isolate
  acl-cts run --resume --out report                go on with a run that was cut off
  acl-cts run --backend acl --library PATH --profile general --waivers waivers.yaml
  acl-cts run --rerun-failed report --repeat 20 --out again
  acl-cts run --shard 2/4 --out shard-2            a quarter of the cases

\b
Written to DIR: results.json, report.html, report.md, report.sarif, junit.xml, summary.txt,
journal.jsonl (every verdict as it fell; --resume goes on from there), and for every
failure failures/CASE/ (failures/BACKEND/CASE/ with several backends) with program.txt,
repro.c, trace.json and run.json. --max-time counts from the start of the command, building
and all backends included. What a waiver or the baseline covers is executed and shown all the
same; one that is out of date is exit code 5."""

WRITTEN = ("results.json", *(rendering.file for rendering in RENDERINGS.values()))
"""The files of a report; looked at before anything runs, or a whole run might have nowhere to go."""

WORTH_TWO = 500
"""Cases from which on a second test process saves more than its start costs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What was asked for."""

    backends: tuple[str, ...]
    plan: Plan
    out: Path
    jobs: int
    keyword: str
    fail_on: frozenset[Strength]
    verbosity: int
    given: dict[str, Any]
    past: Past | None
    expecting: Expecting
    only: dict[str, list[str]]
    shard: Shard | None

    def story(self, backend: str) -> Story:
        """What is known of `backend` from the run that is gone on with."""
        return self.past.stories.get(backend, Story()) if self.past else Story()


@click.command("run", epilog=EPILOG)
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Repeatable. [default: core, simulator]")
@targeting
@click.option(
    "--out",
    default="acl-cts-out",
    show_default=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Folder for reports, journal and failures; a report in it is replaced.",
)
@selecting
@click.option("-k", "keyword", default="", metavar="EXPRESSION", help="pytest's expression over item names.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Test processes. [default: 2 for own builds, 1 for acl]"
)
@click.option(
    "--max-time",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop executing then, counted from now.",
)
@click.option(
    "--shard", default="", metavar="I/N", callback=checked_shard, help="Only part I of N; `report merge` joins them."
)
@click.option("--isolate", is_flag=True, help="Each case in a process of its own.")
@click.option("--shuffle", is_flag=True, help="Another order; the seed is printed and stored.")
@click.option("--seed", type=int, metavar="N", help="Seed of --shuffle.")
@click.option("--resume", is_flag=True, help="Go on with the run in DIR that was cut off, with its options.")
@expecting
@click.option(
    "--rerun-failed",
    default="",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Only what failed in the report in DIR, on what it failed on.",
)
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1), metavar="N", help="Judge each case N times."
)
@keeping
@click.option("--fail-on", multiple=True, metavar="STRENGTH", help="explicit, obligation, implied. [default: all]")
@click.option(
    "--format", "form", default="text", type=click.Choice(["text", "json"]), help="Form of the summary on stdout."
)
@click.option("-q", "--quiet", is_flag=True, help="Nothing but the last line of the summary.")
@click.option("-v", "--verbose", is_flag=True, help="Every verdict as it falls.")
def run(**given: Any) -> int:
    """Judge backends against the documented contract.

    A backend is core, core:asan, simulator, simulator:PROFILE or acl (a vendor's library, see --library); `acl-cts
    backends` says what can be used here.
    """
    gc.disable()  # nearly all that a run makes stays to its end
    past = None
    if given["resume"]:
        past = read_journal(Path(given["out"]) / JOURNAL)
        given |= options_of(past, click.get_current_context())
    elif given["rerun_failed"]:
        given |= failed_in(Path(given["rerun_failed"]), click.get_current_context())
    options = dict(given)
    form, quiet = given.pop("form"), given["quiet"]
    backend_options = take_options(given)
    # As the test processes will ask for it, so that it is loaded once for all of them.
    spec, generated, _ = everything(backend_options.tables)
    if past is not None:
        check_same(past, spec)
    request = _request(spec, generated, given, options, backend_options, past)
    ready = [_look(backend, request.plan.options) for backend in request.backends]
    for looked in ready:
        check_opened(request.story(looked.backend), looked)
    make_folder(request.out / "failures")
    check_files(request.out, WRITTEN)
    journal = Journal(request.out / JOURNAL)
    if past is None:
        # The reports first: whenever this is cut off, nothing calls the new run finished.
        forget_files(request.out, WRITTEN)
        forget(request.out / "failures")
        forget_kept(request.out)
        journal.clear()
    request = _challenged(spec, generated, request)
    with _ended_politely():
        results = _judge(spec, request, ready, journal)
    tidy(request.out / "failures")
    summary = RENDERINGS["text"].text(results, _place(request))
    written = _write(request, results)
    code = results.code if written else ExitCode.HARNESS
    again = shlex.join(["acl-cts", "run", "--resume", "--out", given["out"]])
    if not written:
        click.echo(f"acl-cts: make room, then go on without executing anything twice: {again}", err=True)
    elif _all_judged(results):
        journal.send(Finished(results.ended))
    elif not quiet:
        click.echo(f"acl-cts: go on with: {again}", err=True)
    journal.close()
    if journal.trouble and code == ExitCode.AS_EXPECTED:
        click.echo(f"acl-cts: {journal.trouble}", err=True)
        code = ExitCode.HARNESS
    if code != results.code:
        held = Held(code, "the results could not be written as they should")
        results = dataclasses.replace(results, code=code, holds=(held, *results.holds))
        summary = RENDERINGS["text"].text(results, _place(request))
    if form == "json":
        show(json.dumps(_short(results, request.out), ensure_ascii=False, indent=1))
    else:
        show(summary.splitlines()[-1] if quiet else summary, nl=quiet)
    return code


def _request(
    spec: Spec,
    generated: tuple[Case, ...],
    given: dict[str, Any],
    options: dict[str, Any],
    backend_options: Options,
    past: Past | None,
) -> Request:
    backends = given["backends"] or OWN
    if backend_options.library and len(set(backends)) > 1:
        # One path cannot mean several backends; each would take it in its own way.
        raise click.UsageError("--library goes with one --backend only, as --backend acl; judge the others apart")
    if not given["out"]:
        raise click.UsageError("--out '' names no directory; leave it out for acl-cts-out")
    seed = given["seed"]
    if seed is not None and not given["shuffle"]:
        raise click.UsageError("--seed has no effect without --shuffle; add --shuffle")
    if given["shuffle"] and seed is None:
        seed = secrets.randbelow(2**32)
    max_time = given["max_time"]
    only: dict[str, list[str]] = given.get("only", {})
    shard = taken_shard(given)
    expected = take_expecting(given, spec, generated)
    plan = Plan(
        backends=tuple(dict.fromkeys(backends)),
        selection=narrowed(take_selection(given), only, generated),
        options=backend_options,
        isolate=given["isolate"],
        seed=seed,
        deadline=None if max_time is None else time.monotonic() + max_time,
        resume=past is not None,
        repeat=given.get("repeat", 1),
        part=(shard.number, shard.of) if shard else (1, 1),
    )
    plan.selection.check(spec)
    chosen = tuple(filter(plan.selection.matches, generated))
    if not given["challenge"]:
        chosen = sharded(plan.selection.apply(generated), *plan.part)
    own = all(backend.partition(":")[0] in OWN for backend in plan.backends)
    return Request(
        backends=plan.backends,
        plan=plan,
        out=Path(given["out"]).absolute(),
        jobs=past.begun.jobs if past else given["jobs"] or (2 if own and len(chosen) >= WORTH_TWO else 1),
        keyword=given["keyword"],
        fail_on=_strengths(given["fail_on"]),
        verbosity=-1 if given["quiet"] else int(given["verbose"]),
        given=options
        | {"backends": list(plan.backends), "tables": list(backend_options.tables), "seed": seed}
        | expected.given,
        past=past,
        expecting=expected,
        only=only,
        shard=shard,
    )


def _challenged(spec: Spec, generated: tuple[Case, ...], request: Request) -> Request:
    """`request` with the cases of its challenge. Raises SelectionError when none of all cases is selected."""
    path = keep_challenge(request.out, spec, request.given["challenge"], generated, request.plan.options.tables)
    plan = dataclasses.replace(request.plan, challenge=path)
    plan.selection.apply(generated + cases_in(path, plan.options.tables))
    return dataclasses.replace(request, plan=plan)


def _strengths(named: tuple[str, ...]) -> frozenset[Strength]:
    """The strengths of --fail-on, given one by one or with commas."""
    words = [word.strip() for entry in named for word in entry.split(",") if word.strip()]
    known = {strength.value for strength in DISCREPANCY}
    for word in words:
        if word not in known:
            raise click.UsageError(f"--fail-on: {word!r} is none of {', '.join(sorted(known))}")
    return frozenset(Strength(word) for word in words) or DISCREPANCY


def _look(backend: str, options: Options) -> BackendRun:
    """Open `backend` once: builds what must be built, finds bad input before anything runs, and tells who it is."""
    try:
        with open_backend(backend, options) as session:
            identity = dataclasses.asdict(session.identity)
            return BackendRun(backend, identity, tuple(sorted(session.capabilities)))
    except HarnessError as error:
        return BackendRun(backend, complete=False, trouble=str(error))


def _judge(spec: Spec, request: Request, ready: list[BackendRun], journal: Journal) -> Results:
    started = request.past.begun.started if request.past else datetime.now(UTC).isoformat(timespec="seconds")
    journal.send(Begun(__version__, spec.digest, started, request.jobs, request.given))
    runs: list[BackendRun] = []
    finished = True
    if request.plan.seed is not None and request.verbosity >= 0:
        click.echo(f"shuffled with seed {request.plan.seed}", err=True)
    for looked in ready:
        if looked.trouble:
            click.echo(f"acl-cts: {looked.backend}: {looked.trouble}", err=True)
            runs.append(looked)
            continue
        done, interrupted = _judge_one(spec, request, looked, journal)
        runs.append(done)
        if interrupted:
            finished = False
            break
    results = Results(
        version=__version__,
        spec=spec.digest,
        started=started,
        ended=datetime.now(UTC).isoformat(timespec="seconds"),
        finished=finished,
        filtered=bool(request.plan.selection) or bool(request.keyword),
        seed=request.plan.seed,
        options=request.given,
        runs=tuple(runs),
        fail_on=request.fail_on,
        tables=tables_of(spec),
        environment=environment() | {"executor": str(layout.VERSION)},
        shard=request.shard,
    )
    results = request.expecting.applied(results)
    holds = holding(results, request.fail_on)
    return dataclasses.replace(results, holds=holds, code=final(holds))


def _judge_one(spec: Spec, request: Request, looked: BackendRun, journal: Journal) -> tuple[BackendRun, bool]:
    backend, story = looked.backend, request.story(looked.backend)
    folder = _failures(request, backend)
    make_folder(folder)
    journal.send(Opened(backend, looked.identity, looked.capabilities))
    plan = dataclasses.replace(request.plan, backends=(backend,), events=str(journal.path), failures=str(folder))
    if (traces := _traces(request, backend)) is not None:
        plan = dataclasses.replace(plan, traces=str(traces))
    if request.only:
        ids = tuple(request.only[backend])
        plan = dataclasses.replace(plan, selection=dataclasses.replace(plan.selection, ids=ids))
    with RunProgress(backend, request.verbosity, len(story.results)) as progress:
        launch = Launch(plan, request.jobs, request.keyword, progress.watch, story)
        done = launch.run()
    journal.send(Left(backend, done.duration - story.duration, done.trouble))
    if folder != request.out / "failures":
        tidy(folder)
    if done.trouble:
        click.echo(f"acl-cts: {backend}: {done.trouble}", err=True)
    limits: tuple[LimitResult, ...] = ()
    interrupted = launch.interrupted
    if not interrupted and not done.trouble:
        try:
            limits = _limits(spec, request, backend, done.support)
        except KeyboardInterrupt:
            interrupted = True  # the verdicts of the cases are written all the same
    done = dataclasses.replace(done, cases=tuple(_placed(request, folder, backend, case) for case in done.cases))
    shown = {root.cases[0].id for root in roots(done, request.fail_on)}
    return (
        dataclasses.replace(
            done,
            identity=looked.identity,
            capabilities=looked.capabilities,
            limits=limits,
            notes=inconsistent(spec, done.cases),
            cases=tuple(_reproduced(request, case) if case.id in shown else case for case in done.cases),
        ),
        interrupted,
    )


def _all_judged(results: Results) -> bool:
    """Whether there is nothing to go on with."""
    return results.finished and all(run.complete and all(map(stands, run.cases)) for run in results.runs)


def _limits(
    spec: Spec, request: Request, backend: str, support: tuple[FunctionSupport, ...]
) -> tuple[LimitResult, ...]:
    """The real edges of the documented limits, as far as the selection asks for functions or families at all."""
    chosen, plan = request.plan.selection, request.plan
    if plan.part[0] != 1:
        return ()  # they belong to the first shard

    def choice(limit: Limit, recipe: Recipe) -> bool:
        if request.keyword or chosen.groups or chosen.clauses or chosen.cases or chosen.ids:
            return False
        of_family = not chosen.families or limit.family in chosen.families
        return of_family and (not chosen.functions or recipe.function in chosen.functions)

    known = {entry.function: entry for entry in support}
    kept = recording(_traces(request, backend))
    return probe_backend(spec, backend, plan.options, known, plan.deadline, choice, kept)


def _failures(request: Request, backend: str) -> Path:
    """Where failures of `backend` are kept: beside each other for one backend, apart for several."""
    folder = request.out / "failures"
    return folder if len(request.backends) == 1 else folder / backend.replace(":", "-").replace("/", "-")


def _traces(request: Request, backend: str) -> Path | None:
    """Where every trace of `backend` is kept, None when they are not."""
    return trace_file(request.out, backend) if request.given["keep_traces"] else None


def _placed(request: Request, folder: Path, backend: str, case: CaseResult) -> CaseResult:
    """`case` with its files named from the output folder, and its evidence but for the reproducer."""
    if not case.files:
        return case
    place = folder / case.files
    evidence = Evidence(
        program=_text(place / PROGRAM),
        command=replay_command(str(_near(place / PROGRAM)), backend, request.plan.options),
    )
    return dataclasses.replace(case, files=str(place.relative_to(request.out)), evidence=evidence)


def _reproduced(request: Request, case: CaseResult) -> CaseResult:
    """`case` with its reproducer."""
    if case.evidence is None:
        return case
    reproducer = _text(request.out / case.files / REPRODUCER)
    return dataclasses.replace(case, evidence=dataclasses.replace(case.evidence, reproducer=reproducer))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _near(path: Path) -> Path:
    """`path` as short as it can be from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _place(request: Request) -> Place:
    """Where the reports of this run stand."""
    return Place(results=request.out, out=request.out, shown=str(_near(request.out)))


def _write(request: Request, results: Results) -> bool:
    """Write the reports, those for people beside the one for machines. Whether they could be written."""
    renderings = Aside(lambda: _written(lambda: _render(request, results)))
    trouble = _written(lambda: write_json(request.out / "results.json", to_json(results)))
    troubles = dict.fromkeys(filter(None, (trouble, renderings.result())))
    for trouble in troubles:
        # The verdicts are known by now: show them all the same.
        click.echo(f"acl-cts: {trouble}", err=True)
    return not troubles


def _render(request: Request, results: Results) -> None:
    for rendering in RENDERINGS.values():
        write_text(request.out / rendering.file, rendering.text(results, _place(request)))


def _written(write: Callable[[], None]) -> str:
    """'' when `write` could, otherwise why not."""
    try:
        write()
    except ReportError as error:
        return str(error)
    return ""


def _short(results: Results, out: Path) -> dict[str, Any]:
    """The summary for machines: everything of results.json but the single cases."""
    whole = to_json(results)
    for run in whole["runs"]:
        del run["cases"]
    return whole | {"out": str(out)}


@contextmanager
def _ended_politely() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: what is known so far is written."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
