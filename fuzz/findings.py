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
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Program, steps
from acl_cts.specs.program_bytes import digest
from acl_cts.specs.program_source import to_python

FOLDER = "findings"
"""Folder of the findings inside a corpus."""

FINDING = "finding.json"
SCRIPT = "repro.py"


@dataclass(frozen=True, slots=True)
class Finding:
    """One deduplicated, minimised discrepancy. `fails`: how many of `repeats` executions, each in a process of its own,
    showed it again. `before`: programs that must go before it in the same process."""

    bucket: Bucket
    program: Program
    attempt: Attempt
    setting: Setting
    fails: int
    repeats: int
    before: tuple[Program, ...] = ()

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
    if place.exists():
        return None
    made = Path(tempfile.mkdtemp(prefix=".finding-", dir=folder))
    try:
        case = _case(finding)
        outcome = Outcome(_result(case, finding), finding.attempt.trace, history=_history(finding))
        keep(made, case, outcome, spec, finding.setting)
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


def known(folder: Path) -> list[Known]:
    """The findings below `folder`, by name. Raises ReportError for one that cannot be read."""
    return [_known(file) for file in sorted(folder.glob(f"*/{FINDING}"))]


def bucket_in(folder: Path) -> Bucket | None:
    """The bucket of the finding in `folder`, None when none is there. Raises ReportError for one that cannot be
    read."""
    file = folder / FINDING
    return _known(file).bucket if file.exists() else None


def _known(file: Path) -> Known:
    data = read_json(file)
    try:
        return Known(file.parent, Bucket.from_json(data), data["summary"])
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


def _history(finding: Finding) -> tuple[Executed, ...]:
    return tuple(Executed(f"before {number}", program) for number, program in enumerate(finding.before, 1))
