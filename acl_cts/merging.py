"""Merging: the shards of one run put together again, once it is proved that they are one run and that all are there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts import __version__
from acl_cts.backends.backend import Options
from acl_cts.commands.options import replay_command
from acl_cts.conformance.case import Case
from acl_cts.conformance.consistency import inconsistent
from acl_cts.conformance.failures import PROGRAM, REPRODUCER
from acl_cts.conformance.plugin import by_item, everything
from acl_cts.conformance.selection import Selection
from acl_cts.conformance.sharding import sharded
from acl_cts.expecting import NAMES, take_expecting
from acl_cts.reports.evidence import Evidence
from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.expected import Expected
from acl_cts.reports.files import ReportError
from acl_cts.reports.results import BackendRun, CaseResult, Results
from acl_cts.reports.roots import roots
from acl_cts.reports.shard import Shard
from acl_cts.reports.words import counted
from acl_cts.specs.model import Spec

FREE = frozenset({"out", "jobs", "quiet", "verbose", "form", "max_time", "resume", "shard"})
"""Options in which the shards of one run may differ."""

SELECTING = ("families", "functions", "groups", "clauses", "cases")


class IncompleteError(Exception):
    """A shard is missing. The message is one line: which, and what to do."""


@dataclass(frozen=True, slots=True)
class Part:
    """One shard: its results, and the folder in which they stand."""

    place: Path
    results: Results

    @property
    def shard(self) -> Shard:
        """Which one it is. Raises ReportError when it is a whole run."""
        if self.results.shard is None:
            raise ReportError(f"{self.place}: is a whole run and no shard; merge what `acl-cts run --shard I/N` wrote")
        return self.results.shard


def merge(parts: Sequence[Part], out: Path) -> Results:
    """The results of the whole run, to stand in the folder `out`. Raises ReportError when the parts are not of one run
    or overlap, IncompleteError when one is missing."""
    ordered = sorted(parts, key=lambda part: part.shard)
    _all_there(ordered)
    first = ordered[0].results
    options = _options(first)
    if first.version != __version__:
        raise ReportError(
            f"{ordered[0].place}: made by version {first.version}; merge it with that, this is {__version__}"
        )
    spec, generated, case_list = everything(options.tables)
    for part in ordered:
        _same(ordered[0], part, spec.digest, case_list)
    listed = Selection(**{name: tuple(first.options[name]) for name in SELECTING}).apply(generated)
    _covered(ordered, listed)
    expecting = take_expecting(_expected_by(first), spec, generated)
    runs = tuple(_joined(spec, listed, ordered, place, options, out) for place in range(len(first.runs)))
    shown = dict(first.options) | {"shard": "", "out": str(out)}
    results = dataclasses.replace(
        first,
        started=min(part.results.started for part in ordered),
        ended=max(part.results.ended for part in ordered),
        finished=all(part.results.finished for part in ordered),
        options=shown,
        runs=runs,
        environment=_environment(ordered),
        profile=None,
        expected=None,
        shard=None,
    )
    results = expecting.applied(results)
    for part in ordered:
        _same_expectations(part, results)
    holds = holding(results, results.fail_on)
    return dataclasses.replace(results, holds=holds, code=final(holds))


def _options(results: Results) -> Options:
    """How the backends were reached."""
    known = {field.name for field in dataclasses.fields(Options)}
    given = {name: value for name, value in results.options.items() if name in known}
    try:
        return Options(**given | {"tables": tuple(given.get("tables", ()))})
    except TypeError as error:
        raise ReportError(f"its options are not those of a run ({error})") from error


# ---------------------------------------------------------------------------------------------------------- proofs


def _all_there(parts: Sequence[Part]) -> None:
    """Every shard of one number, each once."""
    of = parts[0].shard.of
    seen: dict[int, Part] = {}
    for part in parts:
        if part.shard.of != of:
            raise ReportError(f"{part.place}: is {part.shard}, but {parts[0].place} is {parts[0].shard}; merge one run")
        if other := seen.get(part.shard.number):
            raise ReportError(f"{part.place}: is {part.shard}, and so is {other.place}; name each shard once")
        seen[part.shard.number] = part
    if missing := [number for number in range(1, of + 1) if number not in seen]:
        named = ", ".join(f"{number}/{of}" for number in missing)
        raise IncompleteError(
            f"{counted(len(missing), 'shard is', 'shards are')} missing: {named}; run it with --shard {missing[0]}/{of}"
        )


def _same(first: Part, part: Part, tables: str, case_list: str) -> None:
    """Raise ReportError when `part` is not of the same run as `first`, or of other cases than this version makes."""
    mine, other = part.results, first.results

    def differs(what: str, one: object, two: object) -> ReportError:
        return ReportError(f"{part.place}: {what} is {one}, in {first.place} it is {two}; merge shards of one run")

    if mine.version != other.version:
        raise differs("the version of the suite", mine.version, other.version)
    if mine.spec != other.spec:
        raise differs("the digest of the tables", mine.spec[:12], other.spec[:12])
    if mine.spec != tables:
        raise ReportError(f"{part.place}: judged by tables {mine.spec[:12]}, this version has {tables[:12]}")
    for name in sorted(mine.options.keys() | other.options.keys()):
        if name not in FREE and mine.options.get(name) != other.options.get(name):
            raise differs(f"the setting {name}", mine.options.get(name), other.options.get(name))
    names = [run.backend for run in mine.runs]
    if names != [run.backend for run in other.runs]:
        raise differs("the list of backends", ", ".join(names), ", ".join(run.backend for run in other.runs))
    for run, before in zip(mine.runs, other.runs, strict=True):
        for what, told in _identity(run):
            if told != dict(_identity(before)).get(what):
                raise differs(f"{run.backend}: {what}", told, dict(_identity(before)).get(what))
        if run.case_list and run.case_list != case_list:
            raise ReportError(f"{part.place}: {run.backend}: has another case list than this version makes")


def _identity(run: BackendRun) -> Iterator[tuple[str, str]]:
    """What must be the same of a library wherever it was judged; its path need not."""
    for name, value in run.identity.items():
        if name not in ("library", "details"):
            yield name, str(value)
    details = run.identity.get("details")
    if isinstance(details, dict):
        yield from ((str(name), str(value)) for name, value in details.items())
    yield "capabilities", ", ".join(run.capabilities)
    for entry in run.support:
        yield f"support of {entry.function}", entry.state.value


def _covered(parts: Sequence[Part], listed: tuple[Case, ...]) -> None:
    """Each part holds exactly the cases of its shard: then together they hold every case once."""
    for part in parts:
        wanted = {case.id for case in sharded(listed, part.shard.number, part.shard.of)}
        for run in part.results.runs:
            found = {case.id for case in run.cases}
            if lacking := sorted(wanted - found):
                raise ReportError(
                    f"{part.place}: {run.backend}: {counted(len(lacking), 'case')} of {part.shard} missing, first "
                    f"{lacking[0]}; run the shard again"
                )
            if foreign := sorted(found - wanted):
                raise ReportError(
                    f"{part.place}: {run.backend}: {counted(len(foreign), 'case')} not of {part.shard}, first "
                    f"{foreign[0]}; run the shard again"
                )


def _expected_by(first: Results) -> dict[str, Any]:
    return {name: first.options.get(name, "") for name in NAMES}


def _same_expectations(first: Part, merged: Results) -> None:
    """Raise ReportError when profile, baseline or waivers are not any more what the shards were judged by."""
    before, now = first.results, merged
    pairs: tuple[tuple[str, Callable[[Results], object]], ...] = (
        ("profile", lambda results: results.profile and (results.profile.sha256, results.profile.must_pass)),
        ("waivers", lambda results: _of(results.expected, lambda found: found.waiver_sha256)),
        ("baseline", lambda results: _of(results.expected, lambda found: found.baseline and found.baseline.sha256)),
    )
    for name, digest in pairs:
        if digest(before) != digest(now):
            raise ReportError(f"{before.options.get(name) or name}: was changed after {first.place} was judged by it")


def _of(expected: Expected | None, part: Callable[[Expected], object]) -> object:
    return None if expected is None else part(expected)


# --------------------------------------------------------------------------------------------------------- joining


def _joined(
    spec: Spec, listed: tuple[Case, ...], parts: Sequence[Part], place: int, options: Options, out: Path
) -> BackendRun:
    """One backend's part of the whole run, its cases in the order of an unsharded one."""
    runs = [part.results.runs[place] for part in parts]
    results = {case.id: _moved(case, run.backend, options, out) for run in runs for case in run.cases}
    cases = tuple(results[case.id] for _, group in by_item(listed) for case in group)
    first = runs[0]
    joined = dataclasses.replace(
        first,
        support=tuple(dataclasses.replace(entry, accepted=()) for entry in first.support),
        cases=cases,
        notes=inconsistent(spec, cases),
        limits=tuple(dataclasses.replace(limit, accepted=()) for run in runs for limit in run.limits),
        case_list=next((run.case_list for run in runs if run.case_list), ""),
        duration=sum(run.duration for run in runs),
        complete=all(run.complete for run in runs),
        trouble="; ".join(dict.fromkeys(run.trouble for run in runs if run.trouble)),
        must_pass=None,
    )
    shown = {root.cases[0].id for root in roots(joined, parts[0].results.fail_on)}
    return dataclasses.replace(joined, cases=tuple(_reproduced(case, case.id in shown, parts) for case in cases))


