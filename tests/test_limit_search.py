"""The search for an edge, on made-up libraries: right for every edge, few calls, honest where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from acl_cts.conformance.limit_search import Edge, find_edge, tell_tales

TOP = 2**64 - 1


@dataclass
class Library:
    """Answers by a rule and counts what it was asked."""

    rule: Callable[[int], bool]
    answers: dict[int, bool] = field(default_factory=dict)

    def ask(self, places: Iterable[int]) -> dict[int, bool]:
        for place in places:
            assert 0 <= place <= TOP
            self.answers.setdefault(place, self.rule(place))
        return {place: self.answers[place] for place in self.answers}


numbers = st.one_of(st.integers(0, 300), st.integers(0, TOP), st.integers(0, 64).map(lambda bits: (1 << bits) - 1))


@given(edge=numbers, documented=st.lists(numbers, min_size=1, max_size=3))
def test_the_edge_of_a_monotone_library_is_exact(edge: int, documented: list[int]) -> None:
    library = Library(lambda place: place <= edge)
    found = find_edge(library.ask, documented, 0, TOP)
    assert found == (Edge(TOP, None) if edge == TOP else Edge(edge, edge + 1))
    assert len(library.answers) <= 3 + 4 * len(documented) + 2 * 64


@given(documented=numbers)
def test_the_documented_edge_costs_a_handful_of_calls(documented: int) -> None:
    library = Library(lambda place: place <= documented)
    find_edge(library.ask, [documented], 0, TOP)
    assert len(library.answers) <= 8


@given(documented=st.lists(numbers, min_size=1, max_size=3))
def test_a_library_that_accepts_nothing_has_no_inside(documented: list[int]) -> None:
    assert find_edge(Library(lambda place: False).ask, documented, 0, TOP) == Edge(None, 0)


@given(accepted=st.sets(st.integers(0, 600)), documented=st.integers(0, 500), high=st.integers(501, 600))
def test_both_sides_of_what_is_called_an_edge_were_asked(accepted: set[int], documented: int, high: int) -> None:
    library = Library(lambda place: place in accepted)
    found = find_edge(library.ask, [documented], 0, high)
    assert max(library.answers) <= high
    if found.inside is not None:
        assert library.answers[found.inside]
        assert found.outside is None or (found.outside, library.answers[found.outside]) == (found.inside + 1, False)
        assert found.outside is not None or found.inside == high


WIDTHS = st.sampled_from((8, 16, 32))


@given(edge=st.integers(1, 200), width=WIDTHS)
def test_a_narrow_reading_gives_itself_away(edge: int, width: int) -> None:
    told = set(tell_tales(edge, 64, ()))
    assert any(value > edge and value % (1 << width) <= edge for value in told)


@given(edge=st.integers(1, 2**31), width=st.sampled_from((32, 64)))
def test_a_signed_reading_gives_itself_away(edge: int, width: int) -> None:
    half = 1 << (width - 1)
    signed = {value: (value + half) % (2 * half) - half for value in tell_tales(edge, 64, ())}
    assert any(value > edge and reading <= edge for value, reading in signed.items())


@given(edge=st.integers(0, 200), other=st.integers(1, 200), width=st.sampled_from((8, 16, 32, 64)))
def test_a_sum_that_wraps_gives_itself_away(edge: int, other: int, width: int) -> None:
    told = set(tell_tales(edge, 64, (other,)))
    assert any(value > edge and (value + other) % (1 << width) <= edge + other for value in told)


@given(edge=numbers, bits=st.sampled_from((32, 64)), others=st.lists(numbers, max_size=2))
def test_tell_tales_fit_into_the_type(edge: int, bits: int, others: list[int]) -> None:
    told = list(tell_tales(edge, bits, others))
    assert len(told) == len(set(told))
    assert all(0 <= value < 1 << bits for value in told)


@given(st.integers(0, 2**33), st.sampled_from([32, 64]))
def test_every_magnitude_beyond_the_edge_is_tried(edge: int, bits: int) -> None:
    told = set(tell_tales(edge, bits, ()))
    assert {2**k for k in range(bits) if 2**k > edge} <= told
