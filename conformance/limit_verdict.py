"""Verdicts on limits: what the answers around an edge say of it, and in which words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acl_cts.conformance.limit_contract import Contract
from acl_cts.conformance.limit_question import Answer
from acl_cts.conformance.limit_search import Edge
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.specs.execution import Outcome

SHOWN = 4
"""Values that a sentence names at most."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The part of a result that follows from the answers."""

    verdict: LimitVerdict
    measured: int | None
    up_to: int | None
    detail: str


def conclude(
    contract: Contract, answers: Mapping[int, Answer], edge: Edge, stopped: str, remarks: Sequence[str]
) -> Conclusion:
    """What `answers` and the `edge` among them say. `stopped`: why the search ended early, '' when it did not."""
    documented = {value: name for name, value in reversed(contract.documented())}
    found = _Found(contract, answers, edge)
    verdict = found.verdict(frozenset(documented), bool(stopped))
    sentences = [*found.breaches(), *found.reason(verdict, documented)]
    if stopped:
        sentences.append(f"the search ended early: {stopped}")
    measured = edge.inside if edge.outside is not None else None
    if verdict in (LimitVerdict.NOT_ENFORCED, LimitVerdict.INCONCLUSIVE):
        return Conclusion(verdict, None, edge.inside, _joined((*sentences, *remarks)))
    return Conclusion(verdict, measured, None, _joined((*sentences, *remarks)))


@dataclass(frozen=True, slots=True)
class _Found:
    """Answers and the edge among them."""

    contract: Contract
    answers: Mapping[int, Answer]
    edge: Edge

    def verdict(self, documented: frozenset[int], stopped: bool) -> LimitVerdict:
        """Documents first: what breaks a clause decides; without that, an edge at a documented value."""
        edge, exceeded = self.edge, self.where("exceeds")
        if exceeded and edge.inside in exceeded and (edge.outside is None or self.answers[edge.outside].scarce):
            return LimitVerdict.NOT_ENFORCED
        if exceeded or self.where("early") or self.where("died"):
            return LimitVerdict.DIFFERS
        if stopped:
            return LimitVerdict.INCONCLUSIVE
        if edge.inside in documented and edge.outside is not None and self.answers[edge.outside].accepted is False:
            return LimitVerdict.AS_DOCUMENTED
        if any(answer.scarce for answer in self.answers.values()) or self.unanswered():
            return LimitVerdict.INCONCLUSIVE
        return LimitVerdict.AS_DOCUMENTED if edge.outside is not None else LimitVerdict.INCONCLUSIVE

    def where(self, what: str) -> list[int]:
        """Values whose answers exceed, are early, or are none because the process died."""
        return sorted(value for value, answer in self.answers.items() if getattr(answer, what))

    def unanswered(self) -> list[int]:
        """Values at which the call was never made."""
        return sorted(value for value, answer in self.answers.items() if answer.why)

    def breaches(self) -> Iterator[str]:
        """A sentence for each way in which the documents are not kept."""
        exceeded, early, died = self.where("exceeds"), self.where("early"), self.where("died")
        if exceeded:
            yield f"accepted although it must not be ({self._clause(exceeded[0])}): {self._shown(exceeded)}"
        if early:
            code = self.answers[early[-1]].code
            answered = "" if code is None else f", answered {code}"
            yield f"refused although it must be accepted ({self._clause(early[-1])}{answered}): {self._shown(early)}"
        for value in died[:SHOWN]:
            yield f"at {value} {self.answers[value].died}"
        astray = [value for value in exceeded if self._outside(value)] + [v for v in early if self._inside(v)]
        if astray and self.edge.inside is not None:
            yield f"not monotone around {self.edge.inside}: see {self._shown(astray)}"

    def reason(self, verdict: LimitVerdict, documented: Mapping[int, str]) -> Iterator[str]:
        """A sentence on why the verdict is what it is, where no breach says so."""
        inside, outside = self.edge.inside, self.edge.outside
        if verdict is LimitVerdict.AS_DOCUMENTED:
            reading = "" if inside is None else documented.get(inside, "")
            if reading and len(documented) > 1:
                yield f"the {reading} reading"
            elif not reading:
                opened = [v for v, answer in self.answers.items() if answer.required.outcome is Outcome.OPEN]
                yield f"either answer is allowed at {self._shown(sorted(opened))}; all others are as documented"
        elif verdict is LimitVerdict.NOT_ENFORCED:
            yield "no refusal up to there" if outside is None else f"then {self._refusal(outside)}"
        elif verdict is LimitVerdict.INCONCLUSIVE:
            yield from self._undecided()

    def _undecided(self) -> Iterator[str]:
        missed = self.unanswered()
        if missed:
            yield f"not asked at {self._shown(missed)}: {self.answers[missed[0]].why}"
        scarce = self.where("scarce")
        if scarce:
            granted = "nothing" if self.edge.inside is None else str(self.edge.inside)
            yield f"{self._refusal(self._next(scarce))}; largest accepted: {granted}"
        elif not missed and self.edge.inside is not None:
            yield "no refusal up to there"

    def _next(self, scarce: Sequence[int]) -> int:
        outside = self.edge.outside
        return outside if outside is not None and outside in scarce else scarce[0]

    def _refusal(self, value: int) -> str:
        code = self.answers[value].code
        return (
            f"{value} was refused"
            + (f" with {code}" if code is not None else "")
            + ", which may be a lack of resources"
        )

    def _clause(self, value: int) -> str:
        clause = self.answers[value].required.clause
        return f"{clause.id}, {clause.strength}" if clause else ""

    def _outside(self, value: int) -> bool:
        return self.edge.inside is not None and self._place(value) > self._place(self.edge.inside)

    def _inside(self, value: int) -> bool:
        return self.edge.inside is not None and self._place(value) < self._place(self.edge.inside)

    def _place(self, value: int) -> int:
        return -value if self.contract.recipe.at_least else value

    def _shown(self, values: Sequence[int]) -> str:
        """Values for people, those nearest to the edge first when there are many."""
        near = self.edge.inside or 0
        chosen = sorted(sorted(values, key=lambda value: abs(value - near))[:SHOWN])
        more = f" and {len(values) - len(chosen)} more" if len(values) > len(chosen) else ""
        return ", ".join(map(str, chosen)) + more


def _joined(sentences: Iterable[str]) -> str:
    return "; ".join(sentences)
