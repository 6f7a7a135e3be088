"""Every form of a report: nothing of the results becomes markup, sizes are bounded, bad input is one line."""

from __future__ import annotations

import base64
import copy
import dataclasses
import hashlib
import json
import random
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import bad, finding, full, good, many, results
from markupsafe import escape

from acl_cts.main import main
from acl_cts.reports.evidence import Evidence
from acl_cts.reports.files import write_json
from acl_cts.reports.html_report import REPRODUCERS, HtmlReport, bars
from acl_cts.reports.markdown import markdown
from acl_cts.reports.renderings import RENDERINGS, Place
from acl_cts.reports.results import Results, from_json, to_json
from acl_cts.reports.wording import WORDS
from acl_cts.specs.judgement import Verdict

NOWHERE = Path("/nowhere")

PAYLOADS = (
    "</script><script>alert(1)</script>",
    "</script x='><!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) x='",
    "{{ 7*7 }}{% raw %}",
    "--><!--]]>",
    "&lt;b&gt;&#60;",
    "\u2028\u2029\u202e\x00\x1b[31m\ud800",
    "a\n\n# title\n|x|y|\n```\n</details>",
)


class Skeleton(HTMLParser):
    """Elements, their attributes' names, and the texts of script elements: what a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[object] = []
        self.scripts: list[str] = []
        self._script = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, [name for name, _ in attrs]))
        self._script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(tag)
        self._script = False

    def handle_comment(self, data: str) -> None:
        self.parts.append("comment")

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts.append(data)


def page(found: Results) -> str:
    return HtmlReport(found, NOWHERE, NOWHERE).text()


FREE = {
    *("version", "spec", "started", "ended", "backend", "library", "sha256", "soc", "reason", "expected", "observed"),
    *("blocked_by", "answer", "key", "detail", "context", "param", "unit", "text", "zh", "source", "title", "status"),
    *("relative", "program", "command", "reproducer", "python", "processors", "case_list", "trouble", "outcome", "id"),
    *("family", "function", "clause", "files", "through", "owner", "link", "place", "told", "file", "expires", "first"),
}
"""Entries of results whose text is free: a library, or a hand, may have written anything."""


def spoilt(data: Any, word: str) -> Any:
    """`data` with `word` behind every free text."""
    if isinstance(data, dict):
        return {name: value + word if _free(name, value) else spoilt(value, word) for name, value in data.items()}
    return [spoilt(value, word) for value in data] if isinstance(data, list) else data


def _free(name: str, value: object) -> bool:
    return name in FREE and isinstance(value, str)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_the_results_becomes_markup(payload: str) -> None:
    tame = Skeleton(page(from_json(spoilt(to_json(full()), "x"))))
    hostile = Skeleton(page(from_json(spoilt(to_json(full()), payload))))
    assert hostile.parts == tame.parts
    assert hostile.scripts[1] == tame.scripts[1]
    # A script element ends at more than one spelling of its end tag; without any `<` there is none.
    assert "<" not in hostile.scripts[0]
    shown = json.loads(hostile.scripts[0])["cases"][0][0]
    assert shown.startswith("mbuf/g/a~00000000" + payload.split("\x00")[0])


@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_form_takes_any_text(payload: str, tmp_path: Path) -> None:
    found = from_json(spoilt(to_json(full()), payload))
    texts = {name: made.text(found, Place(tmp_path, tmp_path)) for name, made in RENDERINGS.items()}
    for name in ("html", "markdown", "junit"):
        texts[name].encode("utf-8")
        assert "\x00" not in texts[name]
    plain = re.sub(r"(`{3,}).*?\1|`[^`\n]*`", "", texts["markdown"], flags=re.DOTALL)
    assert set(re.findall(r"<[^>]*>", plain)) <= {"<details>", "</details>", "<summary>", "</summary>"}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
@settings(max_examples=50, deadline=None)
def test_any_reason_is_shown_as_it_is(reason: str) -> None:
    data = json.loads(Skeleton(page(results(good(reason=reason)))).scripts[0])
    kept = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", "", reason)
    assert re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]", "", data["reasons"][0]) == kept.replace("\ufffd", "")


def test_only_our_own_script_may_run() -> None:
    text = page(full())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    script = Skeleton(text).scripts[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    directives = policy[1].replace("&#39;", "'")
    assert f"script-src 'sha256-{digest}'" in directives
    assert "default-src 'none'" in directives
    assert "unsafe" not in directives


def test_every_interface_word_is_in_both_languages() -> None:
    same = {"python", "sha256", "soc"}
    for name, (english, chinese) in WORDS.items():
        assert english, name
        assert chinese, name
        if name not in same:
            assert re.search("[\u4e00-\u9fff]", chinese) or name == "language", name


def test_reproducers_are_bounded_and_the_first_come_first() -> None:
    source = "x" * (REPRODUCERS // 3)
    cases = [
        bad(
            id=f"c{n}",
            discrepancies=(finding(clause=f"mbuf.{n}"),),
            evidence=Evidence("p", "c", f"/* number {n} */{source}"),
        )
        for n in range(6)
    ]
    text = page(results(*cases))
    assert [f"/* number {n} */" in text for n in range(6)] == [True, True, False, False, False, False]
    assert text.count(str(escape(WORDS["reproducer-left"][0]))) == 4


def test_a_folder_outside_of_the_report_is_never_linked(tmp_path: Path) -> None:
    (tmp_path / "report" / "failures" / "b").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for files in ("failures/b", "../other", "/", "javascript:alert(1)", ".", "failures/none", "\x00"):
        text = HtmlReport(results(bad(files=files)), tmp_path / "report", tmp_path).text()
        links = re.findall(r'class="outside" href="([^"]*)"', text)
        assert links == (["./report/failures/b/"] if files == "failures/b" else []), files


def test_even_a_single_case_is_wide_enough_to_be_seen() -> None:
    run = dataclasses.replace(full().runs[0], cases=(*(good(str(n), id=str(n)) for n in range(5000)), bad()))
    drawn = {bar.verdict: bar for bar in bars(run)}
    assert drawn[Verdict.FAIL].width > 0.5
    assert sum(bar.width for bar in drawn.values()) == pytest.approx(100, abs=0.01)


def test_a_comment_stays_below_what_code_hosts_take() -> None:
    cases = [
        bad(id=f"c{n}", discrepancies=(finding(clause=f"mbuf.{n}"),), evidence=Evidence("x" * 5000, "c", ""))
        for n in range(500)
    ]
    text = markdown(results(*cases))
    assert len(text.encode()) < 60_000
    assert re.search(r"\d+ parts left out here", text)
    assert text.count("<details>") == text.count("</details>") > 5


def test_a_comment_tells_limits_failures_and_what_was_not_judged() -> None:
    text = markdown(full())
    for part in (
        "exit code 1",
        "| `area` | 4096 bytes (binary) or 4000 bytes (decimal) | "
        "documented 4096 bytes (binary) or 4000 bytes (decimal), measured 2048 bytes (one area) |",
        "- expected: an error",
        "- observed: success",
        "a = aclrtAllocBuf(size=1)",
        "acl-cts replay failures/b/program.txt --backend core",
        "- 1 × not-run: why",
    ):
        assert part in text


def test_limits_come_before_discrepancies_and_say_when_they_were_not_probed() -> None:
    found = full()
    text = page(found)
    assert text.index('id="limits"') < text.index('id="discrepancies"') < text.index('id="matrix"')
    assert text.count(WORDS["not-probed-run"][0]) == 1
    bare = dataclasses.replace(found, runs=(dataclasses.replace(found.runs[0], limits=()),))
    assert page(bare).count(WORDS["not-probed-run"][0]) == 2


# --------------------------------------------------------------------------------------------------------- command

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs `acl-cts report render`: exit code, stdout, stderr."""

    def run(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["report", "render", *map(str, args)])
        told = capsys.readouterr()
        return int(left.value.code or 0), told.out, told.err

    return run


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    write_json(tmp_path / "results.json", to_json(full()))
    return tmp_path


