"""Reproducers as somebody builds and runs them who has nothing but the file."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path

from acl_cts.backends.backend import Options
from acl_cts.conformance.attempt import Attempt
from acl_cts.fuzz.findings import Finding, store
from acl_cts.fuzz.lane import open_lane
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_text import parse_program


def finding_of(
    library: Path,
    *texts: str,
    backend: str = "core",
    timeout: float = 2.0,
    stop: Callable[[], bool] = lambda: False,
) -> Finding:
    """What the last of these programs shows in `library`, executed after the others."""
    spec, programs = load_spec(), [parse_program(text) for text in texts]
    options = Options(library=str(library), call_timeout=timeout, thread_safe=True)
    with contextlib.ExitStack() as stack:
        lane = open_lane(stack, spec, backend, options, set(), stop)
        lane.target.session.restart()
        answer = lane.target.run_alone(programs[-1], programs[:-1], leaks=len(texts) == 1)
        attempt = Attempt(answer.trace, judge(spec, programs[-1], answer.trace))
        found = lane.look(programs[-1], answer, attempt, programs[:-1])
    assert found is not None
    return found


def stored(found: Finding, folder: Path) -> Path:
    """The folder of `found` below `folder`."""
    place = store(folder, found, load_spec())
    assert place is not None
    return place


def build_line(folder: Path) -> list[str]:
    """The first line in the head of the reproducer in `folder` that builds something."""
    head = (folder / "repro.c").read_text().partition("#define")[0]
    return next(line for line in head.splitlines() if " -std=c11 " in line).removeprefix(" *").split()


def built_as_told(folder: Path) -> Path:
    """The reproducer in `folder`, built as its head says, without a warning."""
    done = subprocess.run(
        [*build_line(folder), "-Wall", "-Wextra"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    return folder / "repro"


def run(binary: Path, library: Path) -> tuple[int, str]:
    """Exit code and last line of a reproducer that could be used at all."""
    done = subprocess.run([binary, library], capture_output=True, check=False, timeout=120)
    assert done.returncode != 2, done.stderr
    return done.returncode, (done.stdout.decode(errors="replace").splitlines() or [""])[-1]
