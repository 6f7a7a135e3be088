"""Patterns: how files of expectations name cases, clauses and backends."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from acl_cts.reports.results import BackendRun


def fits(pattern: str, text: str) -> bool:
    """Whether `text` is named by `pattern`, in which `*` stands for anything. An id that holds a `*` names itself."""
    return text == pattern or fnmatchcase(text, pattern)


def fits_any(patterns: Iterable[str], text: str) -> bool:
    """Whether one of `patterns` names `text`."""
    return any(fits(pattern, text) for pattern in patterns)


def versions(run: BackendRun) -> tuple[str, ...]:
    """What may stand for the version of the library that was judged: its version, its build id, its SHA-256. Of a
    backend without any, ''."""
    details = run.identity.get("details")
    told = details.get("version") if isinstance(details, dict) else None
    known = [str(value) for value in (told, run.identity.get("build_id"), run.identity.get("sha256")) if value]
    return tuple(known) or ("",)


def concerns(backend: str, version: str, run: BackendRun) -> bool:
    """Whether these patterns name the backend and the library of `run`."""
    return fits(backend, run.backend) and any(fits(version, told) for told in versions(run))
