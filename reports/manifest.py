"""The manifest of a qualification package: what is in it, and who it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from acl_cts.reports.results import Results
from acl_cts.reports.typed import Typed

FORMAT = 1
"""Version of the package's form."""

MANIFEST = "manifest.json"
"""The one member that does not stand in the manifest."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the package: its size in bytes and the SHA-256 of its content."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class About:
    """Who and what the package is about, in one place. `tables`: digest of the tables as a whole, `families`: of each.
    `case_list`: hash of the list of all cases. `challenge`: the seed, '' without. `libraries`: identity by backend."""

    version: str
    executor: str
    tables: str
    families: Mapping[str, str]
    case_list: str
    challenge: str
    profile: str
    libraries: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that the package holds, in the order of names."""

    about: About
    members: tuple[Member, ...]


def member_of(name: str, content: bytes) -> Member:
    """The entry for a member with this content."""
    return Member(name, len(content), hashlib.sha256(content).hexdigest())


def about(results: Results, families: Mapping[str, str], case_list: str, challenge: str) -> About:
    """Who and what `results` are about."""
    return About(
        version=results.version,
        executor=results.environment.get("executor", ""),
        tables=results.spec,
        families=families,
        case_list=case_list,
        challenge=challenge,
        profile=f"{results.profile.name} {results.profile.version}" if results.profile else "",
        libraries={run.backend: run.identity for run in results.runs},
    )


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """JSON of `manifest`."""
    return {
        "format": FORMAT,
        "about": asdict(manifest.about),
        "members": [asdict(member) for member in manifest.members],
    }


def manifest_from_json(data: object) -> Manifest:
    """What `manifest_to_json` gave. Raises ValueError."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"it is of another format than {FORMAT}")
    read = Typed(data)
    told = read.nested("about")
    texts = {name: told.text(name) for name in ("version", "executor", "tables", "case_list", "challenge", "profile")}
    return Manifest(
        About(
            **texts,
            families=told.text_by_name("families"),
            libraries={name: dict(inner.data) for name, inner in told.named("libraries", lambda each: each).items()},
        ),
        read.listed("members", _member),
    )


def _member(data: Mapping[str, Any], place: str) -> Member:
    read = Typed(data, place)
    return Member(read.text("name"), read.count("size"), read.text("sha256"))
