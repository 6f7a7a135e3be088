"""Files of a report: each is written under a temporary name and renamed, so nobody ever reads half of one."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from acl_cts.specs.faults import BadInput


class ReportError(BadInput):
    """A report cannot be written or read. The message is one line: what, where, what to do."""


def make_folder(folder: Path) -> None:
    """Create `folder` and what leads to it, and make sure that it takes files. Raises ReportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".probe-")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise ReportError(f"{folder}: cannot write here ({error.strerror}); choose another folder") from error


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Make sure that files called `names` can be put into `folder`. Raises ReportError."""
    for path in (folder / name for name in names):
        if path.is_dir():
            raise ReportError(
                f"{path}: is a directory where a file will be written; remove it or choose another folder"
            )


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, wholly or not at all; what UTF-8 cannot hold, as bytes of a strange file name,
    becomes an escape. Raises ReportError."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes, *, executable: bool = False) -> None:
    """Write `data` to `path`, wholly or not at all. Raises ReportError."""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o755 if executable else 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise ReportError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error


def forget_files(folder: Path, names: Iterable[str]) -> None:
    """Remove these files of an earlier run, and what a killed one left half-written. Raises ReportError."""
    for name in names:
        for path in [folder / name, *folder.glob(f".{name[:40]}-*")]:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise ReportError(f"{path}: cannot be removed ({error.strerror}); choose another folder") from error


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write `data` as `sealed` tells it. Raises ReportError."""
    write_text(path, sealed(data))


def sealed(data: Mapping[str, Any]) -> str:
    """`data` as JSON, its outer levels with a line for each entry, with a seal."""
    # In JSON the escape of what UTF-8 cannot hold is read as what it stands for.
    text = ("".join(_json(dict(data), LEVELS, "\n")) + "\n").encode("utf-8", "backslashreplace").decode("utf-8")
    return f'{text[: -len(END)]},\n "{SEAL}": "{_seal_of(text.encode("utf-8"))}"{END}'


SEAL = "seal"
"""The last member of a file: the SHA-256 of the file without it. It shows damage, not who wrote the file."""

END = "\n}\n"
"""How a sealed file ends."""


def _seal_of(*parts: bytes | memoryview) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


LEVELS = 4
"""Levels of nesting that are spread over lines: in results.json a case is a line."""


def _json(data: Any, levels: int, end: str) -> Iterator[str]:
    """Pieces of JSON; `end` is a line's end with the indentation of what surrounds `data`."""
    if not levels or not data or not isinstance(data, dict | list):
        yield json.dumps(data, ensure_ascii=False)
        return
    inner, mark = end + " ", "{" if isinstance(data, dict) else "["
    for entry in data:
        yield mark + inner
        mark = ","
        if isinstance(data, dict):
            yield json.dumps(str(entry), ensure_ascii=False) + ": "
            entry = data[entry]
        yield from _json(entry, levels - 1, inner)
    yield end + ("}" if isinstance(data, dict) else "]")


def read_json(path: Path) -> Any:
    """What the JSON file `path`, written by `write_json`, holds. Raises ReportError, also when it was changed."""
    try:
        return unsealed(path, path.read_bytes())
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error


class SealError(ReportError):
    """A file was cut off, or changed after it was written."""


def unsealed(path: Path | str, raw: bytes) -> Any:
    """What the bytes `raw` of the file `path` hold, which `sealed` told. Raises ReportError; SealError when they were
    changed."""
    try:
        data = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: is not JSON but binary data") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is not JSON ({error})") from error
    mark = f',\n "{SEAL}": "'.encode()
    place = raw.rfind(mark)
    if place < 0 or not isinstance(data, dict):
        raise SealError(f"{path}: has no seal at its end, so it is cut off or not of this suite; run again to get one")
    # Files have megabytes: without a copy of what is in front of the seal.
    if raw[place + len(mark) :] != f'{_seal_of(memoryview(raw)[:place], END.encode())}"{END}'.encode():
        raise SealError(f"{path}: was changed after it was written (its seal does not fit); run again to get it")
    del data[SEAL]
    return data
