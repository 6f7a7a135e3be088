"""How long `acl-cts run --backend core` takes, against pytest with as many empty tests on as many processes.

    python benchmarks/core_run.py [--rounds 5]

Both are whole commands, start and reports included, one after the other in turns; medians. The first run of all fills
the caches (cases, builds) and is shown apart.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EMPTY = """import pytest

@pytest.mark.parametrize("number", range({count}))
def test_nothing(number):
    pass
"""


def seconds(*command: str) -> float:
    """Wall time of a command that must succeed."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    python = sys.executable
    listed = subprocess.run([python, "-m", "acl_cts.main", "list"], check=True, capture_output=True, text=True)
    count = len(listed.stdout.splitlines())
    with tempfile.TemporaryDirectory() as folder:
        peer = Path(folder) / "test_nothing.py"
        peer.write_text(EMPTY.format(count=count), encoding="utf-8")
        run = (python, "-m", "acl_cts.main", "run", "--backend", "core", "--out", f"{folder}/out")
        empty = (python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(peer))
        print(f"first run: {seconds(*run):.1f} s")
        pairs = [(seconds(*run), seconds(*empty)) for _ in range(rounds)]
    ours, theirs = ([pair[k] for pair in pairs] for k in (0, 1))
    for name, times in (("acl-cts run --backend core", ours), ("pytest -n 2, empty tests", theirs)):
        shown = " ".join(f"{value:.1f}" for value in times)
        print(f"{name:28} {count} cases: median {statistics.median(times):.1f} s  ({shown})")
    ratio = statistics.median([a / b for a, b in pairs])
    print(f"ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
