"""Results of a run: everything `results.json` holds, to and from JSON. Its schema is `results.schema.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from acl_cts.reports.evidence import Evidence
from acl_cts.reports.expected import Expected, expected_from_json, expected_to_json
from acl_cts.reports.limit_result import LimitResult, limit_from_json, limit_to_json
from acl_cts.reports.profile_use import (
    Claim,
    MustPass,
    ProfileUse,
    must_pass_from_json,
    profile_from_json,
    profile_to_json,
)
from acl_cts.reports.shard import Shard
from acl_cts.reports.tables import Tables
from acl_cts.reports.tables_json import tables_from_json, tables_to_json
from acl_cts.reports.typed import Typed
from acl_cts.specs.judgement import Finding, Observation, Strength, Verdict

FORMAT = 2
"""Version of the JSON form."""

FAILING = frozenset({Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.LEAK})
"""Verdicts that accuse the library and are confirmed in a new worker before they stand."""

RED = FAILING | {Verdict.BLOCKED, Verdict.FLAKY, Verdict.ERROR}
"""Verdicts that turn a run red."""

DISCREPANCY = frozenset({Strength.EXPLICIT, Strength.OBLIGATION, Strength.IMPLIED})
"""Strengths that `--fail-on` can name; all of them by default."""

BASELINE = "baseline"
"""What stands for the baseline where waivers stand by their ids."""

CODES = frozenset({0, 1, 2, 3, 4, 5, 130})
"""Exit codes that there are."""


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
    """Support of one function, decided once per session. `through`: the function whose handle it lacks. `claim`: what
    the profile says of it. `accepted`: the waivers, or `baseline`, that expect it not to be supported."""

    function: str
    family: str
    state: Support
    reason: str = ""
    through: str = ""
    reserved: bool = False
    auxiliary: bool = False
    claim: Claim = Claim.NONE
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The one verdict of one case, and what it rests on.

    `duration` in seconds. `attempts`: executions of the program. `breach`: the library wrote outside the caller's
    memory. `granted`: the largest data area it got, in bytes. `files`: the failure folder below the output folder.
    `evidence`: what shows the failure, None for cases without any. `accepted`: the waivers, or `baseline`, that expect
    the failure. `repeats`: how often it was judged where a run repeats its cases, 0 where it does not; `failed`: how
    often it failed of those. `after`: the cases that must be executed before it, in the same process, for it to fail.
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
    evidence: Evidence | None = None
    accepted: tuple[str, ...] = ()
    repeats: int = 0
    failed: int = 0
    after: tuple[str, ...] = ()


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
    """One backend's part of a run. `complete` is False when the run ended before every selected case had its turn.

    `limits`: what the search for the real edges of documented limits found; empty when it was not made. `must_pass`:
    how it stands to the must-pass list of the profile, None without one.
    """

    backend: str
    identity: Mapping[str, Any] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    support: tuple[FunctionSupport, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    notes: tuple[RunNote, ...] = ()
    limits: tuple[LimitResult, ...] = ()
    case_list: str = ""
    duration: float = 0.0
    complete: bool = True
    trouble: str = ""
    must_pass: MustPass | None = None

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
    def accepted(self) -> dict[str, int]:
        """Number of failing cases that a waiver covers, and of those that only the baseline does; they stand in the
        totals too."""
        covered = [case for case in self.cases if case.accepted]
        waived = sum(case.accepted != (BASELINE,) for case in covered)
        return {"waived": waived, BASELINE: len(covered) - waived}

    @property
    def asked(self) -> frozenset[str]:
        """Functions that its cases ask for: in a run of a selection not all."""
        return frozenset(function for case in self.cases for function in case.functions)

    @property
    def lacking(self) -> tuple[FunctionSupport, ...]:
        """Functions that its cases ask for and that are not, or not certainly, supported; those that only help to judge
        others left out."""
        asked = self.asked
        lacking = (entry for entry in self.support if entry.state is not Support.SUPPORTED and not entry.auxiliary)
        return tuple(entry for entry in lacking if entry.function in asked)

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
    """A whole run.

    Times are ISO 8601 in UTC; `options` as given; `fail_on`: strengths that count as discrepancies; `tables`: what the
    contract says; `environment`: who judged. `profile`: the product's, `expected`: baseline and waivers; None without.
    `shard`: which part of a run it is that several runs share; None for a whole one.
    """

    version: str
    spec: str
    started: str
    ended: str
    finished: bool
    filtered: bool
    seed: int | None
    options: Mapping[str, Any]
    runs: tuple[BackendRun, ...]
    code: int = 0
    holds: tuple[Held, ...] = ()
    fail_on: frozenset[Strength] = DISCREPANCY
    tables: Tables = field(default_factory=Tables)
    environment: Mapping[str, str] = field(default_factory=dict)
    profile: ProfileUse | None = None
    expected: Expected | None = None
    shard: Shard | None = None

    @property
    def partial(self) -> bool:
        """Whether it holds some of the cases only, on purpose."""
        return self.filtered or self.shard is not None


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
    """JSON of one case; what few cases have is left out where there is none."""
    plain = {
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
    if case.evidence is not None:
        plain["evidence"] = _plain(case.evidence)
    if case.repeats:
        plain |= {"repeats": case.repeats, "failed": case.failed}
    for name, values in (("accepted", case.accepted), ("after", case.after)):
        if values:
            plain[name] = list(values)
    return plain


def support_to_json(support: FunctionSupport) -> dict[str, Any]:
    """JSON of one function's support."""
    plain: dict[str, Any] = _plain(support)
    for name in ("claim", "accepted"):
        if not plain[name]:
            del plain[name]
    return plain


