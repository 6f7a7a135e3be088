"""How many of the planted defects of the core fuzzing alone finds: from an empty corpus, without conformance cases.

    python benchmarks/fuzz_catalogue.py [--seconds 60] [--seed 0] [--jobs 2] [--out catalogue.json] [DEFECT ...]

Each defect gets a campaign of its own on one processor, until its first finding, whose failure must have been seen in
time; confirming and shortening it may take longer. The clock is processor time of the campaign and its workers, so that
a busy machine does not change what is found. Defects that show in the thread sanitizer only are fuzzed in that flavour,
and those that make memory grow without a sanitizer: the turns that it takes until a few bytes in each are more than a
library may keep for later are too slow under one. A defect that must show as a note counts when that note is told.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.pool
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.core_defects import Defect, Kind, Shows, load_defects
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.plan import CampaignPlan, Event

CALL_TIMEOUT = 1.0
"""Seconds without progress after which a call hangs."""


def spent(campaign: Campaign) -> float:
    """Seconds of processor time of this process and of the workers, those that still run included."""
    used = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    for pid in campaign.workers:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def shows(defect: Defect, event: Event) -> bool:
    """Whether the campaign has found the defect."""
    if defect.shows is Shows.NOTE:
        return event.kind == "note" and event.data["clause"] == defect.clause
    return event.kind == "finding"


def flavour_of(defect: Defect) -> str:
    """The build in which the defect shows soonest."""
    if defect.flavour == "tsan":
        return "tsan"
    return "plain" if defect.kind is Kind.GROWTH else "cover"


def hunt(defect: Defect, seconds: float, seed: int) -> dict[str, Any]:
    """One campaign against one defect."""
    flavour = flavour_of(defect)
    library = build_core(flavour, defect.defines)
    backend = "core:tsan" if flavour == "tsan" else "core"
    with tempfile.TemporaryDirectory() as folder:
        options = Options(library=str(library), call_timeout=CALL_TIMEOUT)
        plan = CampaignPlan((backend,), options, Path(folder), seed=seed, empty=True)
        campaign = Campaign(plan)
        start, clock, found, seen = spent(campaign), time.monotonic(), "", 0.0
        campaign.stopped = lambda: spent(campaign) - start > seconds
        events = campaign.run()
        for event in events:
            if not seen and (event.kind == "failing" or shows(defect, event)):
                seen = spent(campaign) - start
            if shows(defect, event):
                found = str(event.data.get("summary") or event.data.get("observed"))
                break
        events.close()
        return {
            "id": defect.id,
            "kind": defect.kind.value,
            "found": found if seen <= seconds else "",
            "seen": round(seen, 1),
            "seconds": round(spent(campaign) - start, 1),
            "wall": round(time.monotonic() - clock, 1),
            "programs": campaign.figures.programs,
        }


def forked(defect: Defect, seconds: float, seed: int) -> dict[str, Any]:
    """`hunt` in a process of its own, whose processor time is nobody else's."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=lambda: theirs.send(hunt(defect, seconds, seed)))
    child.start()
    theirs.close()
    answer: dict[str, Any] = ours.recv()
    child.join()
    return answer


def chosen(names: Sequence[str]) -> list[Defect]:
    """The defects called so, all without names."""
    return [defect for defect in load_defects() if not names or defect.id in names]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("defects", nargs="*", metavar="DEFECT")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    defects = chosen(given.defects)
    results = []
    with multiprocessing.pool.ThreadPool(given.jobs) as pool:
        for result in pool.imap(partial(forked, seconds=given.seconds, seed=given.seed), defects):
            results.append(result)
            verdict = "found " if result["found"] else "MISSED"
            print(
                f"{verdict} {result['id']:45} {result['seen']:6.1f} {result['seconds']:6.1f} s  {result['found']}",
                flush=True,
            )
            if given.out:
                given.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    found = sum(bool(result["found"]) for result in results)
    print(f"{found} of {len(results)} found ({found / len(results):.1%}), {given.seconds:g} s each, seed {given.seed}")


if __name__ == "__main__":
    main()
