"""Finishing: drafts become cases, in as many processes as there are processors."""

from __future__ import annotations

import io
import os
import pickle
import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from acl_cts.conformance.case import Case
from acl_cts.conformance.crew import Crew
from acl_cts.conformance.draft import Draft
from acl_cts.conformance.generator import finish
from acl_cts.specs.model import Spec
from acl_cts.specs.program_rules import ProgramError

PIECE = 200
"""Drafts that a process takes at a time."""

WORTH = 1000
"""Drafts from which on several processes are worth their start."""


class CasePickler(pickle.Pickler):
    """Has objects built again by their constructors, which is several times faster than what dataclasses do."""

    def reducer_override(self, obj: Any) -> Any:
        """Type and arguments of a dataclass; anything else as usual."""
        if is_dataclass(obj) and not isinstance(obj, type):
            return type(obj), tuple(getattr(obj, field.name) for field in fields(obj))
        return NotImplemented


def finished(spec: Spec, drafts: Sequence[Draft]) -> Iterator[Case | None]:
    """`finish` of every draft, in their order. Raises ProgramError for a malformed one."""
    processes = len(os.sched_getaffinity(0))
    if processes == 1 or len(drafts) < WORTH or threading.active_count() > 1:
        yield from (finish(spec, draft) for draft in drafts)
        return

    def piece(start: int) -> Iterator[tuple[int, bytes]]:
        try:
            made: list[Case | None] | ProgramError = [finish(spec, draft) for draft in drafts[start : start + PIECE]]
        except ProgramError as error:
            made = error
        room = io.BytesIO()
        CasePickler(room, pickle.HIGHEST_PROTOCOL).dump(made)
        yield start, room.getvalue()

    starts = range(0, len(drafts), PIECE)
    with Crew(processes, piece) as crew:
        pieces = dict(crew.do(starts))
    for start in starts:
        made = pickle.loads(pieces.pop(start))
        if isinstance(made, ProgramError):
            raise made
        yield from made
