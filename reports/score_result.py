"""A score: what a measurement of the suite found, to and from JSON. Its schema is `score.schema.json`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.typed import Typed

FORMAT = 1
"""Version of the JSON form."""

MUTANTS_WANTED = 0.95
"""Share of the mutants that are not equivalent to the original which must be killed."""

LINES_WANTED = 0.95
BRANCHES_WANTED = 0.90


class Fate(StrEnum):
    """What became of a mutant. `equivalent`: nothing can or may tell it from the original, with evidence. `invalid`:
    it does not compile and counts nowhere."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    INVALID = "invalid"


class Proof(StrEnum):
    """Whether a planted defect proves that a detector works here."""

    PROVED = "proved"
    FAILED = "failed"
    NOT_PLANTED = "no planted defect"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Shown:
    """How something wrong showed first: the case, its verdict, the headline clause and what was observed; `calls`
    answered and `seconds` passed up to then."""

    case: str
    verdict: str
    clause: str
    observed: str
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DefectScore:
    """One planted defect. `shown`: None for one that was missed. `clause`: the one that the catalogue says it breaks;
    `clause_seen`: whether some case named that one, which may be a later case than the first."""

    id: str
    function: str
    clause: str
    kind: str
    flavour: str
    report: str
    why: str
    shown: Shown | None
    clause_seen: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class VariantScore:
    """One conforming library. Every entry of `alarms` is a false one."""

    name: str
    defines: tuple[str, ...]
    cases: int
    alarms: tuple[Shown, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MutantScore:
    """One mutant. `before` and `after`: the source as it was and as it was changed. `evidence`: why it is equivalent or
    invalid."""

    id: str
    file: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    fate: Fate
    shown: Shown | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class GapScore:
    """A line that no case reached, or one with `branches` ways out that no case took."""

    file: str
    line: int
    text: str
    branches: int


@dataclass(frozen=True, slots=True)
class CoverageScore:
    """Lines and branches of the core's two families that the cases reached. `reason`: why nothing was counted."""

    lines: int = 0
    lines_reached: int = 0
    branches: int = 0
    branches_taken: int = 0
    gaps: tuple[GapScore, ...] = ()
    reason: str = ""

    @property
    def reached(self) -> bool:
        """Whether it is as wide as wanted."""
        lines = self.lines_reached >= LINES_WANTED * self.lines
        return not self.reason and lines and self.branches_taken >= BRANCHES_WANTED * self.branches


@dataclass(frozen=True, slots=True)
class ClauseScore:
    """Clauses of the tables; `unseen`: those that no case saw held or observed on the clean core."""

    clauses: int
    unseen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DetectorScore:
    """One means of finding faults. `needs`: what a backend must give for it; one that does not is not checked for such
    faults. `found` and `missed`: ids of the planted defects that prove it. `reason`: of `not checked`."""

    name: str
    needs: str
    proof: Proof
    found: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """How much of `what` there is was measured: `taken` of `whole`."""

    what: str
    taken: int
    whole: int


@dataclass(frozen=True, slots=True)
class Score:
    """Everything measured. `tables`: digest of the tables. `cases`: number of cases of the suite, `case_list` their
    hash. `seed`: from which samples were drawn. `seconds`: the whole measurement."""

    version: str
    tables: str
    case_list: str
    cases: int
    seed: int
    jobs: int
    seconds: float
    parts: tuple[Part, ...]
    defects: tuple[DefectScore, ...] = ()
    variants: tuple[VariantScore, ...] = ()
    mutants: tuple[MutantScore, ...] = ()
    coverage: CoverageScore | None = None
    clauses: ClauseScore | None = None
    detectors: tuple[DetectorScore, ...] = ()

    @property
    def missed(self) -> tuple[DefectScore, ...]:
        """Defects that no case showed."""
        return tuple(defect for defect in self.defects if defect.shown is None)

    @property
    def alarms(self) -> tuple[tuple[VariantScore, Shown], ...]:
        """False alarms, each with its variant."""
        return tuple((variant, alarm) for variant in self.variants for alarm in variant.alarms)

    def fated(self, fate: Fate) -> tuple[MutantScore, ...]:
        """The mutants with this fate."""
        return tuple(mutant for mutant in self.mutants if mutant.fate is fate)

    @property
    def mutants_killed(self) -> bool:
        """Whether enough of the mutants that something could tell from the original were."""
        killed, survived = len(self.fated(Fate.KILLED)), len(self.fated(Fate.SURVIVED))
        return killed >= MUTANTS_WANTED * (killed + survived)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the suite is not as good as wanted; empty when it is."""
        found = []
        if self.missed:
            found.append(f"{len(self.missed)} of {len(self.defects)} planted defects missed")
        if self.alarms:
            found.append(f"{len(self.alarms)} false alarms on conforming variants")
        if not self.mutants_killed:
            found.append(f"fewer than {MUTANTS_WANTED:.0%} of the mutants killed")
        if self.coverage is not None and not self.coverage.reason and not self.coverage.reached:
            found.append(f"coverage below {LINES_WANTED:.0%} of lines or {BRANCHES_WANTED:.0%} of branches")
        found += [f"detector failed: {each.name}" for each in self.detectors if each.proof is Proof.FAILED]
        return tuple(found)

    @property
    def code(self) -> ExitCode:
        """The exit code of the measurement."""
        if self.reasons:
            return ExitCode.DISCREPANCY
        if self.coverage is not None and self.coverage.reason:
            return ExitCode.INCOMPLETE
        return ExitCode.AS_EXPECTED


def score_to_json(score: Score) -> dict[str, Any]:
    """JSON of a score."""
    return {"format": FORMAT, **dataclasses.asdict(score), "reasons": list(score.reasons), "code": int(score.code)}


def score_from_json(data: Mapping[str, Any]) -> Score:
    """The score that `score_to_json` wrote. Raises ValueError when `data` is not of this format."""
    read = Typed(data)
    if read.integer("format") != FORMAT:
        raise ValueError(f"format {read.integer('format')}, this version reads {FORMAT}")
    return Score(
        version=read.text("version"),
        tables=read.text("tables"),
        case_list=read.text("case_list"),
        cases=read.count("cases"),
        seed=read.count("seed"),
        jobs=read.count("jobs"),
        seconds=read.number("seconds"),
        parts=read.listed("parts", _part),
        defects=read.listed("defects", _defect),
        variants=read.listed("variants", _variant),
        mutants=read.listed("mutants", _mutant),
        coverage=None if data.get("coverage") is None else _coverage(read.nested("coverage")),
        clauses=None if data.get("clauses") is None else _clauses(read.nested("clauses")),
        detectors=read.listed("detectors", _detector),
    )


def _part(data: Mapping[str, Any], place: str) -> Part:
    read = Typed(data, place)
    return Part(read.text("what"), read.count("taken"), read.count("whole"))


def _shown(data: Mapping[str, Any], place: str) -> Shown:
    read = Typed(data, place)
    return Shown(
        case=read.text("case"),
        verdict=read.text("verdict"),
        clause=read.text("clause"),
        observed=read.text("observed"),
        calls=read.count("calls"),
        seconds=read.number("seconds"),
    )


def _maybe_shown(data: Mapping[str, Any], place: str) -> Shown | None:
    return None if data.get("shown") is None else _shown(Typed(data, place).mapping("shown"), f"{place}.shown")


def _defect(data: Mapping[str, Any], place: str) -> DefectScore:
    read = Typed(data, place)
    return DefectScore(
        id=read.text("id"),
        function=read.text("function"),
        clause=read.text("clause"),
        kind=read.text("kind"),
        flavour=read.text("flavour"),
        report=read.text("report"),
        why=read.text("why"),
        shown=_maybe_shown(data, place),
        clause_seen=read.flag("clause_seen"),
        seconds=read.number("seconds"),
    )


def _variant(data: Mapping[str, Any], place: str) -> VariantScore:
    read = Typed(data, place)
    return VariantScore(
        name=read.text("name"),
        defines=read.texts("defines"),
        cases=read.count("cases"),
        alarms=read.listed("alarms", _shown),
        seconds=read.number("seconds"),
    )


def _mutant(data: Mapping[str, Any], place: str) -> MutantScore:
    read = Typed(data, place)
    return MutantScore(
        id=read.text("id"),
        file=read.text("file"),
        line=read.count("line"),
        function=read.text("function"),
        operator=read.text("operator"),
        before=read.text("before"),
        after=read.text("after"),
        fate=read.word("fate", Fate),
        shown=_maybe_shown(data, place),
        evidence=read.text("evidence"),
    )


def _gap(data: Mapping[str, Any], place: str) -> GapScore:
    read = Typed(data, place)
    return GapScore(read.text("file"), read.count("line"), read.text("text"), read.count("branches"))


def _coverage(read: Typed) -> CoverageScore:
    return CoverageScore(
        lines=read.count("lines"),
        lines_reached=read.count("lines_reached"),
        branches=read.count("branches"),
        branches_taken=read.count("branches_taken"),
        gaps=read.listed("gaps", _gap),
        reason=read.text("reason"),
    )


def _clauses(read: Typed) -> ClauseScore:
    return ClauseScore(read.count("clauses"), read.texts("unseen"))


def _detector(data: Mapping[str, Any], place: str) -> DetectorScore:
    read = Typed(data, place)
    return DetectorScore(
        name=read.text("name"),
        needs=read.text("needs"),
        proof=read.word("proof", Proof),
        found=read.texts("found"),
        missed=read.texts("missed"),
        reason=read.text("reason"),
    )
