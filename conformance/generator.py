"""All conformance cases, derived from the tables and the field reports: same list, same order, everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from acl_cts.conformance.case import Case
from acl_cts.conformance.draft import Draft
from acl_cts.conformance.growth import growth_drafts
from acl_cts.conformance.limits import limit_drafts, sweep_drafts
from acl_cts.conformance.longer import again_drafts, crowded_fault_drafts, cycle_drafts, fault_drafts, robustness_drafts
from acl_cts.conformance.matrix import (
    crowd_drafts,
    isolation_drafts,
    large_crowd_drafts,
    null_drafts,
    pair_drafts,
    related_drafts,
    state_drafts,
)
from acl_cts.conformance.recycled import recycled_drafts
from acl_cts.conformance.regression import regression_drafts
from acl_cts.conformance.scenario import asked_for, load_scenarios
from acl_cts.conformance.threads import thread_drafts
from acl_cts.specs.model import Spec
from acl_cts.specs.plan import Plan, plan
from acl_cts.specs.program import Live, Program, Statement, Steady
from acl_cts.specs.program_bytes import digest
from acl_cts.specs.program_rules import check_program

Finish = Callable[[Spec, Sequence[Draft]], Iterable["Case | None"]]
"""How drafts become cases: `finish` of each, in their order."""


def cases(spec: Spec, finisher: Finish | None = None) -> tuple[Case, ...]:
    """Every case, in a fixed order. Programs that some answer could make undefined are no cases (robustness apart)."""
    finisher = finisher or _one_by_one
    found: dict[tuple[str, frozenset[str]], Case] = {}
    _add(finisher(spec, tuple(drafts(spec))), found)
    _add(finisher(spec, tuple(growth_drafts(spec, tuple(found.values())))), found)
    return tuple(sorted(found.values(), key=lambda case: case.id))


def _one_by_one(spec: Spec, drafted: Sequence[Draft]) -> Iterator[Case | None]:
    return (finish(spec, draft) for draft in drafted)


def _add(finished: Iterable[Case | None], found: dict[tuple[str, frozenset[str]], Case]) -> None:
    for case in finished:
        if case is not None:
            found.setdefault((digest(case.program), case.clauses), case)


def regressions(spec: Spec) -> tuple[Case, ...]:
    """The cases of programs that once showed a fault, on top of those that follow from the tables. Raises BackendError
    for a file that is no program."""
    found = (finish(spec, draft) for draft in regression_drafts(spec))
    return tuple(case for case in found if case is not None)


def case_list_hash(listed: Iterable[Case]) -> str:
    """SHA-256 over the ids, which hold each program's digest, and the clauses."""
    total = hashlib.sha256()
    for case in sorted(listed, key=lambda case: case.id):
        total.update(f"{case.id} {' '.join(sorted(case.clauses))}\n".encode())
    return total.hexdigest()


def drafts(spec: Spec) -> Iterator[Draft]:
    """All drafts that come from the tables at once; where two are the same program the first one gives the name."""
    yield from _support(spec)
    yield from _scenarios()
    yield from _programs(spec)
    yield from limit_drafts(spec)
    yield from null_drafts(spec)
    yield from state_drafts(spec)
    yield from pair_drafts(spec)
    yield from isolation_drafts(spec)
    yield from related_drafts(spec)
    yield from crowd_drafts(spec)
    yield from large_crowd_drafts(spec)
    yield from sweep_drafts(spec)
    yield from cycle_drafts(spec)
    yield from again_drafts(spec)
    yield from recycled_drafts(spec)
    yield from fault_drafts(spec)
    yield from crowded_fault_drafts(spec)
    yield from robustness_drafts(spec)
    yield from thread_drafts(spec)


def _support(spec: Spec) -> Iterator[Draft]:
    for function in spec.functions.values():
        for number, program in enumerate(function.simplest, 1):
            label = "valid" if number == 1 else f"valid-{number}"
            yield Draft(function.family, "simple", function.name, label, program.body, cleanup=program.cleanup)


def _scenarios() -> Iterator[Draft]:
    for scenario in load_scenarios():
        yield Draft(
            scenario.family,
            "scenario",
            scenario.id,
            scenario.name,
            scenario.program.body,
            cleanup=scenario.program.cleanup,
            needs=scenario.needs,
            solo=scenario.solo,
            planned=scenario.planned,
            title=scenario.title,
            balance=False,
        )


def _programs(spec: Spec) -> Iterator[Draft]:
    """Programs that stand in the tables themselves."""
    for family in spec.families.values():
        for name, program in family.programs:
            draft = Draft(family.name, "scenario", "table", name, program.body, cleanup=program.cleanup, balance=False)
            yield replace(draft, needs=asked_for(program))


def finish(spec: Spec, draft: Draft) -> Case | None:
    """The draft with clean-up and clauses; None when it could be undefined. Raises ProgramError for a malformed one."""
    body, known = _planned(spec, draft)
    if known is None:
        return None
    cleanup = known.cleanup
    if draft.balance and not known.leaves and not draft.undefined:
        body, cleanup = (Live(), *body), (*cleanup, Live())
    program = Program(body, cleanup)
    check_program(program)
    name = f"{draft.family}/{draft.group}/{draft.function}/{draft.label}~{digest(program)[:8]}"
    return Case(
        id=name,
        family=draft.family,
        group=draft.group,
        program=program,
        clauses=known.clauses | _further(spec, draft),
        functions=known.functions,
        needs=draft.needs,
        solo=draft.solo or known.entangled,
        planned=draft.planned,
        title=draft.title,
        item=draft.item or name,
        leaves=known.leaves,
    )


def _further(spec: Spec, draft: Draft) -> frozenset[str]:
    """Clauses that the draft puts to the test in other ways than by what one call answers."""
    further = {"common.robust-refusal"} if draft.undefined else set()
    if any(isinstance(statement, Steady) for statement in draft.body):
        functions = (spec.functions[name] for name in spec.families[draft.family].functions)
        further.update(clause.id for function in functions for clause in function.clauses if clause.balance)
    return frozenset(further)


def _planned(spec: Spec, draft: Draft) -> tuple[tuple[Statement, ...], Plan | None]:
    for body in dict.fromkeys(((*draft.body, *draft.optional), draft.body)):
        known = plan(spec, body, draft.cleanup, robust=draft.undefined)
        if not known.undefined:
            return body, known
    return draft.body, None
