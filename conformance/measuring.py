"""Measuring: what one process of a score does, task by task. What it finds is data and travels to the front door."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

from acl_cts.backends.backend import BackendError, Options, Session
from acl_cts.backends.core_backend import FOLDER, CoreBackend, build_core
from acl_cts.backends.core_defects import Defect, Shows
from acl_cts.backends.core_equivalents import Equivalent, Key, key_of
from acl_cts.backends.core_mutant_build import MutantBuilder, NoCodeError
from acl_cts.backends.core_mutants import Mutant
from acl_cts.conformance.case import Case
from acl_cts.conformance.detectors import Detector
from acl_cts.conformance.gate import ABLE
from acl_cts.conformance.memo import Memo
from acl_cts.conformance.share import share, weight
from acl_cts.conformance.trial import Tried, tried
from acl_cts.reports.results import RED
from acl_cts.reports.score_result import DefectScore, Fate, MutantScore, Shown
from acl_cts.specs.judgement import Finding, Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Live, steps

DEFECT_TIMEOUT = 2.0
MUTANT_TIMEOUT = 0.5
"""Seconds without progress after which a call hangs; here nobody waits for a slow device."""

FURTHER = 50
"""Short cases of the clause of the catalogue that are still judged for it after a defect was found."""

LIGHT = 300
"""Statements up to which a case is short: most faults show in one of these, and a long one costs as much as fifty."""

ASKED = 500
"""Cases that a mutant meets which somebody has reviewed and found equivalent, where that is believed."""

WATCHED_CASES = 400
"""Cases that a mutant which survived all others meets once more under the address sanitizer."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library that conforms. `path`: where it is, '' for one that is built of the core with `defines`."""

    name: str
    defines: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class LibrariesTask:
    """Part `shard` of `shards` of all cases on every one of `libraries`: the same cases in the same process, so that
    equal answers of different libraries are judged once."""

    libraries: tuple[Library, ...]
    shard: int
    shards: int


@dataclass(frozen=True, slots=True)
class DefectTask:
    """The cases until the defect shows: first those that call its function, then those of its family, short before
    long."""

    defect: Defect


@dataclass(frozen=True, slots=True)
class MutantTask:
    """The cases until the mutant is killed: those first that call what its file implements, short before long.
    `believed`: of one reviewed as equivalent, only some cases are asked whether that is so."""

    mutant: Mutant
    believed: bool = False


@dataclass(frozen=True, slots=True)
class DetectorTask:
    """Number `detector` of the detectors, put to the test with `defect`; with None nothing may be detected."""

    name: str
    detector: Detector
    defect: Defect | None


