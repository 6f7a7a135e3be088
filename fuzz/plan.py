"""The plan of a campaign: what one process is asked to do, and the events that it tells of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.backends.backend import Options
from acl_cts.fuzz.corpus import QUOTA
from acl_cts.fuzz.figures import Figures

WORKER, ATHERIS = "worker", "atheris"
"""Engines."""


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """`backends`: the first one guides, the others answer the same programs. `runs`: programs, 0 for no limit.
    `deadline`: reading of the monotonic clock, None for no limit. `job`: number of the process among `jobs` with one
    corpus. `empty`: no conformance cases are taken as seeds. `quota`: bytes that the corpus may take. `engine`: what
    makes the programs, `WORKER` or `ATHERIS`. `scout`: a scout helps where there can be one."""

    backends: tuple[str, ...]
    options: Options
    corpus: Path
    seed: int = 0
    runs: int = 0
    deadline: float | None = None
    job: int = 0
    jobs: int = 1
    empty: bool = False
    quota: int = QUOTA
    repeatable: bool = False
    engine: str = WORKER
    scout: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: `kind`, and what there is to say of it, for the log. `figures`: how things stand, where
    that is told."""

    kind: str
    job: int
    data: dict[str, Any]
    figures: Figures | None = None
