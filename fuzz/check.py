"""One program executed and judged, with a failure that a person can act on."""

from __future__ import annotations

import shlex
from pathlib import Path

from acl_cts.backends.backend import Session
from acl_cts.conformance.attempt import Attempt
from acl_cts.reports.files import write_text
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import digest
from acl_cts.specs.program_text import format_program


class NonconformingError(AssertionError):
    """A backend's answer breaks a clause, or ended the process. `attempt`: the answer and what it means."""

    def __init__(self, attempt: Attempt, text: str) -> None:
        super().__init__(text)
        self.attempt = attempt


def check(spec: Spec, session: Session, program: Program, keep: Path | None = None) -> Attempt:
    """Execute `program` and judge the answer. Raises NonconformingError, with the program and how to run it again.

    `keep`: a folder in which a failing program is put down.
    """
    trace = session.run(program)
    attempt = Attempt(trace, judge(spec, program, trace))
    if attempt.failing:
        raise NonconformingError(attempt, _told(session, program, attempt, keep))
    return attempt


def _told(session: Session, program: Program, attempt: Attempt, keep: Path | None) -> str:
    text, path = format_program(program), Path("program.txt")
    if keep is not None:
        path = keep / f"{digest(program)[:16]}.txt"
        write_text(path, text)
    identity = session.identity
    command = ["acl-cts", "replay", str(path), "--backend", identity.backend]
    if identity.backend == "acl":
        command += ["--library", identity.library]
    headline = f"{attempt.judgement.verdict}: {attempt.clause or attempt.reason}"
    what = f"{headline}\n{attempt.reason}\n\n{text}\n"
    saved = "" if keep is not None else " (after saving the program above as program.txt)"
    return f"{what}reproduce{saved}: {shlex.join(command)}"