def run_to_json(run: BackendRun) -> dict[str, Any]:
    """JSON of one backend's part, with its totals."""
    accepted = {"accepted": run.accepted} if any(run.accepted.values()) else {}
    must_pass = {"must_pass": asdict(run.must_pass)} if run.must_pass else {}
    return {
        "backend": run.backend,
        "identity": _plain(run.identity),
        "capabilities": list(run.capabilities),
        "totals": run.totals,
        "discrepancies": run.by_strength,
        "notes": _plain(run.notes),
        "limits": [limit_to_json(result) for result in run.limits],
        "granted": run.granted,
        "case_list": run.case_list,
        "duration": round(run.duration, 3),
        "complete": run.complete,
        "trouble": run.trouble,
        "support": [support_to_json(entry) for entry in run.support],
        "cases": [case_to_json(case) for case in run.cases],
        **accepted,
        **must_pass,
    }


def to_json(results: Results) -> dict[str, Any]:
    """JSON of the whole run; profile and expectations are left out where it had none."""
    more = {"profile": profile_to_json(results.profile)} if results.profile else {}
    if results.expected is not None:
        more["expected"] = expected_to_json(results.expected)
    if results.shard is not None:
        more["shard"] = asdict(results.shard)
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
        "fail_on": sorted(strength.value for strength in results.fail_on),
        "environment": _plain(results.environment),
        "tables": tables_to_json(results.tables),
        "exit": {"code": results.code, "holds": _plain(results.holds)},
        **more,
        "runs": [run_to_json(run) for run in results.runs],
    }


# ----------------------------------------------------------------------------------------------------- from JSON


def _finding(data: Mapping[str, Any], place: str = "") -> Finding:
    read = Typed(data, place)
    return Finding(
        read.text("clause"),
        read.word("strength", Strength),
        read.text("function"),
        read.integer("step"),
        read.integers("loops"),
        read.text("expected"),
        read.text("observed"),
        read.text("blocked_by"),
    )


def _observation(data: Mapping[str, Any], place: str = "") -> Observation:
    read = Typed(data, place)
    return Observation(read.text("clause"), read.text("answer"), read.integer("step"), read.text("key"))


def _evidence(read: Typed) -> Evidence | None:
    if "evidence" not in read.data:
        return None
    inner = read.nested("evidence")
    return Evidence(inner.text("program"), inner.text("command"), inner.text("reproducer"))


def _texts(read: Typed, name: str) -> tuple[str, ...]:
    return read.texts(name) if name in read.data else ()


def _count(read: Typed, name: str) -> int:
    return read.count(name) if name in read.data else 0


def case_from_json(data: Mapping[str, Any], place: str = "") -> CaseResult:
    """One case, which stands at `place`. Raises ValueError when `data` is not of this format."""
    read = Typed(data, place)
    return CaseResult(
        id=read.text("id"),
        verdict=read.word("verdict", Verdict),
        reason=read.text("reason"),
        cause=read.word("cause", Cause),
        clauses=read.texts("clauses"),
        functions=read.texts("functions"),
        discrepancies=read.listed("discrepancies", _finding),
        blocked=read.listed("blocked", _finding),
        notes=read.listed("notes", _finding),
        observations=read.listed("observations", _observation),
        held=read.texts("held"),
        succeeded=read.texts("succeeded"),
        granted=read.count("granted"),
        breach=read.flag("breach"),
        duration=read.number("duration"),
        attempts=read.count("attempts"),
        files=read.text("files"),
        evidence=_evidence(read),
        accepted=_texts(read, "accepted"),
        repeats=_count(read, "repeats"),
        failed=_count(read, "failed"),
        after=_texts(read, "after"),
    )


