"""Measures whether a long stream of programs is as fast as a short one, and takes no more memory.

    python benchmarks/stream.py [--json FILE] [--repetitions N]

Programs of the conformance cases go through one worker, 64 a command: 1,000, 10,000 and 100,000 of them, each stream
with a worker of its own. The peer of a long stream is the short one in the same run; medians over the repetitions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.native.layout import MAX_BATCH
from acl_cts.backends.native.session import NativeSession
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.specs.loader import load_spec

LENGTHS = (1_000, 10_000, 100_000)
WARM = 1_000
"""Programs before the clock starts: the first ones grow pools that then stay."""

GROUPS = ("simple", "state", "pair", "limit", "null", "isolation")
SLOWER = 1.25
"""How many times the time of a program in the short stream one in the long stream may take."""

GROWTH = 4 << 20
"""Bytes by which worker and parent may grow over a stream."""


@dataclass(frozen=True, slots=True)
class Row:
    """One length of stream: programs a second, and growth of resident memory in bytes."""

    programs: int
    rate: float
    worker_growth: int
    parent_growth: int


def resident(pid: int | str) -> int:
    """Resident memory of a process in bytes."""
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096


def wires(session: NativeSession) -> list[bytes]:
    """Programs of cases that leave nothing behind and need nothing special."""
    chosen = [case for case in cached_cases(load_spec()) if case.group in GROUPS and not case.leaves and not case.solo]
    return [session.lower(case.program).wire for case in chosen[::7]]


def stream(session: NativeSession, programs: list[bytes], length: int) -> Row:
    """Send `length` programs through a fresh worker."""
    session.restart()
    batches = [programs[k : k + MAX_BATCH] for k in range(0, len(programs), MAX_BATCH)]
    endless = cycle(batches)

    def send(number: int) -> None:
        sent = 0
        for batch in islice(endless, 0, None):
            session.run_batch(batch)
            sent += len(batch)
            if sent >= number:
                return

    send(WARM)
    pid = session.pid or 0
    worker, parent = resident(pid), resident("self")
    start = time.perf_counter()
    send(length)
    spent = time.perf_counter() - start
    if session.pid != pid:
        raise RuntimeError("the worker died in the middle of the stream")
    return Row(length, length / spent, resident(pid) - worker, resident("self") - parent)


def measure(repetitions: int) -> list[Row]:
    """All lengths, medians."""
    found: dict[int, list[Row]] = {length: [] for length in LENGTHS}
    with CoreBackend().open(Options()) as session:
        programs = wires(session)
        for _ in range(repetitions):
            for length in LENGTHS:
                found[length].append(stream(session, programs, length))
    return [
        Row(
            length,
            statistics.median(row.rate for row in rows),
            int(statistics.median(row.worker_growth for row in rows)),
            int(statistics.median(row.parent_growth for row in rows)),
        )
        for length, rows in found.items()
    ]


def main() -> int:
    """0 when long streams are linear and flat, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--repetitions", type=int, default=5, help="repetitions of each stream (5)")
    arguments = parser.parse_args()
    rows = measure(arguments.repetitions)
    print(f"{'programs':>10}{'programs/s':>13}{'worker grew':>14}{'parent grew':>14}")
    for row in rows:
        print(f"{row.programs:>10,}{row.rate:>13,.0f}{row.worker_growth:>12,} B{row.parent_growth:>12,} B")
    if arguments.json:
        text = json.dumps([asdict(row) for row in rows], indent=2) + "\n"
        Path(arguments.json).write_text(text, encoding="utf-8")
    linear = rows[0].rate <= rows[-1].rate * SLOWER
    flat = all(max(row.worker_growth, row.parent_growth) <= GROWTH for row in rows)
    print(f"linear: {'yes' if linear else 'NO'}; flat: {'yes' if flat else 'NO'}")
    return 0 if linear and flat else 1


if __name__ == "__main__":
    raise SystemExit(main())
