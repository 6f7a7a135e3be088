"""Profiles: which functions the documents say a product supports."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acl_cts.conformance.selection import suggestion
from acl_cts.reports.files import ReportError
from acl_cts.reports.hand_written import HandWritten, read_hand_written
from acl_cts.reports.profile_use import Claim, ProfileUse
from acl_cts.reports.results import BackendRun
from acl_cts.specs.loader import optional_tables
from acl_cts.specs.model import Spec

HERE = Path(__file__).parent
FOLDER = HERE / "profiles"
SCHEMA = HERE / "profile.schema.json"


@dataclass(frozen=True, slots=True)
class Profile:
    """What one product claims. `version` goes up with every change of it. `documents`: edition by document. `claims`:
    by function, of the families that are loaded. `written`: its file."""

    name: str
    version: int
    title_en: str
    title_zh: str
    documents: Mapping[str, str]
    claims: Mapping[str, Claim]
    written: HandWritten

    def use(self, must_pass: str) -> ProfileUse:
        """What results tell of it; `must_pass`: digest of its list of cases, '' without one."""
        return ProfileUse(
            self.name, self.version, self.title_en, self.title_zh, self.written.sha256, self.documents, must_pass
        )

    def claimed(self, run: BackendRun) -> BackendRun:
        """`run` with what is claimed of every function beside what was found."""
        return dataclasses.replace(
            run,
            support=tuple(
                dataclasses.replace(entry, claim=self.claims.get(entry.function, Claim.NONE)) for entry in run.support
            ),
        )


def profile_names() -> tuple[str, ...]:
    """The profiles that come with the suite."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load_profile(name: str, spec: Spec) -> Profile:
    """The profile called `name`, or in the file of that path, for the tables `spec`. Raises ReportError when there is
    none, when it names what the tables do not have, or is about another edition of a document."""
    written = read_hand_written(_path(name), SCHEMA)
    data = written.data
    _check_editions(written, spec)
    return Profile(
        name=data["profile"],
        version=data["version"],
        title_en=data["title"]["en"],
        title_zh=data["title"].get("zh", ""),
        documents=dict(data["documents"]),
        claims=_claims(written, spec),
        written=written,
    )


def _path(name: str) -> Path:
    if name in profile_names():
        return FOLDER / f"{name}.yaml"
    if not Path(name).exists():
        hint = suggestion(name, profile_names()) or f"; there are {', '.join(profile_names())}"
        raise ReportError(f"no profile is called {name!r}, and no file{hint}")
    return Path(name)


def _claims(written: HandWritten, spec: Spec) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    for name, told in written.data["families"].items():
        family = spec.families.get(name)
        if family is None:
            if name not in optional_tables():
                known = [*spec.families, *optional_tables()]
                hint = suggestion(name, known) or f"; there are {', '.join(known)}"
                raise written.error(f"no family is called {name!r}{hint}; others need --table", "families", name)
            continue
        own = [function for function in family.functions if not spec.functions[function].auxiliary]
        claims |= dict.fromkeys(own, Claim(told["claim"]))
        for function, claim in told.get("functions", {}).items():
            if function not in own:
                hint = suggestion(function, own) or f"; there are {', '.join(own)}"
                where = ("families", name, "functions", function)
                raise written.error(f"family {name} has no function {function!r}{hint}", *where)
            claims[function] = Claim(claim)
    return claims


def _check_editions(written: HandWritten, spec: Spec) -> None:
    editions = {clause.source.document: clause.source.edition for clause in spec.clauses.values()}
    for document, edition in written.data["documents"].items():
        stated = editions.get(document)
        if stated is None:
            hint = suggestion(document, editions) or f"; there are {', '.join(editions)}"
            raise written.error(f"the tables have no document {document!r}{hint}", "documents", document)
        if stated != edition:
            told = f"is about edition {edition!r} of {document}, the tables state edition {stated!r}"
            raise written.error(told, "documents", document)
