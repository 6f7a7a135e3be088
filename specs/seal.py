"""The seal of the tables: the SHA-256 of each as this version ships it, so that damage is told and never judged by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

SEAL = "tables.sha256"
"""File beside the tables that it seals, as `sha256sum` writes it; a folder without one is somebody's own."""


def sealed(path: Path) -> bool:
    """Whether the table at `path` is as its folder's seal says, or has none to keep to. Raises OSError."""
    seal = path.with_name(SEAL)
    if not seal.exists():
        return True
    return _line(path) in _lines(seal)


def stands(path: Path) -> bool:
    """Whether the file at `path` stands in its folder's seal, as it is. Raises OSError."""
    return path.with_name(SEAL).exists() and sealed(path)


def lost(folder: Path) -> tuple[str, ...]:
    """Names of the tables that stand in the folder's seal and are not there. Raises OSError."""
    seal = folder / SEAL
    names = [line.partition("  ")[2] for line in _lines(seal)] if seal.exists() else []
    return tuple(name for name in names if name.endswith(".yaml") and not (folder / name).exists())


def write_seal(folder: Path, files: Iterable[Path]) -> None:
    """Accept `files` of `folder` as they are. Raises OSError."""
    text = "".join(f"{_line(path)}\n" for path in sorted(files))
    temporary = folder / f".{SEAL}"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / SEAL)


def _lines(seal: Path) -> list[str]:
    return seal.read_text(encoding="utf-8", errors="replace").splitlines()


def _line(path: Path) -> str:
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