def support_from_json(data: Mapping[str, Any], place: str = "") -> FunctionSupport:
    """One function's support. Raises ValueError when `data` is not of this format."""
    read = Typed(data, place)
    return FunctionSupport(
        function=read.text("function"),
        family=read.text("family"),
        state=read.word("state", Support),
        reason=read.text("reason"),
        through=read.text("through"),
        reserved=read.flag("reserved"),
        auxiliary=read.flag("auxiliary"),
        claim=read.word("claim", Claim) if "claim" in read.data else Claim.NONE,
        accepted=_texts(read, "accepted"),
    )


def _note(data: Mapping[str, Any], place: str = "") -> RunNote:
    read = Typed(data, place)
    return RunNote(read.text("clause"), read.text("key"), read.tuples("answers", str, int, str))


def run_from_json(data: Mapping[str, Any], place: str = "") -> BackendRun:
    """One backend's part. Raises ValueError when `data` is not of this format, or its totals do not add up."""
    read = Typed(data, place)
    run = BackendRun(
        backend=read.text("backend"),
        identity=_identity(read.nested("identity")),
        capabilities=read.texts("capabilities"),
        support=read.listed("support", support_from_json),
        cases=read.listed("cases", case_from_json),
        notes=read.listed("notes", _note),
        limits=read.listed("limits", limit_from_json),
        case_list=read.text("case_list"),
        duration=read.number("duration"),
        complete=read.flag("complete"),
        trouble=read.text("trouble"),
        must_pass=must_pass_from_json(read.nested("must_pass")) if "must_pass" in read.data else None,
    )
    if (read.mapping("accepted") if "accepted" in read.data else {"waived": 0, BASELINE: 0}) != run.accepted:
        raise ValueError(f"{place or 'run'}: its accepted failures are not those of its cases")
    told = (read.mapping("totals"), read.mapping("discrepancies"), read.count("granted"))
    if told != (run.totals, run.by_strength, run.granted):
        raise ValueError(f"{place or 'run'}: its totals are not those of its cases")
    if len({case.id for case in run.cases}) != len(run.cases):
        raise ValueError(f"{place or 'run'}: a case stands there twice")
    return run


def _identity(read: Typed) -> dict[str, Any]:
    names = (name for name in read.data if name != "details")
    details = {"details": read.text_by_name("details")} if "details" in read.data else {}
    return {name: read.text(name) for name in names} | details


def _held(data: Mapping[str, Any], place: str = "") -> Held:
    read = Typed(data, place)
    code = read.integer("code")
    if code not in CODES:
        raise ValueError(f"{place}.code is no exit code")
    return Held(code, read.text("reason"))


def _shard(read: Typed) -> Shard:
    number, of = read.count("number"), read.count("of")
    if not 1 <= number <= of:
        raise ValueError(f"{read.place}: there is no shard {number} of {of}")
    return Shard(number, of)


def from_json(data: object) -> Results:
    """A whole run. Raises ValueError when `data` is not of this format."""
    if not isinstance(data, dict) or "format" not in data:
        raise ValueError("it holds something else")
    if data["format"] != FORMAT:
        raise ValueError(f"results of format {data['format']!r}, this version reads format {FORMAT}")
    read = Typed(data)
    ending = read.nested("exit")
    holds = ending.listed("holds", _held)
    if ending.integer("code") != (holds[0].code if holds else 0):
        raise ValueError("exit: its code is not the first that holds")
    fail_on = read.texts("fail_on")
    if not {strength.value for strength in DISCREPANCY}.issuperset(fail_on):
        raise ValueError("fail_on names an unknown strength")
    return Results(
        version=read.nested("tool").text("version"),
        spec=read.text("spec"),
        started=read.text("started"),
        ended=read.text("ended"),
        finished=read.flag("finished"),
        filtered=read.flag("filtered"),
        seed=read.optional_integer("seed"),
        options=read.mapping("options"),
        runs=read.listed("runs", run_from_json),
        code=ending.integer("code"),
        holds=holds,
        fail_on=frozenset(Strength(word) for word in fail_on),
        tables=tables_from_json(read.nested("tables")),
        environment=read.text_by_name("environment"),
        profile=profile_from_json(read.nested("profile")) if "profile" in read.data else None,
        expected=expected_from_json(read.nested("expected")) if "expected" in read.data else None,
        shard=_shard(read.nested("shard")) if "shard" in read.data else None,
    )
