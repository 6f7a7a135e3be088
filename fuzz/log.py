"""The log of campaigns: one JSON object a line, appended as things happen."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from acl_cts.fuzz.plan import Event
from acl_cts.reports.files import ReportError

LOG = "log.jsonl"


class Log:
    """Appends events to the log in a corpus's folder. A line reaches the system before the next event is looked at."""

    def __init__(self, folder: Path) -> None:
        """Raises ReportError when the log cannot be opened."""
        self._path = folder / LOG
        try:
            self._file = self._path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
        except OSError as error:
            raise self._refused(error) from error

    def write(self, event: Event) -> None:
        """One line: time, kind, number of the process, and what the event says."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "kind": event.kind, "job": event.job, **event.data}
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise self._refused(error) from error

    def close(self) -> None:
        """The last line was written."""
        self._file.close()

    def _refused(self, error: OSError) -> ReportError:
        return ReportError(f"{self._path}: cannot be written ({error.strerror}); choose another --corpus")
