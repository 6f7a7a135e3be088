"""The simulator as a backend."""

from __future__ import annotations

from typing import Self

from acl_cts.backends.backend import BackendError, HarnessError, Identity, Options
from acl_cts.backends.simulator.builtin import install
from acl_cts.backends.simulator.execution import execute
from acl_cts.backends.simulator.process import Process
from acl_cts.backends.simulator.profile import PROFILES, Profile
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability, End, Trace

CAPABILITIES = frozenset(
    {
        Capability.ROBUST_HANDLES,
        Capability.THREAD_SAFE,
        Capability.FAULT_INJECTION,
        Capability.LIVE_COUNT,
        Capability.HOOKS,
        Capability.STREAMS,
        Capability.DATA_ACCESS,
        Capability.EXIT,
    }
)

SURVIVED = frozenset({End.COMPLETED, End.UNSUPPORTED})
"""Endings after which the process takes the next program."""


class SimulatorSession:
    """A simulated process, replaced whenever a program ends it."""

    def __init__(self, name: str, profile: Profile) -> None:
        self._name = name
        self._profile = profile
        self._process: Process | None = None
        self._startups = 0
        self._closed = False

    @property
    def identity(self) -> Identity:
        """Who answers here."""
        return Identity("simulator", details={"profile": self._name})

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the simulator can do."""
        return CAPABILITIES

    @property
    def missing(self) -> frozenset[str]:
        """Nothing: the simulator has all functions."""
        return frozenset()

    @property
    def startups(self) -> int:
        """Processes started so far."""
        return self._startups

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        """Execute `program`, with `solo` in a process of its own. Raises HarnessError after `close`."""
        if self._closed:
            raise HarnessError("the simulator session is closed; open a new one")
        if solo:
            return execute(self._start(), program, CAPABILITIES)
        if self._process is None:
            self._process = self._start()
        trace = execute(self._process, program, CAPABILITIES)
        if trace.ending.kind not in SURVIVED:
            self._process = None
        return trace

    def _start(self) -> Process:
        self._startups += 1
        process = Process(self._profile)
        install(process)
        return process

    def restart(self) -> None:
        """Throw the process away; the next program meets a new one."""
        self._process = None

    def close(self) -> None:
        """End the process."""
        self._process = None
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class SimulatorBackend:
    """The contract in plain Python; `Options.library` names a profile."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        return "simulator"

    @property
    def summary(self) -> str:
        """One line for the list of backends."""
        return f"the contract in plain Python; simulator:PROFILE answers open points as {', '.join(PROFILES)}"

    def open(self, options: Options) -> SimulatorSession:
        """Open a session. Raises BackendError for a profile that does not exist."""
        name = options.library or "default"
        profile = PROFILES.get(name)
        if profile is None:
            raise BackendError(f"simulator: there is no profile '{name}'; choose one of {', '.join(PROFILES)}")
        return SimulatorSession(name, profile)
