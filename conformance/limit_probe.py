"""Limit probes: the real edge of each limit that the tables state, beside the documented one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from acl_cts.backends.backend import BackendError, HarnessError, Options, Session
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.budget import FEW_CRASHES, Budget
from acl_cts.conformance.limit_contract import Contract
from acl_cts.conformance.limit_question import CannotAskError, Questioner
from acl_cts.conformance.limit_search import Edge, find_edge, tell_tales
from acl_cts.conformance.limit_verdict import conclude
from acl_cts.conformance.support import unsupported
from acl_cts.conformance.worker import Worker
from acl_cts.reports.limit_result import LimitKind, LimitResult, LimitVerdict
from acl_cts.reports.results import FunctionSupport, Support
from acl_cts.specs.faults import SpecError
from acl_cts.specs.model import Limit, Spec
from acl_cts.specs.recipe import Recipe

BEYOND = 3
"""Elements beyond the documented number that are offered in one go."""

Watch = Callable[[LimitResult], None]
"""Is told each result as it falls."""

Choice = Callable[[Limit, Recipe], bool]
"""Whether a limit is to be probed in one way."""


def every(limit: Limit, recipe: Recipe) -> bool:
    """The choice of all."""
    return True


def recipes(spec: Spec, choice: Choice = every) -> tuple[tuple[Limit, Recipe], ...]:
    """Every chosen limit with each of its recipes, in the order of the tables."""
    return tuple((lim, each) for lim in spec.limits.values() for each in lim.probes if choice(lim, each))


def probe_limits(
    spec: Spec,
    session: Session,
    support: Mapping[str, FunctionSupport],
    deadline: float | None = None,
    watch: Watch = lambda result: None,
    choice: Choice = every,
) -> tuple[LimitResult, ...]:
    """A result for every chosen recipe, whatever the library or the machinery does. `deadline`: reading of the
    monotonic clock after which nothing is executed."""
    found: list[LimitResult] = []
    try:
        for result in search_limits(spec, session, support, deadline, choice):
            found.append(result)
            watch(result)
    except (HarnessError, BackendError) as error:
        found += _unprobed(spec, recipes(spec, choice)[len(found) :], str(error))
    return tuple(found)


def probe_backend(
    spec: Spec,
    backend: str,
    options: Options,
    support: Mapping[str, FunctionSupport],
    deadline: float | None = None,
    choice: Choice = every,
    through: Callable[[Session], Session] = lambda session: session,
) -> tuple[LimitResult, ...]:
    """The same for a backend that is opened for it; `through`: what the session is used through."""
    if not recipes(spec, choice):
        return ()
    try:
        with open_backend(backend, options) as session:
            return probe_limits(spec, through(session), support, deadline, choice=choice)
    except (HarnessError, BackendError) as error:
        return tuple(_unprobed(spec, recipes(spec, choice), str(error)))


def search_limits(
    spec: Spec,
    session: Session,
    support: Mapping[str, FunctionSupport],
    deadline: float | None = None,
    choice: Choice = every,
) -> Iterator[LimitResult]:
    """The results one by one. Raises HarnessError or BackendError when nothing can be executed any more."""
    worker = Worker(session, spec.floor.live_objects)
    budget = Budget(FEW_CRASHES)

    def expired() -> bool:
        return deadline is not None and time.monotonic() >= deadline

    for limit, recipe in recipes(spec, choice):
        contract = Contract(spec, limit, recipe)
        verdict, why = _beforehand(contract, support)
        if verdict is not None:
            yield bare(contract, verdict, why)
        else:
            yield _search(Questioner(contract, worker, budget, expired))


def _unprobed(spec: Spec, rest: Iterable[tuple[Limit, Recipe]], why: str) -> Iterator[LimitResult]:
    for limit, recipe in rest:
        yield bare(Contract(spec, limit, recipe), LimitVerdict.NOT_PROBED, why)


def _beforehand(contract: Contract, support: Mapping[str, FunctionSupport]) -> tuple[LimitVerdict | None, str]:
    """What is known before anything is asked."""
    functions = contract.recipe.functions
    lacking = unsupported(functions, support)
    if lacking is not None:
        return LimitVerdict.NOT_SUPPORTED, f"{lacking.function}: {lacking.reason}"
    for function in sorted(functions & support.keys()):
        entry = support[function]
        if entry.auxiliary and entry.state is not Support.SUPPORTED:
            return LimitVerdict.NOT_PROBED, f"{function}: {entry.reason}"
    try:
        contract.documented()
    except SpecError as error:
        return LimitVerdict.NOT_PROBED, str(error)
    return None, ""


def bare(contract: Contract, verdict: LimitVerdict, detail: str = "") -> LimitResult:
    """A result that nothing was measured for."""
    limit, recipe = contract.limit, contract.recipe
    documented: tuple[tuple[str, int], ...] = ()
    with contextlib.suppress(SpecError):  # then the detail says so
        documented = contract.documented()
    return LimitResult(
        limit=limit.name,
        function=recipe.function,
        param=recipe.param,
        unit=limit.unit,
        kind=LimitKind.COUNT if not recipe.param else LimitKind.RELATIONAL if limit.relative else LimitKind.ABSOLUTE,
        documented=documented,
        verdict=verdict,
        detail=detail,
        context=recipe.context,
    )


def _search(asker: Questioner) -> LimitResult:
    """The result of one search, cut short where nothing more can be asked."""
    untold = bare(asker.contract, LimitVerdict.INCONCLUSIVE)
    edge, stopped = Edge(None, None), None
    try:
        edge = _varied(asker) if asker.contract.recipe.param else _counted(asker)
    except CannotAskError as stop:
        stopped = stop
    if stopped is not None and (stopped.unable or not asker.answers):
        return replace(untold, verdict=LimitVerdict.NOT_PROBED, detail=str(stopped), steps=asker.steps)
    told = conclude(asker.contract, asker.answers, edge, str(stopped or ""), asker.remarks)
    return replace(
        untold, verdict=told.verdict, measured=told.measured, up_to=told.up_to, detail=told.detail, steps=asker.steps
    )


def _varied(asker: Questioner) -> Edge:
    """The edge of a parameter, and the answers to values that careless arithmetic mistakes."""
    contract, recipe = asker.contract, asker.contract.recipe
    sign = -1 if recipe.at_least else 1

    def ask(places: Iterable[int]) -> dict[int, bool]:
        return {sign * value: accepted for value, accepted in asker.ask([sign * place for place in places]).items()}

    documented = [value for _, value in contract.documented()]
    ends = sorted((0, sign * recipe.most))
    found = find_edge(ask, (sign * value for value in documented), *ends)
    inside = None if found.inside is None else sign * found.inside
    outside = None if found.outside is None else sign * found.outside
    if recipe.monotone and outside is not None:
        bits = contract.spec.functions[recipe.function].signature.param(recipe.param).bits
        told = tell_tales(max(documented) if inside is None else inside, bits, contract.others())
        asker.ask(value for value in told if value <= recipe.most or not recipe.at_least)
    return Edge(inside, outside)


def _counted(asker: Questioner) -> Edge:
    """The edge of a number of elements: more and more of them until one is not taken."""
    recipe = asker.contract.recipe
    documented = max(value for _, value in asker.contract.documented())
    number = min(max(documented, recipe.built) + BEYOND, recipe.most)
    while True:
        stopped = asker.count(number)
        if stopped is not None:
            return Edge(stopped - 1, stopped)
        if number >= recipe.most:
            return Edge(number, None)
        number = min(number * 2, recipe.most)
