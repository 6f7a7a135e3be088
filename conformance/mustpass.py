"""Must-pass lists: the cases that a library must have passed to keep what a profile claims for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from acl_cts.conformance.case import Case
from acl_cts.conformance.gate import ROBUSTNESS
from acl_cts.conformance.profile import Profile
from acl_cts.reports.files import ReportError
from acl_cts.reports.profile_use import Claim, MustPass
from acl_cts.reports.results import FAILING, BackendRun, CaseResult, Cause
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.model import Spec
from acl_cts.specs.trace import Capability

SUFFIX = ".mustpass.txt"
"""Ending of the file beside its profile's."""

HEAD = "# acl-cts must-pass list 1"
"""First line of a list; the second names the profile, then come ids, one a line, in order."""

USUAL = frozenset({Capability.STREAMS, Capability.DATA_ACCESS, Capability.EXIT})
"""What every library with the runtime's ABI can be brought to do; a case that needs more must not be passed."""


@dataclass(frozen=True, slots=True)
class MustPassList:
    """Ids of cases, and the SHA-256 of the file that holds them."""

    ids: tuple[str, ...]
    sha256: str


def must_pass(profile: Profile, spec: Spec, cases: Iterable[Case]) -> tuple[str, ...]:
    """Ids of the cases that follow from what `profile` claims: every function in them is supported, and they need
    nothing that a library may lack."""
    claimed = {function for function, claim in profile.claims.items() if claim is Claim.SUPPORTED}
    free = {name for name, function in spec.functions.items() if function.auxiliary}
    return tuple(
        sorted(
            case.id
            for case in cases
            if not case.planned
            and case.group != ROBUSTNESS
            and case.needs <= USUAL
            and case.functions <= claimed | free
            and case.functions & claimed
        )
    )


def list_path(profile: Profile) -> Path:
    """Where the list of `profile` stands: beside its file."""
    path = profile.written.path
    return path.with_name(path.stem + SUFFIX)


def list_text(profile: Profile, ids: Iterable[str]) -> str:
    """The file of a list."""
    return "".join(f"{line}\n" for line in (HEAD, f"# profile {profile.name} {profile.version}", *ids))


def read_list(profile: Profile) -> MustPassList | None:
    """The list beside the file of `profile`, None when there is none. Raises ReportError when it is another one's, or
    not of this form."""
    path = list_path(profile)
    try:
        raw = path.read_bytes()
        lines = raw.decode("utf-8").splitlines()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: cannot be read ({error})") from error
    again = f"make it anew with `acl-cts spec mustpass {profile.name} --write`"
    if lines[:1] != [HEAD]:
        raise ReportError(f"{path}:1: is no must-pass list of this version; {again}")
    if lines[1:2] != [f"# profile {profile.name} {profile.version}"]:
        raise ReportError(f"{path}:2: is not the list of profile {profile.name}, version {profile.version}; {again}")
    ids = tuple(lines[2:])
    for number, (before, id) in enumerate(pairwise(ids), 4):
        if before >= id:
            raise ReportError(f"{path}:{number}: ids must stand in order, each once; {again}")
    return MustPassList(ids, hashlib.sha256(raw).hexdigest())


def fulfilled(listed: MustPassList, run: BackendRun) -> MustPass:
    """How `run` stands to the list. A case that is not in the run counts as missing."""
    results = {case.id: case for case in run.cases}
    excused = {entry.function for entry in run.support if entry.accepted}
    groups: dict[str, list[str]] = {"passed": [], "tolerated": [], "failed": [], "accepted": [], "missing": []}
    for id in listed.ids:
        groups[_kind(results.get(id), excused)].append(id)
    numbers = {name: len(ids) for name, ids in groups.items()}
    return MustPass(len(listed.ids), **numbers, first=next(iter(groups["missing"]), ""))


def _kind(case: CaseResult | None, excused: set[str]) -> str:
    """What became of a case; `excused`: functions that somebody expects not to be supported."""
    if case is None:
        return "missing"
    if case.accepted or (case.verdict is Verdict.NOT_SUPPORTED and not excused.isdisjoint(case.functions)):
        return "accepted"
    if case.verdict is Verdict.PASS:
        return "passed"
    if case.verdict in FAILING | {Verdict.FLAKY, Verdict.BLOCKED}:
        return "failed"
    reached = case.verdict is Verdict.NOT_RUN and case.cause is Cause.NOT_REACHED
    return "tolerated" if reached or case.verdict is Verdict.INCONCLUSIVE else "missing"
