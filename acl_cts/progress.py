"""Progress of a run on stderr: a bar on a terminal, plain lines elsewhere, failures as they fall."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from acl_cts.conformance.events import Collected, Event, Judged, Supported
from acl_cts.reports.results import RED, CaseResult, Cause
from acl_cts.reports.words import counted

SHOWN = 10
"""Failures of one backend that are shown as they fall; the summary has the rest."""

STEPS = 5
"""Lines of progress of one backend when there is no terminal."""


class Stderr(Console):
    """A console on stderr that falls silent when nobody reads it: the run and its files matter, not the audience."""

    def on_broken_pipe(self) -> None:
        """Say nothing any more, instead of ending the process."""
        self.quiet = True


class RunProgress:
    """Follows the events of one backend. `verbosity`: -1 nothing, 0 failures, 1 every verdict. `done`: cases that have
    a verdict already."""

    def __init__(self, backend: str, verbosity: int, done: int = 0) -> None:
        self._backend = backend
        self._verbosity = verbosity
        self._console = Stderr(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._total = self._failed = self._late = 0
        self._done = done

    def __enter__(self) -> Self:
        if self._verbosity >= 0:
            self._say(
                f"{self._backend}: " + (f"going on after {counted(self._done, 'case')}" if self._done else "starting")
            )
            if self._console.is_terminal:
                columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
                self._bar = Progress(*columns, console=self._console, transient=True)
                self._bar.start()
                self._task = self._bar.add_task(self._backend, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, event: Event) -> None:
        """Show `event`."""
        if self._verbosity < 0:
            return
        match event:
            case Collected(cases=cases) if not self._total:
                self._total = len(cases)
                if self._bar is not None and self._task is not None:
                    self._bar.update(self._task, total=self._total)
            case Supported() if self._verbosity > 0:
                self._say(f"{self._backend}: worker ready, support of the functions decided")
            case Judged(result=result):
                self._judged(result)

    def _judged(self, result: CaseResult) -> None:
        self._done += 1
        red = result.verdict in RED
        self._failed += red
        self._late += result.cause is Cause.TIME_LIMIT
        if self._verbosity > 0 or (red and self._failed <= SHOWN):
            reason = f": {result.reason.splitlines()[0]}" if result.reason else ""
            self._say(f"{result.verdict}  {result.id}{reason}")
            if red and self._failed == SHOWN and self._verbosity == 0:
                self._say("further failures are in the summary only")
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._total and (self._done * STEPS // self._total) != ((self._done - 1) * STEPS // self._total):
            late = f", {self._late} not judged (time limit)" if self._late else ""
            of = f"{self._done} of {counted(self._total, 'case')}"
            self._say(f"{self._backend}: {of}, {self._failed} failed{late}")

    def _say(self, line: str) -> None:
        self._console.print(line)
