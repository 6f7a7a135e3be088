"""Hypothesis strategies: programs made by the generator, with Hypothesis in the place of bytes.

    @given(programs(spec, session.capabilities))
    def test_conforms(program: Program) -> None:
        check(spec, session, program)

Hypothesis then shrinks a failing program to fewer decisions and smaller values.
"""

from __future__ import annotations

from hypothesis import strategies as st

from acl_cts.fuzz.decoder import EVERYTHING
from acl_cts.fuzz.generator import Builder, Generator
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability

BYTES = st.integers(0, 255)


class Drawn:
    """Choices of one decision, drawn when they are asked for and the same when asked for again."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._known: dict[int, int] = {}

    def byte(self, place: int) -> int:
        """The byte at `place`."""
        if place not in self._known:
            self._known[place] = self._draw(BYTES)
        return self._known[place]


@st.composite
def _decisions(draw: st.DrawFn, builder: Builder) -> None:
    builder.decide(Drawn(draw))


@st.composite
def _programs(draw: st.DrawFn, generator: Generator, most: int) -> Program:
    builder = generator.begin()
    draw(st.lists(_decisions(builder), min_size=1, max_size=most))
    return builder.finish()


def programs(
    spec: Spec,
    capabilities: frozenset[Capability] = EVERYTHING,
    *,
    decisions: int = 12,
    without: frozenset[str] = frozenset(),
    families: frozenset[str] = frozenset(),
) -> st.SearchStrategy[Program]:
    """Programs of up to `decisions` decisions without undefined calls, for a backend that has `capabilities`.

    `without`: functions that the backend does not have. `families`: those whose functions are called, all when empty.
    """
    return _programs(Generator(spec, capabilities, without=without, families=families), decisions)
