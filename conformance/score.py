"""Scores: the suite measured with planted defects, conforming variants and mutants of the C core."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acl_cts.backends.core_coverage import NoCoverageError, build_covered, counted
from acl_cts.backends.core_equivalents import Equivalent, Key
from acl_cts.conformance.case import Case
from acl_cts.conformance.crew import Crew
from acl_cts.conformance.detectors import DETECTORS, Detector, from_defects, proved, threaded, unchecked
from acl_cts.conformance.generator import case_list_hash
from acl_cts.conformance.measuring import (
    DefectTask,
    DetectorTask,
    Find,
    LibrariesTask,
    Library,
    LibraryPart,
    Measuring,
    MutantTask,
    Proven,
    Task,
)
from acl_cts.conformance.score_plan import SEED, ScorePlan
from acl_cts.conformance.trial import in_trial_order
from acl_cts.reports.score_result import (
    ClauseScore,
    CoverageScore,
    DefectScore,
    DetectorScore,
    GapScore,
    MutantScore,
    Score,
    VariantScore,
)
from acl_cts.specs.model import Spec

CLEAN = "clean"
"""Name of the core as it is, beside the variants; no define is called so."""

Watch = Callable[[Find], None]
"""Is told every find as it comes."""


@dataclass(slots=True)
class _Finds:
    """What has been found so far, by what it is about."""

    parts: dict[str, list[LibraryPart]] = field(default_factory=dict)
    defects: dict[str, DefectScore] = field(default_factory=dict)
    mutants: dict[str, MutantScore] = field(default_factory=dict)
    proven: list[Proven] = field(default_factory=list)

    def take(self, find: Find) -> None:
        """Add one."""
        match find:
            case LibraryPart(name=name):
                self.parts.setdefault(name, []).append(find)
            case DefectScore(id=id):
                self.defects[id] = find
            case MutantScore(id=id):
                self.mutants[id] = find
            case Proven():
                self.proven.append(find)


def measure(
    spec: Spec,
    cases: Sequence[Case],
    plan: ScorePlan,
    equivalents: Mapping[Key, Equivalent],
    jobs: int,
    version: str,
    watch: Watch = lambda find: None,
) -> Score:
    """Measure what `plan` says in `jobs` processes, for version `version` of the suite. Raises HarnessError for faults
    of its own machinery."""
    started = time.monotonic()
    ordered = in_trial_order(cases)
    finds = _Finds()
    with tempfile.TemporaryDirectory(prefix="acl-cts-score-") as folder:
        place = Path(folder)
        libraries, uncounted = _libraries(plan, place)
        measuring = Measuring(spec, ordered, place, equivalents)
        with Crew(jobs, measuring.work) as crew:
            for find in crew.do(tuple(_tasks(plan, ordered, libraries, jobs))):
                finds.take(find)
                watch(find)
        coverage = _coverage(plan, place, uncounted)
    return Score(
        version=version,
        tables=spec.digest,
        case_list=case_list_hash(tuple(cases)),
        cases=len(cases),
        seed=SEED,
        jobs=jobs,
        seconds=round(time.monotonic() - started, 1),
        parts=plan.parts,
        defects=tuple(finds.defects[defect.id] for defect in plan.defects),
        variants=tuple(_variants(libraries, finds)),
        mutants=tuple(finds.mutants[mutant.id] for mutant in plan.mutants),
        coverage=coverage,
        clauses=_clauses(spec, finds) if plan.clean else None,
        detectors=tuple(_detectors(plan, ordered, finds)) if plan.detectors else (),
    )


def _libraries(plan: ScorePlan, place: Path) -> tuple[list[Library], str]:
    """The conforming libraries, the clean core first if it is asked for; and why it does not count its lines."""
    libraries = [Library(name, defines) for name, defines in plan.variants]
    if not plan.clean:
        return libraries, ""
    path, reason = "", ""
    if plan.coverage:
        try:
            covered = place / "covered"
            covered.mkdir()
            path = str(build_covered(covered))
        except NoCoverageError as error:
            reason = str(error)
    return [Library(CLEAN, (), path), *libraries], reason


def _tasks(plan: ScorePlan, cases: Sequence[Case], libraries: Sequence[Library], jobs: int) -> Iterator[Task]:
    """Long ones first: the last to end is then a short one."""
    if libraries:
        yield from (LibrariesTask(tuple(libraries), shard, jobs) for shard in range(jobs))
    yield from (DefectTask(defect) for defect in sorted(plan.defects, key=lambda defect: defect.flavour == "plain"))
    if plan.detectors:
        yield from _detector_tasks(plan)
    yield from (MutantTask(mutant, plan.believing) for mutant in plan.mutants)


def _detector_tasks(plan: ScorePlan) -> Iterator[Task]:
    for detector in DETECTORS:
        proofs = detector.proofs(plan.defects)
        if proofs and detector.leak_check:
            yield DetectorTask(detector.name, detector, None)
        elif proofs and detector.own_trials:
            yield from (DetectorTask(detector.name, detector, defect) for defect in (None, *proofs))


def _variants(libraries: Sequence[Library], finds: _Finds) -> Iterator[VariantScore]:
    for library in libraries:
        parts = finds.parts[library.name]
        yield VariantScore(
            library.name,
            library.defines,
            sum(part.cases for part in parts),
            tuple(alarm for part in parts for alarm in part.alarms),
            round(sum(part.seconds for part in parts), 1),
        )


def _coverage(plan: ScorePlan, place: Path, uncounted: str) -> CoverageScore | None:
    if not (plan.clean and plan.coverage):
        return None
    try:
        count = None if uncounted else counted(place / "covered")
    except NoCoverageError as error:
        count, uncounted = None, str(error)
    if count is None:
        return CoverageScore(reason=uncounted)
    gaps = tuple(GapScore(gap.file, gap.line, gap.text, gap.branches) for gap in count.gaps)
    return CoverageScore(count.lines, count.lines_reached, count.branches, count.branches_taken, gaps)


def _clauses(spec: Spec, finds: _Finds) -> ClauseScore:
    seen = frozenset[str]().union(*(part.seen for part in finds.parts[CLEAN]))
    return ClauseScore(len(spec.clauses), tuple(sorted(spec.clauses.keys() - seen)))


def _detectors(plan: ScorePlan, cases: Sequence[Case], finds: _Finds) -> Iterator[DetectorScore]:
    for detector in DETECTORS:
        if detector.flavour == "tsan" and not threaded(cases):
            yield unchecked(detector, "no case that is executed has threads")
        elif trouble := next((each.trouble for each in finds.proven if each.detector == detector.name), ""):
            yield unchecked(detector, trouble)
        elif detector.own_trials:
            yield _own(detector, [each for each in finds.proven if each.detector == detector.name])
        else:
            yield from_defects(detector, plan.defects, tuple(finds.defects.values()))


def _own(detector: Detector, proven: Sequence[Proven]) -> DetectorScore:
    """The score of a detector from trials of its own. One that sees what is not there proves nothing."""
    planted = [each for each in proven if each.defect]
    blind = any(each.seen for each in proven if not each.defect)
    found = () if blind else tuple(each.defect for each in planted if each.seen)
    return proved(detector, found, tuple(each.defect for each in planted if each.defect not in found))