def _moved(case: CaseResult, backend: str, options: Options, out: Path) -> CaseResult:
    """`case` as it stands in `out`, accepted by nobody yet."""
    if case.evidence is None:
        return dataclasses.replace(case, accepted=())
    folder = out / case.files
    path = folder / PROGRAM
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    evidence = dataclasses.replace(case.evidence, command=replay_command(str(near), backend, options))
    return dataclasses.replace(case, accepted=(), evidence=evidence)


def _reproduced(case: CaseResult, shown: bool, parts: Sequence[Part]) -> CaseResult:
    """`case` with its reproducer when it is `shown`, without when it is not."""
    if case.evidence is None:
        return case
    text = (case.evidence.reproducer or _reproducer(case, parts)) if shown else ""
    return dataclasses.replace(case, evidence=Evidence(case.evidence.program, case.evidence.command, text))


def _reproducer(case: CaseResult, parts: Sequence[Part]) -> str:
    for part in parts:
        folder = failure_folder(part, case)
        if folder is not None and (folder / REPRODUCER).is_file():
            return (folder / REPRODUCER).read_text(encoding="utf-8", errors="replace")
    return ""


def failure_folder(part: Part, case: CaseResult) -> Path | None:
    """What `part` kept of a failing case; None when nothing is there, or when it would lie outside the report."""
    base = part.place.resolve()
    folder = (base / case.files).resolve()
    inside = bool(case.files) and folder != base and folder.is_relative_to(base / "failures")
    return folder if inside and folder.is_dir() else None


def _environment(parts: Sequence[Part]) -> dict[str, str]:
    """Who judged: what differs from shard to shard side by side."""
    names = dict.fromkeys(name for part in parts for name in part.results.environment)
    told = {
        name: dict.fromkeys(part.results.environment[name] for part in parts if name in part.results.environment)
        for name in names
    }
    return {name: " | ".join(values) for name, values in told.items()}
