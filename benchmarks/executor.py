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
from acl_cts.backends.native.pinning import PIN
from acl_cts.backends.native.session import NativeSession
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program, Repeat
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
TURNS = 2_000
"""Repeats in one command: few enough that the answers fit into memory that the executor keeps."""
COMMANDS = 100
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


def speed(programs: int, run: Callable[[int], object]) -> float:
    """Programs a second of `run`, which executes as many as it is told."""
    start = time.perf_counter()
    run(programs)
    return programs / (time.perf_counter() - start)


def check(session: NativeSession, wire: bytes) -> None:
    """Refuse to measure something that does not work. Raises RuntimeError."""
    trace = session.decode(session.run_raw(wire))
    if trace.ending.kind is not End.COMPLETED or any(getattr(r, "ret", 1) != 0 for r in trace.records):
        raise RuntimeError(f"the program of the benchmark fails: {trace}")


class Measured:
    """Everything that is measured, one method a figure: programs a second, once."""

    def __init__(self, session: NativeSession) -> None:
        self.session = session
        self.library = session.identity.library
        self.wire = session.lower(PROGRAM).wire
        self.repeated = session.lower(Program((Repeat(TURNS, "i", PROGRAM.body),))).wire
        self.spec = load_spec()
        check(session, self.wire)

    def in_process(self) -> float:
        """What the executor does in its own process: commands that repeat the ten calls."""
        return speed(TURNS * COMMANDS, lambda _: [self.session.run_raw(self.repeated) for _ in range(COMMANDS)])

    def batches(self) -> float:
        batch = [self.wire] * BATCH
        return speed(BATCH * 1000, lambda count: [self.session.run_batch(batch) for _ in range(count // BATCH)])

    def one_by_one(self) -> float:
        return speed(20_000, lambda count: [self.session.run_raw(self.wire) for _ in range(count)])

    def traces(self) -> float:
        return speed(500, lambda count: [self.session.run(PROGRAM) for _ in range(count)])

    def judged(self) -> float:
        return speed(500, lambda count: [judge(self.spec, PROGRAM, self.session.run(PROGRAM)) for _ in range(count)])

    def peer_loop(self) -> float:
        """The peer at its best: one test, one loop."""
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "speed.json"
            self._pytest("test_in_one_loop", folder, ACL_CTS_BENCH_OUTPUT=str(output))
            return float(json.loads(output.read_text(encoding="utf-8")))

    def peer_suite(self) -> float:
        """The peer as such suites are: a test for each program."""
        with tempfile.TemporaryDirectory() as folder:
            summary = self._pytest("test_one_by_one", folder, ACL_CTS_BENCH_TESTS=str(PEER_TESTS))
        found = re.search(rf"{PEER_TESTS} passed.* in ([0-9.]+)s", summary)
        if found is None:
            raise RuntimeError(f"the peer's suite did not pass: {summary[-500:]}")
        return PEER_TESTS / float(found.group(1))

    def _pytest(self, test: str, folder: str, **environment: str) -> str:
        """Run tests of the peer; what pytest said. The peer may use every processor that there is."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PEER), "-k", test]
        done = subprocess.run(
            command,
            env={**os.environ, "ACL_CTS_BENCH_LIBRARY": self.library, **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, PIN.free),
        )
        return done.stdout


def measure(repetitions: int) -> list[Row]:
    """All rows. Each repetition measures everything once, so that what else the machine does meets all alike."""
    with CoreBackend().open(Options()) as session:
        measured = Measured(session)
        figures: dict[str, list[float]] = {}
        for number in range(repetitions + 1):
            for run in (
                measured.peer_suite,
                measured.peer_loop,
                measured.in_process,
                measured.batches,
                measured.one_by_one,
                measured.traces,
                measured.judged,
            ):
                found = run()
                if number:  # the first repetition warms up
                    figures.setdefault(run.__name__, []).append(found)
    median = {name: statistics.median(found) for name, found in figures.items()}
    return [
        Row("pytest and ctypes, a test for each program", median["peer_suite"]),
        Row("pytest and ctypes, one loop in one test", median["peer_loop"]),
        Row("executor in its process, against that loop", median["in_process"], WORKER_GOAL * median["peer_loop"]),
        Row(f"worker, {BATCH} programs a command", median["batches"], BATCH_GOAL),
        Row("worker, one program a command", median["one_by_one"], ONE_BY_ONE_GOAL),
        Row("worker, lowered and decoded each time", median["traces"]),
        Row("the same, judged by the oracle", median["judged"]),
    ]


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
    load = os.getloadavg()[0]
    if load > 1.5:
        print(f"The machine had other work as well (load {load:.1f}): a worker that shares one processor suffers most.")
    if arguments.json:
        figures = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "load": load,
            "repetitions": arguments.repetitions,
            "rows": [{**asdict(row), "met": row.met} for row in rows],
        }
        Path(arguments.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
