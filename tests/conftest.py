"""What every test process needs."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import third_party

Run = Callable[..., subprocess.CompletedProcess[str]]

# Some tests interrupt what they start. A shell that runs jobs in the background has them, and all that they start,
# ignore that signal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Judging makes many objects that live long, and few cycles: looking for these ever again takes a fifth of the time.
gc.set_threshold(100_000, 20, 100)


@pytest.fixture
def acl(tmp_path: Path) -> Run:
    """Runs `acl-cts` with the odd backend announced, in an empty folder."""
    return runner(tmp_path)


def runner(tmp_path: Path) -> Run:
    """Runs `acl-cts` with the odd backend announced, in the new folder `work` of `tmp_path`."""
    site = tmp_path / "site"
    site.mkdir()
    third_party.announce(site)
    (tmp_path / "work").mkdir()

    def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "acl_cts.main", *args],
            cwd=tmp_path / "work",
            env=os.environ | {"PYTHONPATH": str(site)} | environment,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each package that tests were left out for."""
    reasons = Counter(
        report.longrepr[2].partition("not run: ")[2]
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and "not run: " in report.longrepr[2]
    )
    for reason, count in reasons.items():
        terminalreporter.write_line(f"not run: {count} tests: {reason}")
