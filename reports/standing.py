"""Standing: what a comparison needs to know of one backend's part of stored results, and no more.

A comparison reads several files of megabytes; taking from them only what it compares is four times faster than reading
all of them into results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from acl_cts.reports.limit_result import LimitResult, limit_from_json
from acl_cts.reports.results import FAILING, Cause, Support, support_from_json
from acl_cts.reports.typed import Typed
from acl_cts.specs.judgement import Verdict

FAILED = FAILING | {Verdict.FLAKY}
"""Verdicts that say that the library failed."""

JUDGED = FAILED | {Verdict.PASS}
"""Verdicts that say something about the library; all others tell why there is none."""

VERDICTS: Mapping[str, Verdict] = {verdict.value: verdict for verdict in Verdict}
CAUSES: Mapping[str, Cause] = {cause.value: cause for cause in Cause}

Answers = frozenset[tuple[str, str]]
"""What one case saw at one open point: situations and answers."""


@dataclass(frozen=True, slots=True)
class Stand:
    """How one case stands. `clauses`: those that it accuses, the headline first. `accepted`: who expects it to fail."""

    verdict: Verdict
    reason: str = ""
    cause: Cause = Cause.NONE
    clauses: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    breach: bool = False

    @property
    def judged(self) -> bool:
        """Whether there is a verdict about the library."""
        return self.verdict in JUDGED or self.breach

    @property
    def failed(self) -> bool:
        """Whether the library failed."""
        return self.verdict in FAILED or self.breach


PASSED = Stand(Verdict.PASS)
"""How nearly all cases stand; one object for all of them."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one backend stands. `gap`: why a case that is not among `cases` may still be one, '' when none can: then it
    does not exist there. `answers`: by open point and case, of cases that did not fail. `held`, `broken`: clauses that
    were kept, and those that were not with the number of cases that show it, advice included."""

    backend: str
    identity: Mapping[str, str] = field(default_factory=dict)
    case_list: str = ""
    gap: str = ""
    cases: Mapping[str, Stand] = field(default_factory=dict)
    limits: tuple[LimitResult, ...] = ()
    support: Mapping[str, Support] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, Answers]] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    broken: Mapping[str, int] = field(default_factory=dict)

    @property
    def totals(self) -> dict[str, int]:
        """Number of cases by verdict, those that occur."""
        counted = Counter(stand.verdict for stand in self.cases.values())
        return {verdict.value: counted[verdict] for verdict in Verdict if counted[verdict]}


def answer_counts(cases: Mapping[str, Answers]) -> tuple[tuple[str, int], ...]:
    """Each answer of `cases` with the number of those that saw it, most frequent first."""
    counted: Counter[str] = Counter()
    for seen, number in Counter(cases.values()).items():
        for answer in {answer for _, answer in seen}:
            counted[answer] += number
    return tuple(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))


def standing_from_json(data: Mapping[str, Any], place: str, partial: str) -> Standing:
    """One backend's part, which stands at `place` of results; `partial` as a gap of the whole. Raises ValueError when
    it is not of the format, or its totals do not add up."""
    read = Typed(data, place)
    cases: dict[str, Stand] = {}
    answers: dict[str, dict[str, Answers]] = {}
    alike: dict[Answers, Answers] = {}
    held: set[str] = set()
    broken: Counter[str] = Counter()
    listed = read.mapping("totals"), data.get("cases")
    if not isinstance(listed[1], list):
        raise ValueError(f"{place}.cases is not a list")
    for number, case in enumerate(listed[1]):
        try:
            name = _text(case["id"])
            stand = _stand(case)
            if name in cases:
                raise ValueError("stands there twice")
            cases[name] = stand
            held.update(case["held"])
            broken.update({found["clause"] for kind in ("discrepancies", "notes") for found in case[kind]})
            # What a case sees after it failed says little about the open points.
            for clause, seen in () if stand.failed else _observed(case["observations"]):
                answers.setdefault(clause, {})[name] = alike.setdefault(seen, seen)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{place}.cases[{number}] is no case ({error})") from error
    standing = Standing(
        backend=read.text("backend"),
        identity=_identity(read.nested("identity")),
        case_list=read.text("case_list"),
        gap=partial or _gap(read),
        cases=cases,
        limits=read.listed("limits", limit_from_json),
        support={entry.function: entry.state for entry in read.listed("support", support_from_json)},
        answers=answers,
        held=frozenset(held),
        broken=broken,
    )
    if {name: number for name, number in listed[0].items() if number} != standing.totals:
        raise ValueError(f"{place}: its totals are not those of its cases")
    return standing


def _gap(read: Typed) -> str:
    """Why cases may be missing from this backend's part."""
    if read.text("trouble"):
        return f"the run broke down: {read.text('trouble')}"
    return "" if read.flag("complete") else "the run ended early"


def _stand(case: Mapping[str, Any]) -> Stand:
    verdict, breach = VERDICTS[case["verdict"]], case["breach"]
    if verdict is Verdict.PASS and not breach:
        return PASSED
    return Stand(
        verdict,
        _text(case["reason"]),
        CAUSES[case["cause"]],
        tuple(dict.fromkeys(_text(found["clause"]) for found in case["discrepancies"])),
        tuple(map(_text, case.get("accepted", ()))),
        bool(breach),
    )


def _observed(listed: list[Mapping[str, Any]]) -> Iterator[tuple[str, Answers]]:
    """What one case saw, by open point."""
    found: dict[str, set[tuple[str, str]]] = {}
    for seen in listed:
        found.setdefault(_text(seen["clause"]), set()).add((_text(seen["key"]), _text(seen["answer"])))
    return ((clause, frozenset(answers)) for clause, answers in found.items())


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is no text")
    return value


def _identity(read: Typed) -> dict[str, str]:
    """Who answered, details among the rest."""
    details = read.text_by_name("details") if "details" in read.data else {}
    return {name: read.text(name) for name in read.data if name != "details"} | details
