"""What some tests need besides Python and a C compiler: where it is absent they say so, in CI they fail."""

from __future__ import annotations

import os
import shutil

import pytest

from acl_cts.backends.backend import BackendError
from acl_cts.backends.native.clang import Clang, find_clang
from acl_cts.fuzz.atheris_child import find_runtime

REQUIRED = "ACL_CTS_REQUIRE"
"""Environment variable: names, separated by commas, of what must be there."""


def lacking(name: str, what: str) -> None:
    """This test cannot run: `what` says which package brings `name`. An error where that is required."""
    if name in os.environ.get(REQUIRED, "").split(","):
        pytest.fail(f"{REQUIRED} wants {name}: {what}")
    pytest.skip(f"not run: {what}")


def need_clang() -> Clang:
    """The clang of this machine."""
    try:
        return find_clang()
    except BackendError as error:
        lacking("clang", str(error))
        raise


def need_atheris() -> Clang:
    """The same, with atheris beside it."""
    try:
        find_runtime()
    except BackendError as error:
        lacking("clang", str(error))
    return need_clang()


def need_afl() -> str:
    """The compiler of AFL++; its fuzzer is beside it."""
    found = shutil.which("afl-clang-fast")
    if found is None or shutil.which("afl-fuzz") is None:
        lacking("afl", "no afl-clang-fast and afl-fuzz here; apt-get install afl++")
    return found or ""


def need_zip() -> None:
    """The command `zip`."""
    if shutil.which("zip") is None:
        lacking("zip", "no zip here; apt-get install zip")


def need_redis() -> str:
    """The command that starts a Redis server."""
    found = shutil.which("redis-server")
    if found is None:
        lacking("redis", "no redis-server here; apt-get install redis-server")
    return found or ""
