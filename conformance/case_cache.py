"""The cases, generated once for all processes: deriving them from the tables takes longer than executing them."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
from pathlib import Path

from acl_cts.conformance.case import Case
from acl_cts.conformance.finishing import CasePickler, finished
from acl_cts.conformance.generator import cases, regressions
from acl_cts.specs.kept import cache_folder, sources_of, state_of, unchanged
from acl_cts.specs.loader import SOURCES as TABLES
from acl_cts.specs.model import Spec

SOURCES = (sources_of(Path(__file__).parent), TABLES)
"""On what the cases depend besides the tables that are asked for."""

KEPT = 8
"""Lists that are kept, for the tables, Python versions and states of the sources that alternate."""

DAMAGED = (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError)
"""What reading a damaged file may raise; such a file is written anew."""


def cached_cases(spec: Spec) -> tuple[Case, ...]:
    """The same as `cases(spec)`, from the user's cache folder when they were generated before from the same sources;
    then the regressions. Raises BackendError for one that is no program."""
    derived, further = _derived(spec), regressions(spec)
    return tuple(sorted((*derived, *further), key=lambda case: case.id)) if further else derived


def _derived(spec: Spec) -> tuple[Case, ...]:
    state = state_of(SOURCES)
    if state is None:
        return cases(spec, finished)
    key = hashlib.sha256("\0".join((spec.digest, sys.version, *state)).encode()).hexdigest()
    path = cache_folder() / "cases" / f"{key}.pickle"
    stored = _read(path)
    if stored is None and threading.active_count() == 1:
        # In a process of its own: the heap that generating leaves behind slows down all that a process does later.
        child = multiprocessing.get_context("fork").Process(target=_generate_alone, args=(path, spec, state))
        child.start()
        child.join()
        stored = _read(path)
    return stored if stored is not None else _generate(path, spec, state)


def _generate_alone(path: Path, spec: Spec, state: list[str]) -> None:
    gc.disable()  # nearly everything that is made stays, and the process ends soon
    _generate(path, spec, state)


def _generate(path: Path, spec: Spec, state: list[str]) -> tuple[Case, ...]:
    generated = cases(spec, finished)
    if unchanged(SOURCES, state):
        _write(path, generated)
    return generated


def _read(path: Path) -> tuple[Case, ...] | None:
    collecting = gc.isenabled()
    # A hundred thousand small objects that all stay: looking for garbage among them doubles the time.
    gc.disable()
    try:
        stored = pickle.loads(path.read_bytes())
    except DAMAGED:
        return None
    finally:
        if collecting:
            gc.enable()
    return stored if isinstance(stored, tuple) else None


def _write(path: Path, generated: tuple[Case, ...]) -> None:
    """Keep `generated`. A folder that takes no files costs time at the next run, nothing else."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = sorted(path.parent.glob("*.pickle"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in kept[KEPT - 1 :]:
            old.unlink(missing_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".cases-")
        try:
            with os.fdopen(handle, "wb") as file:
                CasePickler(file, pickle.HIGHEST_PROTOCOL).dump(generated)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
