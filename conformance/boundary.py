"""Boundary values, read off the guards of the tables: where an answer must change, and where careless arithmetic slips.

For each comparison of a guard that speaks of an integer parameter: the edge and its neighbours; values that an 8, 16 or
32 bit reading, a signed reading or a wrapped sum would take for allowed ones; the extremes of the type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from acl_cts.specs import expressions as ex
from acl_cts.specs.evaluate import compile_expression
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Function
from acl_cts.specs.values import NotApplicableError


@dataclass(frozen=True, slots=True)
class Edge:
    """The value of `param` at which a guard of `clause` changes; `name` says what it is for people."""

    param: str
    clause: str
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class Named:
    """A value and why it is of interest."""

    name: str
    value: int


def edges(function: Function, frame: Frame) -> list[Edge]:
    """Edges of `function`'s guards in the situation of `frame`, whose arguments are typical ones."""
    found: dict[tuple[str, str, int], Edge] = {}
    integers = [p.name for p in function.signature.params if p.kind is Kind.INTEGER and not p.out]
    for clause in function.clauses:
        for compare in _comparisons(clause.when):
            for param in integers:
                for this, that in ((compare.left, compare.right), (compare.right, compare.left)):
                    edge = _edge(param, this, that, frame)
                    if edge is not None:
                        found.setdefault((param, clause.id, edge), Edge(param, clause.id, describe(that), edge))
    return list(found.values())


def _comparisons(tree: object) -> Iterator[ex.Compare]:
    if isinstance(tree, ex.Compare) and tree.op != "in":
        yield tree
    if isinstance(tree, tuple):
        for item in tree:
            yield from _comparisons(item)
    elif hasattr(tree, "__dataclass_fields__"):
        for name in tree.__dataclass_fields__:
            yield from _comparisons(getattr(tree, name))


def names_in(tree: object) -> frozenset[str]:
    """Names of arguments that `tree` speaks of."""
    if isinstance(tree, ex.Name):
        return frozenset((tree.name,))
    if isinstance(tree, tuple):
        return frozenset().union(*map(names_in, tree))
    if hasattr(tree, "__dataclass_fields__"):
        return frozenset().union(*(names_in(getattr(tree, n)) for n in tree.__dataclass_fields__))
    return frozenset()


def _edge(param: str, this: ex.Expr, that: ex.Expr, frame: Frame) -> int | None:
    """The value of `param` that makes both sides equal, where `this` grows with it one by one."""
    if param not in names_in(this) or param in names_in(that):
        return None
    low, high, other = _at(this, frame, param, 0), _at(this, frame, param, 1), _at(that, frame, param, 0)
    if not all(type(v) is int for v in (low, high, other)) or high - low != 1:
        return None
    value = other - low
    return value if value >= 0 else None


def _at(tree: ex.Expr, frame: Frame, param: str, value: int) -> Any:
    asked = Frame(frame.machine, {**frame.args, param: value})
    try:
        return compile_expression(tree)(asked)
    except NotApplicableError:
        return None


def describe(tree: ex.Expr) -> str:
    """A short name of what a value is compared with: `private_area`, `area.size`, `chain`."""
    match tree:
        case ex.Limit(name=name):
            return name
        case ex.Constant(value=value):
            return str(value)
        case ex.Field(base=ex.Field(name=outer), name=name):
            return f"{outer}.{name}"
        case ex.Field(name=name):
            return name
        case ex.Function(name="len", args=(ex.Field(name=name),)):
            return name
    return "edge"


