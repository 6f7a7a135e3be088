"""Frames: one call as the expressions of the tables see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acl_cts.specs.machine import Machine
from acl_cts.specs.trace import Pointer
from acl_cts.specs.values import UNKNOWN


@dataclass(slots=True)
class Frame:
    """One call as an expression sees it. `outs` and `ret` are UNKNOWN before the answer is there. `addresses`: where
    the handles that the call creates came to lie, by output."""

    machine: Machine
    args: dict[str, Any]
    outs: dict[str, Any] = field(default_factory=dict)
    ret: Any = UNKNOWN
    hits: int = 0
    pointers: tuple[Pointer, ...] | list[Pointer] = ()
    addresses: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)
