"""Discovery: where the vendor's library lies, from a path or from the environment that the vendor's script sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from acl_cts.backends.backend import BackendError

LIBRARY = "libascendcl.so"
HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")


def find_library(path: str, environment: Mapping[str, str]) -> Path:
    """The library at `path`, or without one the first that the environment leads to. Raises BackendError."""
    if path:
        asked = Path(path)
        if asked.is_dir():
            asked = asked / LIBRARY
        if not asked.is_file():
            raise BackendError(f"acl: no library at {path}; check --library PATH")
        return asked.resolve()
    candidates = list(_candidates(environment))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    looked = ", ".join(map(str, candidates)) or f"{', '.join(HOMES)} and LD_LIBRARY_PATH, none of which is set"
    raise BackendError(
        f"acl: no {LIBRARY} found (looked in {looked}); source the vendor's set_env.sh or pass --library PATH"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    for variable in HOMES:
        if environment.get(variable):
            yield Path(environment[variable]) / "lib64" / LIBRARY
    for folder in environment.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            yield Path(folder) / LIBRARY
