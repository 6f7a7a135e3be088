"""Runs against target libraries: in this process, or by the command line as a user makes them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from acl_cts.backends.backend import Options, Session
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case import Case
from acl_cts.conformance.consistency import inconsistent
from acl_cts.conformance.runner import Runner
from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.results import BackendRun, Results, from_json
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge


def run_here(spec: Spec, library: Path, cases: Sequence[Case], whole: bool = True, **options: float | str) -> Results:
    """Results of `cases` on `library`; `whole` when they are all that a complete run needs."""
    opened = open_backend("acl", Options(library=str(library), **options))  # type: ignore[arg-type]
    return run_session(spec, opened, cases, whole)


def run_session(spec: Spec, session: Session, cases: Sequence[Case], whole: bool = True) -> Results:
    """Results of `cases` on `session`, which is closed; put together as the command line does."""
    with session:
        runner = Runner(spec, session, judge)
        judged = tuple(runner.judge(case).result for case in cases)
        run = BackendRun(
            backend=session.identity.backend,
            identity=dataclasses.asdict(session.identity),
            capabilities=tuple(sorted(session.capabilities)),
            support=tuple(runner.support.values()),
            cases=judged,
            notes=inconsistent(spec, judged),
        )
    results = Results(
        version="",
        spec=spec.digest,
        started="",
        ended="",
        finished=True,
        filtered=not whole,
        seed=None,
        options={},
        runs=(run,),
    )
    holds = holding(results)
    return dataclasses.replace(results, holds=holds, code=final(holds))


def run_command(library: Path, out: Path, *more: str) -> Results:
    """What `acl-cts run` makes of `library`, from the report that it leaves in `out`. The exit code in the report is
    checked against the real one. Raises AssertionError with all that was printed when there is no report."""
    command = [sys.executable, "-m", "acl_cts.main", "run", "--backend", "acl", "--library", str(library)]
    done = subprocess.run([*command, "--out", str(out), *more], capture_output=True, text=True, check=False)
    report = out / "results.json"
    assert report.is_file(), done.stdout + done.stderr
    results = from_json(json.loads(report.read_text(encoding="utf-8")))
    assert results.code == done.returncode, done.stdout + done.stderr
    return results
