"""Telling what came of a verification: for people, and for machines. Nothing from the package reaches a terminal as it
is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from acl_cts.qualification.verification import Verification
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.harmless import harmless
from acl_cts.reports.inconsistency import MEANING, Inconsistency, Wrong
from acl_cts.reports.manifest import About
from acl_cts.reports.results import BackendRun, Held, Results
from acl_cts.reports.words import counted
from acl_cts.specs.judgement import Verdict

SHOWN = 5
"""Inconsistencies of one kind, and reasons for not judging, that get a line each."""

GREY = frozenset({Verdict.NOT_RUN, Verdict.NOT_SUPPORTED, Verdict.INCONCLUSIVE})
"""Verdicts of what was not judged."""

VERDICT = {
    ExitCode.AS_EXPECTED: "consistent; the library is as expected",
    ExitCode.DISCREPANCY: "consistent; the library disagrees with the documents",
    ExitCode.HARNESS: "consistent; the suite itself failed in the run",
    ExitCode.INCOMPLETE: "consistent; the run is incomplete",
    ExitCode.STALE: "consistent; an expectation is out of date",
    ExitCode.INCONSISTENT: "INCONSISTENT",
}
"""What the exit code says of the package."""

UNSIGNED = "not looked at: the package proves that it is consistent, not who made it (give --signed-by)"


def text(found: Verification) -> str:
    """The verification for people."""
    return "\n".join(_lines(found))


def _lines(found: Verification) -> Iterator[str]:
    yield f"{harmless(found.path)}: {VERDICT[found.code]}"
    yield f"  package           sha256 {found.sha256}"
    refuted = any(problem.kind is Wrong.SIGNATURE for problem in found.problems)
    yield f"  signature         {'does not hold' if refuted else harmless(found.signed) or UNSIGNED}"
    results = found.results
    if results is not None and found.manifest is not None:
        yield from _about(found.manifest.about, results)
        for run in results.runs:
            yield from _run(run)
    if found.whole and found.manifest is not None:
        answers = f" and {counted(found.answered, 'answer')} about limits" if found.answered else ""
        yield f"  judged again      {counted(found.judged, 'trace')}{answers}"
        yield f"  statement         {_statement(found.unfilled)}"
        if found.drawn:
            seed = harmless(found.manifest.about.challenge)
            yield f"  challenge         {counted(found.drawn, 'case')} of the seed {seed}"
    for held in found.holds if not found.problems else ():
        yield f"  exit code {held.code:<7} {harmless(held.reason)}"
    yield from _problems(found)
    yield f"exit code {int(found.code)}: {VERDICT[found.code]}"


def _statement(unfilled: int) -> str:
    return f"{counted(unfilled, 'place')} still to be filled in" if unfilled else "filled in; read it"


def _about(about: About, results: Results) -> Iterator[str]:
    yield f"  suite             acl-cts {harmless(about.version, 40)}, tables {harmless(about.tables[:12])}"
    yield f"  run               {harmless(results.started, 40)} to {harmless(results.ended, 40)}"
    profile = results.profile
    yield f"  profile           {f'{harmless(profile.name, 60)} {profile.version}' if profile else 'none'}"
    if results.expected is not None:
        waived = sum(waiver.cases for waiver in results.expected.waivers)
        yield f"  waivers           {len(results.expected.waivers)}, for {counted(waived, 'case')}"


def _run(run: BackendRun) -> Iterator[str]:
    identity = run.identity
    library = f", {harmless(identity['library'])}" if identity.get("library") else ""
    yield f"  backend           {harmless(run.backend, 60)}{library}"
    if identity.get("sha256"):
        yield f"    sha256          {harmless(identity['sha256'], 64)}"
    for name, value in sorted(identity.get("details", {}).items()):
        yield f"    {harmless(name, 40):<15} {harmless(value, 80)}"
    verdicts = " · ".join(f"{number} {verdict}" for verdict, number in run.totals.items() if number)
    yield f"    verdicts        {counted(len(run.cases), 'case')}: {verdicts}"
    for (verdict, reason), number in sorted(_unjudged(run).items(), key=lambda entry: -entry[1])[:SHOWN]:
        yield f"    not judged      {number} × {verdict}: {harmless(reason, 120)}"
    if run.must_pass is not None:
        numbers = run.must_pass
        yield f"    must pass       {numbers.passed} of {numbers.listed} passed, {numbers.missing} not judged"


def _unjudged(run: BackendRun) -> Counter[tuple[str, str]]:
    """How many cases were not judged, by verdict and reason."""
    return Counter((case.verdict.value, case.reason) for case in run.cases if case.verdict in GREY)


def _problems(found: Verification) -> Iterator[str]:
    numbers = Counter(problem.kind for problem in found.problems)
    told: Counter[str] = Counter()
    for problem in found.problems:
        told[problem.kind] += 1
        if told[problem.kind] == 1:
            yield f"{problem.kind}: {MEANING[problem.kind]}"
        if told[problem.kind] <= SHOWN:
            yield f"  {_place(problem)}"
        elif told[problem.kind] == SHOWN + 1:
            yield f"  ... and {numbers[problem.kind] - SHOWN} more"


def _place(problem: Inconsistency) -> str:
    return f"{harmless(problem.where)}: {harmless(problem.what)}"


def plain(found: Verification) -> dict[str, Any]:
    """The verification for machines."""
    results = found.results
    return {
        "package": harmless(found.path),
        "sha256": found.sha256,
        "exit": {"code": int(found.code), "holds": [_held(held) for held in found.holds]},
        "consistent": not found.problems and found.whole,
        "signed": found.signed,
        "problems": [
            {"id": problem.kind.value, "where": problem.where, "what": problem.what} for problem in found.problems
        ],
        "judged": found.judged,
        "statement_places_empty": found.unfilled,
        "limit_answers": found.answered,
        "challenge": {"seed": found.manifest.about.challenge if found.manifest else "", "cases": found.drawn},
        "runs": [
            {"backend": run.backend, "identity": dict(run.identity), "totals": run.totals}
            for run in (results.runs if results else ())
        ],
    }


def _held(held: Held) -> dict[str, Any]:
    return {"code": held.code, "reason": held.reason}
