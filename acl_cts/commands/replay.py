"""`acl-cts replay`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from acl_cts.backends.backend import Session
from acl_cts.backends.registry import open_backend
from acl_cts.commands.options import take_options, targeting
from acl_cts.conformance.failures import PROGRAM, TRACE
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.files import ReportError, read_json
from acl_cts.reports.results import RED, CaseResult, case_to_json
from acl_cts.reports.trace_text import trace_lines
from acl_cts.specs.judgement import Finding, Judgement, Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program, steps
from acl_cts.specs.program_text import format_line, parse_program
from acl_cts.specs.trace import Trace
from acl_cts.specs.trace_json import trace_from_json
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts replay acl-cts-out/failures/CASE/program.txt --backend core
  acl-cts replay acl-cts-out/failures/CASE --backend acl --library PATH
  acl-cts replay acl-cts-out/failures/CASE/trace.json     judge again, execute nothing

\b
Exit codes: 0 every program as expected, 1 a discrepancy, 2 bad input,
3 the suite itself failed, 4 nothing could be judged (not supported, inconclusive)."""


@dataclass(frozen=True, slots=True)
class Replayable:
    """A program to execute, after those in `before` and in the same process; or, with `trace`, to judge only."""

    path: Path
    program: Program
    before: tuple[Program, ...] = ()
    trace: Trace | None = None


@click.command("replay", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--backend", default="core", show_default=True, metavar="NAME", help="Backend that executes.")
@targeting
@click.option("--format", "form", default="text", type=click.Choice(["text", "json"]), help="Form of the output.")
def replay(paths: tuple[Path, ...], backend: str, form: str, **given: Any) -> int:
    """Execute programs again and judge them; print every call with its answer.

    A PATH is a program file, a failure folder (the program in it, after the programs that it needs before it), or a
    stored trace.json beside its program.txt, which is judged without executing anything.
    """
    spec = load_spec()
    options = take_options(given)
    things = [_read(path) for path in paths]
    if all(thing.trace for thing in things):
        return _show(spec, ((thing, thing.trace) for thing in things if thing.trace), form)
    with open_backend(backend, options) as session:
        if form == "text":
            library = session.identity.library
            show(f"executed by {backend}" + (f": {library}" if library else ""))
        return _show(spec, ((thing, thing.trace or _execute(session, thing)) for thing in things), form)


def _read(path: Path) -> Replayable:
    """What `path` names. Raises ReportError."""
    if path.is_dir():
        before = tuple(_program(file) for file in sorted(path.glob("before-*.txt")))
        return Replayable(path, _program(path / PROGRAM), before)
    if path.suffix == ".json":
        try:
            trace = trace_from_json(read_json(path))
        except ValueError as error:
            raise ReportError(f"{path}: is not a stored trace ({error}); replay takes {PROGRAM} and {TRACE}") from error
        return Replayable(path, _program(path.with_name(PROGRAM)), trace=trace)
    return Replayable(path, _program(path))


def _program(path: Path) -> Program:
    try:
        return parse_program(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ReportError(f"{path}: is not a program ({error})") from error


def _execute(session: Session, thing: Replayable) -> Trace:
    """Its trace in a new worker."""
    session.restart()
    for program in thing.before:
        session.run(program)
    return session.run(thing.program)


def _show(spec: Spec, traced: Iterator[tuple[Replayable, Trace]], form: str) -> int:
    codes = []
    for thing, trace in traced:
        judgement = judge(spec, thing.program, trace)
        if form == "json":
            show(json.dumps(_plain(thing, judgement), ensure_ascii=False))
        else:
            show("\n".join(_lines(spec, thing, trace, judgement)))
        codes.append(_code(judgement))
    order = (ExitCode.HARNESS, ExitCode.DISCREPANCY, ExitCode.INCOMPLETE, ExitCode.AS_EXPECTED)
    return min(codes, key=order.index)


def _code(judgement: Judgement) -> ExitCode:
    if judgement.verdict is Verdict.ERROR:
        return ExitCode.HARNESS
    if judgement.verdict in RED:
        return ExitCode.DISCREPANCY
    return ExitCode.AS_EXPECTED if judgement.verdict is Verdict.PASS else ExitCode.INCOMPLETE


def _plain(thing: Replayable, judgement: Judgement) -> dict[str, Any]:
    shared = {f.name for f in dataclasses.fields(CaseResult)} & {f.name for f in dataclasses.fields(Judgement)}
    values = {name: getattr(judgement, name) for name in shared} | {
        "held": tuple(sorted(judgement.held)),
        "succeeded": tuple(sorted(judgement.succeeded)),
    }
    return case_to_json(CaseResult(id=str(thing.path), attempts=0 if thing.trace else 1, **values))


def _lines(spec: Spec, thing: Replayable, trace: Trace, judgement: Judgement) -> Iterator[str]:
    yield f"{thing.path}"
    yield from trace_lines(trace, tuple(format_line(statement) for statement in steps(thing.program)))
    yield f"  verdict: {judgement.verdict}" + (f" ({judgement.reason})" if judgement.reason else "")
    for title, findings in (
        ("discrepancy", judgement.discrepancies),
        ("blocked", judgement.blocked),
        ("note", judgement.notes),
    ):
        for finding in findings:
            yield from _finding(spec, title, finding)
    for observation in judgement.observations:
        yield f"  observed at an open point: {observation.clause}: {observation.answer} (step {observation.step})"


def _finding(spec: Spec, title: str, finding: Finding) -> Iterator[str]:
    root = f", explained by {finding.blocked_by}" if finding.blocked_by else ""
    yield f"  {title}: {finding.clause} ({finding.strength}), {finding.function}, step {finding.step}{root}"
    yield f"      expected   {finding.expected}"
    yield f"      observed   {finding.observed}"
    clause = spec.clauses.get(finding.clause)
    if clause is not None:
        yield f"      documents  {clause.text_en} ({clause.source})"
