"""What a package holds, read piece by piece: each is there, whole, and of its form, or it is told what is wrong."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts import __version__
from acl_cts.conformance.journal import JOURNAL, JournalError, Past, take_journal
from acl_cts.qualification.package import CASES
from acl_cts.reports.archive import Archive, ArchiveError
from acl_cts.reports.files import ReportError, SealError, sealed, unsealed
from acl_cts.reports.harmless import harmless
from acl_cts.reports.inconsistency import Inconsistency, Wrong
from acl_cts.reports.manifest import MANIFEST, Manifest, manifest_from_json
from acl_cts.reports.results import Results, from_json
from acl_cts.reports.statement import STATEMENT
from acl_cts.reports.stored import RESULTS
from acl_cts.reports.strict_json import StrictError, strict

ALWAYS = (RESULTS, JOURNAL, CASES, STATEMENT)
"""Members of every package, the manifest aside."""

LARGEST = 128 * 2**20
"""Bytes of what is read as a whole; results of a library that fails everywhere have half as many."""

Report = Callable[[Inconsistency], None]


class BrokenOffError(Exception):
    """Without what could not be read nothing else can be looked at; what is wrong was reported."""


@dataclass(slots=True)
class Contents:
    """The pieces of `archive`. `report` is told what is wrong. What is not safe to read raises ArchiveError."""

    archive: Archive
    report: Report

    def manifest(self) -> Manifest:
        """The manifest, and everything held against it. Raises BrokenOffError without one, ArchiveError for a package
        of another version."""
        if MANIFEST not in self.archive.sizes:
            self._wrong(Wrong.MEMBER_MISSING, MANIFEST, "every package has it")
            raise BrokenOffError
        try:
            manifest = manifest_from_json(self.json(MANIFEST, Wrong.MANIFEST))
        except ValueError as error:
            self._wrong(Wrong.MANIFEST, MANIFEST, str(error))
            raise BrokenOffError from None
        if manifest.about.version != __version__:
            version = harmless(manifest.about.version, 40)
            told = f"was made by acl-cts {version}, this is {__version__}; verify it with that version"
            raise ArchiveError("other-version", f"{self.archive.path}: {told}")
        self._hold(manifest)
        return manifest

    def _hold(self, manifest: Manifest) -> None:
        """Hold every member against the manifest."""
        sizes = dict(self.archive.sizes)
        del sizes[MANIFEST]
        listed = Counter(member.name for member in manifest.members)
        for name, number in listed.items():
            if number > 1:
                self._wrong(Wrong.MANIFEST, MANIFEST, f"names {harmless(name)} {number} times")
        for name in sorted(sizes.keys() - listed.keys()):
            self._wrong(Wrong.MEMBER_EXTRA, name, "is not in the manifest")
        for member in manifest.members:
            if member.name not in sizes:
                self._wrong(Wrong.MEMBER_MISSING, member.name, "is in the manifest only")
            elif (found := self._digest(member.name)) != (member.size, member.sha256):
                told = "size" if found[0] != member.size else "SHA-256"
                self._wrong(Wrong.MEMBER_CHANGED, member.name, f"its {told} is not that of the manifest")
        for name in ALWAYS:
            if name not in sizes and name not in listed:
                self._wrong(Wrong.MEMBER_MISSING, name, "every package has it")

    def results(self) -> Results:
        """The results of the run. Raises BrokenOffError when there are none."""
        if RESULTS not in self.archive.sizes:
            raise BrokenOffError  # the manifest told
        data = self.json(RESULTS, Wrong.RESULTS)
        for told in _totals(data):
            self._wrong(Wrong.TOTALS, RESULTS, told)
        for told in _twice(data):
            self._wrong(Wrong.CASE_TWICE, RESULTS, told)
        try:
            return from_json(data)
        except ValueError as error:
            self._wrong(Wrong.RESULTS, RESULTS, str(error))
            raise BrokenOffError from None

    def journal(self) -> Past | None:
        """The journal of the run, None when there is none that can be read."""
        content = self.optional(JOURNAL, LARGEST)
        if content is None:
            return None
        if not content.endswith(b"\n"):
            self._wrong(Wrong.JOURNAL, JOURNAL, "its last line is cut off")
        try:
            return take_journal(Path(JOURNAL), content)
        except RecursionError:
            raise ArchiveError("bad-json", f"{self.archive.path}: {JOURNAL} is nested too deeply") from None
        except JournalError as error:
            told = str(error).partition(";")[0]
        except (TypeError, ValueError, AttributeError) as error:  # events whose parts are of no kind that occurs
            told = f"holds an event of another form ({type(error).__name__})"
        self._wrong(Wrong.JOURNAL, JOURNAL, told)
        return None

    def optional(self, name: str, most: int | None = None) -> bytes | None:
        """Member `name`, None when it is not there."""
        if name not in self.archive.sizes:
            return None
        return self.archive.read(name) if most is None else self.archive.read(name, most)

    def json(self, name: str, kind: Wrong) -> Any:
        """What the sealed member `name` says. Raises BrokenOffError when it is not as it was written; `kind` tells
        what it is then."""
        raw = self.archive.read(name, LARGEST)
        try:
            plain = strict(raw)
        except StrictError as error:
            raise ArchiveError("bad-json", f"{self.archive.path}: {name} {error}") from error
        if not isinstance(plain, dict):
            self._wrong(kind, name, "holds something else")
            raise BrokenOffError
        try:
            data = unsealed(name, raw)
        except SealError as error:
            self._wrong(Wrong.SEAL, name, str(error).partition(": ")[2].partition(";")[0])
            data = {key: value for key, value in plain.items() if key != "seal"}
        except ReportError as error:
            self._wrong(kind, name, str(error))
            raise BrokenOffError from None
        else:
            if sealed(data).encode("utf-8", "backslashreplace") != raw:
                self._wrong(kind, name, "is not written as acl-cts writes it")
        return data

    def _digest(self, name: str) -> tuple[int, str]:
        total, size = hashlib.sha256(), 0
        for block in self.archive.blocks(name):
            total.update(block)
            size += len(block)
        return size, total.hexdigest()

    def _wrong(self, kind: Wrong, where: str, what: str) -> None:
        self.report(Inconsistency(kind, where, what))


def _runs(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    runs = data.get("runs")
    yield from (run for run in runs if isinstance(run, dict)) if isinstance(runs, list) else ()


def _cases(run: dict[str, Any]) -> list[dict[str, Any]]:
    cases = run.get("cases")
    return [case for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []


def _totals(data: dict[str, Any]) -> Iterator[str]:
    """Where totals do not add up."""
    for run in _runs(data):
        stated = run.get("totals")
        if not isinstance(stated, dict):
            continue
        counted = Counter(str(case.get("verdict")) for case in _cases(run))
        for verdict in sorted({*counted, *map(str, stated)}):
            if stated.get(verdict, 0) != counted[verdict]:
                told = f"{harmless(stated.get(verdict, 0), 40)} times {harmless(verdict, 40)} is stated"
                yield f"{harmless(run.get('backend'), 60)}: {told}, {counted[verdict]} cases have it"


def _twice(data: dict[str, Any]) -> Iterator[str]:
    """Cases that stand there twice."""
    for run in _runs(data):
        for id, number in Counter(str(case.get("id")) for case in _cases(run)).items():
            if number > 1:
                yield f"{harmless(run.get('backend'), 60)}: {harmless(id)} has {number} results"
