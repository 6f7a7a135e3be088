"""Measures `acl-cts fuzz` against two peers written by hand: a Hypothesis state machine over ctypes
(`state_machine_peer.py`) and a libFuzzer harness in C with a dictionary (`libfuzzer_peer.c`).

    python benchmarks/fuzzing.py [--seeds 2] [--seconds 60] [--only worker,...] [--defects ID,...] [--json FILE]

For each defect and seed, from an empty corpus: seconds until the first failure is told, everything from the start of
the process on. What ours do with it then, confirming, shortening and repeating it, is counted with `--confirmed`. What
was not found in time counts as the whole time (censored), in the means too. All run one after the other, on one core:
start this with `taskset -c 1` on a machine that is idle otherwise. The full measurement is `--seeds 10`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from acl_cts.backends.backend import BackendError, Options
from acl_cts.backends.core_backend import FOLDER, build_core
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.native.build import compile_c
from acl_cts.backends.native.clang import find_clang
from acl_cts.backends.native.embedded import build_native_core
from acl_cts.fuzz.atheris_campaign import AtherisCampaign
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.plan import ATHERIS, WORKER, CampaignPlan

HERE = Path(__file__).resolve().parent
SAMPLE = (
    "alloc-of-64-kib-refused",
    "set-user-sum-wraps",
    "set-user-last-byte-refused",
    "chain-num-writes-eight-bytes",
    "set-length-of-65535-refused",
    "free-of-original-drops-the-area",
    "append-behind-the-head",
    "append-one-too-many",
    "references-8-bit",
    "first-registration-wins",
)
"""From one call to some 250, by special value, wrapped sum, stray write, order, limit, count and stale state."""

CONFIRMED = "ACL_CTS_BENCHMARK_CONFIRMED"
"""Set for our engines where only a confirmed finding counts."""

GRACE = 30.0
"""Seconds that a contender may take beyond its time before it counts as stuck."""


@dataclass(frozen=True, slots=True)
class Search:
    """One attempt: `seconds` until it was found, or None for a miss."""

    contender: str
    defect: str
    seed: int
    seconds: float | None


def own(engine: str, library: Path, seed: int, seconds: float) -> list[str]:
    """The command of one of our engines."""
    return [sys.executable, __file__, "--one", engine, str(library), str(seed), str(seconds)]


def worker(defines: tuple[str, ...], seed: int, seconds: float) -> list[str]:
    return own(WORKER, build_core("cover", defines), seed, seconds)


def atheris(defines: tuple[str, ...], seed: int, seconds: float) -> list[str]:
    return own(ATHERIS, build_native_core(find_clang(), defines), seed, seconds)


def state_machine(defines: tuple[str, ...], seed: int, seconds: float) -> list[str]:
    library = build_core("plain", defines)
    return [sys.executable, str(HERE / "state_machine_peer.py"), str(library), str(seed), str(seconds)]


def libfuzzer(defines: tuple[str, ...], seed: int, seconds: float) -> list[str]:
    sources = {path.name: path.read_text() for name in ("include", "src") for path in (FOLDER / name).iterdir()}
    sources["libfuzzer_peer.c"] = (HERE / "libfuzzer_peer.c").read_text()
    flags = ["-std=gnu11", "-O1", "-g", "-w", "-pthread", "-fsanitize=fuzzer,address,undefined"]
    flags += ["-fno-sanitize-recover=all", *(f"-D{define}" for define in defines)]
    program = compile_c("libfuzzer-peer", sources, flags, cc=find_clang().command)
    options = [f"-dict={HERE / 'libfuzzer_peer.dict'}", f"-max_total_time={seconds:.0f}", f"-seed={seed}"]
    return [str(program), *options, "-max_len=1024", "-timeout=2", "-detect_leaks=0", "-verbosity=0"]


CONTENDERS: dict[str, Callable[[tuple[str, ...], int, float], list[str]]] = {
    "worker": worker,
    "atheris": atheris,
    "state machine": state_machine,
    "libFuzzer by hand": libfuzzer,
}


def search(contender: str, defect: str, seed: int, seconds: float) -> Search:
    """One attempt of one contender."""
    (defines,) = [each.defines for each in load_defects() if each.id == defect]
    command = CONTENDERS[contender](defines, seed, seconds)
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, timeout=seconds + GRACE, check=False, env=os.environ
            )
            missed = done.returncode == 0 and b"found" not in done.stdout
        except subprocess.TimeoutExpired:
            missed = True
        took = time.monotonic() - started
    return Search(contender, defect, seed, None if missed or took > seconds else took)


def one(engine: str, library: str, seed: str, seconds: str) -> int:
    """A campaign that ends with its first finding."""
    deadline = time.monotonic() + float(seconds)
    plan = CampaignPlan(
        ("core",),
        Options(library=library, call_timeout=2.0),
        Path.cwd() / "corpus",
        seed=int(seed),
        deadline=deadline,
        empty=True,
        engine=engine,
    )
    made = AtherisCampaign(plan) if engine == ATHERIS else Campaign(plan)
    for event in made.run():
        if event.kind == ("finding" if os.environ.get(CONFIRMED) else "failing"):
            print(f"found {event.data['clause']}", flush=True)
            os._exit(1)
    return 0


def mean(searches: list[Search], limit: float) -> float:
    """Geometric mean of the times, misses counted as the whole time."""
    return math.exp(sum(math.log(s.seconds if s.seconds is not None else limit) for s in searches) / len(searches))


def throughput(engine: str, jobs: int, seconds: float) -> float:
    """Programs of ten calls a second of a campaign on the core, each judged by the oracle or checked by a scout."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "acl_cts.main", "fuzz", "--engine", engine, "--jobs", str(jobs), "-q"]
        command += ["--empty", "--max-time", f"{seconds:.0f}", "--corpus", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = (Path(folder) / "log.jsonl").read_text(encoding="utf-8").splitlines() if done.returncode == 0 else []
    ends = [data for data in map(json.loads, told) if data["kind"] == "end"]
    if done.returncode != 0 or not ends:
        raise SystemExit(f"{engine} with {jobs} jobs ended with {done.returncode}: {done.stderr}{done.stdout}")
    return sum((data["calls"] + data["scouted_calls"]) / data["seconds"] for data in ends) / 10


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, metavar="N")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each search")
    parser.add_argument("--only", default="", help=f"contenders of {', '.join(CONTENDERS)}")
    parser.add_argument("--defects", default=",".join(SAMPLE), help="ids of backends/core/defects.yaml")
    parser.add_argument("--throughput-seconds", type=float, default=20.0, help="for each engine and number of jobs")
    parser.add_argument("--confirmed", action="store_true", help="wait until a finding was confirmed and shortened")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        return one(*sys.argv[2:6])
    asked = arguments()
    if asked.confirmed:
        os.environ[CONFIRMED] = "1"
    wanted = [name for name in asked.only.split(",") if name] or list(CONTENDERS)
    try:
        find_clang()
    except BackendError as error:
        wanted = [name for name in wanted if name in ("worker", "state machine")]
        print(f"without atheris and libFuzzer: {error}", flush=True)
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    engines = [name for name in (WORKER, ATHERIS) if name in wanted] if asked.throughput_seconds else []
    rates = {f"{e}, {j} jobs": throughput(e, j, asked.throughput_seconds) for e in engines for j in (1, 2)}
    for name, rate in rates.items():
        print(f"{name:34} {rate:8.0f} programs of ten calls/s", flush=True)
    searches: list[Search] = []
    for defect in asked.defects.split(","):
        for name in wanted:
            found = [search(name, defect, seed, asked.seconds) for seed in range(1, asked.seeds + 1)]
            searches += found
            times = " ".join(f"{s.seconds:6.1f}" if s.seconds is not None else "missed" for s in found)
            print(f"{defect:34} {name:18} {times}", flush=True)
    print(f"\ngeometric means in seconds, misses as {asked.seconds:g}; found of {len(searches) // len(wanted)}")
    for name in wanted:
        mine = [s for s in searches if s.contender == name]
        hits = sum(s.seconds is not None for s in mine)
        print(f"  {name:18} {mean(mine, asked.seconds):8.2f}   {hits}")
    if asked.json:
        told = {"seconds": asked.seconds, "rates": rates, "searches": [asdict(s) for s in searches]}
        asked.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
