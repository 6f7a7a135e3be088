"""Verifying a qualification package: no device, no library, no compiler; every verdict is judged again."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from acl_cts.conformance.case import Case
from acl_cts.conformance.challenge import FILE as CHALLENGE
from acl_cts.conformance.challenge import challenge_to_json
from acl_cts.conformance.consistency import inconsistent
from acl_cts.conformance.failures import PROGRAM, REPRODUCER, SETTING, TRACE, reproducer
from acl_cts.conformance.journal import JOURNAL, Past, stands
from acl_cts.conformance.limit_probe import Choice, every
from acl_cts.conformance.mustpass import MustPassList, read_list
from acl_cts.conformance.plugin import everything
from acl_cts.conformance.profile import Profile, load_profile, profile_names
from acl_cts.conformance.rejudging import Rejudging
from acl_cts.conformance.selection import Selection, SelectionError
from acl_cts.conformance.setting import setting_from_json
from acl_cts.conformance.trace_file import DamagedTraceError, parse_kept, trace_file
from acl_cts.expecting import Expecting, everything_known
from acl_cts.fuzz.challenge import draw_challenge
from acl_cts.qualification.contents import BrokenOffError, Contents
from acl_cts.qualification.package import CASES, FAILURES, LIST, PROFILE, WAIVERS, case_lines
from acl_cts.qualification.signing import Signature, SignatureError, check_signature
from acl_cts.reports.acceptance import Expectations
from acl_cts.reports.archive import Archive, ArchiveError, read_archive_bytes
from acl_cts.reports.exit_code import PRECEDENCE, ExitCode, final, holding
from acl_cts.reports.files import ReportError
from acl_cts.reports.harmless import harmless
from acl_cts.reports.inconsistency import Inconsistency, Wrong
from acl_cts.reports.manifest import Manifest, about
from acl_cts.reports.profile_use import Claim, ProfileUse
from acl_cts.reports.results import DISCREPANCY, RED, BackendRun, CaseResult, Held, Results
from acl_cts.reports.statement import STATEMENT
from acl_cts.reports.tables import tables_of
from acl_cts.reports.universe import Universe
from acl_cts.reports.waivers import WaiverFile, take_waivers
from acl_cts.reports.words import counted
from acl_cts.resume import FREE
from acl_cts.specs.loader import table_digests
from acl_cts.specs.model import Limit, Spec
from acl_cts.specs.program_text import format_program
from acl_cts.specs.recipe import Recipe
from acl_cts.specs.trace import Capability
from acl_cts.specs.trace_json import trace_to_json

MOST_TEXT = 2**20
"""Bytes of a text that a person wrote."""

MOST_PROBLEMS = 1000
"""Inconsistencies after which the traces of a package are not worth a further look."""

EVIDENCE = (PROGRAM, REPRODUCER, TRACE, SETTING)
"""What a run keeps of every failure."""

PRESENT = frozenset(map(str, (Capability.DATA_ACCESS, Capability.EXIT, Capability.MEMORY)))
"""What the executor brings along wherever a device is: a run without it judged less, by the package's own word."""

NATIVE = ("acl", "core")
"""Backends with an executor."""

FILTERS = ("families", "functions", "groups", "clauses", "cases")

_COMMENT = re.compile(r"/\*\n(?: \*(?: (?!.*(?:\*/|/\*|\?\?|\\$))[^\r\n]*)?\n)+ \*/\n", re.MULTILINE)
"""A comment and nothing else: a line of it neither ends it nor runs into the next one."""

Watch = Callable[[int, int], None]
"""Is told how many traces were judged again, and of how many."""


@dataclass(slots=True)
class Verification:
    """What came of it. `holds`: exit codes that follow from the verifier's own judgement. `signed`: one line about who
    signed, '' when nobody looked. `judged`: traces judged again, `answered`: answers about limits, `drawn`: cases of
    the challenge, `unfilled`: places of the statement that are empty. `whole`: everything was looked at."""

    path: Path
    sha256: str
    problems: list[Inconsistency] = field(default_factory=list)
    holds: tuple[Held, ...] = ()
    signed: str = ""
    results: Results | None = None
    manifest: Manifest | None = None
    judged: int = 0
    answered: int = 0
    drawn: int = 0
    unfilled: int = 0
    whole: bool = False

    @property
    def code(self) -> ExitCode:
        """The exit code."""
        return ExitCode.INCONSISTENT if self.problems or not self.whole else ExitCode(final(self.holds))