def around(edge: Edge, bits: int) -> list[Named]:
    """Values at and around an edge, and those that a narrow or signed reading confuses with allowed ones."""
    name, at = edge.name, edge.value
    if at <= 1:
        return [Named(str(value), value) for value in (0, 1, 2)]
    values = [
        Named(f"{name}-1", at - 1),
        Named(name, at),
        Named(f"{name}+1", at + 1),
        Named(f"{name}*2", at * 2),
        Named(f"{name}/2", at // 2),
    ]
    for width in (8, 16, 32):
        turn = 1 << width
        values += [Named(f"2^{width}", turn), Named(f"2^{width}+1", turn + 1)]
        values += [Named(f"2^{width}+{name}-1", turn + at - 1)]
    for width in (16, 32, 64):
        half = 1 << (width - 1)
        values += [Named(f"2^{width - 1}-1", half - 1), Named(f"2^{width - 1}", half)]
        values += [Named(f"2^{width}-1", 2 * half - 1), Named(f"2^{width}-{name}", 2 * half - at)]
    values += [Named("0", 0), Named("1", 1)]
    return fitting(values, bits)


def powers(bits: int) -> list[Named]:
    """Powers of two and their neighbours."""
    values = []
    for width in range(1, bits + 1):
        turn = 1 << width
        values += [Named(f"2^{width}-1", turn - 1), Named(f"2^{width}", turn), Named(f"2^{width}+1", turn + 1)]
    return fitting(values, bits)


def fitting(values: list[Named], bits: int) -> list[Named]:
    """Those that the type can hold, each once."""
    found: dict[int, Named] = {}
    for value in values:
        if 0 <= value.value < 1 << bits:
            found.setdefault(value.value, value)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class SumEdge:
    """Two parameters whose sum a guard of `clause` compares with a limit of value `value`."""

    first: str
    second: str
    clause: str
    name: str
    value: int


def sums(function: Function, frame: Frame) -> list[SumEdge]:
    """Sums of two parameters in `function`'s guards."""
    found = []
    for clause in function.clauses:
        for compare in _comparisons(clause.when):
            for this, that in ((compare.left, compare.right), (compare.right, compare.left)):
                match this:
                    case ex.Arithmetic(op="+", left=ex.Name(name=first), right=ex.Name(name=second)):
                        limit = _at(that, frame, first, 0)
                        if isinstance(limit, int):
                            found.append(SumEdge(first, second, clause.id, describe(that), limit))
    return found


def pairs(edge: SumEdge, bits: int) -> list[tuple[Named, Named]]:
    """Pairs at the edge of the sum, and pairs whose sum wraps at a width so that it looks allowed."""
    limit, name = edge.value, edge.name
    chosen = [
        (0, limit),
        (limit, 0),
        (1, limit - 1),
        (limit - 1, 1),
        (limit // 2, limit - limit // 2),
        (1, limit),
        (limit, 1),
        (limit // 2, limit // 2 + 1),
        (limit // 2 + 2, limit // 2 + 2),
        (0, limit + 1),
        (limit + 1, 0),
        (limit, limit),
        (0, 0),
        (1, 0),
        (0, limit - 1),
        (limit - 1, 0),
    ]
    for width in (8, 16, 32, 64):
        turn = 1 << width
        for small in (1, 10, limit):
            for rest in (0, limit):
                chosen += [(small, turn - small + rest), (turn - small + rest, small)]
        chosen += [
            (turn // 2, turn // 2),
            (turn - 1, 1),
            (1, turn - 1),
            (turn - 1, turn - 1),
            (turn // 2, turn // 2 + limit),
        ]
    top = 1 << bits
    seen: dict[tuple[int, int], tuple[Named, Named]] = {}
    for a, b in chosen:
        if 0 <= a < top and 0 <= b < top:
            seen.setdefault((a, b), (Named(spell(a, limit, name), a), Named(spell(b, limit, name), b)))
    return list(seen.values())


def spell(value: int, limit: int = -1, name: str = "") -> str:
    """A number for a case id: near the limit or a power of two by name, otherwise plain."""
    if name and abs(value - limit) <= 1:
        return name + {-1: "-1", 0: "", 1: "+1"}[value - limit]
    for width in (64, 63, 32, 31, 16, 15, 8):
        gap = value - (1 << width)
        if abs(gap) <= 200 and value > 200:
            return f"2^{width}" + (f"{gap:+d}" if gap else "")
    return str(value)
