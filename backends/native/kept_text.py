"""Texts that are kept: rendering C, and loading what renders it, is a good part of the start of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from acl_cts.specs.kept import Sources, kept, sources_of
from acl_cts.specs.loader import SOURCES

OWN = sources_of(Path(__file__).resolve().parent)


def kept_text(name: str, inputs: Iterable[str], further: tuple[Sources, ...], render: Callable[[], str]) -> str:
    """What `render` gives, kept from the last time. `inputs` must tell all that it is given. It follows from them, the
    code of the tables, what lies beside this file, and `further` sources."""
    stored = kept(name, (*inputs, _library()), (SOURCES, OWN, *further), lambda: render().encode())
    return stored.decode()


def _library() -> str:
    """The library of the templates as it is installed; to ask for its version would take long."""
    found = find_spec("jinja2")
    origin = found.origin if found is not None and found.origin else ""
    return f"{origin} {os.stat(origin).st_mtime_ns if origin else 0}"
