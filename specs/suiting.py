"""Whether a program suits an interface."""

from __future__ import annotations

from acl_cts.specs.interface import Interface, Kind
from acl_cts.specs.program import Call, Program, steps
from acl_cts.specs.program_text import ProgramError
from acl_cts.specs.source_plan import arguments


def program_problem(interface: Interface, program: Program) -> str:
    """What is wrong with the calls of a program: what does not exist, or does not suit; '' when nothing is."""
    for statement in steps(program):
        if isinstance(statement, Call):
            problem = call_problem(interface, statement)
            if problem:
                return problem
    return ""


def call_problem(interface: Interface, call: Call) -> str:
    """What is wrong with a call's function name, argument names or kinds of arguments; '' when nothing is."""
    signature = interface.functions.get(call.function)
    if signature is None:
        return f"unknown function {call.function}"
    names = {p.name for p in signature.params}
    given = {name for name, _ in call.args}
    needed = {p.name for p in signature.params if not p.out and p.kind is not Kind.ROOM}
    if len(given) != len(call.args) or not given <= names:
        return f"{call.function} has no parameter {', '.join(sorted(given - names)) or 'given twice'}"
    if not needed <= given:
        return f"{call.function} needs {', '.join(sorted(needed - given))}"
    try:
        arguments(call, signature)
    except ProgramError as error:
        return error.what
    return ""
