"""What is kept of a failure: program, standalone C reproducer, trace, and who executed it, in one folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from acl_cts.conformance.case import Case
from acl_cts.conformance.runner import Outcome
from acl_cts.conformance.setting import Setting, setting_to_json
from acl_cts.conformance.watching import watched
from acl_cts.reports.files import make_folder, write_json, write_text
from acl_cts.reports.results import CaseResult
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program, steps
from acl_cts.specs.program_source import to_c
from acl_cts.specs.program_text import format_line, format_program
from acl_cts.specs.source_build import PLAIN, Build
from acl_cts.specs.source_c import in_comment
from acl_cts.specs.trace import End, Trace
from acl_cts.specs.trace_json import trace_to_json

PROGRAM = "program.txt"
REPRODUCER = "repro.c"
TRACE = "trace.json"
SETTING = "run.json"
SHOWING = frozenset({End.CRASH, End.EXIT, End.TIMEOUT, End.RACE})
"""Endings that are faults of the library."""

LONGEST = 180
"""Bytes of a folder's name; longer ids are cut in front of the digest that ends them."""


def folder_name(case: str) -> str:
    """Name of the folder for case id `case`; unique because an id ends in the program's digest."""
    name = case.replace("/", ".")
    stem, tilde, digest = name.rpartition("~")
    return name if len(name) <= LONGEST else f"{stem[: LONGEST - len(digest) - 1]}{tilde}{digest}"


def keep(folder: Path, case: Case, outcome: Outcome, spec: Spec, setting: Setting, first: tuple[str, ...] = ()) -> str:
    """Write what is known of a failing case below `folder`; the name of its own folder there. `first`: what its
    reproducer says before all else. Raises ReportError."""
    name = folder_name(case.id)
    place = folder / name
    make_folder(place)
    write_text(place / PROGRAM, format_program(case.program))
    write_text(place / REPRODUCER, _header(case, outcome, setting) + _body(case, outcome, spec, setting, first))
    write_json(place / SETTING, setting_to_json(setting))
    if outcome.trace is not None:
        write_json(place / TRACE, trace_to_json(outcome.trace))
    for number, executed in enumerate(outcome.history, 1):
        write_text(place / f"before-{number:03}.txt", format_program(executed.program))
    return name


def _body(case: Case, outcome: Outcome, spec: Spec, setting: Setting, first: tuple[str, ...]) -> str:
    return reproducer(case.program, outcome.result, outcome.trace, spec, setting.build, first)


def forget(folder: Path) -> None:
    """Remove the failure folders of an earlier run below `folder`, what they leave empty, and nothing else."""
    for program in [*folder.glob(f"*/{PROGRAM}"), *folder.glob(f"*/*/{PROGRAM}")]:
        shutil.rmtree(program.parent)
        if program.parent.parent != folder:
            tidy(program.parent.parent)


def tidy(folder: Path) -> None:
    """Remove `folder` when it is empty."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def reproducer(
    program: Program,
    result: CaseResult,
    trace: Trace | None,
    spec: Spec,
    build: Build = PLAIN,
    first: tuple[str, ...] = (),
) -> str:
    """The C file without its head, for a library that `build` fits; it says `first` before all else, and at its end
    what was expected and whether that fault shows, or at once what was expected when it is not going to reach its
    end."""
    statements = steps(program)
    told = []
    for finding in result.discrepancies[:3]:
        place = f", {format_line(statements[finding.step]).rstrip(':')}" if 0 <= finding.step < len(statements) else ""
        told.append(
            f"expected at step {finding.step}{place}: {finding.expected}; seen by the suite: {finding.observed}"
        )
    if not told:
        told = [f"expected: every call returns; seen by the suite: {result.verdict}: {result.reason}"]
    ends = End.COMPLETED if trace is None else trace.ending.kind
    found = result.discrepancies[0] if result.discrepancies else None
    seen = watched(found, program, trace, spec) if found is not None and trace is not None else None
    if ends is End.COMPLETED:
        return to_c(program, spec.interface, opening=first, closing=told, watched=seen, build=build)
    opening = (*first, *told)
    if ends not in SHOWING:
        return to_c(program, spec.interface, opening=opening, build=build)
    return to_c(program, spec.interface, opening=opening, closing=told[:1], watched=seen, ends=ends, build=build)


def _header(case: Case, outcome: Outcome, setting: Setting) -> str:
    result = outcome.result
    lines = [f"case: {case.id}", f"verdict: {result.verdict}", f"executed by: {setting}"]
    for finding in result.discrepancies[:3]:
        lines += [
            f"clause: {finding.clause} ({finding.strength})",
            f"expected: {finding.expected}",
            f"observed: {finding.observed}",
        ]
    if outcome.history:
        lines.append(f"fails only after the {len(outcome.history)} programs before-*.txt have run in the same process")
    text = "\n".join(f" * {in_comment(' '.join(line.split()))}".rstrip() for line in lines)
    return f"/*\n{text}\n */\n"
