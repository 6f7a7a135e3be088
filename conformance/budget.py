"""Budgets: how often a library may crash or hang in one place before what goes there is not executed any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from acl_cts.specs.trace import End, Phase, Trace

CRASHES = 100
"""Crashes (and exits) that one signature may cost in a session."""

FEW_CRASHES = 20
"""The same where every new worker takes long to start."""

SLOW = 1.0
"""Seconds from which on a worker's start is long."""

TIMEOUTS = 4
"""Hangs that one signature may cost in a session; each costs the whole call time-out."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Where a library went wrong: kind of ending, function, phase."""

    kind: End
    function: str
    phase: Phase | None


@dataclass(frozen=True, slots=True)
class Spent:
    """A signature whose budget is used up, and the clause that its first case accused."""

    signature: Signature
    count: int
    clause: str

    @property
    def reason(self) -> str:
        """One line for a verdict."""
        verb = {End.TIMEOUT: "hung", End.EXIT: "left the process"}.get(self.signature.kind, "crashed")
        clause = f"{self.clause}: " if self.clause else ""
        phase = f" (phase {self.signature.phase})" if self.signature.phase else ""
        return f"blocked by {clause}{self.signature.function} {verb} {self.count} times{phase}; not executed any more"


@dataclass(slots=True)
class Budget:
    """Counts by signature, for one session. `crashes`: how many one signature may cost. `watch` is told every charge
    and its clause."""

    crashes: int = CRASHES
    watch: Callable[[Signature, str], None] = lambda signature, clause: None
    _counts: Counter[Signature] = field(default_factory=Counter)
    _clauses: dict[Signature, str] = field(default_factory=dict)
    _spent: dict[str, Spent] = field(default_factory=dict)

    def suit(self, start: float) -> None:
        """Allow what a run can afford where a worker's start takes `start` seconds."""
        self.crashes = FEW_CRASHES if start >= SLOW else CRASHES
        for signature in self._counts:
            self._look(signature)

    def charge(self, trace: Trace, clause: str = "") -> None:
        """Count how `trace` ended. Fine endings, and endings outside any function, cost nothing."""
        ending = trace.ending
        if ending.kind in (End.CRASH, End.EXIT, End.TIMEOUT) and ending.function:
            signature = Signature(ending.kind, ending.function, ending.phase)
            self.count(signature, clause)
            self.watch(signature, clause)

    def count(self, signature: Signature, clause: str) -> None:
        """Count one ending with `signature`; `clause` is the one that it accuses, '' for none."""
        self._counts[signature] += 1
        if clause:
            self._clauses.setdefault(signature, clause)
        self._look(signature)

    def _look(self, signature: Signature) -> None:
        limit = TIMEOUTS if signature.kind is End.TIMEOUT else self.crashes
        if self._counts[signature] >= limit:
            spent = Spent(signature, self._counts[signature], self._clauses.get(signature, ""))
            self._spent.setdefault(signature.function, spent)

    def spent(self, functions: frozenset[str]) -> Spent | None:
        """The first used-up budget, by name of function, that concerns one of `functions`."""
        for function in sorted(functions & self._spent.keys()):
            return self._spent[function]
        return None