@dataclass(frozen=True, slots=True)
class LibraryPart:
    """What a part of the cases showed of a conforming library; `seen`: clauses held or observed."""

    name: str
    cases: int
    alarms: tuple[Shown, ...]
    seen: frozenset[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Proven:
    """Whether a detector saw a defect ('' for none planted); `trouble`: why it could not look."""

    detector: str
    defect: str
    seen: bool
    trouble: str = ""


Task = LibrariesTask | DefectTask | MutantTask | DetectorTask
Find = LibraryPart | DefectScore | MutantScore | Proven


@dataclass(slots=True)
class Measuring:
    """Everything that tasks need. `place`: folder for builds that are thrown away. `equivalents`: reviewed mutants."""

    spec: Spec
    cases: Sequence[Case]
    place: Path
    equivalents: Mapping[Key, Equivalent]
    memo: Memo = field(init=False)
    _long: frozenset[str] = field(init=False)
    _builder: MutantBuilder | None = None

    def __post_init__(self) -> None:
        self.memo = Memo(self.spec)
        self._long = frozenset(case.id for case in self.cases if weight(case) > LIGHT)

    def work(self, task: Task) -> Iterator[Find]:
        """Whatever `task` finds. Raises HarnessError for faults of the suite."""
        match task:
            case LibrariesTask():
                yield from self._libraries(task)
            case DefectTask(defect=defect):
                yield self._defect(defect)
            case MutantTask(mutant=mutant, believed=believed):
                yield self._mutant(mutant, believed)
            case DetectorTask():
                yield self._detector(task)

    # ------------------------------------------------------------------------------------------ conforming libraries

    def _libraries(self, task: LibrariesTask) -> Iterator[LibraryPart]:
        mine = share(self.cases, task.shard, task.shards, weight)
        # From both ends, so that two processes seldom build the same library at the same time.
        for library in task.libraries if task.shard % 2 == 0 else reversed(task.libraries):
            yield self._library(library, mine)

    def _library(self, library: Library, mine: Sequence[Case]) -> LibraryPart:
        path = Path(library.path) if library.path else build_core("plain", library.defines)
        started = time.monotonic()
        alarms: list[Shown] = []
        seen: set[str] = set()
        with _open(path) as session:
            for trial in tried(self.memo, session, mine):
                seen.update(trial.result.held, (each.clause for each in trial.result.observations))
                if trial.accuses or trial.result.verdict in RED - {Verdict.FLAKY}:
                    alarms.append(_shown(trial))
        return LibraryPart(library.name, len(mine), tuple(alarms), frozenset(seen), time.monotonic() - started)

    # --------------------------------------------------------------------------------------------------------- defects

    def _defect(self, defect: Defect) -> DefectScore:
        started = time.monotonic()
        plain = defect.flavour == "plain"
        library = self._build().build_defect(defect) if plain else build_core(defect.flavour, defect.defines)
        try:
            with _open(library, defect.flavour, DEFECT_TIMEOUT) as session:
                shown, clause_seen = self._hunt(defect, session)
        except BackendError as error:
            shown, clause_seen = _unusable(error), False
        return DefectScore(
            id=defect.id,
            function=defect.function,
            clause=defect.clause,
            kind=defect.kind.value,
            flavour=defect.flavour,
            report=defect.report,
            why=defect.why,
            shown=shown,
            clause_seen=clause_seen,
            seconds=round(time.monotonic() - started, 3),
        )

    def _hunt(self, defect: Defect, session: Session) -> tuple[Shown | None, bool]:
        """How the defect shows first, and whether its own clause is named then or in some further case. One that must
        show as a note counts as missed when it is accused: a note changes no verdict."""
        advisory = defect.shows is Shows.NOTE
        started, answered = time.monotonic(), 0
        shown: Shown | None = None
        rest = iter(self._order(self._far_from(defect)))

        def feed() -> Iterator[Case]:
            while shown is None and (case := next(rest, None)) is not None:
                yield case
            further = (case for case in rest if defect.clause in case.clauses and case.id not in self._long)
            yield from islice(further, FURTHER)

        for trial in tried(self.memo, session, feed()):
            answered += trial.calls
            if advisory and trial.accuses:
                return None, False
            named = any(finding.clause == defect.clause for finding in _findings(trial, advisory))
            if shown is None and (named if advisory else trial.accuses):
                shown = _shown(trial, defect.clause if advisory else "", answered, time.monotonic() - started)
            if shown is not None and named:
                return shown, True
        return shown, False

    # --------------------------------------------------------------------------------------------------------- mutants

    def _mutant(self, mutant: Mutant, believed: bool) -> MutantScore:
        try:
            library = self._build().build(mutant)
        except NoCodeError as error:
            return _fate(mutant, Fate.INVALID, evidence=str(error))
        if library is None:
            return _fate(mutant, Fate.EQUIVALENT, evidence="same object code")
        reviewed = self.equivalents.get(key_of(mutant))
        shown = self._kill(mutant, library, most=ASKED if reviewed and believed else None)
        if shown is not None:
            return _fate(mutant, Fate.KILLED, shown)
        if reviewed is not None:
            return _fate(mutant, Fate.EQUIVALENT, evidence=f"reviewed: {reviewed.reason}")
        shown = self._kill(mutant, self._build().build_watched(mutant), "asan")
        return _fate(mutant, Fate.KILLED if shown else Fate.SURVIVED, shown)

    def _kill(self, mutant: Mutant, library: Path, flavour: str = "plain", most: int | None = None) -> Shown | None:
        """How the mutant is noticed first, by `most` cases; a note, which the core itself never gets, is one way. Under
        the address sanitizer, which sees lost memory, some cases must do."""
        exported = implemented(mutant.file)
        order = self._order(lambda case: not exported & case.functions)[:most]
        if flavour == "asan":
            order = in_turn([case for case in order if case.id not in self._long], exported)[:WATCHED_CASES]
        started, answered = time.monotonic(), 0
        try:
            with _open(library, flavour, MUTANT_TIMEOUT if flavour == "plain" else DEFECT_TIMEOUT) as session:
                for trial in tried(self.memo, session, order):
                    answered += trial.calls
                    notes = trial.result.notes
                    if trial.accuses or notes:
                        clause = "" if trial.accuses else notes[0].clause
                        return _shown(trial, clause, answered, time.monotonic() - started)
        except BackendError as error:
            return _unusable(error)
        return None

    def _build(self) -> MutantBuilder:
        """The builder of this process."""
        if self._builder is None:
            folder = self.place / f"builds-{os.getpid()}"
            folder.mkdir()
            self._builder = MutantBuilder(folder)
        return self._builder

    def _far_from(self, defect: Defect) -> Callable[[Case], int]:
        """How far a case is from a defect: it calls the function, it is of the same family, or neither."""
        family = self.spec.functions[defect.function].family
        return lambda case: 0 if defect.function in case.functions else 1 if case.family == family else 2

    def _order(self, later: Callable[[Case], int]) -> list[Case]:
        """All cases, those last that come `later`; short ones before long ones, otherwise as in the suite."""
        return sorted(self.cases, key=lambda case: (later(case), case.id in self._long))

    # ------------------------------------------------------------------------------------------------------- detectors

    def _detector(self, task: DetectorTask) -> Proven:
        detector, name = task.detector, task.defect.id if task.defect else ""
        library = build_core(detector.flavour or "plain", task.defect.defines if task.defect else ())
        if detector.leak_check:
            with _open(library, detector.flavour) as session:
                told = session.identity.details.get("lost memory", "not looked for")
            return Proven(task.name, name, False, "" if told == "looked for" else told)
        chosen = [case for case in self.cases if case.group == detector.group]
        with _open(library, detector.flavour or "plain", DEFECT_TIMEOUT) as session:
            if detector.capability is not None and detector.capability not in session.capabilities:
                return Proven(task.name, name, False, f"the backend cannot {ABLE[detector.capability]}")
            return Proven(task.name, name, any(trial.accuses for trial in tried(self.memo, session, chosen)))


def in_turn(cases: Sequence[Case], functions: frozenset[str]) -> list[Case]:
    """Cases that count what lives, those first that call one of `functions`, and one of each group in turn."""
    turns: Counter[tuple[bool, str]] = Counter()
    ordered: list[tuple[bool, int, int, Case]] = []
    for case in cases:
        if any(isinstance(statement, Live) for statement in steps(case.program)):
            other = not functions & case.functions
            turns[other, case.group] += 1
            ordered.append((other, turns[other, case.group], len(ordered), case))
    return [case for *_, case in sorted(ordered, key=lambda entry: entry[:3])]


@cache
def implemented(file: str) -> frozenset[str]:
    """The functions of the interface that a source of the core, or the one that belongs to a header, implements."""
    source = (FOLDER / "src" / file).with_suffix(".c")
    lines = source.read_text(encoding="utf-8").splitlines() if source.is_file() else ()
    heads = (line.partition("(")[0].split() for line in lines if line.startswith("acl"))
    return frozenset(words[-1].lstrip("*") for words in heads if words)


def _open(library: Path, flavour: str = "plain", timeout: float = 5.0) -> Session:
    return CoreBackend().open(Options(library=str(library), flavour=flavour, call_timeout=timeout))


def _findings(trial: Tried, advisory: bool) -> tuple[Finding, ...]:
    result = trial.result
    return result.notes if advisory else (*result.discrepancies, *result.blocked)


def _shown(trial: Tried, clause: str = "", calls: int = 0, seconds: float = 0.0) -> Shown:
    result = trial.result
    headline = result.discrepancies[0] if result.discrepancies else None
    note = next((each for each in result.notes if each.clause == clause), None)
    finding = note or headline
    return Shown(
        case=result.id,
        verdict=Shows.NOTE.value if note else result.verdict.value,
        clause=finding.clause if finding else "",
        observed=finding.observed if finding else result.reason,
        calls=calls,
        seconds=round(seconds, 3),
    )


def _unusable(error: BackendError) -> Shown:
    """A library that does not even start: no run would take it."""
    return Shown("", "unusable", "", str(error))


def _fate(mutant: Mutant, fate: Fate, shown: Shown | None = None, evidence: str = "") -> MutantScore:
    return MutantScore(
        id=mutant.id,
        file=mutant.file,
        line=mutant.line,
        function=mutant.function,
        operator=mutant.operator,
        before=mutant.before,
        after=mutant.after,
        fate=fate,
        shown=shown,
        evidence=evidence,
    )
