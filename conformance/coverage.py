"""Whether the cases put every clause to the test, and whether the oracle would notice a breach of it.

A guard needs a case on each side; a postcondition a real trace that keeps it and a falsified one that is flagged; an
open clause an observation; a limit a call just below it, at it and just above it; a function a call that must succeed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from acl_cts.backends.backend import Session
from acl_cts.conformance.case import Case
from acl_cts.conformance.falsify import falsify, falsify_record
from acl_cts.specs import expressions as ex
from acl_cts.specs.evaluate import Term, compile_expression
from acl_cts.specs.execution import Judged
from acl_cts.specs.frame import Frame
from acl_cts.specs.judgement import Judgement, Strength, Verdict
from acl_cts.specs.model import Clause, Limit, Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Program
from acl_cts.specs.rules import FunctionRules, Rule, compile_rules
from acl_cts.specs.trace import CallRecord, Capability, Trace
from acl_cts.specs.values import NotApplicableError

SORTS, ALIKE = 48, 4
"""Traces kept for each clause: sorts of traces, by the set of clauses that held in them, and traces of one sort."""

LONGEST_NEARBY, LONGEST = 500, 60
"""Records of the longest trace in which the last answers, or all answers, are falsified."""

NEARBY = 3
"""Answers of a clause's own function that are falsified in one trace, the last ones."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that no case shows: of a clause, a limit or a function, or of a case itself."""

    subject: str
    what: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}"


def coverage(spec: Spec, cases: Iterable[Case]) -> dict[str, int]:
    """For every clause, the number of cases that exercise it."""
    counted = dict.fromkeys(spec.clauses, 0)
    for case in cases:
        for clause in case.clauses & counted.keys():
            counted[clause] += 1
    return counted


def check(
    spec: Spec,
    cases: Iterable[Case],
    session: Session,
    others: Iterable[Session] = (),
    families: frozenset[str] = frozenset(),
) -> tuple[Problem, ...]:
    """Run every case once and falsify some of the traces; what is missing. `session` answers as the documents say, and
    so do `others`, which answer open points otherwise: they are asked for what `session` left unseen. With `families`
    only those are looked at."""
    runnable = [case for case in cases if not case.planned and (not families or case.family in families)]
    wanted = _part(spec, families) if families else spec
    if Capability.LIVE_COUNT not in session.capabilities:
        wanted = replace(wanted, clauses={name: c for name, c in wanted.clauses.items() if not c.balance})
    seen = _Seen(spec, wanted)
    for case in runnable:
        seen.case(case, session.run(case.program, solo=case.solo))
    seen.falsify()
    for other in others:
        unseen = {problem.subject for problem in seen.missing()}
        for case in runnable:
            if case.clauses & unseen:
                seen.case(case, other.run(case.program, solo=case.solo))
        seen.falsify()
    return (*seen.alarms, *seen.missing())


