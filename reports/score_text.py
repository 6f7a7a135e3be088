"""A score as plain text: tables, then everything that is not as wanted, each with what to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from acl_cts.reports.score_result import CoverageScore, DefectScore, Fate, Proof, Score

GAP = "  "
"""What stands between two columns."""


def score_text(score: Score) -> str:
    """The whole score."""
    return "\n".join(_lines(score))


def _lines(score: Score) -> Iterator[str]:
    yield f"acl-cts {score.version} · tables {score.tables[:12]} · {score.cases} cases · {score.seconds:.0f} s"
    yield ""
    yield from columns(totals(score))
    for part in score.parts:
        if part.taken < part.whole:
            yield f"  not measured: {part.whole - part.taken} of {part.whole} {part.what} (sample of seed {score.seed})"
    if score.defects:
        yield from ("", "planted defects")
        yield from columns([("defect", "kind", "result", "first case", "clause", "calls", "seconds"), *defects(score)])
    if score.detectors:
        yield from ("", "detectors")
        yield from columns([("detector", "result", "planted defects", "a backend needs"), *detectors(score)])
    yield from _unwanted(score)
    yield ""
    if score.reasons:
        yield f"exit code {int(score.code)}: {'; '.join(score.reasons)}"
    else:
        yield f"exit code {int(score.code)}: " + ("incomplete" if score.code else "as wanted")


def totals(score: Score) -> list[tuple[str, ...]]:
    """Rows of one line for each kind of measure: what, result, details."""
    rows: list[tuple[str, ...]] = []
    if score.defects:
        found = len(score.defects) - len(score.missed)
        named = sum(defect.clause_seen for defect in score.defects)
        rows.append(("defects", ratio(found, len(score.defects)), f"{named} with the clause of the catalogue named"))
    if score.variants:
        judged = sum(variant.cases for variant in score.variants)
        rows.append(
            ("false alarms", str(len(score.alarms)), f"{len(score.variants)} conforming builds, {judged} cases judged")
        )
    if score.mutants:
        fates = Counter(mutant.fate for mutant in score.mutants)
        alike = f"{fates[Fate.EQUIVALENT]} equivalent, {fates[Fate.INVALID]} do not compile"
        tellable = fates[Fate.KILLED] + fates[Fate.SURVIVED]
        rows.append(("mutants killed", ratio(fates[Fate.KILLED], tellable), alike))
    rows.extend(_reach(score))
    return rows


def _reach(score: Score) -> Iterator[tuple[str, ...]]:
    if score.clauses is not None:
        seen = score.clauses.clauses - len(score.clauses.unseen)
        yield "clauses", ratio(seen, score.clauses.clauses), "held or observed on the clean core"
    cover = score.coverage
    if cover is not None and cover.reason:
        yield "coverage", "not measured", cover.reason
    elif cover is not None:
        yield "lines", ratio(cover.lines_reached, cover.lines), "of the core's two families"
        yield "branches", ratio(cover.branches_taken, cover.branches), "of the core's two families"


def ratio(part: int, whole: int) -> str:
    """`3 of 4 (75.0 %)`; never rounded up to 100 %."""
    share = 100 * part / whole if whole else 100.0
    return f"{part} of {whole} ({int(share * 10) / 10:.1f} %)"


def defects(score: Score) -> Iterator[tuple[str, ...]]:
    """A row for each planted defect."""
    for defect in score.defects:
        yield (defect.id, defect.kind, *_found(defect))


def _found(defect: DefectScore) -> tuple[str, ...]:
    shown = defect.shown
    if shown is None:
        return "MISSED", "", defect.clause, "", ""
    clause = shown.clause if shown.clause == defect.clause else f"{shown.clause} (catalogue: {defect.clause})"
    return shown.verdict, shown.case, clause, str(shown.calls), f"{shown.seconds:.2f}"


def detectors(score: Score) -> Iterator[tuple[str, ...]]:
    """A row for each detector."""
    for each in score.detectors:
        result = each.proof.value + (f": {each.reason}" if each.reason else "")
        planted = ", ".join((*each.found, *(f"{name} MISSED" for name in each.missed)))
        yield each.name, result, planted, each.needs


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with their cells one under the other."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + GAP.join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _unwanted(score: Score) -> Iterator[str]:
    """Everything that somebody should look at."""
    for defect in score.missed:
        yield f"\nmissed: {defect.id} ({defect.flavour}), {defect.function}, {defect.clause}\n    {defect.why}"
    for variant, alarm in score.alarms:
        yield f"\nfalse alarm: {variant.name}: {alarm.verdict}: {alarm.clause}\n    {alarm.case}\n    {alarm.observed}"
        if variant.defines:
            yield f"    built with {' '.join(variant.defines)}"
    survivors = score.fated(Fate.SURVIVED)
    if survivors:
        yield "\nsurviving mutants"
    for mutant in survivors:
        yield f"  {mutant.id}, {mutant.function or 'outside of functions'}"
        yield f"    - {mutant.before}"
        yield f"    + {mutant.after}"
    if score.coverage is not None and score.coverage.gaps:
        yield "\nnot covered"
        yield from _gaps(score.coverage)
    if score.clauses is not None and score.clauses.unseen:
        yield f"\nclauses neither held nor observed: {', '.join(score.clauses.unseen)}"
    for each in score.detectors:
        if each.proof is Proof.FAILED:
            yield f"\ndetector failed: {each.name}: does not see {', '.join(each.missed)}"


def _gaps(coverage: CoverageScore) -> Iterator[str]:
    for gap in coverage.gaps:
        what = f"{gap.branches} ways out never taken" if gap.branches else "never reached"
        yield f"  {gap.file}:{gap.line}: {what}: {gap.text}"