@dataclass(frozen=True, slots=True)
class Asked:
    """What the verifier asks for. `challenge`: the seed that they named, '' for none. `profile`: name or file, '' for
    the one that the package names. `tables`: of further families. `today`: the day by which waivers are looked at."""

    challenge: str = ""
    profile: str = ""
    tables: tuple[str, ...] = ()
    signed_by: str = ""
    signature: Path | None = None
    today: date | None = None


def verify_package(path: Path, asked: Asked | None = None, watch: Watch = lambda done, total: None) -> Verification:
    """Verify the package at `path`. Raises ArchiveError when it is not safe to read, or not this version's to judge;
    SignatureError when a signature cannot be looked at."""
    asked = asked or Asked()
    raw = read_archive_bytes(path)
    found = Verification(path, hashlib.sha256(raw).hexdigest())
    if asked.signed_by:
        try:
            found.signed = check_signature(raw, path, Signature.parse(asked.signed_by), asked.signature)
        except SignatureError as error:
            if not error.refuted:
                raise
            found.problems.append(Inconsistency(Wrong.SIGNATURE, path.name, str(error)))
            return found  # nothing in it is worth a look
    verifier = _Verifier(Contents(Archive.take(path, raw), found.problems.append), found, asked, watch)
    with contextlib.suppress(BrokenOffError):  # what could not be read was reported
        verifier.verify()
        found.whole = True
    return found