def unexercised(spec: Spec, cases: Iterable[Case], families: frozenset[str]) -> tuple[Problem, ...]:
    """Clauses of `families` that no case exercises, as far as that shows without executing any."""
    counted = coverage(spec, cases)
    return tuple(
        Problem(clause.id, "no case exercises it")
        for clause in spec.clauses.values()
        if clause.family in families and not counted[clause.id] and not clause.balance
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Edge:
    """A comparison of a guard with a limit: `allowed` is the highest value on the near side."""

    clause: Clause
    text: str
    value: Term
    allowed: Term
    limits: frozenset[str]

    def distance(self, frame: Frame) -> int | None:
        """How far the call is from the limit, None where that cannot be told."""
        try:
            value, allowed = self.value(frame), self.allowed(frame)
        except NotApplicableError:
            return None
        return value - allowed if isinstance(value, int) and isinstance(allowed, int) else None


@dataclass(frozen=True, slots=True)
class _Sample:
    """A program with its trace of `length` records."""

    length: int
    program: Program
    trace: Trace


@dataclass(slots=True)
class _Seen:
    """What the cases showed. `wanted`: the part of the tables that they are to show."""

    spec: Spec
    wanted: Spec
    sides: defaultdict[str, set[bool]] = field(default_factory=lambda: defaultdict(set))
    held: defaultdict[str, dict[frozenset[str], list[_Sample]]] = field(default_factory=lambda: defaultdict(dict))
    observed: set[str] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)
    flagged: set[str] = field(default_factory=set)
    distances: defaultdict[_Edge, set[int]] = field(default_factory=lambda: defaultdict(set))
    alarms: list[Problem] = field(default_factory=list)
    edges: dict[str, list[_Edge]] = field(default_factory=dict)
    guards: dict[str, list[Rule]] = field(default_factory=dict)
    near: dict[str, list[_Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rules in compile_rules(self.spec).functions.items():
            limited = [c for c in rules.function.clauses if c.when is not None and c.outcome in ("error", "open")]
            self.edges[name] = [edge for clause in limited for edge in _edges(clause, clause.when)]
            self.near[name] = list(self.edges[name])
            self.guards[name] = _guarded(rules)

    # -- real traces

    def case(self, case: Case, trace: Trace) -> None:
        """Take in one case's trace."""
        judgement = judge(self.spec, case.program, trace, self.call)
        self.observed.update(o.clause for o in judgement.observations)
        self.succeeded.update(judgement.succeeded)
        sample = _Sample(len(trace.records), case.program, trace)
        for clause in judgement.held:
            self.keep(clause, judgement.held, sample)
        self.alarms.extend(_alarms(case, judgement))

    def keep(self, clause: str, held: frozenset[str], sample: _Sample) -> None:
        """Keep the trace when it is one of the shortest of its sort, and the sort one of the shortest."""
        sorts = self.held[clause]
        alike = sorts.setdefault(held, [])
        if len(alike) < ALIKE or sample.length < alike[-1].length:
            alike.append(sample)
            alike.sort(key=lambda kept: kept.length)
            del alike[ALIKE:]
        if len(sorts) > SORTS:
            del sorts[max(sorts, key=lambda sort: sorts[sort][0].length)]

    def call(self, rules: FunctionRules, frame: Frame, judged: Judged) -> None:
        """Note on which side of each guard, and how near to each limit, a call is."""
        name = rules.function.name
        for rule in tuple(self.guards[name]):
            truth = rule.when(frame)
            if isinstance(truth, bool):
                self.sides[rule.clause.id].add(truth)
                if len(self.sides[rule.clause.id]) == 2:
                    self.guards[name].remove(rule)
        for edge in tuple(self.near[name]):
            distance = edge.distance(frame)
            if distance is not None and -1 <= distance <= 1:
                self.distances[edge].add(distance)
                if len(self.distances[edge]) == 3:
                    self.near[name].remove(edge)

    # -- falsified traces

    def falsify(self) -> None:
        """Falsify traces in which a clause held until the oracle names the clause, for every clause."""
        for clause in self.wanted.clauses.values():
            if _breakable(clause) and clause.id not in self.flagged:
                self.search(clause)

    def search(self, clause: Clause) -> None:
        """Falsify traces in which `clause` held until it is flagged: first the last answers of its own function, with
        nothing after them; then every answer and the ending."""
        samples = [sample for alike in self.held[clause.id].values() for sample in alike]
        samples.sort(key=lambda sample: sample.length)
        for sample in samples:
            if sample.length <= LONGEST_NEARBY and self.flag(clause, sample, _nearby(self.spec, sample, clause)):
                return
        for sample in samples:
            traces = (made.trace for made in falsify(self.spec, sample.program, sample.trace))
            if sample.length <= LONGEST and self.flag(clause, sample, traces):
                return

    def flag(self, clause: Clause, sample: _Sample, traces: Iterable[Trace]) -> bool:
        """Judge falsified traces until one makes the oracle name `clause`; whether one did."""
        for trace in traces:
            if clause.id in self.flagged:
                return True
            self.flagged.update(_flagged(self.spec, judge(self.spec, sample.program, trace)))
        return clause.id in self.flagged

    # -- what is missing

    def missing(self) -> Iterator[Problem]:
        """Every gap, in the order of the tables."""
        yield from self.unseen()
        for clause in self.wanted.clauses.values():
            if _breakable(clause) and clause.id not in self.flagged:
                yield Problem(clause.id, "no falsified trace makes the oracle name it")

    def unseen(self) -> Iterator[Problem]:
        """What no real trace shows."""
        for clause in self.wanted.clauses.values():
            if not clause.unobservable:
                yield from self.of_clause(clause)
        for limit in self.wanted.limits.values():
            yield from self.of_limit(limit)
        for name in self.wanted.functions:
            yield from (problem for edge in self.edges[name] for problem in self.of_edge(edge))
        for name in self.wanted.functions:
            if name not in self.succeeded:
                yield Problem(name, "no case with a call that must succeed and does")

    def of_clause(self, clause: Clause) -> Iterator[Problem]:
        if clause.when is not None:
            for side in (True, False):
                if side not in self.sides[clause.id]:
                    yield Problem(clause.id, f"no case where its guard is {'true' if side else 'false'}")
        if (clause.outcome in ("open", "note-open") or clause.touch == "fresh") and clause.id not in self.observed:
            yield Problem(clause.id, "no case observes the answer at this open point")
        if _breakable(clause) and not self.held[clause.id]:
            yield Problem(clause.id, "no case puts it to the test and finds it kept")

    def of_limit(self, limit: Limit) -> Iterator[Problem]:
        compared = {name for edges in self.edges.values() for edge in edges for name in edge.limits}
        single = len(limit.readings) == 1
        wanted = {limit.name} if single else {f"{limit.name}.{end}" for end in ("max", "min") if limit.readings}
        for name in sorted(wanted - compared):
            yield Problem(f"limit {name}", "no guard compares anything with it")
        base = limit.relative.split(" - ")[0]
        if base and not any(base in edge.text for edges in self.edges.values() for edge in edges):
            yield Problem(f"limit {limit.name}", f"no guard compares anything with {base}")

    def of_edge(self, edge: _Edge) -> Iterator[Problem]:
        for distance in (-1, 0, 1):
            if distance not in self.distances[edge]:
                place = "at the limit" if distance == 0 else f"at the limit {distance:+d}"
                yield Problem(edge.clause.id, f"{edge.text}: no case {place}")


def _part(spec: Spec, families: frozenset[str]) -> Spec:
    """The tables of `families` alone."""
    return replace(
        spec,
        clauses={name: clause for name, clause in spec.clauses.items() if clause.family in families},
        limits={name: limit for name, limit in spec.limits.items() if limit.family in families},
        functions={name: function for name, function in spec.functions.items() if function.family in families},
    )


def _guarded(rules: FunctionRules) -> list[Rule]:
    found = {r.clause.id: r for r in (*rules.errors, *rules.opens, *rules.successes, *rules.posts) if r.clause.when}
    return list(found.values())


def _alarms(case: Case, judgement: Judgement) -> Iterator[Problem]:
    """A conforming library is never flagged: where it is, the tables or the case are wrong."""
    for finding in (*judgement.discrepancies, *judgement.notes):
        yield Problem(case.id, f"a conforming answer is put down as a breach of {finding.clause}: {finding.observed}")
    if judgement.verdict is Verdict.ERROR:
        yield Problem(case.id, judgement.reason)


def _breakable(clause: Clause) -> bool:
    """Whether some answer breaks the clause: all but open points without a condition on the answer."""
    if clause.unobservable or clause.touch == "fresh":
        return False
    return clause.outcome not in ("open", "note-open") or clause.ensures is not None


def _nearby(spec: Spec, sample: _Sample, clause: Clause) -> Iterator[Trace]:
    """Traces that end with a falsified answer of the clause's own function, the last answers first."""
    records = sample.trace.records
    places = [k for k, r in enumerate(records) if isinstance(r, CallRecord) and r.function == clause.function]
    for place in reversed(places[-NEARBY:]):
        for made in falsify_record(spec, sample.program, sample.trace, place):
            yield replace(made.trace, records=made.trace.records[: place + 1])


def _flagged(spec: Spec, judgement: Judgement) -> set[str]:
    """Clauses that a judgement names as broken: in a note when advisory, otherwise in a discrepancy."""
    named = {f.clause for f in judgement.discrepancies}
    noted = {f.clause for f in judgement.notes}
    advisory = {name for name in noted | named if spec.clauses[name].strength is Strength.ADVISORY}
    return (named - advisory) | (noted & advisory)


def _edges(clause: Clause, tree: object) -> Iterator[_Edge]:
    """The comparisons in a guard that state a limit: with a documented number, or with a size of the state."""
    if isinstance(tree, ex.Compare) and tree.op in ("<", "<=", ">", ">="):
        edge = _edge(clause, tree)
        if edge is not None:
            yield edge
    elif isinstance(tree, ex.Logic):
        for item in tree.items:
            yield from _edges(clause, item)
    elif isinstance(tree, ex.Not):
        yield from _edges(clause, tree.item)


def _edge(clause: Clause, tree: ex.Compare) -> _Edge | None:
    left, right, op = tree.left, tree.right, tree.op
    if isinstance(left, ex.Constant) or isinstance(right, ex.Constant):
        return None
    if _limits(left):
        left, right, op = right, left, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
    value, other = compile_expression(left), compile_expression(right)
    allowed = other if op in (">", "<=") else _less_one(other)
    return _Edge(clause, clause.when_text, value, allowed, _limits(right))


def _less_one(term: Term) -> Term:
    def below(frame: Frame) -> Any:
        value = term(frame)
        return value - 1 if isinstance(value, int) else value

    return below


def _limits(tree: object) -> frozenset[str]:
    """Names of the limits in an expression."""
    if isinstance(tree, ex.Limit):
        return frozenset((tree.name,))
    names: Mapping[str, Any] = getattr(tree, "__dataclass_fields__", {})
    parts = [getattr(tree, name) for name in names]
    return frozenset().union(*(_limits(part) for part in parts)) if parts else frozenset()
