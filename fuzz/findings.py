"""Findings on disk: a folder each, with everything that shows the fault again, and the list of those that are known."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.conformance.attempt import Attempt
from acl_cts.conformance.case import Case
from acl_cts.conformance.failures import PROGRAM, folder_name, keep
from acl_cts.conformance.runner import Outcome
from acl_cts.conformance.setting import Setting
from acl_cts.conformance.worker import Executed
from acl_cts.fuzz.bucket import Bucket
from acl_cts.reports.files import ReportError, make_folder, read_json, write_json, write_text
from acl_cts.reports.results import CaseResult
from acl_cts.reports.words import counted
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Program, steps
from acl_cts.specs.program_bytes import digest
from acl_cts.specs.program_source import to_python
from acl_cts.specs.program_text import parse_program

FOLDER = "findings"
"""Folder of the findings inside a corpus."""

FINDING = "finding.json"
SCRIPT = "repro.py"

VARIES = "the library answers differently from time to time: another answer may be the same fault"
"""What the reproducer of such a finding says first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One deduplicated, minimised discrepancy. `fails`: how many of `repeats` executions, each in a process of its own,
    showed it again. `before`: programs that must go before it in the same process. `varies`: the answers were not the
    same each time."""

    bucket: Bucket
    program: Program
    attempt: Attempt
    setting: Setting
    fails: int
    repeats: int
    before: tuple[Program, ...] = ()
    varies: bool = False

    @property
    def headline(self) -> str:
        """One line about it."""
        root = self.bucket.root
        return f"{root.verdict}: {root.clause or 'no clause'}, {root.function}, {self.fails} of {self.repeats} times"


@dataclass(frozen=True, slots=True)
class Known:
    """A finding that lies in a folder."""

    folder: Path
    bucket: Bucket
    summary: str


def store(folder: Path, finding: Finding, spec: Spec) -> Path | None:
    """Put `finding` down below `folder`; its own folder, or None when its bucket is there already. Raises
    ReportError."""
    place = folder / finding.bucket.name
    make_folder(folder)
    if not _free(place):
        return None
    made = Path(tempfile.mkdtemp(prefix=".finding-", dir=folder))
    try:
        case = _case(finding)
        outcome = Outcome(_result(case, finding), finding.attempt.trace, history=_history(finding))
        keep(made, case, outcome, spec, finding.setting, _alone(finding))
        inner = made / folder_name(case.id)
        write_text(inner / SCRIPT, to_python(finding.program, spec.interface, finding.attempt.reason))
        write_json(inner / FINDING, _json(finding))
        os.rename(inner, place)
    except OSError as error:
        if place.exists():
            return None
        raise ReportError(f"{place}: cannot be written ({error.strerror}); choose another --corpus") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place


def copy(found: Known, folder: Path) -> int:
    """Put a copy of `found` below `folder`, wholly or not at all; how many that made. Raises ReportError."""
    place = folder / found.folder.name
    make_folder(folder)
    if not _free(place):
        return 0
    made = Path(tempfile.mkdtemp(prefix=".finding-", dir=folder))
    try:
        shutil.copytree(found.folder, made / place.name)
        os.rename(made / place.name, place)
    except OSError as error:
        raise ReportError(f"{place}: cannot be written ({error})") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return 1


def _free(place: Path) -> bool:
    """Whether a finding can be put there. What is left of one that says nothing any more is put aside."""
    if place.exists() and not (place / FINDING).exists():
        aside = Path(tempfile.mkdtemp(prefix=f"{place.name}.damaged-", dir=place.parent))
        os.rename(place, aside / place.name)
    return not place.exists()


def program_in(path: Path) -> Program:
    """The program of a finding, which does something. Raises ReportError."""
    try:
        program = parse_program(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: is no program ({error}); remove that folder to have it found anew") from error
    if not steps(program):
        raise ReportError(f"{path}: no statement in it; remove that folder to have it found anew")
    return program


def known(folder: Path) -> list[Known]:
    """The findings below `folder`, by name. Raises ReportError for one of which file or program cannot be read."""
    found = [_known(file) for file in sorted(folder.glob(f"*/{FINDING}"))]
    for each in found:
        program_in(each.folder / PROGRAM)
    return found


def bucket_in(folder: Path) -> Bucket | None:
    """The bucket of the finding in `folder`, None when none is there. Raises ReportError for one that cannot be
    read."""
    file = folder / FINDING
    return _known(file).bucket if file.exists() else None


def _known(file: Path) -> Known:
    try:
        data = read_json(file)
        return Known(file.parent, Bucket.from_json(data), data["summary"])
    except ReportError as error:
        raise ReportError(f"{error}; remove its folder to have it found anew") from error
    except (KeyError, TypeError) as error:
        raise ReportError(f"{file}: is not a finding ({error!r}); remove its folder to have it found anew") from error


def _json(finding: Finding) -> dict[str, Any]:
    return {
        **finding.bucket.to_json(),
        "name": finding.bucket.name,
        "summary": finding.headline,
        "reason": finding.attempt.reason,
        "fails": finding.fails,
        "repeats": finding.repeats,
        "statements": len(finding.program.body),
        "program": PROGRAM,
    }


def _functions(program: Program) -> frozenset[str]:
    return frozenset(s.function for s in steps(program) if isinstance(s, Call))


def _case(finding: Finding) -> Case:
    root = finding.bucket.root
    family = root.clause.partition(".")[0] or "common"
    name = f"{family}/fuzz/{root.function or 'program'}/{root.clause}~{digest(finding.program)[:8]}"
    clauses = frozenset((root.clause,)) if root.clause else frozenset[str]()
    return Case(name, family, "fuzz", finding.program, clauses, _functions(finding.program))


def _result(case: Case, finding: Finding) -> CaseResult:
    judgement = finding.attempt.judgement
    return CaseResult(
        id=case.id,
        verdict=judgement.verdict,
        reason=finding.attempt.reason,
        clauses=tuple(sorted(case.clauses)),
        functions=tuple(sorted(case.functions)),
        discrepancies=judgement.discrepancies,
        blocked=judgement.blocked,
        notes=judgement.notes,
        observations=judgement.observations,
        attempts=finding.repeats,
    )


def _alone(finding: Finding) -> tuple[str, ...]:
    """What the reproducer says of itself: of programs that it does not run, and of chance."""
    if finding.varies:
        return (VARIES, *_first(finding))
    return _first(finding)


def _first(finding: Finding) -> tuple[str, ...]:
    if not finding.before:
        return ()
    first = counted(len(finding.before), "program")
    return (f"cannot show alone: {first}, before-*.txt, must run in the same process first; acl-cts replay runs them",)


def _history(finding: Finding) -> tuple[Executed, ...]:
    return tuple(Executed(f"before {number}", program) for number, program in enumerate(finding.before, 1))