def test_every_form_is_written_beside_the_results(call: Call, stored: Path) -> None:
    code, out, err = call(stored)
    assert (code, err) == (0, "")
    assert out.split() == [str(stored / made.file) for made in RENDERINGS.values()]
    assert sorted(file.name for file in stored.iterdir()) == sorted(
        ["results.json", *(made.file for made in RENDERINGS.values())]
    )


def test_the_results_alone_are_enough(call: Call, stored: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    call(stored)
    alone = tmp_path_factory.mktemp("alone")
    (alone / "r.json").write_bytes((stored / "results.json").read_bytes())
    assert call(alone / "r.json")[0] == 0
    for made in RENDERINGS.values():
        assert (alone / made.file).read_text().replace(str(alone), str(stored)) == (stored / made.file).read_text()


def test_one_form_goes_where_it_is_sent(call: Call, stored: Path) -> None:
    assert call(stored, "--format", "html", "--out", stored / "deep" / "page.html")[0] == 0
    assert (stored / "deep" / "page.html").read_text().startswith("<!doctype html>")
    code, out, _ = call(stored, "--format", "markdown", "--out", "-")
    assert (code, out[:11]) == (0, "## acl-cts ")
    assert call(stored, "--format", "html", "--format", "text", "--out", stored / "two")[0] == 0
    assert sorted(file.name for file in (stored / "two").iterdir()) == ["report.html", "summary.txt"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not JSON"),
        (b"\x7fELF\xff", "binary data"),
        (b"[]", "no seal"),
        (b'{"format": 2}', "no seal"),
        ({"format": 1}, "format 1"),
        (b"[" * 200_000, "is not JSON"),
        ({"format": 2}, "exit is missing"),
        (None, "cannot be read"),
    ],
)
def test_what_are_no_results_is_one_line(
    call: Call, tmp_path: Path, content: bytes | dict[str, Any] | None, told: str
) -> None:
    if isinstance(content, bytes):
        (tmp_path / "results.json").write_bytes(content)
    elif content is not None:
        write_json(tmp_path / "results.json", content)
    code, out, err = call(tmp_path)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert told in err
    assert "results.json" in err


