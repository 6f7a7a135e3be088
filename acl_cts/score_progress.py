"""Progress of a score on stderr: a line now and then, and what is not as wanted as it is found."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from acl_cts.conformance.measuring import Find, LibraryPart
from acl_cts.progress import Stderr
from acl_cts.reports.score_result import DefectScore, Fate, MutantScore

PATIENCE = 10.0
"""Seconds of silence after which a line is written."""


@dataclass(slots=True)
class ScoreProgress:
    """Follows what is found; `quiet` says nothing."""

    quiet: bool = False
    _builds: int = 0
    _defects: int = 0
    _mutants: int = 0
    _last: float = field(default_factory=time.monotonic)
    _console: Stderr = field(default_factory=lambda: Stderr(stderr=True, highlight=False, markup=False, emoji=False))

    def watch(self, find: Find) -> None:
        """One more find."""
        match find:
            case LibraryPart(name=name, alarms=alarms):
                self._builds += 1
                for alarm in alarms:
                    self._say(f"false alarm: {name}: {alarm.case}: {alarm.clause}")
            case DefectScore(id=id, shown=shown):
                self._defects += 1
                if shown is None:
                    self._say(f"missed: {id}")
            case MutantScore(id=id, fate=fate):
                self._mutants += 1
                if fate is Fate.SURVIVED:
                    self._say(f"survived: {id}")
        now = time.monotonic()
        if now - self._last >= PATIENCE:
            self._last = now
            builds, defects, mutants = self._builds, self._defects, self._mutants
            self._say(f"{builds} parts of conforming builds, {defects} defects and {mutants} mutants done")

    def _say(self, line: str) -> None:
        if not self.quiet:
            self._console.print(line, soft_wrap=True)
