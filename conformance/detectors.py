"""Detectors: the means by which the suite finds faults that no single answer shows, each proved by planted defects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acl_cts.backends.core_defects import Defect, Kind
from acl_cts.conformance.case import Case
from acl_cts.conformance.growth import GROUP
from acl_cts.reports.score_result import DefectScore, DetectorScore, Proof
from acl_cts.specs.trace import Capability

PROOFS = 3
"""Defects that are planted to prove one detector, where that takes trials of its own."""


@dataclass(frozen=True, slots=True)
class Detector:
    """One means. `needs`: what a backend must give. `kinds`: of the defects that prove it. `flavour`: of the build that
    it needs and that its defects name, '' for any. `group`: the only group of cases that it may use, which takes trials
    of its own; '' for all. `capability`: what a backend must be capable of for these trials. `leak_check`: whether lost
    memory can be looked for is found out."""

    name: str
    needs: str
    kinds: frozenset[Kind]
    flavour: str = ""
    group: str = ""
    capability: Capability | None = None
    leak_check: bool = False

    @property
    def own_trials(self) -> bool:
        """Whether the trials of the defects themselves do not tell."""
        return bool(self.group)

    def proofs(self, defects: Iterable[Defect]) -> tuple[Defect, ...]:
        """The defects that can prove it."""
        fitting = (d for d in defects if d.kind in self.kinds and self.flavour in ("", d.flavour))
        return tuple(fitting)[:PROOFS] if self.own_trials else tuple(fitting)


HELD = "a process of which it can be told how much memory it holds (memory)"
LIVE = "a backend that counts live objects and bytes (live-count)"

DETECTORS = (
    Detector("live-object balance", LIVE, frozenset({Kind.LEAK}), "plain"),
    Detector("live objects over many cycles", LIVE, frozenset({Kind.LEAK}), "plain", "cycle", Capability.LIVE_COUNT),
    Detector("growth over many cycles", HELD, frozenset({Kind.GROWTH}), "plain", GROUP, Capability.MEMORY),
    Detector(
        "lost memory (LeakSanitizer)",
        "an asan build, and leave to look into processes (ptrace)",
        frozenset({Kind.LEAK}),
        "asan",
        leak_check=True,
    ),
    Detector("stale data", "nothing", frozenset({Kind.STALE})),
    Detector("uninitialised memory", "nothing", frozenset({Kind.UNINITIALISED})),
    Detector("writes outside the caller's memory", "nothing", frozenset({Kind.STRAY_WRITE})),
    Detector("memory errors (AddressSanitizer)", "an asan build", frozenset(Kind), "asan"),
    Detector("races (ThreadSanitizer)", "a tsan build, and cases with threads", frozenset({Kind.RACE}), "tsan"),
)


def threaded(cases: Sequence[Case]) -> bool:
    """Whether some case that is executed has threads."""
    return any(Capability.THREAD_SAFE in case.needs and not case.planned for case in cases)


def from_defects(detector: Detector, defects: Sequence[Defect], scores: Sequence[DefectScore]) -> DetectorScore:
    """What the trials of the defects themselves tell of `detector`."""
    ids = {defect.id for defect in detector.proofs(defects)}
    proving = [score for score in scores if score.id in ids]
    found = tuple(score.id for score in proving if score.shown is not None)
    missed = tuple(score.id for score in proving if score.shown is None)
    return proved(detector, found, missed)


def proved(detector: Detector, found: tuple[str, ...], missed: tuple[str, ...]) -> DetectorScore:
    """The score of `detector` with these defects found and missed: one proves it, as each may need more than one."""
    proof = Proof.PROVED if found else Proof.FAILED if missed else Proof.NOT_PLANTED
    return DetectorScore(detector.name, detector.needs, proof, found, missed)


def unchecked(detector: Detector, reason: str) -> DetectorScore:
    """The score of a detector that could not be tried."""
    return DetectorScore(detector.name, detector.needs, Proof.NOT_CHECKED, reason=reason)
