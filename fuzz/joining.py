"""Joining: programs that one process executed one after the other, as one program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from acl_cts.fuzz.renaming import counted_by, renamed, variables
from acl_cts.specs.program import Program, Ref, Repeat, Statement, walk


def joined(programs: Sequence[Program]) -> Program:
    """`programs` as one that does what they do, in their order; the clean-up is that of the last."""
    taken: set[str] = set()
    body: tuple[Statement, ...] = ()
    last = Program(())
    for program in programs:
        body += last.body + last.cleanup
        last = _apart_from(taken, program)
        whole = (*last.body, *last.cleanup)
        taken |= variables(whole) | _loops(whole)
    return Program(body + last.body, last.cleanup)


def _apart_from(taken: set[str], program: Program) -> Program:
    """The same program without any of the names in `taken`."""
    whole = (*program.body, *program.cleanup)
    used = taken | variables(whole) | _loops(whole)
    for loop in sorted(_loops(whole) & taken):
        program = counted_by(program, loop, _fresh(loop, used))
    names = {name: Ref(_fresh(name, used)) for name in sorted(variables(whole) & taken)}
    return Program(renamed(program.body, names), renamed(program.cleanup, names))


def _loops(statements: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(each.loop for each in walk(statements) if isinstance(each, Repeat))


def _fresh(name: str, used: set[str]) -> str:
    """A name that is not used yet, and is from now on."""
    other = next(each for each in (f"{name[:40]}{k}" for k in count(1)) if each not in used)
    used.add(other)
    return other
