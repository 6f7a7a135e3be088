"""Recipes: how the real edge of a limit is found, as the table states it."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.specs.expressions import Expr
from acl_cts.specs.program import Call, Program, Repeat, Statement, walk


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to meet a limit: `program` ends in the call whose parameter `param` is varied, or in a repeat whose
    length is (`param` is '' then).

    `allowed`: the outermost value that is still allowed, in terms of the call and of `limit`, a reading's value.
    `most`: the highest value that the search goes to. `built`: elements that stand before the first iteration.
    `at_least`: the limit is a lowest value, not a highest one. `monotone`: every value on the allowed side is allowed.
    `context` tells recipes of one limit apart.
    """

    function: str
    param: str
    context: str
    program: Program
    allowed: Expr
    allowed_text: str
    most: int
    built: int = 0
    at_least: bool = False
    monotone: bool = True
    line: int = 0

    @property
    def setup(self) -> tuple[Statement, ...]:
        """What comes before the last statement."""
        return self.program.body[:-1]

    @property
    def loop(self) -> Repeat:
        """The repeat that builds a count up. Raises TypeError where a parameter is varied."""
        last = self.program.body[-1]
        if not isinstance(last, Repeat):
            raise TypeError("this recipe varies a parameter")
        return last

    @property
    def place(self) -> int:
        """Position, in the body of the loop, of the call that may be refused: the last one."""
        return max(at for at, statement in enumerate(self.loop.body) if isinstance(statement, Call))

    @property
    def call(self) -> Call:
        """The call that may be refused. Raises TypeError when the program has none at its end."""
        last = self.program.body[-1]
        found = self.loop.body[self.place] if isinstance(last, Repeat) else last
        if not isinstance(found, Call):
            raise TypeError("the program ends in neither a call nor a repeat")
        return found

    @property
    def functions(self) -> frozenset[str]:
        """Every function that the program calls."""
        statements = (*walk(self.program.body), *walk(self.program.cleanup))
        return frozenset(statement.function for statement in statements if isinstance(statement, Call))
