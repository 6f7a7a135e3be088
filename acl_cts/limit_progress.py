"""Progress of limit probes on stderr, told only where it takes a while."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from acl_cts.progress import Stderr
from acl_cts.reports.limit_result import LimitResult

PATIENCE = 2.0
"""Seconds of silence after which a line is written."""


@dataclass(slots=True)
class LimitProgress:
    """Follows the results of one backend, `total` of them; `quiet` says nothing."""

    backend: str
    total: int
    quiet: bool = False
    _done: int = 0
    _last: float = field(default_factory=time.monotonic)
    _console: Stderr = field(default_factory=lambda: Stderr(stderr=True, highlight=False, markup=False, emoji=False))

    def watch(self, result: LimitResult) -> None:
        """One more result has fallen."""
        self._done += 1
        now = time.monotonic()
        if not self.quiet and now - self._last >= PATIENCE:
            self._last = now
            self._console.print(f"{self.backend}: {self._done} of {self.total} limit probes", soft_wrap=True)
