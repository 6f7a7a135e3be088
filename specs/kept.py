"""What is kept between starts: the outcome of slow work, with all that it follows from, in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

CODE = frozenset({".py"})
DATA = frozenset({".j2", ".h", ".yaml", ".json", ".sha256"})
"""Endings of files that are read when they are imported, and of those that are read whenever they are used."""

_SIZE = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Sources:
    """A folder of the suite. `code`: the digest of its Python files as they were when they were imported, so what this
    process makes follows from them whatever has become of the files since; empty when they could not be read."""

    folder: Path
    code: str


def sources_of(folder: Path) -> Sources:
    """To be asked when the code in `folder` is imported."""
    try:
        return Sources(folder, digest_of(folder, CODE))
    except OSError:
        return Sources(folder, "")


def cache_folder() -> Path:
    """The user's cache folder of the suite; one that cannot be made for somebody without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else _home() / ".cache"
    return root / "acl-cts"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # nobody knows this user
        return Path("/nonexistent")


def kept(name: str, inputs: Iterable[str], sources: Sequence[Sources], make: Callable[[], bytes]) -> bytes:
    """What `make` gives; from the cache when it gave it before, last of all under this `name`, by the same Python from
    the same `inputs` and `sources`, which must tell all that it follows from. What is damaged there is made anew; where
    nothing can be kept or read, and while somebody works at the sources, it is made each time."""
    state = state_of(sources)
    if state is None:
        return make()
    key = hashlib.sha256("\0".join((sys.version, *inputs, *state)).encode()).digest()
    path = cache_folder() / "kept" / name
    with contextlib.suppress(OSError):
        stored = path.read_bytes()
        if stored[:_SIZE] == key and stored[_SIZE : 2 * _SIZE] == hashlib.sha256(stored[2 * _SIZE :]).digest():
            return stored[2 * _SIZE :]
    made = make()
    if unchanged(sources, state):
        _keep(path, key + hashlib.sha256(made).digest() + made)
    return made


def unchanged(sources: Sequence[Sources], state: list[str]) -> bool:
    """Whether the files are what was imported, and what they were when `state_of` gave `state`."""
    return state_of([sources_of(each.folder) for each in sources]) == state


def state_of(sources: Sequence[Sources]) -> list[str] | None:
    """The code that was imported, and the data as it is; None when that is not known."""
    try:
        data = [digest_of(each.folder, DATA) for each in sources]
    except OSError:
        return None
    code = [each.code for each in sources]
    return [*code, *data] if all(code) else None


def _keep(path: Path, data: bytes) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise


def visible(paths: Iterable[Path]) -> Iterator[Path]:
    """The files among `paths` but hidden ones: locks and drafts of editors."""
    return (path for path in paths if not path.name.startswith(".") and path.is_file())


def digest_of(folder: Path, endings: Set[str]) -> str:
    """The SHA-256 of all visible files in `folder` with these endings. Raises OSError."""
    total = hashlib.sha256()
    for path in sorted(visible(path for path in folder.rglob("*") if path.suffix in endings)):
        total.update(f"{path.relative_to(folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
