"""Edition diff: what two editions of the tables state differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from acl_cts.specs.interface import Param, Signature
from acl_cts.specs.model import Clause, Family, Function, Limit, Source, Spec


class Change(StrEnum):
    """What became of a thing from the first edition to the second. `moved`: a limit whose value is another."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same. `kind`: family, function, clause, limit, code or floor. `parts`: what of it
    differs, with the statement of the first edition and of the second; a part that one of them has not is ''."""

    kind: str
    name: str
    change: Change
    parts: tuple[tuple[str, str, str], ...] = ()


def edition_diff(first: Spec, second: Spec) -> tuple[Difference, ...]:
    """Everything that differs, coarse things first: families, functions, clauses, limits, codes."""
    return (
        *_differences("family", _all(first.families, _family), _all(second.families, _family)),
        *_differences("function", _all(first.functions, _function), _all(second.functions, _function)),
        *_differences("clause", _all(first.clauses, _clause), _all(second.clauses, _clause)),
        *map(_moved, _differences("limit", _all(first.limits, _limit), _all(second.limits, _limit))),
        *_differences("code", _codes(first), _codes(second)),
        *_differences("floor", {"resources": _floor(first)}, {"resources": _floor(second)}),
    )


Parts = Mapping[str, str]
Thing = TypeVar("Thing")


def _all(named: Mapping[str, Thing], parts: Callable[[Thing], Parts]) -> dict[str, Parts]:
    return {name: parts(thing) for name, thing in named.items()}


def _differences(kind: str, first: Mapping[str, Parts], second: Mapping[str, Parts]) -> Iterator[Difference]:
    for name in [*first, *(name for name in second if name not in first)]:
        before, after = first.get(name), second.get(name)
        if before is None or after is None:
            known, change = (after, Change.ADDED) if before is None else (before, Change.REMOVED)
            told = tuple((part, *_sided(text, change)) for part, text in (known or {}).items() if text)
            yield Difference(kind, name, change, told)
            continue
        parts = tuple((part, before[part], after[part]) for part in before if before[part] != after[part])
        if parts:
            yield Difference(kind, name, Change.CHANGED, parts)


def _sided(text: str, change: Change) -> tuple[str, str]:
    return ("", text) if change is Change.ADDED else (text, "")


def _moved(found: Difference) -> Difference:
    """A limit that has another value has moved; one with another text only was changed."""
    if found.change is Change.CHANGED and {part for part, _, _ in found.parts} & {"value", "relative"}:
        return Difference(found.kind, found.name, Change.MOVED, found.parts)
    return found


# ----------------------------------------------------------------------------------------- things by their parts


def _source(source: Source) -> Parts:
    return {"document": source.document, "section": source.section, "edition": source.edition}


def _family(family: Family) -> Parts:
    return {
        "status": family.status,
        "title": family.title_en,
        "title (zh)": family.title_zh,
        "programs": ", ".join(name for name, _ in family.programs),
    }


def _function(function: Function) -> Parts:
    return {
        "family": function.family,
        "signature": _signature(function.signature),
        "summary": function.summary,
        "effect": function.effect_text,
        "helps only": "yes" if function.auxiliary else "no",
    }


def _signature(signature: Signature) -> str:
    return f"{signature.return_ctype} {signature.name}({', '.join(map(_param, signature.params))})"


def _param(param: Param) -> str:
    const = "const " if param.const else ""
    return f"{const}{param.ctype} {'*' if param.out else ''}{param.name}"


def _clause(clause: Clause) -> Parts:
    return {
        "function": clause.function,
        "strength": clause.strength.value,
        "when": clause.when_text,
        "outcome": clause.outcome,
        "ensures": clause.ensures_text,
        "on": clause.on if clause.ensures_text else "",
        "observe": ", ".join(name for name, _ in clause.observe),
        "refusal": clause.refusal,
        "tested by": ", ".join(name for name, is_so in _tests(clause) if is_so),
        "text": clause.text_en,
        "text (zh)": clause.text_zh,
        **_source(clause.source),
    }


def _tests(clause: Clause) -> tuple[tuple[str, bool], ...]:
    """Ways in which a clause is put to the test beside what it ensures."""
    return (
        ("state kept", bool(clause.keeps)),
        ("same answer", clause.consistent),
        (clause.touch, bool(clause.touch)),
        ("live count", clause.balance),
        ("callback", clause.invoke),
    )


def _limit(limit: Limit) -> Parts:
    named = len(limit.readings) > 1
    values = " or ".join(f"{value} ({name})" if named else str(value) for name, value in limit.readings.items())
    return {
        "value": values,
        "relative": limit.relative,
        "unit": limit.unit,
        "text": limit.text,
        **_source(limit.source),
    }


def _codes(spec: Spec) -> dict[str, Parts]:
    return {str(code): {"class": kind, "text": text} for code, (kind, text) in sorted(spec.codes.items())}


def _floor(spec: Spec) -> Parts:
    floor = spec.floor
    return {
        "allocation": str(floor.allocation),
        "live bytes": str(floor.live_bytes),
        "live objects": str(floor.live_objects),
    }
