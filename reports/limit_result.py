"""What the search for the real edge of one documented limit found, to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from acl_cts.reports.typed import Typed


class LimitKind(StrEnum):
    """How the documents state a limit: as a number, in terms of another value, or as a number of objects."""

    ABSOLUTE = "absolute"
    RELATIONAL = "relational"
    COUNT = "count"


class LimitVerdict(StrEnum):
    """How the measured edge compares with the documented one."""

    AS_DOCUMENTED = "as documented"
    DIFFERS = "differs"
    NOT_ENFORCED = "not enforced"
    INCONCLUSIVE = "inconclusive"
    NOT_SUPPORTED = "not supported"
    NOT_PROBED = "not probed"


BROKEN = frozenset({LimitVerdict.DIFFERS, LimitVerdict.NOT_ENFORCED})
"""Verdicts that accuse the library; they rest on clauses that are more than advice."""


@dataclass(frozen=True, slots=True)
class LimitResult:
    """Documented and measured value of one limit on one backend.

    `documented`: each reading of the document with its value in `unit`. `measured`: the largest value that is
    accepted, where the next one is refused. `up_to`: the largest value tried and accepted when no edge was found.
    `context`: the situation that was probed, as the size of the buffer. `detail`: one sentence that explains the
    verdict. `steps`: calls made. `accepted`: the waivers, or `baseline`, that expect the verdict.
    """

    limit: str
    function: str
    param: str
    unit: str
    kind: LimitKind
    documented: tuple[tuple[str, int], ...]
    verdict: LimitVerdict
    measured: int | None = None
    up_to: int | None = None
    detail: str = ""
    context: str = ""
    steps: int = 0
    accepted: tuple[str, ...] = ()


def limit_to_json(result: LimitResult) -> dict[str, Any]:
    """JSON of one result."""
    accepted = {"accepted": list(result.accepted)} if result.accepted else {}
    return {
        "limit": result.limit,
        "function": result.function,
        "param": result.param,
        "unit": result.unit,
        "kind": result.kind.value,
        "documented": [[reading, value] for reading, value in result.documented],
        "measured": result.measured,
        "verdict": result.verdict.value,
        "up_to": result.up_to,
        "detail": result.detail,
        "context": result.context,
        "steps": result.steps,
        **accepted,
    }


def limit_from_json(data: Mapping[str, Any], place: str = "") -> LimitResult:
    """One result, which stands at `place`. Raises ValueError when `data` is not of this format."""
    read = Typed(data, place)
    return LimitResult(
        limit=read.text("limit"),
        function=read.text("function"),
        param=read.text("param"),
        unit=read.text("unit"),
        kind=read.word("kind", LimitKind),
        documented=read.tuples("documented", str, int),
        measured=read.optional_integer("measured"),
        verdict=read.word("verdict", LimitVerdict),
        up_to=read.optional_integer("up_to"),
        detail=read.text("detail"),
        context=read.text("context"),
        steps=read.count("steps"),
        accepted=read.texts("accepted") if "accepted" in read.data else (),
    )