@dataclass(slots=True)
class _Verifier:
    """One verification on its way."""

    contents: Contents
    found: Verification
    asked: Asked
    watch: Watch
    spec: Spec = field(init=False)
    listed: tuple[Case, ...] = field(init=False)
    case_list: str = field(init=False)
    cases: dict[str, Case] = field(default_factory=dict)
    partial: list[str] = field(default_factory=list)
    """Why less was judged than a whole run judges, as far as the package's own word has to be taken for it."""

    def verify(self) -> None:
        """Look at everything."""
        self.spec, self.listed, self.case_list = everything(self.asked.tables)
        self.found.manifest = manifest = self.contents.manifest()
        self.found.results = results = self.contents.results()
        profile, must_pass = self._profile(results)
        self._tables(results)
        self._about(manifest, results)
        challenge = self._challenge(results)
        self.cases = {case.id: case for case in (*self.listed, *challenge)}
        form = self.contents.optional(STATEMENT, MOST_TEXT) or b""
        self.found.unfilled = len(re.findall(rb"\[[^\]\n]*\]\r?$", form, re.MULTILINE))
        journal = self.contents.journal()
        if not results.runs:
            self._wrong(Wrong.RESULTS, "results.json", "tells of no backend")
        self._members(results)
        for run in results.runs:
            self._complete(run, results)
            self._rejudge(run, results)
            if journal is not None:
                self._journal(run, journal, results)
        if journal is not None:
            self._begun(journal, results)
        self._expected(results, profile, must_pass)

    def _wrong(self, kind: Wrong, where: str, what: str) -> None:
        self.contents.report(Inconsistency(kind, where, what))

    # -- tables, cases, who it is about

    def _tables(self, results: Results) -> None:
        if results.spec != self.spec.digest:
            told = (
                f"the results rest on tables {harmless(results.spec[:12])}, the verifier's are {self.spec.digest[:12]}"
            )
            self._wrong(Wrong.TABLES, "results.json", told)
        elif results.tables != tables_of(self.spec):
            self._wrong(Wrong.TABLES, "results.json", "what it quotes of the tables is not in the verifier's")
        if results.shard is not None:
            self._wrong(Wrong.RESULTS, "results.json", f"it is {results.shard} only; a package is about a whole run")
        if results.fail_on != DISCREPANCY:
            self._wrong(Wrong.FAIL_ON, "results.json", "only breaches of some strengths count as discrepancies")
        for run in results.runs:
            if run.case_list != self.case_list:
                self._wrong(Wrong.CASE_LIST, run.backend, "its hash of the case list is not that of the verifier's")
        listed = self.contents.optional(CASES)
        if listed is not None and listed != case_lines(self.listed).encode():
            self._wrong(Wrong.CASE_LIST, CASES, "lists other cases than the verifier has")

    def _about(self, manifest: Manifest, results: Results) -> None:
        expected = about(
            results, table_digests(self.asked.tables), self.case_list, str(results.options.get("challenge", ""))
        )
        for each in dataclasses.fields(expected):
            if getattr(expected, each.name) != getattr(manifest.about, each.name):
                self._wrong(Wrong.ABOUT, "manifest.json", f"about.{each.name} is not that of the results")

    def _members(self, results: Results) -> None:
        """Whether only what is kept of failures lies among what is kept of failures."""
        kept = {case.files: case for run in results.runs for case in run.cases if case.files}
        for name in self.contents.archive.sizes:
            if name.startswith(f"{FAILURES}/"):
                place, _, file = name.rpartition("/")
                if place not in kept or (file not in EVIDENCE and not re.fullmatch(r"before-\d{3,}\.txt", file)):
                    self._wrong(Wrong.MEMBER_EXTRA, name, "is nothing that a run keeps of a failure")

    def _challenge(self, results: Results) -> tuple[Case, ...]:
        """The cases of the challenge, drawn again."""
        seed = results.options.get("challenge", "")
        if not isinstance(seed, str) or len(seed) > 1000:
            self._wrong(Wrong.CHALLENGE, "results.json", "its seed is no text")
            return ()
        if self.asked.challenge and seed != self.asked.challenge:
            told = f"by the seed {harmless(seed)!r}" if seed else "without a challenge"
            self._wrong(Wrong.CHALLENGE, "results.json", f"the run was made {told}")
        if not seed:
            return ()
        drawn = draw_challenge(self.spec, seed, self.listed)
        if CHALLENGE not in self.contents.archive.sizes:
            self._wrong(Wrong.CHALLENGE, CHALLENGE, "is missing")
        elif self.contents.json(CHALLENGE, Wrong.CHALLENGE) != challenge_to_json(drawn.challenge):
            self._wrong(Wrong.CHALLENGE, CHALLENGE, f"is not what the seed {harmless(seed)!r} draws")
        self.found.drawn = len(drawn.cases)
        return drawn.cases

    def _complete(self, run: BackendRun, results: Results) -> None:
        """Whether every case that must be there is, and no other."""
        stated = {case.id for case in run.cases}
        for id in sorted(stated - self.cases.keys()):
            self._wrong(Wrong.CASE_UNKNOWN, f"{run.backend}: {id}", "is no case of the verifier's")
        options = results.options
        chosen = self._selection(options)
        if results.filtered != (bool(chosen) or bool(options.get("keyword"))):
            self._wrong(
                Wrong.RESULTS, "results.json", "whether it is about a selection does not follow from its options"
            )
        if results.filtered and (options.get("keyword") or options.get("rerun_failed")):
            return  # what was selected is not for the verifier to say; the package counts as incomplete
        try:
            expected = {case.id for case in chosen.apply(self.cases.values())}
        except SelectionError as error:
            self._wrong(Wrong.RESULTS, "results.json", f"its options: {error}")
            return
        for id in sorted(expected - stated):
            self._wrong(Wrong.CASE_MISSING, f"{run.backend}: {id}", "has no result")
        for id in sorted((stated & self.cases.keys()) - expected):
            self._wrong(Wrong.CASE_UNKNOWN, f"{run.backend}: {id}", "was not selected")

    def _selection(self, options: Any) -> Selection:
        """What was selected, by the options of the run."""
        given = {name: options.get(name, ()) for name in FILTERS}
        for name, values in given.items():
            if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
                self._wrong(Wrong.RESULTS, "results.json", f"options.{name} is no list of texts")
                raise BrokenOffError
        return Selection(**{name: tuple(values) for name, values in given.items()})

    # -- judging again

    def _rejudge(self, run: BackendRun, results: Results) -> None:
        try:
            again = Rejudging(self.spec, self.cases, run, self.contents.report)
        except ValueError:
            self._wrong(Wrong.RESULTS, run.backend, "declares a capability that there is not")
            return
        name = trace_file(Path(), run.backend).as_posix()
        total = sum(1 for case in run.cases if case.attempts)
        if name not in self.contents.archive.sizes:
            self._wrong(Wrong.MEMBER_MISSING, name, "every package has it")
        else:
            for number, line in enumerate(self.contents.archive.lines(name), 1):
                try:
                    again.take(parse_kept(line))
                except DamagedTraceError as error:
                    if "nested" in str(error) or "no number" in str(error):
                        raise ArchiveError(
                            "bad-json", f"{self.found.path}: {name}:{number} {harmless(error)}"
                        ) from error
                    self._wrong(Wrong.TRACE, f"{name}:{number}", str(error))
                    if len(self.found.problems) >= MOST_PROBLEMS:
                        raise BrokenOffError from error  # nobody reads more, and a file of junk could hold millions
                self.watch(self.found.judged + again.took, total)
        again.finish(self._probed(results), hurried=results.options.get("max_time") is not None)
        if again.hurried_limits:
            told = f"{counted(again.hurried_limits, 'limit')} of {run.backend} not probed for want of time"
            self.partial.append(told)
        native = run.backend.partition(":")[0] in NATIVE
        absent = sorted(PRESENT - set(run.capabilities)) if native else []
        if absent:
            self.partial.append(f"{run.backend} is said to lack {', '.join(absent)}, which a device of its own has")
        self.found.judged += again.took
        self.found.answered += again.answered
        if inconsistent(self.spec, run.cases) != run.notes:
            self._wrong(Wrong.NOTES, run.backend, "its notes do not follow from the answers at open points")
        for case in run.cases:
            self._evidence(run, case, again)

    def _probed(self, results: Results) -> Choice | None:
        """The limits that a run with these options probes, as `run` chooses them."""
        options = results.options
        if options.get("keyword") or any(options.get(name) for name in ("groups", "clauses", "cases", "rerun_failed")):
            return lambda limit, recipe: False
        families, functions = options.get("families", ()), options.get("functions", ())
        if not families and not functions:
            return every

        def choice(limit: Limit, recipe: Recipe) -> bool:
            of_family = not families or limit.family in families
            return of_family and (not functions or recipe.function in functions)

        return choice

    def _evidence(self, run: BackendRun, case: CaseResult, again: Rejudging) -> None:
        """Whether what is kept of a failure is of that failure."""
        where = f"{run.backend}: {case.id}"
        program = again.executed.get(case.id)
        if program is None:
            return
        if not case.files:
            if case.verdict in RED:
                self._wrong(Wrong.EVIDENCE, where, "failed, and nothing is kept of it")
            return
        names = [f"{case.files}/{name}" for name in EVIDENCE]
        absent = [name for name in names if name not in self.contents.archive.sizes]
        if absent or case.evidence is None:
            self._wrong(Wrong.EVIDENCE, where, f"{(absent or ['what shows the failure'])[0]} is missing")
            return
        text = format_program(program)
        if self.contents.archive.read(names[0]) != text.encode() or case.evidence.program != text:
            self._wrong(Wrong.EVIDENCE, where, "the program kept is not the one that was executed")
        if self.contents.json(names[2], Wrong.EVIDENCE) != trace_to_json(again.traces[case.id]):
            self._wrong(Wrong.EVIDENCE, where, "the trace beside the program is not that of the run")
        shown = self.contents.archive.read(names[1]).decode("utf-8", "replace")
        if case.evidence.reproducer and shown != case.evidence.reproducer:
            self._wrong(Wrong.EVIDENCE, where, "the reproducer in the results is not the one that is kept")
        try:
            build = setting_from_json(self.contents.json(names[3], Wrong.EVIDENCE)).build
        except (KeyError, TypeError, ValueError):
            self._wrong(Wrong.EVIDENCE, where, "what is kept does not tell how it was executed")
            return
        body = reproducer(program, case, again.traces.get(case.id), self.spec, build)
        head = shown.removesuffix(body)
        if head == shown or not _COMMENT.fullmatch(head):
            self._wrong(Wrong.EVIDENCE, where, "the reproducer is not that of the program and its failure")

    # -- the journal

    def _begun(self, journal: Past, results: Results) -> None:
        begun = journal.begun
        if (begun.version, begun.spec, begun.started) != (results.version, results.spec, results.started):
            self._wrong(Wrong.JOURNAL, JOURNAL, "tells of a run that began otherwise than that of the results")
        given = begun.given if isinstance(begun.given, dict) else {}
        asked, options = ({n: v for n, v in told.items() if n not in FREE} for told in (given, results.options))
        if asked != options:
            self._wrong(Wrong.JOURNAL, JOURNAL, "tells of other options than the results")
        extra = journal.stories.keys() - {run.backend for run in results.runs}
        for backend in sorted(extra, key=str):
            self._wrong(Wrong.JOURNAL, JOURNAL, f"tells of {harmless(backend)}, which has no results")

    def _journal(self, run: BackendRun, journal: Past, results: Results) -> None:
        story = journal.stories.get(run.backend)
        if story is None or story.opened is None:
            self._wrong(Wrong.JOURNAL, JOURNAL, f"does not tell of {harmless(run.backend)}")
            return
        if (story.opened.identity, story.opened.capabilities) != (run.identity, run.capabilities):
            self._wrong(Wrong.JOURNAL, JOURNAL, f"{run.backend}: another library was opened than the results name")
        bare = {case.id: _bare(case) for case in run.cases}
        judged = {id: _bare(case) for id, case in story.results.items()}
        for id in sorted(judged.keys() | bare.keys()):
            if judged.get(id) != bare.get(id) and (id not in bare or stands(bare[id])):
                self._wrong(Wrong.JOURNAL, f"{JOURNAL}: {run.backend}: {id}", "has another result there")

    # -- what was claimed, expected and accepted

    def _profile(self, results: Results) -> tuple[Profile | None, MustPassList | None]:
        """The verifier's own profile of the name that is asked for, or that the package names."""
        stated = results.profile
        wanted = load_profile(self.asked.profile, self.spec) if self.asked.profile else None
        if wanted is not None and (stated is None or stated.name != wanted.name):
            used = f"{harmless(stated.name)} {stated.version}" if stated else "none"
            told = f"the run was judged by the profile {used}, not by {wanted.name} {wanted.version}"
            self._wrong(Wrong.PROFILE, "results.json", told)
            wanted = None
            if stated is not None and stated.name not in profile_names():
                raise BrokenOffError  # nothing to hold the rest against
        if stated is None:
            return None, None
        if wanted is None and stated.name not in profile_names():
            unknown = f"the profile {harmless(stated.name, 60)!r}, which is not known here"
            raise ArchiveError(
                "other-profile", f"{self.found.path}: was judged by {unknown}; give it with --profile FILE"
            )
        profile = wanted or load_profile(stated.name, self.spec)
        must_pass = read_list(profile)
        self._same_profile(stated, profile.use(must_pass.sha256 if must_pass else ""))
        return profile, must_pass

    def _same_profile(self, stated: ProfileUse, ours: ProfileUse) -> None:
        """Whether the profile that the package names and holds is the verifier's."""
        if stated != ours:
            told = f"the profile {ours.name} of the run is not the verifier's"
            self._wrong(Wrong.PROFILE, "results.json", told)
        for member, sha256 in ((PROFILE, ours.sha256), (LIST, ours.must_pass)):
            content = self.contents.optional(member)
            if sha256 and (content is None or hashlib.sha256(content).hexdigest() != sha256):
                self._wrong(Wrong.PROFILE, member, "is missing" if content is None else "is not the verifier's")

    def _waivers(self, results: Results) -> WaiverFile | None:
        raw = self.contents.optional(WAIVERS, MOST_TEXT)
        stated = results.expected
        if raw is None or stated is None or not stated.waiver_file:
            if raw is not None or stated is not None:
                told = "is there, and the results name none" if raw is not None else "is missing"
                self._wrong(Wrong.WAIVERS, WAIVERS, told)
            return None
        if hashlib.sha256(raw).hexdigest() != stated.waiver_sha256:
            self._wrong(Wrong.WAIVERS, WAIVERS, "is not the file that the results name")
        try:
            return take_waivers(Path(stated.waiver_file), raw)
        except ReportError as error:
            self._wrong(Wrong.WAIVERS, WAIVERS, str(error))
            return None

    def _expected(self, results: Results, profile: Profile | None, must_pass: MustPassList | None) -> None:
        """Whether claims, waivers, numbers and exit codes follow from the cases."""
        waivers = self._waivers(results)
        if results.expected is not None and results.expected.baseline is not None:
            self._wrong(Wrong.ACCEPTED, "results.json", "a baseline accepts failures; only waivers may")
        expecting = Expecting(
            profile=profile if results.profile else None,
            listed=must_pass if results.profile else None,
            expectations=Expectations(None, waivers),
            known=self._known(results) if waivers else None,
        )
        try:
            ours = expecting.applied(_unmarked(results))
        except ValueError:
            self._wrong(Wrong.RESULTS, "results.json", "began on no day of the calendar")
            return
        for mine, run in zip(ours.runs, results.runs, strict=True):
            for what, place in _differently_accepted(mine, run):
                self._wrong(Wrong.ACCEPTED, f"{run.backend}: {place}", what)
            if [entry.claim for entry in mine.support] != [entry.claim for entry in run.support]:
                self._wrong(Wrong.PROFILE, run.backend, "what it claims of functions is not in the profile")
            if mine.must_pass != run.must_pass:
                self._wrong(Wrong.MUST_PASS, run.backend, "how it stands to the must-pass list does not follow")
        if waivers is not None and ours.expected != results.expected:
            self._wrong(Wrong.WAIVERS, "results.json", "what became of the waivers does not follow from the cases")
        holds = holding(ours, DISCREPANCY)
        if holds != results.holds or final(holds) != results.code:
            told = f"exit code {final(holds)} follows from the cases with other reasons than those stated"
            if final(holds) != results.code:
                told = f"exit code {final(holds)} follows from the cases, {results.code} is stated"
            self._wrong(Wrong.EXIT, "results.json", told)
        self.found.holds = self._holding(holds, results, waivers)

    def _known(self, results: Results) -> Universe:
        """Everything that a pattern may name; a backend that was judged there need not be installed here."""
        known = everything_known(self.spec, self.listed)
        judged = {run.backend.partition(":")[0] for run in results.runs}
        return dataclasses.replace(known, backends=known.backends | judged)

    def _holding(self, holds: Sequence[Held], results: Results, waivers: WaiverFile | None) -> tuple[Held, ...]:
        """The exit codes of the verification, when the package is consistent."""
        found = [
            Held(ExitCode.INCOMPLETE, held.reason) if held.code == ExitCode.INTERRUPTED else held for held in holds
        ]
        found += [Held(ExitCode.INCOMPLETE, reason) for reason in self.partial]
        if results.filtered or results.options.get("rerun_failed") or results.options.get("keyword"):
            found.append(Held(ExitCode.INCOMPLETE, "the package is about a selection of the cases only"))
        today = self.asked.today or datetime.now(UTC).date()
        for waiver in waivers.waivers if waivers else ():
            known = any(held.code == ExitCode.STALE and f"waiver {waiver.id}:" in held.reason for held in holds)
            if date.fromisoformat(waiver.expires) < today and not known:
                found.append(Held(ExitCode.STALE, f"waiver {waiver.id} has expired on {waiver.expires}"))
        return tuple(sorted(found, key=lambda held: PRECEDENCE.index(ExitCode(held.code))))


