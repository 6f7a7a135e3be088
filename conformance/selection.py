"""Selection: which cases of the whole list a run is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from acl_cts.conformance.case import Case
from acl_cts.specs.faults import BadInput
from acl_cts.specs.model import Spec
from acl_cts.specs.suggestion import suggestion as suggestion


class SelectionError(BadInput):
    """A filter names what does not exist. The message is one line: what, where, what to do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Names by kind; a case is selected when it matches one name of every kind that has any. `cases` are globs, `ids`
    whole ids."""

    families: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) for f in fields(self))

    def matches(self, case: Case) -> bool:
        """Whether `case` is selected."""
        return (
            (not self.families or case.family in self.families)
            and (not self.groups or case.group in self.groups)
            and (not self.functions or not case.functions.isdisjoint(self.functions))
            and (not self.clauses or not case.clauses.isdisjoint(self.clauses))
            and (not self.cases or any(fnmatchcase(case.id, glob) for glob in self.cases))
            and (not self.ids or case.id in self.ids)
        )

    def check(self, spec: Spec) -> None:
        """Raise SelectionError for a family, function or clause that the tables do not have."""
        _known("family", self.families, spec.families)
        _known("function", self.functions, spec.interface.functions)
        _known("clause", self.clauses, spec.clauses)

    def apply(self, cases: Iterable[Case]) -> tuple[Case, ...]:
        """The selected cases. Raises SelectionError when a group is unknown or nothing is left."""
        everything = tuple(cases)
        _known("group", self.groups, dict.fromkeys(case.group for case in everything))
        chosen = tuple(case for case in everything if self.matches(case))
        if not chosen:
            hint = suggestion(self.cases[0], [case.id for case in everything]) if self.cases else ""
            raise SelectionError(f"no case matches these filters{hint}; `acl-cts list` shows all {len(everything)}")
        return chosen


def _known(kind: str, names: tuple[str, ...], known: Iterable[str]) -> None:
    choices = list(known)
    for name in names:
        if name not in choices:
            hint = suggestion(name, choices) or f"; there are: {', '.join(choices[:12])}"
            raise SelectionError(f"no {kind} is called {name!r}{hint}")
