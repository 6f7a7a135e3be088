"""The outcome of a campaign: exit code and reasons, from what happened and from how the last one went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acl_cts.fuzz.figures import Figures, together
from acl_cts.fuzz.plan import Event
from acl_cts.reports.exit_code import PRECEDENCE, ExitCode
from acl_cts.reports.files import ReportError, read_json, write_json
from acl_cts.reports.words import counted

LAST = "last.json"
"""Figures of the last campaign that went as campaigns do."""

FAR_BELOW = 0.75
"""Part of the last campaign's edges, or states where none are told, below which something is wrong."""

FAR_SLOWER = 0.25
"""Part of the last campaign's programs a second below which something is wrong."""

LONG_ENOUGH = 20.0
"""Seconds that both campaigns must have taken before their speeds are compared."""


@dataclass(slots=True)
class Outcome:
    """Takes in events; then tells how it ended. `told`: backends and engine, which must be the same for campaigns to be
    compared."""

    told: tuple[str, ...]
    findings: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False
    _figures: dict[int, Figures] = field(default_factory=dict)
    _cut: bool = False

    def take(self, event: Event) -> None:
        """One event."""
        if event.figures is not None:
            self._figures[event.job] = event.figures
        if event.kind == "finding":
            self.findings.append(event.data)
        if event.kind == "loaded" and not event.data["whole"]:
            self._cut = True

    @property
    def figures(self) -> Figures:
        """How things stand, of all processes together."""
        return together(self._figures.values())

    def conclude(self, folder: Path) -> list[tuple[ExitCode, str]]:
        """Every exit code that holds, with its reason, the most important first; remembers a campaign in `folder` that
        went as campaigns do. Raises ReportError."""
        path = folder / LAST
        alarms = list(self._alarms(path))
        if not alarms and not self.interrupted:
            write_json(path, {"told": list(self.told), **self.figures.to_json(), "rate": self.figures.rate})
        found = [(ExitCode.INCOMPLETE, alarm) for alarm in alarms]
        if self.findings:
            found.append((ExitCode.DISCREPANCY, counted(len(self.findings), "new finding")))
        if self.interrupted:
            found.append((ExitCode.INTERRUPTED, "interrupted; what was found until then is kept"))
        return sorted(found, key=lambda held: PRECEDENCE.index(held[0]))

    def _alarms(self, path: Path) -> Iterator[str]:
        now = self.figures
        if not now.programs:
            yield "no program was executed"
            return
        if now.programs == now.unjudged:
            yield f"none of {counted(now.programs, 'program')} could be judged"
        last = self._last(path)
        if last is None or self.interrupted or self._cut:  # without its corpus it could not get as far
            return
        meant = f"if that is meant to be so, remove {path}"
        for name in ("edges", "states"):
            before, reached = last[name], getattr(now, name)
            if reached < FAR_BELOW * before:
                yield f"coverage fell: {reached} {name}, the last campaign had {before}; {meant}"
                break
        if min(now.seconds, last["seconds"]) >= LONG_ENOUGH and now.rate < FAR_SLOWER * last["rate"]:
            yield f"{now.rate:.0f} programs/s, the last campaign had {last['rate']:.0f}; {meant}"

    def check(self, folder: Path) -> None:
        """Make sure, before anything runs, that the campaign in `folder` can be compared with the last one. Raises
        ReportError."""
        self._last(folder / LAST)

    def _last(self, path: Path) -> dict[str, Any] | None:
        """The figures of the last campaign, where it was one like this."""
        if not path.exists():
            return None
        try:
            data: dict[str, Any] = read_json(path)
        except ReportError as error:
            raise ReportError(f"{path}: is damaged; remove it, and nothing is compared this time") from error
        if data.get("told") != list(self.told):
            return None
        if not all(isinstance(data.get(name), int | float) for name in ("edges", "states", "rate", "seconds")):
            raise ReportError(f"{path}: does not tell the figures of a campaign; remove it")
        return data
