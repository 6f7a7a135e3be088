"""Profile use: what a product's profile claims, and how far the must-pass list was fulfilled, to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from acl_cts.reports.typed import Typed


class Claim(StrEnum):
    """What a profile says of a function. `none`: nothing; then the family's status in the tables decides."""

    NONE = ""
    SUPPORTED = "supported"
    RESERVED = "reserved"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class ProfileUse:
    """The profile of a run. `documents`: edition by document. `must_pass`: SHA-256 of its list of cases, '' without."""

    name: str
    version: int
    title: str
    zh: str
    sha256: str
    documents: Mapping[str, str]
    must_pass: str = ""


@dataclass(frozen=True, slots=True)
class MustPass:
    """How one backend stands to the must-pass list: of `listed` cases, so many `passed`, were `tolerated` (the library
    reported a lack of resources where it may, or the situation did not come about), `failed`, or failed and were
    `accepted`; the rest, `missing`, were not judged. `first`: one of those."""

    listed: int
    passed: int
    tolerated: int
    failed: int
    accepted: int
    missing: int
    first: str = ""


def profile_to_json(profile: ProfileUse) -> dict[str, Any]:
    """JSON of `profile`."""
    return asdict(profile)


def profile_from_json(read: Typed) -> ProfileUse:
    """What `profile_to_json` gave. Raises ValueError for anything else."""
    return ProfileUse(
        name=read.text("name"),
        version=read.count("version"),
        title=read.text("title"),
        zh=read.text("zh"),
        sha256=read.text("sha256"),
        documents=read.text_by_name("documents"),
        must_pass=read.text("must_pass"),
    )


def must_pass_from_json(read: Typed) -> MustPass:
    """What `asdict` gave of a `MustPass`. Raises ValueError for anything else, also when it does not add up."""
    names = ("listed", "passed", "tolerated", "failed", "accepted", "missing")
    found = MustPass(**{name: read.count(name) for name in names}, first=read.text("first"))
    if found.listed != found.passed + found.tolerated + found.failed + found.accepted + found.missing:
        raise ValueError(f"{read.place}: its numbers do not add up")
    return found
