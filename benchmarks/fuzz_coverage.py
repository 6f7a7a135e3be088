"""How much of the core a campaign reaches, beside what the conformance suite reaches.

    python benchmarks/fuzz_coverage.py [--minutes 10] [--seeds 0,1] [--engine worker]

For each seed a campaign of its own on core and simulator from an empty corpus, all side by side. Then the programs that
each has kept, and all cases without undefined calls, are executed on a core built for gcov, which counts lines and
branches. Ends with 1 when a campaign found something, when one falls more than two points short of the suite, or when
the seeds are more than two points apart.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.core_coverage import Counted, build_covered, counted
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.gate import ROBUSTNESS
from acl_cts.fuzz.corpus import Corpus
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Program

POINTS = 2.0
"""Points of a hundred that are allowed between two of them."""

LIFE = 100
"""Programs of one process: what the core does when its process ends in order counts too."""


def reached(programs: Iterable[Program]) -> Counted:
    """What so many programs reach in the core."""
    with tempfile.TemporaryDirectory() as folder:
        library = build_covered(Path(folder))
        left = iter(programs)
        while some := list(islice(left, LIFE)):
            with CoreBackend().open(Options(library=str(library))) as session:
                for program in some:
                    session.run(program)
        return counted(Path(folder))


def shares(count: Counted) -> tuple[float, float]:
    """Lines and branches of a hundred."""
    return 100 * count.lines_reached / count.lines, 100 * count.branches_taken / count.branches


def campaigns(folder: Path, seeds: Sequence[str], minutes: float, engine: str) -> dict[str, Path]:
    """The corpora of one campaign a seed. Raises SystemExit when one of them found something."""
    corpora = {seed: folder / seed for seed in seeds}
    words = ["-m", "acl_cts.main", "fuzz", "--backend", "core", "--backend", "simulator", "--empty", "--engine", engine]
    running = {
        seed: subprocess.Popen(
            [sys.executable, *words, "--seed", seed, "--max-time", f"{60 * minutes:.0f}", "--corpus", str(corpus), "-q"]
        )
        for seed, corpus in corpora.items()
    }
    ended = {seed: process.wait() for seed, process in running.items()}
    if any(ended.values()):
        raise SystemExit(f"ended otherwise than with 0, by seed: {ended}")
    return corpora


def told(name: str, number: int, count: Counted) -> str:
    """One line."""
    lines, branches = shares(count)
    return (
        f"{name:10} {number:6} programs   lines {count.lines_reached} of {count.lines} ({lines:.1f} %)   "
        f"branches {count.branches_taken} of {count.branches} ({branches:.1f} %)"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--engine", default="worker")
    asked = parser.parse_args()
    spec = load_spec()
    cases = [case.program for case in cached_cases(spec) if case.group != ROBUSTNESS]
    suite = reached(cases)
    print(told("suite", len(cases), suite), flush=True)
    found = [shares(suite)]
    with tempfile.TemporaryDirectory() as folder:
        for seed, path in campaigns(Path(folder), asked.seeds.split(","), asked.minutes, asked.engine).items():
            corpus = Corpus(path)
            corpus.open()
            programs = list(corpus.unread(spec.interface))
            count = reached(programs)
            print(told(f"seed {seed}", len(programs), count), flush=True)
            found.append(shares(count))
    short = any(high - low > POINTS for each in found[1:] for high, low in zip(found[0], each, strict=True))
    apart = any(max(kind) - min(kind) > POINTS for kind in zip(*found[1:], strict=True))
    return int(short or apart)


if __name__ == "__main__":
    sys.exit(main())
