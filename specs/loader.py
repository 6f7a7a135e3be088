"""Loads the tables: YAML checked by schema.json, then by meaning, into a `Spec`. Every error names file, line and
clause."""

from __future__ import annotations

import functools
import gc
import hashlib
import pickle
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from acl_cts.specs.faults import SpecError
from acl_cts.specs.kept import kept, sources_of, visible
from acl_cts.specs.model import Spec
from acl_cts.specs.seal import lost, sealed, stands, write_seal

if TYPE_CHECKING:
    from acl_cts.specs.table import Table

FOLDER = Path(__file__).parent
ERRORS = "errors.yaml"
SCHEMA = "schema.json"
OPTIONAL = FOLDER / "more"
SOURCES = sources_of(FOLDER)
"""What this process knows of tables, oracle and programs."""

DAMAGED = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError)
"""What reading something else than what was kept may raise."""


@functools.cache
def load_spec(folder: Path = FOLDER, more: tuple[str, ...] = ()) -> Spec:
    """All tables of `folder`: errors.yaml and one file a family; and `more` families, each a file, a folder of files,
    or the name of a table that comes with the suite. Raises SpecError."""
    return _loaded(folder, more) if more or folder != FOLDER else _kept_spec()


def _kept_spec() -> Spec:
    """The tables of the suite, read only once as they are: reading takes ten times as long."""
    made: list[Spec] = []

    def make() -> bytes:
        made.append(_loaded(FOLDER, ()))
        return pickle.dumps(made[0], pickle.HIGHEST_PROTOCOL)

    stored = kept("tables", (), (replace(SOURCES, folder=FOLDER),), make)
    spec = made[0] if made else _unpickled(stored)
    return spec if isinstance(spec, Spec) else _loaded(FOLDER, ())


def _unpickled(stored: bytes) -> object:
    """What was kept, None when that is something else. Garbage is not looked for: all of it stays."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return pickle.loads(stored)
    except DAMAGED:
        return None
    finally:
        if collecting:
            gc.enable()


def _loaded(folder: Path, more: tuple[str, ...]) -> Spec:
    for name in lost(folder):
        raise SpecError(f"{folder / name}: is missing; put it back")
    spec, tables = _load(folder, more)
    for table in tables:
        if not sealed(table.path):
            raise table.error(
                1,
                "is not the table that this version ships; put it back, give your own with --table, or accept this "
                "one with `acl-cts spec seal`",
            )
    return spec


def check_tables(more: tuple[str, ...] = ()) -> None:
    """Hold every table that `load_spec` would read against the schema, the sealed ones too. Raises SpecError."""
    _load(FOLDER, more, trusting=False)


def _load(folder: Path, more: tuple[str, ...], *, trusting: bool = True) -> tuple[Spec, tuple[Table, ...]]:
    from acl_cts.specs.builder import Builder  # late, as PyYAML too: most starts find what was read before

    try:
        common = _read(folder / ERRORS, trusting=trusting)
        tables = [_read(path, trusting=trusting) for path in _tables_in(folder)]
        tables += [_read(path, added=True, trusting=trusting) for name in more for path in _named(name)]
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be read: {error.strerror}") from None
    if not tables:
        raise SpecError(f"{folder}: no table of a family (*.yaml) there")
    return Builder(common, tables).spec(), (common, *tables)


def table_digests(more: tuple[str, ...] = ()) -> dict[str, str]:
    """The SHA-256 of every table that `load_spec` would read, by file name. Raises SpecError."""
    try:
        paths = [FOLDER / ERRORS, *_tables_in(FOLDER), *(path for name in more for path in _named(name))]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be read: {error.strerror}") from None


def load_edition(path: Path) -> Spec:
    """The tables of another edition: those in the folder `path`, or the one family in that file. Without an errors.yaml
    beside them the codes are those of this suite. Raises SpecError."""
    if not path.exists():
        raise SpecError(f"no tables at {path}; give a folder with tables, or one table")
    folder = path if path.is_dir() else path.parent
    common = folder / ERRORS if (folder / ERRORS).exists() else FOLDER / ERRORS
    paths = _tables_in(path) if path.is_dir() else [path]
    if not paths:
        raise SpecError(f"{path}: no table of a family (*.yaml) there")
    try:
        from acl_cts.specs.builder import Builder

        return Builder(_read(common), [_read(table) for table in paths]).spec()
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be read: {error.strerror}") from None


def seal_tables() -> int:
    """Accept the tables of the suite as they are, once they can be read, and the schema with them; how many tables.
    Raises SpecError or OSError."""
    _load(FOLDER, optional_tables(), trusting=False)
    tables = {folder: sorted(folder.glob("*.yaml")) for folder in (FOLDER, OPTIONAL)}
    for folder, paths in tables.items():
        write_seal(folder, [*paths, *folder.glob(SCHEMA)])
    load_spec.cache_clear()
    return sum(map(len, tables.values()))


def _tables_in(folder: Path) -> list[Path]:
    return sorted(p for p in visible(folder.glob("*.yaml")) if p.name != ERRORS)


def optional_tables() -> tuple[str, ...]:
    """Names of the tables that come with the suite and are loaded only when asked for."""
    return tuple(path.stem for path in _tables_in(OPTIONAL))


def _named(name: str) -> list[Path]:
    """The tables that `name` stands for."""
    path = Path(name)
    if path.is_dir():
        found = _tables_in(path)
        if not found:
            raise SpecError(f"{name}: no table of a family (*.yaml) there")
        return found
    if not path.exists() and name in optional_tables():
        return [OPTIONAL / f"{name}.yaml"]
    if not path.exists():
        raise SpecError(f"no table at {name}; give a file or a folder, or one of {', '.join(optional_tables())}")
    return [path]


def _read(path: Path, *, added: bool = False, trusting: bool = True) -> Table:
    """One table. `trusting`: that which was sealed as it is with the schema as it is, is not held against it again."""
    from acl_cts.specs.table import read_table

    schema = FOLDER / SCHEMA
    trusted = trusting and path.parent in (FOLDER, OPTIONAL) and stands(path) and stands(schema)
    return read_table(path, None if trusted else schema, added=added)
