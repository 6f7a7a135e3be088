"""Whether the recipes of limits agree with the clauses of the same tables, before any library sees them."""

from __future__ import annotations

from collections.abc import Iterator

from acl_cts.conformance.coverage import Problem
from acl_cts.conformance.limit_contract import Contract
from acl_cts.specs.execution import Outcome
from acl_cts.specs.faults import SpecError
from acl_cts.specs.model import Limit, Spec
from acl_cts.specs.plan import follow, plan
from acl_cts.specs.recipe import Recipe


def limit_problems(spec: Spec) -> Iterator[Problem]:
    """What is wrong with the probes of limits; a limit without one is wrong too."""
    for limit in spec.limits.values():
        if not limit.probes:
            yield Problem(f"limit {limit.name}", "no probe finds its edge")
        for recipe in limit.probes:
            for what in _of_recipe(spec, limit, recipe):
                context = f" ({recipe.context})" if recipe.context else ""
                yield Problem(f"limit {limit.name}", f"probe of {recipe.function}{context}, line {recipe.line}: {what}")


def _of_recipe(spec: Spec, limit: Limit, recipe: Recipe) -> Iterator[str]:
    contract = Contract(spec, limit, recipe)
    try:
        documented = [value for _, value in contract.documented()]
    except SpecError as error:
        yield str(error)
        return
    first = recipe.built + 1 if not recipe.param else 0
    inner, outer = (max(documented), min(documented)) if recipe.at_least else (min(documented), max(documented))
    beyond = contract.beyond()
    if not all(first <= value <= recipe.most for value in (inner, beyond)):
        yield f"the search goes from {first} to {recipe.most}, and not beyond the documented {outer}"
        return
    undefined = plan(spec, recipe.program.body, recipe.program.cleanup).undefined
    if undefined:
        yield f"its program is undefined: {undefined}"
        return
    if contract.required(inner).outcome is Outcome.ERROR:
        yield f"the documented {inner} must be refused by the clauses"
    if contract.required(beyond).outcome is not Outcome.ERROR:
        yield f"{beyond}, just beyond the documented value, need not be refused by the clauses"
    objects = follow(spec, (*recipe.program.body, *recipe.program.cleanup)).machine.objects
    if any(item.alive is True for item in objects):
        yield "its clean-up leaves something alive"