def _bare(case: CaseResult) -> CaseResult:
    """`case` as the journal has it."""
    return dataclasses.replace(case, files="", evidence=None, accepted=())


def _unmarked(results: Results) -> Results:
    """`results` without what a profile and waivers put into them."""
    runs = tuple(
        dataclasses.replace(
            run,
            cases=tuple(dataclasses.replace(case, accepted=()) if case.accepted else case for case in run.cases),
            limits=tuple(dataclasses.replace(limit, accepted=()) for limit in run.limits),
            support=tuple(dataclasses.replace(entry, accepted=(), claim=Claim.NONE) for entry in run.support),
            must_pass=None,
        )
        for run in results.runs
    )
    return dataclasses.replace(results, runs=runs, profile=None, expected=None)


def _differently_accepted(ours: BackendRun, theirs: BackendRun) -> Iterator[tuple[str, str]]:
    """What is accepted in one and not, or by others, in the other."""
    for mine, case in zip(ours.cases, theirs.cases, strict=True):
        if mine.accepted != case.accepted:
            yield _by(case.accepted, mine.accepted), case.id
    for limit, other in zip(ours.limits, theirs.limits, strict=True):
        if limit.accepted != other.accepted:
            yield _by(other.accepted, limit.accepted), f"{other.limit} of {other.function}"
    for entry, function in zip(ours.support, theirs.support, strict=True):
        if entry.accepted != function.accepted:
            yield _by(function.accepted, entry.accepted), function.function


def _by(stated: Sequence[str], ours: Sequence[str]) -> str:
    return f"is stated as accepted by {', '.join(stated) or 'nobody'}, the waivers say {', '.join(ours) or 'nobody'}"


def by_kind(problems: Sequence[Inconsistency]) -> dict[Wrong, int]:
    """How many there are of each kind."""
    return dict(Counter(problem.kind for problem in problems))
