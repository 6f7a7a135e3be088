"""The history of a library: every run in the order of time, and what changed in pictures."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from browser import Browser, opened
from made_results import PROBED, bad, finding, full, good, results
from test_diff import Parts
from test_renderings import PAYLOADS, spoilt

import acl_cts.reports
from acl_cts.main import main
from acl_cts.reports.files import write_json
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.results import CaseResult, Results, from_json, to_json
from acl_cts.reports.trend import Trend, found_in, point_of, trend
from acl_cts.reports.trend_html import trend_html
from acl_cts.reports.trend_json import trend_json
from acl_cts.reports.trend_picture import Pictures
from acl_cts.reports.trend_wording import TREND_WORDS
from acl_cts.specs.judgement import Observation, Verdict

SCHEMA = json.loads((Path(acl_cts.reports.__file__).parent / "trend.schema.json").read_text(encoding="utf-8"))


def run(day: int, *cases: CaseResult, version: str = "1.0", edge: int = 4096, answer: str = "ok") -> Results:
    """The results of one night."""
    verdict = LimitVerdict.AS_DOCUMENTED if edge == 4096 else LimitVerdict.DIFFERS
    seen = good(observations=(Observation("mbuf.z", answer, 1, "key"),))
    made = results(seen, *cases, limits=(dataclasses.replace(PROBED, verdict=verdict, measured=edge),))
    identity = {"backend": "core", "sha256": "ab", "details": {"version": version}}
    runs = (dataclasses.replace(made.runs[0], identity=identity),)
    return dataclasses.replace(made, started=f"2026-03-{day:02d}T01:00:00+00:00", runs=runs)


def failing(number: int, clause: str = "mbuf.x") -> list[CaseResult]:
    return [bad(id=f"mbuf/{clause}/{k}~{k + 9:08x}", discrepancies=(finding(clause=clause),)) for k in range(number)]


def keep(folder: Path, **runs: Results) -> Path:
    for name, found in runs.items():
        (folder / name).mkdir(parents=True)
        write_json(folder / name / "results.json", to_json(found))
    return folder


def history(folder: Path, **runs: Results) -> Trend:
    keep(folder, **runs)
    found = trend(map(point_of, found_in(folder)), folder, "0.1.0")
    jsonschema.Draft202012Validator(SCHEMA).validate(trend_json(found))
    return found


def test_runs_stand_in_the_order_of_time_whatever_their_names(tmp_path: Path) -> None:
    found = history(tmp_path, a=run(3), b=run(1), c=run(2, version="2"), d=run(2, version="1"))
    assert [point.version.name for point in found.points] == ["b", "d", "c", "a"]


def test_failures_are_counted_by_clause_and_stacked(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        a=run(1, *failing(3), *failing(1, "mbuf.y")),
        b=run(2),
        c=run(3, *failing(7, "mbuf.y"), dataclasses.replace(bad(Verdict.CRASH), discrepancies=(), accepted=("W",))),
    )
    assert [dict(point.moments["core"].failures) for point in found.points] == [
        {"mbuf.x": 3, "mbuf.y": 1},
        {},
        {"mbuf.y": 7, "crash": 1},
    ]
    assert [point.moments["core"].accepted for point in found.points] == [0, 0, 1]
    bars = Pictures(found, "core").failures()
    assert [name for _, name in bars.legend] == ["mbuf.y", "mbuf.x", "crash"]
    heights = [box.height for box in bars.boxes if box.look == bars.legend[0][0]]
    assert heights[1] == pytest.approx(7 * heights[0])
    assert [box.title.rpartition(": ")[2] for box in bars.boxes] == [
        *("1 × mbuf.y", "3 × mbuf.x", "no failure", "7 × mbuf.y", "1 × crash")
    ]


def test_boxes_stay_inside_and_labels_apart(tmp_path: Path) -> None:
    runs = {f"r{k}": run(k, *failing(k % 5 * 20), version=f"8.{k}.0-with-more") for k in range(1, 29)}
    bars = Pictures(history(tmp_path, **runs), "core").failures()
    assert all(box.x >= 0 and box.x + box.width <= bars.width for box in bars.boxes)
    assert all(box.y >= 0 and box.y + box.height <= bars.height for box in bars.boxes)
    for y in {label.y for label in bars.labels if label.anchor == "middle"}:
        labels = [label for label in bars.labels if label.y == y]
        ends = [(label.x - 3.2 * len(label.text), label.x + 3.2 * len(label.text)) for label in labels]
        assert len(ends) > 4
        assert all(left < right for (_, left), (right, _) in itertools.pairwise(ends))


def test_limits_and_open_points_that_changed_come_first(tmp_path: Path) -> None:
    found = history(tmp_path, a=run(1), b=run(2, edge=2048), c=run(3, answer="error"))
    pictures = Pictures(found, "core")
    (limit,) = pictures.limits()
    assert limit.changed
    assert [box.look for box in limit.boxes] == ["cell-good", "cell-bad", "cell-good"]
    assert limit.last == "4096 bytes"
    (point,) = pictures.points()
    assert [name for _, name in point.legend] == ["ok", "error"]
    assert [round(box.width) for box in point.boxes] == [47, 23]  # the first two runs are alike
    steady = Pictures(history(tmp_path / "steady", a=run(1), b=run(2)), "core")
    assert [strip.changed for strip in (*steady.limits(), *steady.points())] == [False, False]


def test_a_backend_that_was_not_judged_leaves_a_gap(tmp_path: Path) -> None:
    other = dataclasses.replace(run(2), runs=(dataclasses.replace(run(2).runs[0], backend="acl"),))
    found = history(tmp_path, a=run(1), b=other, c=run(3))
    assert found.backends == ("core", "acl")
    looks = [box.look for box in Pictures(found, "core").failures().boxes]
    assert looks == ["cell-good", "cell-none", "cell-good"]
    assert [box.look for box in Pictures(found, "core").limits()[0].boxes] == ["cell-good", "cell-none", "cell-good"]


def trended(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["report", "trend", *map(str, words)])
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_the_command_writes_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, a=run(1), b=run(2, *failing(2)))
    code, out, err = trended(capsys, tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["2026-03-01 01:00  a  core 0 failed", "2026-03-02 01:00  b  core 2 failed"]
    stored = json.loads((tmp_path / "trend.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(stored)
    assert [point["backends"]["core"]["failed"] for point in stored["points"]] == [0, 2]
    assert trended(capsys, tmp_path, "--out", tmp_path / "page")[0] == 0
    assert (tmp_path / "page" / "trend.html").read_bytes() == (tmp_path / "trend.html").read_bytes()


def test_what_cannot_be_read_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, a=run(1), b=run(2))
    broken = tmp_path / "b" / "results.json"
    broken.write_text(broken.read_text().replace('"pass"', '"fail"', 1))
    code, out, err = trended(capsys, tmp_path)
    assert code == 2
    assert "1 run:" in out
    assert err.count("\n") == 1
    assert "b/results.json: was changed after it was written" in err
    page = (tmp_path / "trend.html").read_text(encoding="utf-8")
    assert "b/results.json: was changed after it was written" in page
    assert json.loads((tmp_path / "trend.json").read_text())["unreadable"][0]["path"].endswith("b/results.json")


@pytest.mark.parametrize("content", [None, "{"])
def test_without_any_run_there_is_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    code, out, err = trended(capsys, tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "trend.html").exists()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_the_results_becomes_markup(tmp_path: Path, payload: str) -> None:
    def made(word: str) -> str:
        spoiled = from_json(spoilt(to_json(full()), word))
        other = dataclasses.replace(spoiled, runs=(dataclasses.replace(spoiled.runs[0], limits=()),))
        return trend_html(history(tmp_path / f"x{len(word)}", a=spoiled, b=other))

    tame, hostile = made("x"), made(payload)
    assert Parts(hostile).parts == Parts(tame).parts


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_the_page_fits_every_window(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    runs = {f"r{k}": run(k, *failing(k % 4 * 9), version=f"8.{k // 5}", edge=4096 >> k % 2) for k in range(1, 25)}
    path = tmp_path / "trend.html"
    path.write_text(trend_html(history(tmp_path / "runs", **runs)), encoding="utf-8")
    browser.look(path, width, dark)
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask("performance.getEntriesByType('resource').length") == 0
    overlaps = browser.ask(
        "(() => { const boxes = [...document.querySelectorAll('svg text')].map((e) => e.getBoundingClientRect());"
        "return boxes.filter((a, i) => boxes.some((b, k) => k > i && a.left < b.right && b.left < a.right"
        " && a.top < b.bottom - 2 && b.top < a.bottom - 2)).length; })()"
    )
    assert overlaps == 0
    browser.press("#language")
    assert browser.visible("h1") == [TREND_WORDS["title"][1]]
    browser.press("#language")
    browser.look(path, width, dark, script=False)
    assert browser.visible("svg.plot")
    browser.look(path)


def test_pictures_are_well_formed(tmp_path: Path) -> None:
    page = trend_html(history(tmp_path, a=run(1, *failing(2)), b=run(2)))
    pictures = re.findall(r"<svg class=\"plot\".*?</svg>", page, re.DOTALL)
    assert len(pictures) > 3
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        assert all(rect.find("title") is not None for rect in root.iter("rect"))
