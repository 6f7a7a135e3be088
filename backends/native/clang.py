"""Clang: which one there is, whether its runtime is there too, and what fits to it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acl_cts.backends.backend import BackendError

VERSIONS = (16, 14, 15, 17, 18, 19, 20, 21, 22)
"""Numbered commands that are looked for, those first whose runtime is known to fit."""

FUZZER_NO_LINK = "-fsanitize=fuzzer-no-link"
"""What a library for coverage-guided engines of that family is built with."""

_PROBE = "int probe(int x) { return x > 3 ? x / 2 : x; }\n"


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang that can build instrumented libraries: the command and the number of its version."""

    command: str
    version: int

    @property
    def flags(self) -> tuple[str, ...]:
        """What a library needs besides the sanitizers: checks of function types are left out where they need a newer
        runtime than others bring."""
        return ("-fno-sanitize=function",) if self.version >= 17 else ()


@cache
def find_clang() -> Clang:
    """The clang to use. Raises BackendError when none can build an instrumented library, with the package that does."""
    lacking = ""
    for name in ("clang", *(f"clang-{version}" for version in VERSIONS)):
        path = shutil.which(name)
        if path is None:
            continue
        version = _version(path)
        if version and _builds(path):
            return Clang(path, version)
        lacking = lacking or f"libclang-rt-{version or 16}-dev"
    raise BackendError(
        f"clang has no runtime for -fsanitize=fuzzer; install it, as with: apt-get install {lacking}"
        if lacking
        else "no clang here; install it, as with: apt-get install clang-16 libclang-rt-16-dev"
    )


def _version(path: str) -> int:
    done = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, timeout=60, check=False)
    first = done.stdout.strip().partition(".")[0]
    return int(first) if done.returncode == 0 and first.isdigit() else 0


def _builds(path: str) -> bool:
    """Whether a program links against the runtime of the fuzzer and the sanitizers."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        entry = "int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d == 0 && n; }\n"
        source.write_text(_PROBE + entry, encoding="utf-8")
        command = [path, "-fsanitize=fuzzer,address,undefined", "-o", str(Path(folder) / "probe"), str(source)]
        return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0
