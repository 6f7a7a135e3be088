"""The universe: everything that a pattern may name in this version of the suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acl_cts.specs.model import Spec


@dataclass(frozen=True, slots=True)
class Universe:
    """`cases`: clauses by case id. `backends`: names before any colon."""

    cases: Mapping[str, frozenset[str]]
    clauses: frozenset[str]
    limits: frozenset[str]
    functions: frozenset[str]
    backends: frozenset[str]

    def names(self, kind: str) -> Iterable[str]:
        """Everything of the `kind` of which a waiver's scope holds patterns."""
        named: dict[str, Iterable[str]] = {
            "cases": self.cases,
            "clauses": self.clauses,
            "limits": self.limits,
            "functions": self.functions,
        }
        return named[kind]


def universe(spec: Spec, cases: Mapping[str, frozenset[str]], backends: Iterable[str]) -> Universe:
    """What there is by the tables `spec`, the `cases` and the `backends` that can be named."""
    return Universe(
        cases=cases,
        clauses=frozenset(spec.clauses),
        limits=frozenset(spec.limits),
        functions=frozenset(spec.interface.functions),
        backends=frozenset(backends),
    )
