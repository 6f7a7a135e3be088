"""The challenge of a qualification: programs that nobody knew before a reviewer named a seed, as further cases.

They are drawn elsewhere; here they become cases, and travel to the test processes and to the reviewer in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.conformance.case import Case
from acl_cts.conformance.draft import Draft
from acl_cts.conformance.generator import finish
from acl_cts.conformance.scenario import asked_for
from acl_cts.reports.files import ReportError, read_json
from acl_cts.reports.typed import Typed
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Live, Program, walk
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.suiting import program_problem

FILE = "challenge.json"
GROUP = "challenge"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Challenge:
    """The programs of a `seed`, in order."""

    seed: str
    programs: tuple[Program, ...]


def challenge_case(spec: Spec, number: int, program: Program) -> Case | None:
    """Program `number` as a case; None when some answer could make it undefined, or nothing of it is to be judged."""
    functions = [s.function for s in walk(program.body) if isinstance(s, Call)]
    families = [spec.functions[name].family for name in functions if not spec.functions[name].auxiliary]
    if not families:
        return None
    # The clean-up and the counts around the program are made anew, as those of every case.
    body = tuple(s for s in program.body if not isinstance(s, Live))
    return finish(spec, Draft(families[0], GROUP, functions[-1], f"{number:03}", body, needs=asked_for(program)))


def challenge_cases(spec: Spec, challenge: Challenge) -> tuple[Case, ...]:
    """The cases of `challenge`, in the order of their ids."""
    found = (challenge_case(spec, number, program) for number, program in enumerate(challenge.programs, 1))
    return tuple(sorted((case for case in found if case is not None), key=lambda case: case.id))


_KNOWN: dict[tuple[str, tuple[str, ...]], tuple[Case, ...]] = {}
"""Cases by file and tables; making cases of programs takes seconds, and test processes inherit these."""


def remember(path: str, tables: tuple[str, ...], cases: tuple[Case, ...]) -> None:
    """The challenge in the file `path` has these cases."""
    _KNOWN[path, tables] = cases


def cases_in(path: str, tables: tuple[str, ...]) -> tuple[Case, ...]:
    """The cases of the challenge in the file `path`, '' for none. Raises ReportError."""
    if not path:
        return ()
    if (path, tables) not in _KNOWN:
        spec = load_spec(more=tables)
        try:
            remember(path, tables, challenge_cases(spec, challenge_from_json(read_json(Path(path)), spec)))
        except ValueError as error:
            raise ReportError(f"{path}: is no challenge ({error}); remove it and run again") from error
    return _KNOWN[path, tables]


def challenge_to_json(challenge: Challenge) -> dict[str, Any]:
    """JSON of `challenge`."""
    return {
        "format": FORMAT,
        "seed": challenge.seed,
        "programs": [format_program(program) for program in challenge.programs],
    }


def challenge_from_json(data: Mapping[str, Any], spec: Spec) -> Challenge:
    """What `challenge_to_json` gave, with calls that suit `spec`. Raises ValueError."""
    read = Typed(data)
    if read.integer("format") != FORMAT:
        raise ValueError(f"it has format {read.integer('format')}, this version reads format {FORMAT}")
    return Challenge(read.text("seed"), tuple(_programs(read.texts("programs"), spec)))


def _programs(texts: Iterable[str], spec: Spec) -> Iterable[Program]:
    for text in texts:
        program = parse_program(text)
        problem = program_problem(spec.interface, program)
        if problem:
            raise ValueError(problem)
        yield program
