"""`acl-cts replay`."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from acl_cts.backends.backend import Options, Session
from acl_cts.backends.registry import open_backend
from acl_cts.commands.options import take_options, targeting
from acl_cts.conformance.failures import PROGRAM, SETTING, TRACE
from acl_cts.conformance.setting import Setting, setting_from_json, setting_of
from acl_cts.fuzz.bucket import Bucket, root_of
from acl_cts.fuzz.findings import FINDING, bucket_in
from acl_cts.fuzz.lane import flavoured
from acl_cts.fuzz.log import LOG
from acl_cts.reports.exit_codes import PRECEDENCE, ExitCode
from acl_cts.reports.files import ReportError, read_json
from acl_cts.reports.results import RED, CaseResult, case_to_json
from acl_cts.reports.trace_text import trace_lines
from acl_cts.specs.judgement import Finding, Judgement, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program, steps
from acl_cts.specs.program_text import format_line, parse_program
from acl_cts.specs.suiting import program_problem
from acl_cts.specs.trace import Trace
from acl_cts.specs.trace_json import trace_from_json
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts replay acl-cts-out                    every failure, on the library that failed
  acl-cts replay acl-cts-out/failures/CASE/program.txt --backend core
  acl-cts replay acl-cts-out/failures/CASE --backend acl --library PATH
  acl-cts replay acl-cts-out/failures/CASE/trace.json     judge again, execute nothing
  acl-cts replay nightly                        findings of a fuzzing corpus: which still fail

\b
Exit codes: 0 every program as expected, 1 a discrepancy, 2 bad input
(what can be read is replayed), 3 the suite itself failed, 4 nothing could be judged (not supported, inconclusive)."""


@dataclass(frozen=True, slots=True)
class Replayable:
    """A program to execute, after those in `before` and in the same process; or, with `trace`, to judge only.

    `setting`: how the suite executed it when it failed; None when nothing tells. `bucket`: of a fuzzing finding.
    """

    path: Path
    program: Program
    before: tuple[Program, ...] = ()
    trace: Trace | None = None
    setting: Setting | None = None
    bucket: Bucket | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """Its trace, and what gave it: `by` is None for a stored trace of which nothing tells. `spec`: what it is judged
    by."""

    thing: Replayable
    trace: Trace
    by: Setting | None
    spec: Spec


@dataclass(frozen=True, slots=True)
class Unread:
    """What cannot be replayed, and why; stderr has told of it. `finding`: it is one of a campaign."""

    path: Path
    reason: str
    finding: bool


