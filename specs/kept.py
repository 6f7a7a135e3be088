"""What is kept between starts: the outcome of slow work, with all that it follows from, in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

SOURCES = frozenset({".py", ".j2", ".h", ".yaml", ".json", ".sha256"})
"""Endings of the files of the suite that decide what comes out of it."""

_SIZE = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """The user's cache folder of the suite."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "acl-cts"


def kept(name: str, causes: Iterable[str], make: Callable[[], bytes]) -> bytes:
    """What `make` gives; from the cache when it gave it before, last of all under this `name`, by the same Python and
    the same `causes`, which must tell all that it follows from. What is damaged there is made anew; where nothing can
    be kept or read, it is made each time."""
    key = hashlib.sha256("\0".join((sys.version, *causes)).encode()).digest()
    path = cache_folder() / "kept" / name
    with contextlib.suppress(OSError):
        stored = path.read_bytes()
        if stored[:_SIZE] == key and stored[_SIZE : 2 * _SIZE] == hashlib.sha256(stored[2 * _SIZE :]).digest():
            return stored[2 * _SIZE :]
    made = make()
    _keep(path, key + hashlib.sha256(made).digest() + made)
    return made


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


def digest_of(folder: Path) -> str:
    """The SHA-256 of all sources in `folder`. Raises OSError."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SOURCES):
        total.update(f"{path.relative_to(folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
