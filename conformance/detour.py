"""Detours: a case that only looks at its objects through a function that is not executed any more, without those looks.

One function that crashes or hangs is asked in most cases, to see that nothing else has changed. What such a case is
really about can be judged all the same.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from acl_cts.conformance.case import Case
from acl_cts.conformance.draft import variables
from acl_cts.specs.interface import Kind
from acl_cts.specs.model import Function, Spec
from acl_cts.specs.program import Call, Program, Statement, When, walk

SCENARIO = "scenario"
"""The group whose programs are written by hand: every one of their calls is there for a reason."""


def around(spec: Spec, case: Case, function: str) -> Case | None:
    """`case` without its calls of `function`. None when it is about that function, when the function does more than
    tell, when other statements depend on what it told, or when a call of it stands inside a block."""
    known = spec.functions.get(function)
    if known is None or not _tells(known) or case.group == SCENARIO or function in case.id:
        return None
    whole = (*case.program.body, *case.program.cleanup)
    looks = [statement for statement in whole if _is_look(statement, function)]
    program = Program(_without(case.program.body, function), _without(case.program.cleanup, function))
    left = (*program.body, *program.cleanup)
    if any(_is_look(statement, function) for statement in walk(left)):
        return None
    if any(isinstance(after, When) and before in looks for before, after in pairwise(whole)):
        return None
    told = {look.target.name for look in looks if isinstance(look, Call) and look.target is not None}
    if told & variables(left):
        return None
    own = {clause.id for clause in known.clauses}
    return replace(case, program=program, clauses=case.clauses - own, functions=case.functions - {function})


def _tells(function: Function) -> bool:
    """Whether all that `function` is called for is what it answers. One that locates a data area leads to more."""
    signature = function.signature
    outputs = any(param.out or param.kind is Kind.ROOM for param in signature.params)
    return outputs and not function.creates and signature.locates is None


def _is_look(statement: Statement, function: str) -> bool:
    return isinstance(statement, Call) and statement.function == function


def _without(statements: tuple[Statement, ...], function: str) -> tuple[Statement, ...]:
    return tuple(statement for statement in statements if not _is_look(statement, function))
