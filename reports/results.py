"""Results of a run: everything `results.json` holds, to and from JSON. Its schema is `results.schema.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from acl_cts.specs.judgement import Finding, Observation, Strength, Verdict

FORMAT = 1
"""Version of the JSON form."""

FAILING = frozenset({Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.LEAK})
"""Verdicts that accuse the library and are confirmed in a new worker before they stand."""

RED = FAILING | {Verdict.BLOCKED, Verdict.FLAKY, Verdict.ERROR}
"""Verdicts that turn a run red."""


class Cause(StrEnum):
    """Why a case has no judgement of its own.

    The first four are as expected: declared beforehand, or `not-reached`: the situation of the case (a handle value
    that repeats, an injected fault that fires) did not come about, which no document promises.
    """

    NONE = ""
    PLANNED = "planned"
    CAPABILITY = "capability"
    STREAM = "stream"
    NOT_REACHED = "not-reached"
    TIME_LIMIT = "time-limit"
    BACKEND_LOST = "backend-lost"
    INTERRUPTED = "interrupted"
    UNREPORTED = "unreported"

    @property
    def expected(self) -> bool:
        """Whether the run is complete all the same."""
        return self in (Cause.PLANNED, Cause.CAPABILITY, Cause.STREAM, Cause.NOT_REACHED)


class Support(StrEnum):
    """Whether a library offers a function. `undecided`: its simplest valid call needs what the backend has not."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not-supported"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class FunctionSupport:
    """Support of one function, decided once per session. `through`: the function whose handle it lacks."""

    function: str
    family: str
    state: Support
    reason: str = ""
    through: str = ""
    reserved: bool = False
    auxiliary: bool = False


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The one verdict of one case, and what it rests on.

    `duration` in seconds. `attempts`: executions of the program. `breach`: the library wrote outside the caller's
    memory. `granted`: the largest data area it got, in bytes. `files`: the failure folder below the output folder.
    """

    id: str
    verdict: Verdict
    reason: str = ""
    cause: Cause = Cause.NONE
    clauses: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    discrepancies: tuple[Finding, ...] = ()
    blocked: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    observations: tuple[Observation, ...] = ()
    held: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()
    granted: int = 0
    breach: bool = False
    duration: float = 0.0
    attempts: int = 0
    files: str = ""


@dataclass(frozen=True, slots=True)
class RunNote:
    """An advisory note about the whole run: one open point that was not answered the same way every time.

    `answers`: each answer with the number of times it was seen and the first case that saw it.
    """

    clause: str
    key: str
    answers: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class BackendRun:
    """One backend's part of a run. `complete` is False when the run ended before every selected case had its turn."""

    backend: str
    identity: Mapping[str, Any] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    support: tuple[FunctionSupport, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    notes: tuple[RunNote, ...] = ()
    case_list: str = ""
    duration: float = 0.0
    complete: bool = True
    trouble: str = ""

    @property
    def totals(self) -> dict[str, int]:
        """Number of cases by verdict, every verdict named."""
        counted = Counter(case.verdict for case in self.cases)
        return {verdict.value: counted.get(verdict, 0) for verdict in Verdict}

    @property
    def by_strength(self) -> dict[str, int]:
        """Number of cases with a discrepancy, by the strength of their headline."""
        counted = Counter(case.discrepancies[0].strength for case in self.cases if case.discrepancies)
        return {s.value: counted.get(s, 0) for s in Strength if s is not Strength.ADVISORY}

    @property
    def granted(self) -> int:
        """The largest data area granted, in bytes."""
        return max((case.granted for case in self.cases), default=0)


@dataclass(frozen=True, slots=True)
class Held:
    """An exit code that holds, and why."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Results:
    """A whole run. Times are ISO 8601 in UTC; `limits` are the effective documented limits, `options` as given."""

    version: str
    spec: str
    started: str
    ended: str
    finished: bool
    filtered: bool
    seed: int | None
    options: Mapping[str, Any]
    limits: Mapping[str, Any]
    runs: tuple[BackendRun, ...]
    code: int = 0
    holds: tuple[Held, ...] = ()


# ------------------------------------------------------------------------------------------------------- to JSON


def _plain(value: Any) -> Any:
    """Only what JSON knows: tuples become lists."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def case_to_json(case: CaseResult) -> dict[str, Any]:
    """JSON of one case."""
    return {
        "id": case.id,
        "verdict": case.verdict.value,
        "reason": case.reason,
        "cause": case.cause.value,
        "clauses": list(case.clauses),
        "functions": list(case.functions),
        "discrepancies": _plain(case.discrepancies),
        "blocked": _plain(case.blocked),
        "notes": _plain(case.notes),
        "observations": [
            {"clause": seen.clause, "answer": seen.answer, "step": seen.step, "key": seen.key}
            for seen in case.observations
        ],
        "held": list(case.held),
        "succeeded": list(case.succeeded),
        "granted": case.granted,
        "breach": case.breach,
        "duration": round(case.duration, 6),
        "attempts": case.attempts,
        "files": case.files,
    }


def support_to_json(support: FunctionSupport) -> dict[str, Any]:
    """JSON of one function's support."""
    plain: dict[str, Any] = _plain(support)
    return plain


def run_to_json(run: BackendRun) -> dict[str, Any]:
    """JSON of one backend's part, with its totals."""
    return {
        "backend": run.backend,
        "identity": _plain(run.identity),
        "capabilities": list(run.capabilities),
        "totals": run.totals,
        "discrepancies": run.by_strength,
        "notes": _plain(run.notes),
        "granted": run.granted,
        "case_list": run.case_list,
        "duration": round(run.duration, 3),
        "complete": run.complete,
        "trouble": run.trouble,
        "support": [support_to_json(entry) for entry in run.support],
        "cases": [case_to_json(case) for case in run.cases],
    }


def to_json(results: Results) -> dict[str, Any]:
    """JSON of the whole run."""
    return {
        "format": FORMAT,
        "tool": {"name": "acl-cts", "version": results.version},
        "spec": results.spec,
        "started": results.started,
        "ended": results.ended,
        "finished": results.finished,
        "filtered": results.filtered,
        "seed": results.seed,
        "options": _plain(results.options),
        "limits": _plain(results.limits),
        "exit": {"code": results.code, "holds": _plain(results.holds)},
        "runs": [run_to_json(run) for run in results.runs],
    }


# ----------------------------------------------------------------------------------------------------- from JSON


def _finding(data: Mapping[str, Any]) -> Finding:
    return Finding(
        data["clause"],
        Strength(data["strength"]),
        data["function"],
        data["step"],
        tuple(data["loops"]),
        data["expected"],
        data["observed"],
        data["blocked_by"],
    )


def _findings(data: list[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(_finding(item) for item in data)


def case_from_json(data: Mapping[str, Any]) -> CaseResult:
    """One case. Raises KeyError or ValueError when `data` is not of this format."""
    return CaseResult(
        id=data["id"],
        verdict=Verdict(data["verdict"]),
        reason=data["reason"],
        cause=Cause(data["cause"]),
        clauses=tuple(data["clauses"]),
        functions=tuple(data["functions"]),
        discrepancies=_findings(data["discrepancies"]),
        blocked=_findings(data["blocked"]),
        notes=_findings(data["notes"]),
        observations=tuple(Observation(**item) for item in data["observations"]),
        held=tuple(data["held"]),
        succeeded=tuple(data["succeeded"]),
        granted=data["granted"],
        breach=data["breach"],
        duration=data["duration"],
        attempts=data["attempts"],
        files=data["files"],
    )


def support_from_json(data: Mapping[str, Any]) -> FunctionSupport:
    """One function's support. Raises KeyError or ValueError when `data` is not of this format."""
    return FunctionSupport(
        function=data["function"],
        family=data["family"],
        state=Support(data["state"]),
        reason=data["reason"],
        through=data["through"],
        reserved=data["reserved"],
        auxiliary=data["auxiliary"],
    )


def run_from_json(data: Mapping[str, Any]) -> BackendRun:
    """One backend's part. Raises KeyError or ValueError when `data` is not of this format."""
    return BackendRun(
        backend=data["backend"],
        identity=data["identity"],
        capabilities=tuple(data["capabilities"]),
        support=tuple(support_from_json(entry) for entry in data["support"]),
        cases=tuple(case_from_json(case) for case in data["cases"]),
        notes=tuple(
            RunNote(note["clause"], note["key"], tuple((a, n, c) for a, n, c in note["answers"]))
            for note in data["notes"]
        ),
        case_list=data["case_list"],
        duration=data["duration"],
        complete=data["complete"],
        trouble=data["trouble"],
    )


def from_json(data: Mapping[str, Any]) -> Results:
    """A whole run. Raises KeyError or ValueError when `data` is not of this format."""
    if data["format"] != FORMAT:
        raise ValueError(f"results of format {data['format']}, this version reads format {FORMAT}")
    return Results(
        version=data["tool"]["version"],
        spec=data["spec"],
        started=data["started"],
        ended=data["ended"],
        finished=data["finished"],
        filtered=data["filtered"],
        seed=data["seed"],
        options=data["options"],
        limits=data["limits"],
        runs=tuple(run_from_json(run) for run in data["runs"]),
        code=data["exit"]["code"],
        holds=tuple(Held(held["code"], held["reason"]) for held in data["exit"]["holds"]),
    )