def test_an_exit_code_that_is_too_kind_is_refused(call: Call, tmp_path: Path) -> None:
    write_json(tmp_path / "results.json", to_json(full()) | {"exit": {"code": 0, "holds": []}})
    code, _, err = call(tmp_path)
    assert code == 2
    assert "leaves out code 1" in err
    assert len(err.splitlines()) == 1


def test_standard_output_takes_one_form(call: Call, stored: Path) -> None:
    code, _, err = call(stored, "--out", "-")
    assert code == 2
    assert "--format" in err


SPOILERS = (None, True, -1, 1.5, 10**400, "", "x", [], [[]], [1], {}, {"a": {}}, float("nan"), float("inf"))


def test_spoilt_results_are_one_line_or_still_add_up(call: Call, tmp_path: Path) -> None:
    """Truncated, flipped and edited by hand, a thousand and more of them."""
    dice = random.Random(5)
    whole = to_json(full())
    path = tmp_path / "results.json"
    write_json(path, whole)
    raw = path.read_bytes()
    refused = 0
    for number in range(1200):
        if number % 3 == 0:
            path.write_bytes(raw[: dice.randrange(len(raw))])
        elif number % 3 == 1:
            flipped = bytearray(raw)
            flipped[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
            path.write_bytes(bytes(flipped))
        else:
            write_json(path, _edited(whole, dice))
        form = dice.choice(list(RENDERINGS))
        code, _, err = call(path, "--format", form, "--out", tmp_path / "made")
        assert code in (0, 2), err
        assert len(err.splitlines()) == (1 if code else 0), err
        refused += code == 2
        assert code == 2 or number % 3 == 2, "the seal shows every damage"
        if code == 0:
            found = from_json(json.loads(path.read_bytes()))
            assert [case.verdict for run in found.runs for case in run.cases] in (
                ["pass", "fail", "not-run", "fail"],
                [],
            )
            assert found.code == 1
    assert refused > 700


def _edited(whole: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """`whole` with one entry somewhere in it removed or replaced."""
    edited = copy.deepcopy(whole)
    spot: Any = edited
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = dice.choice(keys)
        inner = spot[key]
        if isinstance(inner, dict | list) and inner and dice.random() < 0.8:
            spot = inner
            continue
        if dice.random() < 0.2:
            del spot[key]
        else:
            spot[key] = dice.choice(SPOILERS)
        return edited


def test_a_whole_run_is_a_small_page() -> None:
    assert len(page(many(5500, "core", "acl")).encode()) < 3_000_000
