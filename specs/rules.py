"""The clauses of a spec, compiled: for each function its guards, postconditions, kept state and effect."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from acl_cts.specs import expressions as ex
from acl_cts.specs.evaluate import (
    Term,
    Terms,
    compile_effect,
    compiled,
    consequences,
    guard,
    guards,
    lenient,
    take_compiled,
)
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import Kind
from acl_cts.specs.kept import kept, sources_of
from acl_cts.specs.model import Clause, Function, Spec
from acl_cts.specs.values import Obj

OWN = sources_of(Path(__file__).parent)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One clause, ready to be asked. `when` tells whether its guard holds: True, False or UNKNOWN; a clause without one
    always applies. `reads` tells which state `ensures` speaks of, `keeps` which must be kept."""

    clause: Clause
    when: Term
    ensures: Term | None
    reads: Callable[[Frame], list[tuple[Obj | str, str | Obj]]]
    keeps: Callable[[Frame], list[tuple[Obj | str, str | Obj]]]
    observe: tuple[tuple[str, Term], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Posts:
    """The postconditions that follow one outcome: the guards of all at once, and what those that hold say. `implied`:
    clauses that every such answer puts to the test."""

    rules: tuple[Rule, ...]
    met: Terms
    ask: Terms
    implied: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionRules:
    """The rules of one function, by what they decide; `wrong`, `doubtful`, `right`: all guards of `errors`, `opens` and
    `successes` at once; `after`: postconditions by the outcome that they follow; `params`: name, kind and C type of
    each; `inputs`: name and kind of the parameters that take a handle; `by_handle`: success is a handle, not NULL;
    `principal`: the output that a call's name stands for, or `ret`."""

    function: Function
    errors: tuple[Rule, ...]
    opens: tuple[Rule, ...]
    successes: tuple[Rule, ...]
    posts: tuple[Rule, ...]
    wrong: Terms
    doubtful: Terms
    right: Terms
    after: dict[str, Posts]
    keeps: tuple[Rule, ...]
    effect: Callable[[Frame], None]
    aliases: tuple[tuple[str, str, Term], ...]
    params: tuple[tuple[str, Kind, str], ...]
    inputs: tuple[tuple[str, str], ...]
    by_handle: bool
    principal: str


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """All functions' rules."""

    spec: Spec
    functions: dict[str, FunctionRules]


def compile_rules(spec: Spec) -> Rules:
    """The rules of `spec`, compiled once."""
    return _compiled(spec.digest, _Hold(spec))


class _Hold:
    """Lets the cache go by the digest alone."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hold) and other.spec.digest == self.spec.digest

    def __hash__(self) -> int:
        return hash(self.spec.digest)


@functools.lru_cache(maxsize=8)
def _compiled(digest: str, hold: _Hold) -> Rules:
    spec = hold.spec
    made: list[Rules] = []

    def make() -> bytes:
        made.append(_made(spec))
        return compiled()

    stored = kept("rules", (digest, OWN.code), (), make)  # compiling takes longer than all else here
    if not made:
        take_compiled(stored)
        made.append(_made(spec))
    return made[0]


def _made(spec: Spec) -> Rules:
    return Rules(spec, {name: _function(function) for name, function in spec.functions.items()})


def _function(function: Function) -> FunctionRules:
    rules = [_rule(clause) for clause in function.clauses]

    def having(outcome: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule.clause.outcome == outcome)

    errors, opens, successes = having("error"), having("open"), having("success")
    return FunctionRules(
        function,
        errors,
        opens,
        successes,
        tuple(r for r in rules if r.ensures or r.observe),
        _guards(errors),
        _guards(opens),
        _guards(successes),
        {outcome: _following(rules, outcome) for outcome in ("success", "refusal")},
        tuple(r for r in rules if r.clause.keeps),
        compile_effect(function.effect),
        tuple((name, function.signature.param(name).handle, lenient(tree)) for name, tree in function.aliases.items()),
        tuple((p.name, p.kind, p.ctype) for p in function.signature.params),
        tuple((p.name, p.handle) for p in function.signature.params if p.kind is Kind.HANDLE and not p.out),
        function.signature.returns is Kind.HANDLE,
        "ret" if function.signature.principal == "return" else function.signature.principal,
    )


def _guards(rules: tuple[Rule, ...]) -> Terms:
    return guards(tuple(rule.clause.when for rule in rules))


def _following(rules: list[Rule], outcome: str) -> Posts:
    chosen = tuple(r for r in rules if (r.ensures or r.observe) and r.clause.on in (outcome, "any"))
    implied = [r.clause for r in rules if (r.clause.unobservable if outcome == "success" else r.clause.keeps)]
    ask = consequences(tuple((rule.clause.when, rule.clause.ensures) for rule in chosen))
    return Posts(chosen, _guards(chosen), ask, frozenset(clause.id for clause in implied))


def _rule(clause: Clause) -> Rule:
    return Rule(
        clause,
        guard(clause.when) if clause.when is not None else _always,
        guard(clause.ensures) if clause.ensures is not None else None,
        _cells(ex.fields_read(clause.ensures)),
        _cells(tuple(tree for tree in clause.keeps if isinstance(tree, ex.Field | ex.Keyed))),
        tuple((label, guard(tree)) for label, tree in clause.observe),
    )


def _always(frame: Frame) -> bool:
    return True


def _cells(trees: tuple[ex.Field | ex.Keyed, ...]) -> Callable[[Frame], list[tuple[Obj | str, str | Obj]]]:
    """A function that finds the state that `trees` speak of, in a frame."""
    parts: list[tuple[str, Term]] = []
    for tree in trees:
        if isinstance(tree, ex.Field):
            parts.append((tree.name, lenient(tree.base)))
        else:
            parts.append(("[]" + tree.collection, lenient(tree.key)))

    def find(frame: Frame) -> list[tuple[Obj | str, str | Obj]]:
        found: list[tuple[Obj | str, str | Obj]] = []
        for name, term in parts:
            value = term(frame)
            if isinstance(value, Obj):
                found.append((name[2:], value) if name.startswith("[]") else (value, name))
        return found

    return find
