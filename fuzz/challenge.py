"""Drawing a challenge: the same seed, tables and cases give the same programs, on every machine."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from acl_cts.conformance.case import Case
from acl_cts.conformance.challenge import Challenge, challenge_case
from acl_cts.conformance.mustpass import USUAL
from acl_cts.conformance.share import work
from acl_cts.fuzz.choices import RECORD
from acl_cts.fuzz.decoder import decode
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import digest

NUMBER = 200
"""Programs of a challenge."""

LIGHT = 300
"""What one of them may cost, in statements executed and judged."""

LONGEST = 12
"""Decisions that one of them rests on at most."""

VERSION = 1
"""Goes up whenever the same seed draws other bytes."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A challenge, and the cases that its programs are."""

    challenge: Challenge
    cases: tuple[Case, ...]


def draw_challenge(spec: Spec, seed: str, cases: Iterable[Case], number: int = NUMBER) -> Drawn:
    """`number` programs of `seed`: no call is undefined, no program is among `cases` or there twice, and none needs
    what a library with the documented functions may lack."""
    known = {digest(case.program) for case in cases}
    drawn = list(itertools.islice(_drawn(spec, seed, known), number))
    found = sorted((case for _, case in drawn), key=lambda case: case.id)
    return Drawn(Challenge(seed, tuple(program for program, _ in drawn)), tuple(found))


def _drawn(spec: Spec, seed: str, known: set[str]) -> Iterator[tuple[Program, Case]]:
    number = 1
    for draw in itertools.count():
        program = decode(spec, _bytes(spec, seed, draw), USUAL)
        case = challenge_case(spec, number, program)
        if case is None or work(case.program) > LIGHT or digest(case.program) in known:
            continue
        known.add(digest(case.program))
        number += 1
        yield program, case


def _bytes(spec: Spec, seed: str, draw: int) -> bytes:
    """The bytes of one draw; how many of them is drawn too."""
    source = hashlib.shake_256(f"acl-cts challenge {VERSION}\n{spec.digest}\n{draw}\n{seed}".encode())
    whole = source.digest(1 + LONGEST * RECORD)
    return whole[1 : 1 + RECORD * (1 + whole[0] % LONGEST)]
