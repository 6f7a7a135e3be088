"""Contract of a probe: what the tables say of a limit, of the call that meets it, and of that call's answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from acl_cts.specs.evaluate import compile_expression
from acl_cts.specs.execution import Execution, Outcome, UnsetError
from acl_cts.specs.faults import SpecError
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.judgement import Strength
from acl_cts.specs.model import Clause, Limit, Spec
from acl_cts.specs.plan import follow, follow_into
from acl_cts.specs.program import Call, Fill, Int, Ramp, Room, Value
from acl_cts.specs.recipe import Recipe
from acl_cts.specs.values import NotApplicableError

SHORT = 256
"""Bytes of caller memory where more is named than a probe may give: such a call must be refused before they matter."""


@dataclass(frozen=True, slots=True)
class Required:
    """What the tables say of a call: its outcome, the clauses that say so, and whether resources may be short.

    `concerns`: it is this limit that speaks; a value may also lie beyond another limit of the same call.
    """

    outcome: Outcome
    clauses: tuple[Clause, ...]
    scarce: bool
    concerns: bool = True

    @property
    def clause(self) -> Clause | None:
        """The clause that speaks first."""
        return self.clauses[0] if self.clauses else None

    @property
    def counts(self) -> bool:
        """Whether another answer would be a discrepancy of this limit."""
        decided = self.outcome in (Outcome.ERROR, Outcome.SUCCESS) and self.concerns
        return decided and self.clause is not None and self.clause.strength is not Strength.ADVISORY


@dataclass(slots=True)
class Contract:
    """One recipe of one limit, seen through the tables alone."""

    spec: Spec
    limit: Limit
    recipe: Recipe
    _model: Execution | None = None
    _documented: tuple[tuple[str, int], ...] = ()
    _known: dict[int, Required] = field(default_factory=dict)

    def documented(self) -> tuple[tuple[str, int], ...]:
        """The outermost allowed value by reading. Raises SpecError where the table does not say it."""
        if not self._documented:
            readings = dict(self.limit.readings) or {self.limit.relative: 0}
            found = tuple((name, self._allowed(value)) for name, value in readings.items())
            self._documented = found
        return self._documented

    def _allowed(self, reading: int) -> int:
        recipe = self.recipe
        try:
            frame = self._before(0).frame(recipe.call, self._counters(0))
            value = compile_expression(recipe.allowed)(Frame(frame.machine, {**frame.args, "limit": reading}))
        except (NotApplicableError, UnsetError) as error:
            value = error
        if not isinstance(value, int) or value < 0:
            where = f"limit {self.limit.name}, probe of {recipe.function} in line {recipe.line}"
            raise SpecError(f"{where}: {recipe.allowed_text!r} is no number from 0 after the set-up")
        return value

    def beyond(self) -> int:
        """The first value that no reading allows."""
        documented = [value for _, value in self.documented()]
        return min(documented) - 1 if self.recipe.at_least else max(documented) + 1

    def required(self, value: int) -> Required:
        """What the call must answer at `value`."""
        found = self._required(value)
        if found.outcome is not Outcome.ERROR or value == self.beyond():
            return found
        own = self._required(self.beyond()).clauses
        return replace(found, concerns=any(clause in own for clause in found.clauses))

    def _required(self, value: int) -> Required:
        if value not in self._known:
            times = 0 if self.recipe.param else value - self.recipe.built - 1
            run = self._before(times)
            rules = run.rules.functions[self.recipe.function]
            frame = run.frame(self.call(value) if self.recipe.param else self.recipe.call, self._counters(times))
            judged = run.classify(rules, frame)
            clauses = tuple(rule.clause for rule in judged.rules)
            self._known[value] = Required(judged.outcome, clauses, run.scarce(rules, frame))
        return self._known[value]

    def leaves(self) -> int:
        """Objects that may be left over after the recipe's own program."""
        run = follow(self.spec, (*self.recipe.program.body, *self.recipe.program.cleanup))
        return sum(item.alive is not False for item in run.machine.objects)

    def call(self, value: int) -> Call:
        """The call with the parameter at `value`, its caller memory as long as it says."""
        recipe, signature = self.recipe, self.spec.functions[self.recipe.function].signature
        args: list[tuple[str, Value]] = []
        for name, given in recipe.call.args:
            if name == recipe.param:
                given = Int(value)
            elif signature.param(name).measure == recipe.param:
                given = _sized(given, max(1, value) if value <= recipe.most else SHORT)
            args.append((name, given))
        return replace(recipe.call, args=tuple(args))

    def others(self) -> tuple[int, ...]:
        """The other numbers that the call is given."""
        recipe, signature = self.recipe, self.spec.functions[self.recipe.function].signature
        named = [(name, given) for name, given in recipe.call.args if name != recipe.param]
        numbers = (v.value for n, v in named if isinstance(v, Int) and signature.param(n).kind is Kind.INTEGER)
        return tuple(dict.fromkeys(number for number in numbers if number))

    def _before(self, times: int) -> Execution:
        """The state in which the call is made; `times`: whole iterations before it, where a count is built up."""
        recipe = self.recipe
        if not recipe.param:
            return follow_into(self.spec, recipe.setup, recipe.loop, times, recipe.place)
        if self._model is None:
            self._model = follow(self.spec, recipe.setup)
        return self._model

    def _counters(self, iteration: int) -> dict[str, int]:
        return {} if self.recipe.param else {self.recipe.loop.loop: iteration}


def _sized(value: Value, length: int) -> Value:
    """The same caller memory, `length` bytes of it."""
    match value:
        case Fill() | Ramp():
            return replace(value, length=length)
        case Room():
            return Room(length)
    return value
