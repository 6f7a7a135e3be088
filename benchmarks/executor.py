"""Measures the native executor against a pytest and ctypes suite of the same calls (`ctypes_suite.py`).

    python benchmarks/executor.py [--json FILE] [--repetitions N]

Everything is measured in one run on one machine, on the same build of the C core; figures are medians over the
repetitions. A program is ten calls. The peer checks what it reads; the executor checks guards and sentinels of every
call and keeps all answers, but the oracle is only part of the last row.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.native.session import NativeSession
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import End

CALLS = 10
PROGRAM = parse_program("""
a = aclrtAllocBuf(size=256)
aclrtGetBufData(buf=a)
aclrtSetBufDataLen(buf=a, len=100)
aclrtGetBufDataLen(buf=a)
aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 16), size=16, offset=0)
aclrtGetBufUserData(buf=a, size=16, offset=0)
b = aclrtCopyBufRef(buf=a)
aclrtGetBufChainNum(headBuf=a)
aclrtFreeBuf(buf=a)
aclrtFreeBuf(buf=b)
""")
"""The calls of `ctypes_suite.ten_calls`, in the same order with the same arguments."""

BATCH = 64
PEER = Path(__file__).with_name("ctypes_suite.py")
PEER_TESTS = 500

WORKER_GOAL = 10.0
ONE_BY_ONE_GOAL = 50_000
BATCH_GOAL = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: programs a second, and the goal it has to reach (0 for none)."""

    what: str
    programs: float
    goal: float = 0.0

    @property
    def met(self) -> bool:
        """Whether it reaches its goal."""
        return self.programs >= self.goal


def median_speed(repetitions: int, programs: int, run: Callable[[], object]) -> float:
    """Programs a second of `run`, which executes `programs` of them; the first turn only warms up."""
    run()
    speeds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        speeds.append(programs / (time.perf_counter() - start))
    return statistics.median(speeds)


def check(session: NativeSession, wire: bytes) -> None:
    """Refuse to measure something that does not work. Raises RuntimeError."""
    trace = session.decode(session.run_raw(wire))
    if trace.ending.kind is not End.COMPLETED or any(getattr(r, "ret", 1) != 0 for r in trace.records):
        raise RuntimeError(f"the program of the benchmark fails: {trace}")


def executor_rows(session: NativeSession, repetitions: int) -> tuple[Row, Row, Row, Row]:
    """Batches, one by one, with decoding, with the oracle."""
    wire = session.lower(PROGRAM).wire
    check(session, wire)
    spec = load_spec()

    def one_by_one(count: int) -> None:
        for _ in range(count):
            session.run_raw(wire)

    def in_batches(count: int) -> None:
        batch = [wire] * BATCH
        for _ in range(count // BATCH):
            session.run_batch(batch)

    def to_traces(count: int) -> None:
        for _ in range(count):
            session.run(PROGRAM)

    def judged(count: int) -> None:
        for _ in range(count):
            judge(spec, PROGRAM, session.run(PROGRAM))

    many, some, few = BATCH * 1000, 20_000, 500
    return (
        Row(
            f"worker, {BATCH} programs a command", median_speed(repetitions, many, lambda: in_batches(many)), BATCH_GOAL
        ),
        Row(
            "worker, one program a command", median_speed(repetitions, some, lambda: one_by_one(some)), ONE_BY_ONE_GOAL
        ),
        Row("worker, lowered and decoded each time", median_speed(repetitions, few, lambda: to_traces(few))),
        Row("the same, judged by the oracle", median_speed(repetitions, few, lambda: judged(few))),
    )


def peer_rows(library: str, repetitions: int) -> tuple[Row, Row]:
    """The peer in one loop, and as a suite with a test for each program."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "speeds.json"
        environment = {
            **os.environ,
            "ACL_CTS_BENCH_LIBRARY": library,
            "ACL_CTS_BENCH_OUTPUT": str(output),
            "ACL_CTS_BENCH_REPETITIONS": str(repetitions),
            "ACL_CTS_BENCH_TESTS": str(PEER_TESTS),
        }
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:acl_cts", str(PEER)]
        subprocess.run(
            [*pytest, "-k", "test_in_one_loop"], env=environment, check=True, capture_output=True, cwd=folder
        )
        loop = statistics.median(json.loads(output.read_text(encoding="utf-8")))
        speeds = []
        for _ in range(repetitions):
            done = subprocess.run(
                [*pytest, "-k", "test_one_by_one"],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
                cwd=folder,
            )
            speeds.append(PEER_TESTS / _seconds(done.stdout))
    return Row("pytest and ctypes, one loop in one test", loop), Row(
        "pytest and ctypes, a test for each program", statistics.median(speeds)
    )


def _seconds(summary: str) -> float:
    """The time that pytest says it took. Raises RuntimeError when it says none."""
    found = re.search(rf"{PEER_TESTS} passed.* in ([0-9.]+)s", summary)
    if found is None:
        raise RuntimeError(f"the peer's suite did not pass: {summary[-500:]}")
    return float(found.group(1))


def measure(repetitions: int) -> list[Row]:
    """All rows; the goals of the peer's comparison are worked out from its own figure."""
    with CoreBackend().open(Options()) as session:
        library = session.identity.library
        batch, single, decoded, judged = executor_rows(session, repetitions)
    loop, suite = peer_rows(library, repetitions)
    in_process = Row(
        "executor in its process (batches), against that loop", batch.programs, WORKER_GOAL * loop.programs
    )
    return [suite, loop, in_process, batch, single, decoded, judged]


def table(rows: list[Row]) -> str:
    """The rows as text."""
    lines = [f"{'':54}{'programs/s':>12}{'calls/s':>12}{'goal':>12}"]
    for row in rows:
        goal = f"{row.goal:,.0f} {'met' if row.met else 'MISSED'}" if row.goal else ""
        lines.append(f"{row.what:54}{row.programs:>12,.0f}{row.programs * CALLS:>12,.0f}   {goal}")
    return "\n".join(lines)


def main() -> int:
    """0 when every goal is met, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--repetitions", type=int, default=7, help="repetitions of each measurement (7)")
    arguments = parser.parse_args()
    rows = measure(arguments.repetitions)
    print(table(rows))
    if arguments.json:
        figures = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "repetitions": arguments.repetitions,
            "rows": [{**asdict(row), "met": row.met} for row in rows],
        }
        Path(arguments.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
