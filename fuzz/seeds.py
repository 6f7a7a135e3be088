"""Seeds: the conformance cases that a campaign starts from, taken bit by bit, in one campaign after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from acl_cts.reports.files import write_text
from acl_cts.specs.program import Program


@dataclass(slots=True)
class Seeds:
    """Those of one process out of `jobs`: every `jobs`th one. What was taken is noted in `folder`, by the digest of the
    tables, so that a campaign that was cut short goes on where it was."""

    folder: Path
    tables: str
    job: int
    jobs: int
    _programs: list[Program] = field(default_factory=list)
    _taken: int = 0

    def begin(self, programs: Iterable[Program]) -> None:
        """There are these."""
        self._programs = [program for k, program in enumerate(programs) if k % self.jobs == self.job]
        self._taken = min(self._noted(), len(self._programs))

    def next(self, count: int) -> list[Program]:
        """The next few."""
        return self._programs[self._taken : self._taken + count]

    def took(self, count: int) -> None:
        """So many of them are done. Raises ReportError when that cannot be noted."""
        self._taken += count
        write_text(self._place, json.dumps({"tables": self.tables, "taken": self._taken}) + "\n")

    @property
    def left(self) -> int:
        """How many there still are."""
        return len(self._programs) - self._taken

    @property
    def _place(self) -> Path:
        return self.folder / f"seeds-{self.job}-of-{self.jobs}.json"

    def _noted(self) -> int:
        """What earlier campaigns took; nothing where that cannot be read, or was of other tables."""
        try:
            noted = json.loads(self._place.read_text(encoding="utf-8"))
            return int(noted["taken"]) if noted["tables"] == self.tables else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0
