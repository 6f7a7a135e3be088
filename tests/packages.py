"""Small qualification packages for tests, and ways to tamper with them."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acl_cts.qualification import Verification, verify_package
from acl_cts.qualification.verification import Asked
from acl_cts.reports.files import sealed
from acl_cts.reports.manifest import MANIFEST, member_of

Members = dict[str, bytes]
Edit = Callable[[Members], None]
SEAL = "seal"


def members_of(package: Path) -> Members:
    """The members of `package` by name."""
    with zipfile.ZipFile(package) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: Members) -> bytes:
    """A zip file of `members`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def data_of(members: Members, name: str) -> dict[str, Any]:
    """What the sealed member says."""
    data = dict(json.loads(members[name]))
    del data[SEAL]
    return data


def told(members: Members, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the sealed member `name`, and seal it again."""
    data = data_of(members, name)
    change(data)
    members[name] = sealed(data).encode()


def listed_again(members: Members) -> None:
    """Have the manifest tell the members as they are now."""
    told(members, MANIFEST, lambda data: data.update(members=_listed(members)))


def _listed(members: Members) -> list[dict[str, Any]]:
    found = (member_of(name, content) for name, content in sorted(members.items()) if name != MANIFEST)
    return [{"name": member.name, "size": member.size, "sha256": member.sha256} for member in found]


def tampered(package: Path, folder: Path, edit: Edit, *, again: bool = True) -> Path:
    """A copy of `package` in `folder` after `edit`; `again`: by somebody who has made the manifest fit."""
    members = members_of(package)
    edit(members)
    if again:
        listed_again(members)
    path = folder / "tampered.zip"
    path.write_bytes(zipped(members))
    return path


def recounted(data: dict[str, Any]) -> None:
    """Have the totals of results add up again, as somebody would who hides something."""
    for run in data["runs"]:
        for verdict in run["totals"]:
            run["totals"][verdict] = sum(case["verdict"] == verdict for case in run["cases"])
        strengths = [case["discrepancies"][0]["strength"] for case in run["cases"] if case["discrepancies"]]
        run["discrepancies"] = {name: strengths.count(name) for name in run["discrepancies"]}
        run["granted"] = max((case["granted"] for case in run["cases"]), default=0)
        if "accepted" in run:
            covered = [case["accepted"] for case in run["cases"] if "accepted" in case]
            run["accepted"] = {"waived": len(covered), "baseline": 0}


def lines_of(members: Members, name: str) -> list[dict[str, Any]]:
    """The lines of a member, each one JSON object."""
    return [json.loads(line) for line in members[name].splitlines()]


def put_lines(members: Members, name: str, lines: list[dict[str, Any]]) -> None:
    """Put `lines` into a member."""
    members[name] = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def journal_line(event: dict[str, Any]) -> bytes:
    """A line of a journal, with the checksum that fits."""
    text = json.dumps(event, ensure_ascii=False).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def kinds(found: Verification) -> set[str]:
    """The kinds of inconsistency that were found."""
    return {str(problem.kind) for problem in found.problems}


def wrong_with(package: Path, asked: Asked | None = None) -> set[str]:
    """The kinds of inconsistency of `package`."""
    return kinds(verify_package(package, asked))
