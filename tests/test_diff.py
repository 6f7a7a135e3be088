"""What changed between runs: every case in exactly one category, nothing that is not known called unchanged."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from browser import Browser, opened
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import ALLOC, PROBED, bad, finding, full, good, many, not_run, results
from test_renderings import PAYLOADS, spoilt

import acl_cts.reports
from acl_cts.main import main
from acl_cts.reports.comparison import compare
from acl_cts.reports.diff_html import diff_html
from acl_cts.reports.diff_json import diff_json
from acl_cts.reports.diff_markdown import diff_markdown
from acl_cts.reports.diff_text import diff_text
from acl_cts.reports.diff_wording import DIFF_WORDS
from acl_cts.reports.difference import UNCOMPARED, BackendDifference, Change, Difference, Shift
from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.files import write_json
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.results import BackendRun, CaseResult, Cause, FunctionSupport, Results, Support, from_json, to_json
from acl_cts.reports.shard import Shard
from acl_cts.reports.version import named, tolerated
from acl_cts.specs.judgement import Observation, Strength, Verdict

SCHEMA = json.loads((Path(acl_cts.reports.__file__).parent / "diff.schema.json").read_text(encoding="utf-8"))

A = "mbuf/g/a~00000000"
B = "mbuf/g/b~00000001"


def stored(folder: Path, *runs: Results) -> list[Path]:
    """Folders with these results."""
    folders = []
    for place, run in enumerate(runs):
        home = folder / f"run-{place}"
        home.mkdir(parents=True)
        holds = holding(run, run.fail_on)
        write_json(home / "results.json", to_json(dataclasses.replace(run, holds=holds, code=final(holds))))
        folders.append(home)
    return folders


def difference(folder: Path, *runs: Results) -> Difference:
    """What changed through `runs`, read back from files."""
    found = compare(named([tolerated(path) for path in stored(folder, *runs)]), "0.1.0")
    jsonschema.Draft202012Validator(SCHEMA).validate(diff_json(found))
    return found


def one(folder: Path, *runs: Results) -> BackendDifference:
    (backend,) = difference(folder, *runs).backends
    return backend


def changes(found: BackendDifference) -> dict[str, Change]:
    return {case.id: case.change for case in found.cases}


CRASHED = bad(Verdict.CRASH)
ELSEWHERE = dataclasses.replace(bad(), discrepancies=(finding(clause="mbuf.other"),))
WAIVED = dataclasses.replace(bad(), accepted=("W-1",))
PASSED = good(id=B)
UNRUN = dataclasses.replace(not_run(Cause.CAPABILITY), id=B)
LATE = dataclasses.replace(not_run(Cause.TIME_LIMIT), id=B)
BLOCKED = dataclasses.replace(bad(Verdict.BLOCKED), discrepancies=())
FLAKY = bad(Verdict.FLAKY)
STRAY = dataclasses.replace(bad(), breach=True)


@pytest.mark.parametrize(
    ("before", "after", "change", "code"),
    [
        (PASSED, PASSED, Change.UNCHANGED, 0),
        (PASSED, bad(), Change.NEWLY, 1),
        (PASSED, FLAKY, Change.NEWLY, 1),
        (PASSED, CRASHED, Change.NEWLY, 1),
        (UNRUN, bad(), Change.NEWLY, 1),
        (None, bad(), Change.NEWLY, 1),
        (PASSED, WAIVED, Change.NEWLY_ACCEPTED, 0),
        (bad(), bad(), Change.STILL, 0),
        (CRASHED, bad(), Change.STILL, 0),
        (bad(), CRASHED, Change.WORSE, 1),
        (bad(), ELSEWHERE, Change.WORSE, 1),
        (bad(), STRAY, Change.WORSE, 1),
        (bad(), WAIVED, Change.STILL_ACCEPTED, 0),
        (WAIVED, bad(), Change.STILL, 0),
        (bad(), PASSED, Change.FIXED, 0),
        (WAIVED, PASSED, Change.FIXED, 0),
        (PASSED, UNRUN, Change.LOST, 4),
        (bad(), BLOCKED, Change.LOST, 4),
        (bad(), LATE, Change.LOST, 4),
        (UNRUN, PASSED, Change.GAINED, 4),
        (UNRUN, UNRUN, Change.UNJUDGED, 0),
        (BLOCKED, BLOCKED, Change.UNJUDGED, 0),
        (LATE, LATE, Change.UNJUDGED, 4),
        (None, PASSED, Change.ADDED, 0),
        (None, UNRUN, Change.ADDED, 0),
        (None, LATE, Change.ADDED, 4),
        (PASSED, None, Change.REMOVED, 0),
        (bad(), None, Change.REMOVED, 0),
    ],
)
def test_every_pair_of_verdicts_has_its_category_and_exit_code(
    tmp_path: Path, before: CaseResult | None, after: CaseResult | None, change: Change, code: int
) -> None:
    cases = [tuple(case for case in (good(), each) if case is not None) for each in (before, after)]
    found = difference(tmp_path, *(results(*each) for each in cases))
    (backend,) = found.backends
    expected = Counter([Change.UNCHANGED, change])
    assert backend.totals == expected
    assert found.code == code


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_case_is_in_exactly_one_category(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    kinds = [PASSED, bad(), CRASHED, ELSEWHERE, WAIVED, UNRUN, LATE, BLOCKED, FLAKY, STRAY, None]
    number = data.draw(st.integers(2, 4))
    columns = data.draw(st.lists(st.tuples(*[st.sampled_from(kinds)] * number), min_size=1, max_size=12))
    runs = []
    for place in range(number):
        cells = [(row, column[place]) for row, column in enumerate(columns)]
        cases = [dataclasses.replace(cell, id=f"mbuf/g/{row}~{row:08x}") for row, cell in cells if cell is not None]
        filtered = data.draw(st.booleans())
        runs.append(dataclasses.replace(results(*cases), filtered=filtered))
    found = difference(tmp_path_factory.mktemp("runs"), *runs)
    (backend,) = found.backends
    every = {case.id for run in runs for case in run.runs[0].cases}
    assert sum(backend.totals.values()) == len(every)
    assert len(backend.cases) == len(every) - backend.totals.get(Change.UNCHANGED, 0)
    for case in backend.cases:
        ends = [case.cells[0], case.cells[-1]]
        judged = [not isinstance(cell, str) and cell.judged for cell in ends]
        if case.change in UNCOMPARED:
            assert not all(judged)
        if case.change in (Change.FIXED, Change.STILL, Change.WORSE, Change.WAVERED):
            assert all(judged)
    passed = [all(case_of(run, name) == Verdict.PASS for run in runs) for name in every]
    assert backend.totals.get(Change.UNCHANGED, 0) == sum(passed)
    for form in (diff_text, diff_markdown, diff_html):
        form(found)


def case_of(run: Results, name: str) -> Verdict | None:
    return next((case.verdict for case in run.runs[0].cases if case.id == name), None)


# ------------------------------------------------------------------------------------- what cannot be compared


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"filtered": True}, "a run of a selection"),
        ({"shard": Shard(2, 3)}, "shard 2 of 3"),
        ({"finished": False}, "the run was interrupted"),
    ],
)
def test_what_a_part_of_a_run_lacks_is_not_called_removed(tmp_path: Path, more: dict[str, Any], reason: str) -> None:
    whole, part = results(good(), bad()), dataclasses.replace(results(good()), **more)
    found = one(tmp_path / "there", whole, part)
    assert changes(found) == {B: Change.LOST}
    assert found.cases[0].cells[1] == reason
    assert changes(one(tmp_path / "back", part, results(good(), PASSED))) == {B: Change.GAINED}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"trouble": "no compiler", "complete": False}, "the run broke down: no compiler"),
        ({"complete": False}, "the run ended early"),
    ],
)
def test_a_backend_that_ended_early_is_told(tmp_path: Path, more: dict[str, Any], reason: str) -> None:
    broken = results(good())
    broken = dataclasses.replace(broken, runs=(dataclasses.replace(broken.runs[0], **more),))
    found = difference(tmp_path, results(good(), bad()), broken)
    assert [(case.change, case.cells[1]) for case in found.backends[0].cases] == [(Change.LOST, reason)]
    assert found.code == 4


def test_a_backend_that_one_side_lacks_is_not_compared(tmp_path: Path) -> None:
    two = results(good())
    other = dataclasses.replace(two.runs[0], backend="simulator")
    found = difference(tmp_path, results(good()), dataclasses.replace(two, runs=(*two.runs, other)))
    assert [backend.backend for backend in found.backends] == ["core", "simulator"]
    assert found.backends[0].totals == {Change.UNCHANGED: 1}
    assert found.backends[1].totals == {Change.GAINED: 1}
    assert "simulator was not judged in this run" in diff_text(found)
    assert found.code == 4


def test_single_backends_are_compared_whatever_they_are_called(tmp_path: Path) -> None:
    other = results(bad())
    other = dataclasses.replace(other, runs=(dataclasses.replace(other.runs[0], backend="acl"),))
    found = one(tmp_path, results(PASSED), other)
    assert (found.backend, found.totals) == ("core → acl", {Change.NEWLY: 1})


# ------------------------------------------------------------------------------------------------ names and columns


def test_a_renamed_case_is_known_by_its_program(tmp_path: Path) -> None:
    old = good(id="mbuf/old/name~0000abcd")
    found = one(tmp_path, results(good(), old), results(good(), bad(id="mbuf/new/name~0000abcd")))
    (case,) = found.cases
    assert (case.id, case.change, case.renamed_from) == ("mbuf/new/name~0000abcd", Change.NEWLY, old.id)
    assert found.renamed == 1
    same = one(tmp_path / "same", results(good(), old), results(good(), good(id="mbuf/new/name~0000abcd")))
    assert (same.totals, same.renamed) == ({Change.UNCHANGED: 2}, 1)


def test_programs_that_are_not_unique_rename_nothing(tmp_path: Path) -> None:
    old = [good(id=f"mbuf/old/{k}~0000abcd") for k in range(2)]
    found = one(tmp_path, results(*old), results(good(id="mbuf/new~0000abcd")))
    assert found.totals == {Change.ADDED: 1, Change.REMOVED: 2}


def test_names_are_followed_through_several_versions(tmp_path: Path) -> None:
    ids = ["mbuf/first~0000abcd", "mbuf/second~0000abcd", "mbuf/third~0000abcd"]
    found = one(tmp_path, *(results(good(id=id)) for id in ids))
    (case,) = found.cases
    assert (case.id, case.renamed_from, len(case.cells)) == (ids[2], ids[0], 3)
    assert case.change is Change.UNCHANGED


def test_what_fails_in_between_is_not_unchanged(tmp_path: Path) -> None:
    found = difference(tmp_path, results(PASSED), results(bad()), results(PASSED))
    assert changes(found.backends[0]) == {B: Change.WAVERED}
    assert "pass → fail → pass" in diff_text(found)
    assert found.code == 0


# --------------------------------------------------------------------------------------------------- other matters


def limited(verdict: LimitVerdict, measured: int | None = 2048, *accepted: str) -> Results:
    probe = dataclasses.replace(PROBED, verdict=verdict, measured=measured, accepted=accepted)
    return results(good(), limits=(probe,))


RIGHT, WRONG, UNKNOWN = LimitVerdict.AS_DOCUMENTED, LimitVerdict.DIFFERS, LimitVerdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("before", "after", "shift", "code"),
    [
        (limited(RIGHT), limited(RIGHT), Shift.UNCHANGED, 0),
        (limited(RIGHT), limited(RIGHT, 4096), Shift.MOVED, 0),
        (limited(RIGHT), limited(WRONG), Shift.BROKE, 1),
        (limited(RIGHT), limited(WRONG, 2048, "W"), Shift.BROKE_ACCEPTED, 0),
        (limited(UNKNOWN), limited(WRONG), Shift.BROKE, 1),
        (limited(WRONG), limited(WRONG), Shift.UNCHANGED, 0),
        (limited(WRONG), limited(WRONG, 1), Shift.MOVED, 0),
        (limited(WRONG), limited(RIGHT), Shift.MENDED, 0),
        (limited(RIGHT), limited(UNKNOWN), Shift.LOST, 4),
        (limited(RIGHT), results(good()), Shift.LOST, 4),
        (results(good()), limited(RIGHT), Shift.GAINED, 4),
        (limited(UNKNOWN), limited(UNKNOWN), Shift.UNJUDGED, 0),
    ],
)
def test_limits_that_move_are_told(tmp_path: Path, before: Results, after: Results, shift: Shift, code: int) -> None:
    found = difference(tmp_path, before, after)
    assert [limit.shift for limit in found.backends[0].limits] == [shift]
    assert found.code == code


def answering(*answers: str, verdict: Verdict = Verdict.PASS) -> Results:
    def case(place: int, answer: str) -> CaseResult:
        seen = (Observation("mbuf.z", answer, 1, "key"),)
        return dataclasses.replace(good(str(place)), verdict=verdict, observations=seen if answer else ())

    return results(*(case(place, answer) for place, answer in enumerate(answers)))


@pytest.mark.parametrize(
    ("before", "after", "shift", "changed"),
    [
        (answering("ok", "ok"), answering("ok", "ok"), Shift.UNCHANGED, 0),
        (answering("ok", "ok"), answering("ok", "error"), Shift.MOVED, 1),
        (answering("ok", ""), answering("", "error"), Shift.UNJUDGED, 0),
        (answering("ok"), answering(""), Shift.LOST, 0),
        (answering(""), answering("ok"), Shift.GAINED, 0),
        (answering("ok"), answering("error", verdict=Verdict.FAIL), Shift.LOST, 0),
    ],
)
def test_answers_at_open_points_are_compared_case_by_case(
    tmp_path: Path, before: Results, after: Results, shift: Shift, changed: int
) -> None:
    (point,) = one(tmp_path, before, after).points
    assert (point.shift, point.changed) == (shift, changed)


def test_clauses_and_support_are_told_across_the_runs(tmp_path: Path) -> None:
    before = results(good(held=("mbuf.x", "mbuf.kept")))
    lacking = FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "answers 207000", reserved=True)
    after = results(good(held=("mbuf.kept",)), bad(), support=(lacking,))
    found = one(tmp_path, before, after)
    assert [(row.clause, row.cells) for row in found.clauses] == [("mbuf.x", (0, 1))]
    assert [(row.function, row.cells) for row in found.support] == [(ALLOC, (Support.SUPPORTED, Support.NOT_SUPPORTED))]
    text = diff_text(difference(tmp_path / "text", before, after))
    assert "cases that break mbuf.x: 0 → 1" in text
    assert f"function {ALLOC}: supported → not-supported" in text


def test_what_the_runs_do_not_share_is_remarked(tmp_path: Path) -> None:
    other = dataclasses.replace(results(good()), spec="e" * 64, version="0.2.0", filtered=True)
    text = diff_text(difference(tmp_path, results(good()), other))
    assert "the tables differ" in text
    assert "different versions of the suite: 0.1.0, 0.2.0" in text
    assert "run-1: a run of a selection" in text


# ---------------------------------------------------------------------------------------------------------- forms


def test_every_change_is_one_line_and_long_lists_are_cut(tmp_path: Path) -> None:
    found = difference(tmp_path, results(good()), results(*(bad(id=f"mbuf/{k}~{k + 9:08x}") for k in range(100))))
    text = diff_text(found)
    assert text.count("newly failing: not there → fail") == 40
    assert "and 60 more; --all shows them" in text
    assert diff_text(found, everything=True).count("newly failing: not there → fail") == 100
    assert len(diff_markdown(found).encode()) < 65_536
    assert "40 more cases" in diff_markdown(found)


def test_a_comment_stays_below_the_size_that_code_hosts_take(tmp_path: Path) -> None:
    def run(backend: str, verdict: Verdict) -> BackendRun:
        cases = tuple(bad(verdict, id=f"mbuf/{'long/' * 150}{k}~{k:08x}") for k in range(60))
        return dataclasses.replace(results(*cases).runs[0], backend=backend)

    names = [f"acl:{k}" for k in range(3)]
    before = dataclasses.replace(results(), runs=tuple(run(name, Verdict.FAIL) for name in names))
    after = dataclasses.replace(results(), runs=tuple(run(name, Verdict.CRASH) for name in names))
    text = diff_markdown(difference(tmp_path, before, after))
    assert len(text.encode()) < 65_536
    assert "left out here; diff.html and diff.json hold all" in text


class Parts(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[object] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, [name for name, _ in attrs]))

    def handle_comment(self, data: str) -> None:
        self.parts.append("comment")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_the_results_becomes_markup(tmp_path: Path, payload: str) -> None:
    def spoiled(word: str) -> Difference:
        runs = [from_json(spoilt(to_json(run), word)) for run in (results(PASSED, limits=(PROBED,)), full())]
        folders = stored(tmp_path / f"x{len(word)}", *runs)
        versions = [dataclasses.replace(tolerated(path), name=f"n{word}", path=f"p{word}") for path in folders]
        return compare(versions, "0.1.0")

    tame, hostile = spoiled("x"), spoiled(payload)
    assert Parts(diff_html(hostile)).parts == Parts(diff_html(tame)).parts
    plain = re.sub(r"(`{3,}).*?\1|`[^`\n]*`", "", diff_markdown(hostile), flags=re.DOTALL)
    ours = {"<details>", "<details open>", "</details>", "<summary>", "</summary>"}
    assert set(re.findall(r"<[^>]*>", plain)) <= ours
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(diff_json(hostile))))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thousands of cases on two backends, nearly all of them in the list: the first run was of a selection."""
    folder = tmp_path_factory.mktemp("page")
    after = many(5500, "core", "acl")
    before = dataclasses.replace(many(50, "acl", "core"), filtered=True)
    found = difference(folder, before, dataclasses.replace(after, runs=after.runs[::-1]))
    assert sum(len(backend.cases) for backend in found.backends) > 10_900
    path = folder / "diff.html"
    path.write_text(diff_html(found), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_the_page_of_thousands_fits_every_window(browser: Browser, page: Path, width: int, dark: bool) -> None:
    assert page.stat().st_size < 3_000_000
    browser.look(page, width, dark)
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask("document.querySelectorAll('#rows > tr').length") == 50
    assert browser.ask("performance.getEntriesByType('resource').length") == 0


def test_the_page_is_filtered_and_spoken_in_two_languages(browser: Browser, page: Path) -> None:
    browser.look(page)
    assert DIFF_WORDS["change-newly failing"][0] in " ".join(browser.visible(".tiles"))
    browser.press(".tiles [data-change='newly failing']")
    assert browser.visible("#range") == ["1–50 of 110"]
    browser.type("#filter-text", "size=100~")
    assert browser.visible("#range") == ["1–1 of 1"]
    browser.press("#rows button")
    assert "mbuf.c" in " ".join(browser.visible("#rows .more"))
    browser.press("#language")
    assert DIFF_WORDS["change-newly failing"][1] in " ".join(browser.visible("#rows"))
    browser.press("#language")
    browser.look(page, script=False)
    assert DIFF_WORDS["need-script"][0] in browser.visible("noscript p")
    assert len(browser.visible("noscript li")) == 110


# -------------------------------------------------------------------------------------------------------- command


def diffed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["report", "diff", *map(str, words)])
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_the_command_writes_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = stored(tmp_path, results(PASSED), results(bad()))
    code, out, err = diffed(capsys, *folders, "--out", tmp_path / "out")
    assert (code, err) == (1, "")
    assert out.splitlines()[-1] == "exit code 1: something newly fails"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["diff.html", "diff.json", "diff.md"]
    written = json.loads((tmp_path / "out" / "diff.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    code, out, err = diffed(capsys, *folders, "--format", "json")
    assert json.loads(out) == {name: value for name, value in written.items() if name != "seal"}
    assert diffed(capsys, *folders, "--format", "markdown")[1] == (tmp_path / "out" / "diff.md").read_text("utf-8")


@pytest.mark.parametrize("content", ["", "{", '{"format": 2}', "[]", "\x00"])
def test_an_unreadable_side_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (folder,) = stored(tmp_path, results(good()))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "results.json").write_text(content)
    code, out, err = diffed(capsys, folder, broken, "--out", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "broken/results.json" in err
    assert not (tmp_path / "out").exists()


def test_an_unreadable_version_in_between_is_a_column_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = stored(tmp_path, results(good(), PASSED), results(good(), bad()))
    code, out, err = diffed(capsys, before, tmp_path / "nothing", after)
    assert code == 2
    assert "pass → no verdict → fail" in out
    assert "nothing: unreadable" in out
    assert "[exit code 1] core: 1 case newly failing" in out
    assert "not the same in between" in out  # the other case: nothing says that it passed there too
    assert err.count("\n") == 1


def test_one_report_is_not_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = diffed(capsys, *stored(tmp_path, results(good())))
    assert code == 2
    assert "name two reports at least" in err


def test_the_codes_that_hold_are_told_in_order(tmp_path: Path) -> None:
    after = results(bad(), dataclasses.replace(UNRUN, id=A))
    found = difference(tmp_path, results(good(), PASSED), after)
    assert [held.code for held in found.holds] == [1, 4]
    assert found.code == 1


def test_strengths_make_no_difference(tmp_path: Path) -> None:
    after = dataclasses.replace(results(bad(strength=Strength.IMPLIED)), fail_on=frozenset({Strength.EXPLICIT}))
    assert difference(tmp_path, results(PASSED), after).code == 1
