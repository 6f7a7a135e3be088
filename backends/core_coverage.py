"""Coverage: a build of the core that counts its lines and branches, and what it counted.

Counted is the code of the two families and of the streams: the tables say nothing of what lies around it.
Functions that only planted defects use are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.core_backend import FOLDER
from acl_cts.backends.core_mutants import FILES
from acl_cts.backends.native.build import COMPILE_TIMEOUT, LIBRARY, find_compiler

FLAGS = ("-O0", "--coverage", "-fprofile-update=atomic", "-fvisibility=hidden")
"""Without optimisation: each line and each branch of the source is one of the code."""


class NoCoverageError(Exception):
    """Coverage cannot be measured here. The message says why and what would help."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A line that was never reached (`branches` 0), or `branches` ways out of it that were never taken."""

    file: str
    line: int
    text: str
    branches: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """Lines and branches of the core: how many there are, how many were reached, and what is left."""

    lines: int
    lines_reached: int
    branches: int
    branches_taken: int
    gaps: tuple[Gap, ...]


def build_covered(place: Path) -> Path:
    """A library in the empty folder `place` that counts into that folder when its process ends in order. Raises
    NoCoverageError where compiler or gcov are not those of GCC, HarnessError when the build fails."""
    if shutil.which("gcov") is None:
        raise NoCoverageError("gcov is not installed; it comes with gcc")
    units = []
    for name in ("include", "src"):
        for path in sorted((FOLDER / name).iterdir()):
            shutil.copyfile(path, place / path.name)
            units += [path.name] if path.suffix == ".c" else []
    done = _run(place, [*find_compiler().command, *LIBRARY, *FLAGS, "-I.", *units, "-o", "covered.so"])
    if done.returncode != 0:
        raise NoCoverageError(f"the C compiler does not build for coverage: {(done.stderr.splitlines() or ['?'])[0]}")
    return place / "covered.so"


def counted(place: Path) -> Counted:
    """What the library in `place` has counted so far. Raises NoCoverageError when it has counted nothing, HarnessError
    when gcov fails."""
    data = sorted(path.name for path in place.glob("*.gcda"))
    if not data:
        raise NoCoverageError("the library has counted nothing: its process never ended in order")
    done = _run(place, ["gcov", "--json-format", "--stdout", "--branch-probabilities", *data])
    if done.returncode != 0:
        raise HarnessError(f"gcov failed: {(done.stderr.splitlines() or ['no message'])[0]}")
    lines: dict[tuple[str, int], int] = {}
    branches: dict[tuple[str, int], list[int]] = {}
    for file, line in _lines(done.stdout):
        key = file, line["line_number"]
        lines[key] = lines.get(key, 0) + line["count"]
        ways = [branch["count"] for branch in line["branches"] if not branch["throw"]]
        known = branches.setdefault(key, [0] * len(ways))
        branches[key] = [a + b for a, b in zip(known, ways, strict=True)] if len(known) == len(ways) else known
    return _summed(place, lines, branches)


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for report in text.splitlines():
        if report.strip():
            for file in json.loads(report)["files"]:
                if file["file"] in (*FILES, "stream.c"):
                    for line in file["lines"]:
                        if not line.get("function_name", "").startswith("defect_"):
                            yield file["file"], line


def _summed(place: Path, lines: dict[tuple[str, int], int], branches: dict[tuple[str, int], list[int]]) -> Counted:
    gaps = []
    for (file, line), count in sorted(lines.items()):
        missed = sum(way == 0 for way in branches[file, line])
        if count == 0 or missed:
            text = (place / file).read_text(encoding="utf-8").splitlines()[line - 1].strip()
            gaps.append(Gap(file, line, text, missed if count else 0))
    ways = [way for each in branches.values() for way in each]
    return Counted(len(lines), sum(map(bool, lines.values())), len(ways), sum(map(bool, ways)), tuple(gaps))


def _run(place: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("LD_PRELOAD", None)
    return subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=COMPILE_TIMEOUT, check=False, env=environment
    )
