"""The search for an edge: from the documented value outward by growing steps, then by halves, over exact integers.

Everything here speaks of places: a place grows away from what is allowed, whichever way the limit points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

Ask = Callable[[Iterable[int]], Mapping[int, bool]]
"""Whether each of some places is accepted; a place is asked of the library at most once."""

WIDTHS = (8, 16, 32, 64)
"""Bits of the integers that a library may compute with."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`inside`: the outermost place accepted, None when none was. `outside`: the next place, which was not accepted;
    None when everything up to the end of the search was."""

    inside: int | None
    outside: int | None


def find_edge(ask: Ask, documented: Iterable[int], low: int, high: int) -> Edge:
    """The edge nearest to the outermost `documented` place that is accepted, between `low` and `high`."""
    places = sorted({place for place in documented if low <= place <= high}) or [low]
    wanted = {low, low + 1, low + 2, high, *places} - ({high} if high not in places else set())
    wanted |= {near for place in places for near in (place - 1, place + 1, (low + place) // 2)}
    known = dict(ask(sorted(place for place in wanted if low <= place <= high)))
    inside = max((place for place in places if known[place]), default=None)
    if inside is None:
        inside = max((place for place, accepted in known.items() if accepted and place < places[0]), default=None)
    if inside is None:
        return Edge(None, low)
    outside = min((place for place, accepted in known.items() if not accepted and place > inside), default=None)
    if outside is None:
        inside, outside = _gallop(ask, max(place for place in known if known[place]), high)
        if outside is None:
            return Edge(inside, None)
    return _halve(ask, inside, outside)


def _gallop(ask: Ask, start: int, high: int) -> tuple[int, int | None]:
    """From an accepted place outward, each step twice as long, to the first that is not accepted."""
    inside, step = start, 1
    while inside < high:
        place = min(start + step, high)
        if not ask((place,))[place]:
            return inside, place
        inside, step = place, step * 2
    return inside, None


def _halve(ask: Ask, inside: int, outside: int) -> Edge:
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if ask((middle,))[middle]:
            inside = middle
        else:
            outside = middle
    return Edge(inside, outside)


def tell_tales(edge: int, bits: int, others: Iterable[int]) -> Iterator[int]:
    """Values that careless arithmetic takes for the other side of the edge at value `edge`: read in fewer bits, read as
    signed, or added to one of `others` in a sum that wraps; and one value of every magnitude beyond it, for what is not
    monotone. Each fits into `bits`."""
    found: dict[int, None] = dict.fromkeys(1 << k for k in range(bits) if 1 << k > edge)
    for width in WIDTHS:
        turn, half = 1 << width, 1 << (width - 1)
        found |= dict.fromkeys((half - 1, half, turn - 1, turn, turn + 1, turn + edge - 1, turn + edge, turn - edge))
        for other in others:
            found |= dict.fromkeys(
                (turn - other, turn - other + 1, turn - other + edge, half - other, half - other + 1)
            )
    yield from (value for value in found if 0 <= value < 1 << bits)
