"""Patrols: how much of a campaign a scout gets, and what becomes of what it tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.native.session import NativeSession
from acl_cts.fuzz.lane import Lane
from acl_cts.fuzz.scout import Scout, Scouted, build_scout, serves
from acl_cts.specs.model import Spec

FEWEST, CALLS = 1_000, 20_000
"""Calls of the first slice of a scout, and of one later on, twice as many each time: what is plain is told at once."""

TOLD = 2
"""Programs of one slice that reached something new and are taken over: judging one takes as long as some thousand calls
of a scout. The others wait."""

RICH, POOR, SLOWLY = 3.0, 1.0, 0.97
"""Time that a scout gets for each second of the rest of a campaign, at first and later on, and by what it falls with
each slice until then: what a scout can see, it mostly sees soon."""

LONGEST = 1.0
"""Seconds that a scout runs at a stretch at most."""


@dataclass(slots=True)
class Patrol:
    """A scout on the library of one lane, and the seconds that it may still take."""

    lane: Lane
    scout: Scout
    _share: float = RICH
    _credit: float = 0.1
    _calls: int = FEWEST
    _since: float = field(default_factory=time.monotonic)

    def go(self, avoided: frozenset[str], ends: Callable[[], bool]) -> Iterator[list[Scouted]]:
        """What each slice turns up, until its time is used up or `ends` says so; no function of `avoided` is called."""
        self._credit = min(self._credit + self._share * (time.monotonic() - self._since), LONGEST)
        while self._credit > 0 and not ends():
            started = time.monotonic()
            found = self.scout.slice(self._calls, TOLD, avoided, partial(_over, started + LONGEST, ends))
            self._credit -= time.monotonic() - started
            self._share = max(self._share * SLOWLY, POOR)
            self._calls = min(2 * self._calls, CALLS)
            yield found
        self._credit = min(self._credit, 0.0)
        self._since = time.monotonic()


def _over(latest: float, ends: Callable[[], bool]) -> bool:
    """A slow library gets as far as it gets."""
    return time.monotonic() > latest or ends()


def prepare_patrol(spec: Spec, lane: Lane) -> None:
    """Build the scout of a lane, if there can be one, so that it is there when time counts."""
    session = lane.target.session
    if isinstance(session, NativeSession) and not next(serves(session), ""):
        with suppress(HarnessError):
            build_scout(spec, session)


def open_patrol(stack: ExitStack, spec: Spec, lane: Lane, seed: str) -> Patrol | str:
    """A patrol on a lane, or why there is none."""
    session = lane.target.session
    reason = next(serves(session), "")
    if reason or not isinstance(session, NativeSession):
        return reason
    try:
        scout = Scout(spec, session, seed)
    except HarnessError as error:
        return str(error)
    stack.callback(scout.close)
    return Patrol(lane, scout)