@click.command("replay", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--backend", metavar="NAME", help="Backend that executes. [default: the one that the failure was found on, or core]"
)
@targeting
@click.option("--format", "form", default="text", type=click.Choice(["text", "json"]), help="Form of the output.")
@click.pass_context
def replay(context: click.Context, /, paths: tuple[Path, ...], backend: str | None, form: str, **given: Any) -> int:
    """Execute programs again and judge them; print every call with its answer.

    A PATH is a program file, a failure folder (the program in it, after the programs that it needs before it), a report
    folder with all its failures, a fuzzing corpus with all its findings, or a stored trace.json beside its program.txt,
    which is judged without executing anything. Of several, what cannot be read is told and the rest is replayed.
    """
    typed = {name for name in given if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    options = take_options(given)
    places = [place for path in paths for place in _places(path)]
    with ExitStack() as stack:
        bench = _Bench(stack, backend, options, frozenset(typed))
        return _show(bench.all_replayed(places), form)


@dataclass(slots=True)
class _Bench:
    """Opens the sessions that are needed, each once. `typed`: the options that stood on the command line."""

    stack: ExitStack
    backend: str | None
    options: Options
    typed: frozenset[str]
    _sessions: dict[tuple[str, Options], Session] = field(default_factory=dict)

    def all_replayed(self, places: list[Path]) -> Iterator[Replayed | Unread]:
        """One after the other. Raises ReportError when the only one cannot be read; of several, that one is told."""
        for place in places:
            try:
                yield self.replayed(_read(place))
            except ReportError as error:
                if len(places) == 1:
                    raise
                click.echo(f"acl-cts: {error}", err=True)
                yield Unread(place, str(error), (place / FINDING).exists())

    def replayed(self, thing: Replayable) -> Replayed:
        """Its trace: the stored one, or that of a new execution."""
        backend, options = self._way(thing)
        spec = load_spec(more=options.tables)
        for program in (*thing.before, thing.program):
            problem = program_problem(spec.interface, program)
            if problem:
                raise ReportError(f"{thing.path}: {problem}; `acl-cts spec show` has the functions")
        if thing.trace is not None:
            return Replayed(thing, thing.trace, thing.setting, spec)
        session = self._sessions.get((backend, options))
        if session is None:
            session = self._sessions[backend, options] = self.stack.enter_context(open_backend(backend, options))
        return Replayed(thing, _execute(session, thing), setting_of(backend, session.identity, options), spec)

    def _way(self, thing: Replayable) -> tuple[str, Options]:
        """As it was executed when it failed, unless the command line says otherwise."""
        if thing.bucket is not None and thing.setting is None and self.backend is None:
            raise ReportError(
                f"{thing.path / SETTING}: is missing, so nothing tells what it failed on; name that by --backend and "
                "--library, or remove the folder to have it found anew"
            )
        if self.backend is not None or thing.setting is None:
            return self._fitting(self.backend or "core", self.options)
        asked = {name: getattr(self.options, name) for name in self.typed}
        return self._fitting(thing.setting.backend, dataclasses.replace(thing.setting.options, **asked))

    def _fitting(self, backend: str, options: Options) -> tuple[str, Options]:
        """Another library than the one that failed is opened as a campaign would open it."""
        return backend, flavoured(backend, options) if "library" in self.typed and options.library else options


def _places(path: Path) -> list[Path]:
    """`path`, or the failure folders in it when it is a report or a corpus. Raises ReportError when it is another
    folder without any."""
    if not path.is_dir() or (path / PROGRAM).exists():
        return [path]
    kept = path / "failures" if (path / "failures").is_dir() else path
    names = (PROGRAM, FINDING)  # a finding that lost its program is told of
    found = sorted({file.parent for depth in ("*", "*/*") for name in names for file in kept.glob(f"{depth}/{name}")})
    if not found and (path / LOG).is_file():
        click.echo(f"{path}: no findings in this corpus", err=True)
    elif not found:
        raise ReportError(f"{path}: holds no failure; replay takes a {PROGRAM}, a failure folder or a report with some")
    return found


def _read(path: Path) -> Replayable:
    """What `path` names. Raises ReportError."""
    if path.is_dir():
        before = tuple(_program(file) for file in sorted(path.glob("before-*.txt")))
        return Replayable(path, _main(path / PROGRAM), before, setting=_setting(path), bucket=bucket_in(path))
    if path.suffix == ".json":
        try:
            trace = trace_from_json(read_json(path))
        except ValueError as error:
            raise ReportError(f"{path}: is not a stored trace ({error}); replay takes {PROGRAM} and {TRACE}") from error
        return Replayable(path, _main(path.with_name(PROGRAM)), trace=trace, setting=_setting(path.parent))
    return Replayable(path, _main(path), setting=_setting(path.parent) if path.name == PROGRAM else None)


def _setting(folder: Path) -> Setting | None:
    """What the failure folder `folder` says of its execution."""
    file = folder / SETTING
    if not file.exists():
        return None
    try:
        return setting_from_json(read_json(file))
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(f"{file}: does not tell how a failure was executed; remove it or run again") from error


def _main(path: Path) -> Program:
    """The program in `path`, which must do something."""
    program = _program(path)
    if not steps(program):
        raise ReportError(f"{path}: no statement in it; replay takes a {PROGRAM} or a failure folder")
    return program


def _program(path: Path) -> Program:
    try:
        return parse_program(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: is not a program but binary data; a library is named by --library") from error
    except ValueError as error:
        raise ReportError(f"{path}: is not a program ({error})") from error


def _execute(session: Session, thing: Replayable) -> Trace:
    """Its trace in a new worker."""
    session.restart()
    for program in thing.before:
        session.run(program)
    return session.run(thing.program)


def _show(replays: Iterable[Replayed | Unread], form: str) -> int:
    codes: list[ExitCode] = []
    fates: list[tuple[Path, str]] = []
    told = ""
    for replayed in replays:
        if isinstance(replayed, Unread):
            codes.append(ExitCode.USAGE)
            if form == "json":
                show(json.dumps(_untold(replayed), ensure_ascii=False))
            fates.extend([(replayed.path, "error")] if replayed.finding else [])
            continue
        thing = replayed.thing
        judgement = judge(replayed.spec, thing.program, replayed.trace)
        if form == "json":
            show(json.dumps(_plain(replayed, judgement), ensure_ascii=False))
        else:
            if (origin := _origin(replayed)) != told:
                show(origin)
            told = origin
            show("\n".join(_lines(replayed.spec, thing, replayed.trace, judgement)))
        codes.append(_code(judgement))
        if thing.bucket is not None:
            fates.append((thing.path, _fate(thing.bucket, replayed.trace, judgement)))
    if form == "text" and len(fates) > 1:
        show("\n".join(_summary(fates)))
    return min(filter(None, codes), key=PRECEDENCE.index, default=ExitCode.AS_EXPECTED)


def _summary(fates: list[tuple[Path, str]]) -> Iterator[str]:
    """What became of every finding, when there are several."""
    yield ""
    counts = Counter(fate for _, fate in fates).items()
    yield f"{len(fates)} findings: " + ", ".join(f"{n} {_of_several(fate, n)}" for fate, n in counts)
    width = max(len(fate) for _, fate in fates)
    yield from (f"  {fate:{width}}  {path}" for path, fate in fates)


def _of_several(fate: str, count: int) -> str:
    return re.sub("^(still )?(fail)s", r"\1\2", fate) if count > 1 else fate


def _origin(replayed: Replayed) -> str:
    """Who executed it, and who did when it failed if that was another."""
    thing, by = replayed.thing, replayed.by
    if thing.trace is not None:
        return f"stored trace, executed by {by}" if by else "stored trace"
    was = thing.setting
    differs = was is not None and by is not None and (was.backend, was.library) != (by.backend, by.library)
    return f"executed by {by}" + (f"; the failure was found on {was}" if differs else "")


def _code(judgement: Judgement) -> ExitCode:
    if judgement.verdict is Verdict.ERROR:
        return ExitCode.HARNESS
    if judgement.verdict in RED:
        return ExitCode.DISCREPANCY
    return ExitCode.AS_EXPECTED if judgement.verdict is Verdict.PASS else ExitCode.INCOMPLETE


def _plain(replayed: Replayed, judgement: Judgement) -> dict[str, Any]:
    thing = replayed.thing
    shared = {f.name for f in dataclasses.fields(CaseResult)} & {f.name for f in dataclasses.fields(Judgement)}
    values = {name: getattr(judgement, name) for name in shared} | {
        "held": tuple(sorted(judgement.held)),
        "succeeded": tuple(sorted(judgement.succeeded)),
    }
    result = case_to_json(CaseResult(id=str(thing.path), attempts=0 if thing.trace else 1, **values))
    if thing.bucket is not None:
        result["finding"] = _fate(thing.bucket, replayed.trace, judgement)
    return result | {"executed_by": _named(replayed.by), "found_on": _named(thing.setting)}


def _untold(unread: Unread) -> dict[str, Any]:
    result = case_to_json(CaseResult(str(unread.path), Verdict.ERROR, unread.reason, attempts=0))
    return result | ({"finding": "error"} if unread.finding else {}) | {"executed_by": None, "found_on": None}


def _fate(bucket: Bucket, trace: Trace, judgement: Judgement) -> str:
    """What became of a finding."""
    if judgement.verdict is Verdict.ERROR:
        return "error"
    if judgement.verdict not in RED:
        return "fixed" if judgement.verdict is Verdict.PASS else "not judged"
    now, then = root_of(judgement, trace, ()), bucket.root
    alike = (now.verdict, now.clause, now.function) == (then.verdict, then.clause, then.function)
    return "still fails" if alike else f"fails in another way: {now.clause}, {now.function}"


def _named(setting: Setting | None) -> dict[str, str] | None:
    return {"backend": setting.backend, "library": setting.library} if setting else None


def _lines(spec: Spec, thing: Replayable, trace: Trace, judgement: Judgement) -> Iterator[str]:
    yield f"{thing.path}"
    yield from trace_lines(trace, tuple(format_line(statement) for statement in steps(thing.program)))
    yield f"  verdict: {judgement.verdict}" + (f" ({judgement.reason})" if judgement.reason else "")
    if thing.bucket is not None:
        yield f"  finding: {_fate(thing.bucket, trace, judgement)}"
    for title, findings in (
        ("discrepancy", judgement.discrepancies),
        ("explained", judgement.blocked),
        ("note", judgement.notes),
    ):
        for finding in findings:
            yield from _finding(spec, title, finding)
    for observation in judgement.observations:
        yield f"  observed at an open point: {observation.clause}: {observation.answer} (step {observation.step})"


def _finding(spec: Spec, title: str, finding: Finding) -> Iterator[str]:
    title = f"explained by {finding.blocked_by}" if finding.blocked_by else title
    yield f"  {title}: {finding.clause} ({finding.strength}), {finding.function}, step {finding.step}"
    yield f"      expected   {finding.expected}"
    yield f"      observed   {finding.observed}"
    clause = spec.clauses.get(finding.clause)
    if clause is not None:
        yield f"      documents  {clause.text_en} ({clause.source})"
