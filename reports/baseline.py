"""Baselines: the accepted state of backends, to and from YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from acl_cts.reports.hand_written import HandWritten, read_hand_written
from acl_cts.reports.limit_result import LimitResult, LimitVerdict
from acl_cts.specs.judgement import Verdict

SCHEMA = Path(__file__).parent / "baseline.schema.json"

HEAD = """\
# What is known of these backends, for `acl-cts run --baseline`; written by `acl-cts baseline update`.
# A failure that is not here, or that accuses another clause, is a new one; one that passes makes this file stale.
"""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """How a case fails. `clauses`: those that it may accuse, any when there are none."""

    verdict: Verdict
    clauses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of the backends that `backend` and `version` name. `failures` by case id; `flakes` and `skips` by
    pattern of case ids; `limits` by limit and call, see `limit_name`; `unsupported`: functions."""

    backend: str
    version: str = "*"
    failures: Mapping[str, KnownFailure] = field(default_factory=dict)
    flakes: tuple[str, ...] = ()
    skips: Mapping[str, Verdict] = field(default_factory=dict)
    limits: Mapping[str, LimitVerdict] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()

    @property
    def items(self) -> Iterator[tuple[str, str]]:
        """Every single expectation: its kind and its name."""
        for kind in ("failures", "flakes", "skips", "limits", "unsupported"):
            yield from ((kind, name) for name in getattr(self, kind))


@dataclass(frozen=True, slots=True)
class Baseline:
    """All entries; those that fit a backend hold together. `written`: the file, None when it was made anew."""

    entries: tuple[Entry, ...] = ()
    written: HandWritten | None = None

    def place(self, number: int, kind: str, name: str) -> str:
        """File and line of one expectation of entry `number`."""
        if self.written is None:
            return ""
        part = self.written.data["backends"][number][kind]
        return self.written.place("backends", number, kind, part.index(name) if isinstance(part, list) else name)


def limit_name(result: LimitResult) -> str:
    """How a baseline names the probe of a limit: the limit, and the call that meets it."""
    return " ".join(filter(None, (result.limit, result.function, result.param, result.context)))


def load_baseline(path: Path) -> Baseline:
    """The baseline in the file `path`. Raises ReportError."""
    written = read_hand_written(path, SCHEMA)
    return Baseline(tuple(map(_entry, written.data["backends"])), written)


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(
        backend=data["backend"],
        version=data.get("version", "*"),
        failures={
            str(name): KnownFailure(Verdict(known["verdict"]), frozenset(known.get("clauses", ())))
            for name, known in data.get("failures", {}).items()
        },
        flakes=tuple(data.get("flakes", ())),
        skips={str(name): Verdict(word) for name, word in data.get("skips", {}).items()},
        limits={str(name): LimitVerdict(word) for name, word in data.get("limits", {}).items()},
        unsupported=tuple(data.get("unsupported", ())),
    )


def baseline_text(baseline: Baseline) -> str:
    """YAML of `baseline`, the same for the same content."""
    body = {"format": 1, "backends": [_plain(entry) for entry in baseline.entries]}
    return HEAD + yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=False)


def _plain(entry: Entry) -> dict[str, Any]:
    plain: dict[str, Any] = {"backend": entry.backend, "version": entry.version}
    plain["failures"] = {
        name: {"verdict": known.verdict.value, "clauses": sorted(known.clauses)}
        for name, known in sorted(entry.failures.items())
    }
    plain["flakes"] = sorted(entry.flakes)
    plain["skips"] = {name: verdict.value for name, verdict in sorted(entry.skips.items())}
    plain["limits"] = {name: verdict.value for name, verdict in sorted(entry.limits.items())}
    plain["unsupported"] = sorted(entry.unsupported)
    return {name: value for name, value in plain.items() if value}
