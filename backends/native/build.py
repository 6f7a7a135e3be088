"""Builds: C compiled on demand into a cache that is keyed by sources, flags and compiler."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acl_cts.backends.backend import HarnessError
from acl_cts.specs.kept import cache_folder, visible

FLAVOURS: dict[str, tuple[str, ...]] = {
    "plain": ("-O3",),
    "asan": ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "cover": ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "tsan": ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=thread"),
}
"""Compiler flags by flavour."""

COUNTING: dict[str, tuple[str, ...]] = {"cover": ("-fsanitize-coverage=trace-pc",)}
"""Further flags of a library under test, so that it tells of every block that it enters."""

WARNINGS = ("-Wall", "-Wextra", "-Werror")
"""What all C here is clean under. Not used for builds on demand: a compiler of tomorrow may warn of more."""

COMMON = ("-std=c11", "-pthread", "-Wl,--build-id=sha1")
EXECUTOR = (*COMMON, "-fPIE", "-pie", "-rdynamic")
LIBRARY = (*COMMON, "-fPIC", "-shared")

COMPILE_TIMEOUT = 300.0
"""Seconds after which a compiler counts as stuck."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: the words that start it, and the first line of its version."""

    command: tuple[str, ...]
    version: str


def find_compiler(command: str = "") -> Compiler:
    """The compiler that `command` starts, or the one named by CC, otherwise cc, gcc or clang. Raises HarnessError when
    there is none that starts."""
    asked = command.strip() or os.environ.get("CC", "").strip()
    candidates = [tuple(shlex.split(asked))] if asked else [("cc",), ("gcc",), ("clang",)]
    for words in candidates:
        path = shutil.which(words[0])
        if path is not None:
            return Compiler((path, *words[1:]), _version(path))
    if command:
        raise HarnessError(f"no C compiler called {command}; install it, or name another one")
    looked = f"CC={asked}" if asked else "cc, gcc, clang"
    raise HarnessError(
        f"no C compiler found (looked for {looked}); install gcc, set CC, or pass a prebuilt one with --executor PATH"
    )


@cache
def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"the C compiler {path} does not start: {error}; set CC to another one") from error
    first = done.stdout.splitlines()[:1]
    if done.returncode != 0 or not first:
        raise HarnessError(f"the C compiler {path} does not tell its version; set CC to another one")
    return first[0]


def compile_c(
    name: str,
    sources: Mapping[str, str],
    flags: Sequence[str],
    libraries: Sequence[str] = (),
    cc: str = "",
) -> Path:
    """Compile `sources` (file name to text; headers may be among them) to one file called `name`; cached. `cc` as for
    `find_compiler`.

    Raises HarnessError with the compiler's first complaint. Two processes may do this at once: each compiles in a
    folder of its own, the first rename wins, both results are equal.
    """
    compiler = find_compiler(cc)
    texts = [text for pair in sorted(sources.items()) for text in pair]
    parts = [name, *compiler.command, compiler.version, *flags, *libraries, *texts]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    target = cache_folder() / "builds" / key / name
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=target.parent) as folder:
            _compile(compiler, Path(folder), name, sources, [*flags], [*libraries])
            os.replace(Path(folder) / name, target)
    except OSError as error:
        raise HarnessError(
            f"cannot build in {target.parent}: {error.strerror or error}; set XDG_CACHE_HOME to a writable folder"
        ) from error
    return target


def _compile(
    compiler: Compiler, folder: Path, name: str, sources: Mapping[str, str], flags: list[str], libraries: list[str]
) -> None:
    for file, text in sources.items():
        (folder / file).write_text(text, encoding="utf-8")
    units = sorted(file for file in sources if file.endswith(".c"))
    command = [*compiler.command, *flags, "-I.", "-o", name, *units, *libraries]
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("LD_PRELOAD", None)
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=COMPILE_TIMEOUT, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise HarnessError(f"{command[0]} did not finish compiling {name} in {COMPILE_TIMEOUT:.0f} s") from error
    if done.returncode != 0:
        lines = done.stderr.splitlines() or ["no message"]
        first = next((line for line in lines if "error" in line), lines[0])
        raise HarnessError(f"{command[0]} cannot compile {name}: {first.strip()}")


def flavour_flags(flavour: str) -> tuple[str, ...]:
    """The compiler flags of `flavour`. Raises HarnessError when there is no such flavour."""
    try:
        return FLAVOURS[flavour]
    except KeyError:
        raise HarnessError(f"no build flavour {flavour!r}; there are {', '.join(FLAVOURS)}") from None


def build_executor(source: str, flavour: str, cc: str = "") -> Path:
    """The executor program made of `source`, by the compiler `cc` if one is named."""
    flags = (*EXECUTOR, *flavour_flags(flavour))
    return compile_c(f"executor-{flavour}", {"executor.c": source}, flags, ("-ldl",), cc)


def build_library(
    name: str,
    folders: Sequence[Path],
    flavour: str,
    defines: Sequence[str] = (),
    cc: str = "",
    counting: Sequence[str] | None = None,
) -> Path:
    """A shared library called `name` of all C files and headers in `folders`; `defines` as `NAME` or `NAME=value`;
    `counting`: flags that make it tell of its blocks, where those of the flavour are not wanted."""
    sources: dict[str, str] = {}
    for folder in folders:
        for path in sorted(visible(folder.iterdir())):
            if path.suffix in (".c", ".h"):
                sources[path.name] = path.read_text(encoding="utf-8")
    flags = (*LIBRARY, "-fvisibility=hidden", *flavour_flags(flavour))
    flags += tuple(COUNTING.get(flavour, ()) if counting is None else counting)
    flags += tuple(f"-D{define}" for define in defines)
    return compile_c(name, sources, flags, cc=cc)
