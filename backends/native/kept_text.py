"""Texts that are kept: rendering C, and loading what renders it, is a good part of the start of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from acl_cts.specs.kept import digest_of, kept

NATIVE = Path(__file__).resolve().parent
SPECS = NATIVE.parent.parent / "specs"


def kept_text(name: str, inputs: Iterable[str], folders: Iterable[Path], render: Callable[[], str]) -> str:
    """What `render` gives, kept from the last time. `inputs` must tell all that it is given; its sources lie in
    `folders`, among the tables, or beside this file."""
    causes = (*inputs, *map(_digest, (NATIVE, SPECS, *folders)), _library())
    return kept(name, causes, lambda: render().encode()).decode()


_digest = cache(digest_of)


def _library() -> str:
    """The library of the templates as it is installed; to ask for its version would take long."""
    found = find_spec("jinja2")
    origin = found.origin if found is not None and found.origin else ""
    return f"{origin} {os.stat(origin).st_mtime_ns if origin else 0}"
