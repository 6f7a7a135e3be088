"""Regressions: programs that once showed a fault, and are executed in every run from then on.

Each is a file with a program. Those of this package stand beside this module;
ACL_CTS_REGRESSIONS names a further folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from acl_cts.backends.backend import BackendError
from acl_cts.conformance.draft import Draft
from acl_cts.conformance.scenario import asked_for
from acl_cts.specs.kept import visible
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Live, Program, walk
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.suiting import program_problem

FOLDER = Path(__file__).resolve().parent / "regressions"
VARIABLE = "ACL_CTS_REGRESSIONS"
SUFFIX = ".txt"


def regression_files() -> tuple[Path, ...]:
    """Every file of a regression, by name. Raises BackendError when the folder that was named is not there."""
    named = os.environ.get(VARIABLE, "")
    if named and not Path(named).is_dir():
        raise BackendError(f"{VARIABLE}={named}: is no folder; acl-cts fuzz promote --to DIR makes one")
    folders = [FOLDER, *([Path(named)] if named else [])]
    return tuple(path for folder in folders for path in sorted(visible(folder.glob(f"*{SUFFIX}"))))


def regression_drafts(spec: Spec) -> Iterator[Draft]:
    """A draft for each regression. Raises BackendError for a file that is no program."""
    for path in regression_files():
        program = _read(path, spec)
        functions = [s.function for s in walk(program.body) if isinstance(s, Call)]
        family = next((spec.functions[f].family for f in functions if not spec.functions[f].auxiliary), "common")
        # The clean-up and the counts around the program are made anew, as those of every case.
        body = tuple(s for s in program.body if not isinstance(s, Live))
        name = path.stem.rpartition("~")
        function = functions[-1] if functions else "program"
        yield Draft(family, "regression", function, f"{name[0]}-{name[2]}", body, needs=asked_for(program))


def _read(path: Path, spec: Spec) -> Program:
    try:
        program = parse_program(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackendError(f"{path}: is not a program ({error}); remove it or promote the finding again") from error
    problem = program_problem(spec.interface, program)
    if problem:
        raise BackendError(f"{path}: {problem}; remove it or promote the finding again")
    return program
