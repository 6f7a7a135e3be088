"""Cases: a program with an id and the clauses it exercises."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to judge.

    `id`: `family/group/function/...` ending in `~` and eight hex digits of the program's digest; unique, stable,
    without white space. `clauses`: clause ids it exercises. `needs`: capabilities without which it is not run.
    `functions`: the functions that its program calls. `solo`: wants a process of its own. `planned`: when not empty,
    the case is declared not run, with this reason. `item`: the pytest item that runs it; dense sweeps share one.
    `leaves`: objects that its clean-up cannot give back; the worker is replaced when they add up.
    """

    id: str
    family: str
    group: str
    program: Program
    clauses: frozenset[str]
    functions: frozenset[str]
    needs: frozenset[Capability] = frozenset()
    solo: bool = False
    planned: str = ""
    title: str = ""
    item: str = ""
    leaves: int = 0
