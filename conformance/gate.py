"""The gate: what is known of a case before it is executed may settle its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acl_cts.conformance.budget import Budget
from acl_cts.conformance.case import Case
from acl_cts.conformance.support import unsupported
from acl_cts.reports.results import Cause, FunctionSupport, Support
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.trace import Capability

ROBUSTNESS = "robustness"
"""The group whose calls break preconditions; only a backend that declares itself robust meets them."""

ABLE = {
    Capability.ROBUST_HANDLES: "survive handles that are not valid (robust-handles)",
    Capability.THREAD_SAFE: "be called from several threads at once (thread-safe)",
    Capability.FAULT_INJECTION: "let an allocation inside the library fail on purpose (fault-injection)",
    Capability.LIVE_COUNT: "count the objects and bytes that are alive (live-count)",
    Capability.HOOKS: "call registered callbacks from inside its own calls (hooks)",
    Capability.STREAMS: "create a stream (streams)",
    Capability.DATA_ACCESS: "touch data areas (data-access)",
    Capability.EXIT: "end its process in the middle of a program (exit)",
    Capability.MEMORY: "tell how much memory the library's process holds (memory)",
    Capability.INSTRUMENTED: "watch every memory access of the library (instrumented)",
}
"""What a backend with the capability can do; the word behind it is the one of `acl-cts backends`."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A verdict without an execution."""

    verdict: Verdict
    reason: str
    cause: Cause = Cause.NONE


def declared(case: Case, capabilities: frozenset[Capability]) -> Settled | None:
    """Not run as declared beforehand: planned, or for want of a capability."""
    if case.planned:
        return Settled(Verdict.NOT_RUN, case.planned, Cause.PLANNED)
    needed = case.needs | ({Capability.ROBUST_HANDLES} if case.group == ROBUSTNESS else frozenset())
    for capability in sorted(needed - capabilities):
        if capability is Capability.STREAMS:
            return Settled(Verdict.NOT_RUN, "no stream: the backend cannot create one", Cause.STREAM)
        return Settled(Verdict.NOT_RUN, f"the backend cannot {ABLE[capability]}", Cause.CAPABILITY)
    return None


def barred(case: Case, support: Mapping[str, FunctionSupport], budget: Budget) -> Settled | None:
    """Not supported, no stream, or blocked by a function that crashed or hung too often."""
    lacking = unsupported(case.functions, support)
    if lacking is not None:
        return Settled(Verdict.NOT_SUPPORTED, f"{lacking.function}: {lacking.reason}")
    for function in sorted(case.functions & support.keys()):
        entry = support[function]
        if entry.auxiliary and entry.state is not Support.SUPPORTED:
            return Settled(Verdict.NOT_RUN, f"no stream ({function}: {entry.reason})", Cause.STREAM)
    spent = budget.spent(case.functions)
    if spent is not None:
        return Settled(Verdict.BLOCKED, spent.reason)
    return None
