"""Score plans: what a measurement of the suite takes in, and what it leaves out for want of time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from acl_cts.backends.core_defects import Defect
from acl_cts.backends.core_mutants import Mutant
from acl_cts.reports.score_result import Part

SEED = 2013
"""From which every sample is drawn: the same one each time."""

PROCESSORS = 2
"""Processors that the costs below are shared by, whatever machine this is: a sample must not depend on it."""

CLEAN_COST = 30.0
DEFECT_COST = {"plain": 1.5, "asan": 6.0, "tsan": 8.0}
VARIANT_COST = 10.0
MUTANT_COST = 2.0
"""Seconds of one processor, from measurements, builds included."""

SHARES = {"defects": 0.5, "variants": 0.25, "mutants": 0.25}
"""How a limited time is divided."""

Variant = tuple[str, tuple[str, ...]]
"""Name and defines of a conforming build."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """What is measured. `clean`: whether the clean core is judged, for the coverage of clauses; `coverage`: whether it
    counts lines and branches as it is. `believing`: reviews of mutants are believed after a look, as in a sample of
    them; where all are measured, every case is asked. `parts`: how much of everything this is."""

    defects: tuple[Defect, ...] = ()
    variants: tuple[Variant, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    clean: bool = True
    coverage: bool = True
    detectors: bool = True
    believing: bool = False
    parts: tuple[Part, ...] = ()


def planned(whole: ScorePlan, mutants: int | None = None, seconds: float | None = None) -> ScorePlan:
    """`whole` with at most `mutants` mutants, and with no more of anything than fits into `seconds` on two processors:
    a sample that is the same every time, kept in its order."""
    cut = replace(whole, mutants=_sample(whole.mutants, len(whole.mutants) if mutants is None else mutants))
    if seconds is not None:
        cut = _fitting(cut, seconds * PROCESSORS)
    parts = [
        Part("defects", len(cut.defects), len(whole.defects)),
        Part("variants", len(cut.variants), len(whole.variants)),
        Part("mutants", len(cut.mutants), len(whole.mutants)),
    ]
    return replace(cut, believing=len(cut.mutants) < len(whole.mutants), parts=tuple(parts))


def _fitting(plan: ScorePlan, budget: float) -> ScorePlan:
    budget -= CLEAN_COST if plan.clean else 0.0
    present = {name: share for name, share in SHARES.items() if getattr(plan, name)}
    unit = max(budget, 0.0) / (sum(present.values()) or 1.0)
    room = {name: unit * share for name, share in SHARES.items()}
    return replace(
        plan,
        defects=_affordable(plan.defects, room["defects"]),
        variants=_sample(plan.variants, int(room["variants"] / VARIANT_COST)),
        mutants=_sample(plan.mutants, int(room["mutants"] / MUTANT_COST)),
        detectors=False,
    )


def _affordable(defects: Sequence[Defect], room: float) -> tuple[Defect, ...]:
    """As many as `room` holds, in a shuffled order, whatever they cost each."""
    shuffled = _shuffled(defects)
    taken = []
    for place in shuffled:
        cost = DEFECT_COST[defects[place].flavour]
        if cost <= room:
            room -= cost
            taken.append(place)
    return tuple(defects[place] for place in sorted(taken))


def _sample(items: Sequence[Item], number: int) -> tuple[Item, ...]:
    return tuple(items[place] for place in sorted(_shuffled(items)[:number]))


def _shuffled(items: Sequence[object]) -> list[int]:
    places = list(range(len(items)))
    random.Random(SEED).shuffle(places)
    return places
