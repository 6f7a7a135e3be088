"""Pruning: of many programs the few, small ones first, that together reach everything that all of them reach."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from acl_cts.fuzz.corpus import FOLDER, name_of
from acl_cts.fuzz.lane import DEADLY, Lane
from acl_cts.fuzz.model_states import Feature, ModelStates
from acl_cts.reports.files import make_folder, write_text
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import encode_program
from acl_cts.specs.program_text import format_program

BATCH = 48


def pruned(spec: Spec, lane: Lane, programs: Iterable[Program]) -> list[Program]:
    """The programs that are worth keeping, the smallest first. What ends its worker is not."""
    each = {encode_program(program): program for program in programs}
    ordered = [each[data] for data in sorted(each, key=lambda data: (len(data), data))]
    watching, states, edges = ModelStates(), set[Feature](), set[int]()
    kept: list[Program] = []
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        for program, (answer, _) in zip(batch, lane.run(batch), strict=True):
            judge(spec, program, answer.trace, watching.watch)
            new = watching.take() - states
            reached = set(answer.reached.new) - edges
            if (new or reached) and answer.trace.ending.kind not in DEADLY:
                kept.append(program)
                states |= new
                edges |= reached
    return kept


def replace_programs(folder: Path, programs: Iterable[Program]) -> int:
    """Make `programs` the corpus in `folder`; how many files that removed. New ones are written before old ones go, so
    nothing is lost when this is cut off. Raises ReportError."""
    place = folder / FOLDER
    make_folder(place)
    wanted = {name_of(program): program for program in programs}
    for name, program in wanted.items():
        if not (place / name).exists():
            write_text(place / name, format_program(program))
    old = [path for path in place.glob("*.txt") if path.name not in wanted]
    for path in old:
        path.unlink()
    return len(old)
