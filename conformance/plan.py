"""The plan of a run: what one test process is asked to do; travels to it as JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from acl_cts.backends.backend import Options
from acl_cts.conformance.selection import Selection


@dataclass(frozen=True, slots=True)
class Plan:
    """`backends` as on the command line. `seed` shuffles the order; None keeps it. `shard`: which part of the items
    this process takes, and of how many.

    `deadline`: reading of the monotonic clock after which nothing is executed any more. `events`: the journal, to which
    every verdict is appended as it falls. `failures`: folder for what is kept of failures. Both '' for none. `resume`:
    what the journal has verdicts for is left out. `repeat`: how often each case is judged. `part`: the shard of the
    run, from 1, and of how many; the process takes its part of that. `traces`: file to which the trace of every case is
    appended; `challenge`: file with programs that are further cases. Both '' for none.
    """

    backends: tuple[str, ...]
    options: Options = field(default_factory=Options)
    selection: Selection = field(default_factory=Selection)
    isolate: bool = False
    seed: int | None = None
    shard: tuple[int, int] = (0, 1)
    deadline: float | None = None
    events: str = ""
    failures: str = ""
    resume: bool = False
    repeat: int = 1
    part: tuple[int, int] = (1, 1)
    traces: str = ""
    challenge: str = ""

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        """The plan that `to_json` wrote. Raises ValueError, KeyError or TypeError for anything else."""
        data: dict[str, Any] = json.loads(text)
        data["backends"] = tuple(data["backends"])
        data["shard"] = tuple(data["shard"])
        data["part"] = tuple(data["part"])
        data["options"] = Options(**data["options"])
        data["selection"] = Selection(**{name: tuple(values) for name, values in data["selection"].items()})
        return Plan(**data)
