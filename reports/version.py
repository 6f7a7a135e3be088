"""Version: one stored run as a column of a comparison, or a point of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acl_cts.reports.files import ReportError, read_json
from acl_cts.reports.results import FORMAT
from acl_cts.reports.shard import Shard
from acl_cts.reports.standing import Standing, standing_from_json
from acl_cts.reports.stored import RESULTS, results_path
from acl_cts.reports.typed import Typed


@dataclass(frozen=True, slots=True)
class Version:
    """`name`: how the reader calls it. `unreadable`: why nothing is known of it, '' when all is. `tables`: their
    digest. `partial`: why it does not hold all cases, '' when it does. `code`: the run's exit code. `texts`: what
    clauses say, in English and Chinese."""

    name: str
    path: str
    unreadable: str = ""
    tool: str = ""
    tables: str = ""
    started: str = ""
    partial: str = ""
    code: int = 0
    standings: Mapping[str, Standing] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def standing(self, backend: str) -> Standing:
        """How `backend` stands; with nothing but a gap where it is not in the run."""
        why = f"unreadable: {self.unreadable}" if self.unreadable else f"{backend} was not judged in this run"
        return self.standings.get(backend) or Standing(backend, gap=why)

    def of_library(self, backend: str) -> str:
        """The library's version where it tells one, or the start of its digest."""
        identity = self.standing(backend).identity
        return identity.get("version") or identity.get("sha256", "")[:12]


def read_version(path: Path) -> Version:
    """The run whose results stand at `path`. Raises ReportError."""
    file = results_path(path)
    data = read_json(file)
    try:
        return _version(path, data)
    except ValueError as error:
        raise ReportError(f"{file}: is not the {RESULTS} of a run ({error}); run again to get one") from error


def tolerated(path: Path) -> Version:
    """As `read_version`, with what keeps it from being read told in the version itself."""
    try:
        return read_version(path)
    except ReportError as error:
        return Version(str(path), str(path), unreadable=str(error))


def _version(path: Path, data: Mapping[str, object]) -> Version:
    if data.get("format") != FORMAT:
        raise ValueError(f"results of format {data.get('format')!r}, this version reads format {FORMAT}")
    read = Typed(data)
    partial = _partial(read)
    runs = read.listed("runs", lambda run, place: standing_from_json(run, place, partial))
    if len({run.backend for run in runs}) != len(runs):
        raise ValueError("a backend stands there twice")
    return Version(
        name=str(path),
        path=str(path),
        tool=read.nested("tool").text("version"),
        tables=read.text("spec"),
        started=read.text("started"),
        partial=partial,
        code=read.nested("exit").integer("code"),
        standings={run.backend: run for run in runs},
        texts=read.nested("tables").named("clauses", lambda clause: (clause.text("text"), clause.text("zh"))),
    )


def _partial(read: Typed) -> str:
    """Why a run does not hold all cases."""
    if "shard" in read.data:
        shard = read.nested("shard")
        return str(Shard(shard.count("number"), shard.count("of")))
    if read.flag("filtered"):
        return "a run of a selection"
    return "" if read.flag("finished") else "the run was interrupted"


def named(versions: Sequence[Version]) -> tuple[Version, ...]:
    """The versions with names as short as keeps them apart: the last part of each path, or all of it."""
    short = [Path(version.path).absolute() for version in versions]
    names = [(path.parent if path.name == RESULTS else path).name for path in short]
    distinct = len(set(names)) == len(names)
    return tuple(
        replace(version, name=name if distinct and name else version.path)
        for version, name in zip(versions, names, strict=True)
    )
