"""The page as a reader meets it: in a headless browser, wide and narrow, light and dark, by mouse and keyboard."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, opened
from made_results import TABLES, bad, full, good, many, results
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from acl_cts.reports.html_report import HtmlReport
from acl_cts.reports.results import Results
from acl_cts.reports.wording import WORDS
from acl_cts.specs.judgement import Observation

NUMBER = 5500


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("browser")) as found:
        yield found


def written(folder: Path, found: Results) -> Path:
    (folder / "failures" / "b").mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    page.write_text(HtmlReport(found, folder, folder).text(), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on which every section holds something."""
    return written(tmp_path_factory.mktemp("small"), full())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two backends with as many cases as a whole run has."""
    return written(tmp_path_factory.mktemp("large"), many(NUMBER, "core", "acl"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_every_window(browser: Browser, large: Path, width: int, dark: bool) -> None:
    browser.look(large, width, dark)
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
    assert lightness < 60 if dark else lightness > 200
    for name in ("totals", "limits", "discrepancies"):
        assert WORDS[name][0] in browser.visible(f"#{name} h2")


def test_nothing_comes_from_elsewhere(browser: Browser, small: Path) -> None:
    browser.look(small)
    assert browser.ask("performance.getEntriesByType('resource').length") == 0
    assert browser.ask("document.querySelectorAll('link, img, iframe, script[src]').length") == 0


def test_every_link_leads_somewhere(browser: Browser, small: Path) -> None:
    browser.look(small)
    links = browser.ask("[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))")
    inner = [link[1:] for link in links if link.startswith("#")]
    assert len(inner) > 12
    assert [name for name in inner if not browser.ask("document.getElementById(arguments[0])", name)] == []
    outer = [link for link in links if not link.startswith("#")]
    assert outer == ["./failures/b/"]
    assert browser.ask("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size") == browser.ask(
        "document.querySelectorAll('[id]').length"
    )


def test_a_link_into_a_folded_part_opens_it(browser: Browser, tmp_path: Path) -> None:
    seen = good(observations=(Observation("mbuf.z", "error", 1, "key"),))
    browser.look(written(tmp_path, dataclasses.replace(results(seen), tables=TABLES)))
    assert browser.visible("#matrix small") == []
    browser.press("#open a[href='#clause-mbuf.z']")
    WebDriverWait(browser.driver, 10).until(lambda _: TABLES.clauses["mbuf.z"].text in browser.visible("#matrix small"))


def test_the_language_is_switched_and_remembered(browser: Browser, small: Path) -> None:
    browser.look(small)
    assert browser.visible("h1") == [WORDS["title"][0]]
    browser.press("#language")
    assert browser.ask("document.documentElement.lang") == "zh-CN"
    assert browser.visible("h1") == [WORDS["title"][1]]
    assert browser.visible(".en") == []
    assert "超过上限必须失败。" in " ".join(browser.visible("#matrix small, #discrepancies dd"))
    assert "4096 字节（二进制） 或 4000 字节（十进制）" in " ".join(browser.visible("#limits td"))
    assert "通过" in " ".join(browser.visible("#rows td"))
    assert "第 1–4 个，共 4 个" in browser.visible("#range")
    browser.look(small)
    assert browser.visible("h1") == [WORDS["title"][1]]
    browser.press("#language")
    assert browser.visible("h1") == [WORDS["title"][0]]
    assert browser.visible(".zh") == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_colours_are_switched(browser: Browser, small: Path, dark: bool) -> None:
    browser.look(small, dark=dark)
    before = browser.ask("getComputedStyle(document.body).backgroundColor")
    browser.press("#theme")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") != before
    browser.press("#theme")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == before
    browser.driver.execute_script("localStorage.clear()")


def test_thousands_of_cases_stay_out_of_the_document(browser: Browser, large: Path) -> None:
    assert large.stat().st_size < 3_000_000
    browser.look(large)
    assert browser.visible("#range") == [f"1–50 of {NUMBER}"]
    assert browser.ask("document.querySelectorAll('#rows > tr').length") == 50
    assert browser.ask("document.querySelectorAll('*').length") < 5000
    browser.press("#next")
    assert browser.visible("#range") == [f"51–100 of {NUMBER}"]
    assert browser.ask("document.querySelectorAll('#rows > tr').length") == 50
    browser.press("#previous")
    assert not browser.driver.find_element("id", "previous").is_enabled()


def test_cases_are_filtered(browser: Browser, large: Path) -> None:
    browser.look(large)
    browser.type("#filter-text", "SIZE=123~")
    assert browser.visible("#range") == ["1–1 of 1"]
    assert "size=123~" in browser.visible("#rows button")[0]
    browser.press("#filters [type=reset]")
    WebDriverWait(browser.driver, 10).until(lambda _: browser.visible("#range") == [f"1–50 of {NUMBER}"])
    browser.choose("#filter-verdict", "fail")
    assert browser.visible("#range") == ["1–50 of 110"]
    browser.choose("#filter-clause", "mbuf.c1")
    assert 0 < int(browser.visible("#range")[0].rpartition(" ")[2]) < 110
    browser.choose("#filter-function", "aclrtAllocBuf")
    browser.choose("#filter-verdict", "backends differ")
    assert browser.visible("#rows .badge.bad")
    browser.type("#filter-text", "no such case")
    assert browser.visible("#range") == [WORDS["nothing"][0]]
    assert browser.visible("#rows tr") == []


def test_a_discrepancy_leads_to_its_cases(browser: Browser, large: Path) -> None:
    browser.look(large)
    browser.press("#discrepancies a[data-clause]")
    assert all("fail" in line for line in browser.visible("#rows tr"))
    assert browser.visible("#rows tr")


def test_a_case_tells_its_reasons_and_clauses(browser: Browser, large: Path) -> None:
    browser.look(large)
    browser.press("#rows button")
    assert browser.ask("document.querySelector('#rows button').getAttribute('aria-expanded')") == "true"
    told = browser.visible("#rows .more")[0]
    assert "mbuf.c24" in told
    assert "no hooks here" in told
    browser.press("#rows button")
    assert browser.visible("#rows .more") == []


def test_without_script_the_essence_is_there(browser: Browser, small: Path) -> None:
    browser.look(small, script=False)
    assert "1 pass" in " ".join(browser.visible("#totals .legend li"))
    assert "2048 bytes" in " ".join(browser.visible("#limits td"))
    assert "an error" in browser.visible("#discrepancies dd")
    assert browser.visible("#language, #theme, #filters, .copy") == []
    assert WORDS["cases-need-script"][0] in browser.visible("noscript p")
    browser.press("#discrepancies .source > summary")
    assert "int x;" in browser.visible("#discrepancies pre")
    browser.look(small)


def test_the_keyboard_reaches_everything_in_order(browser: Browser, small: Path) -> None:
    browser.look(small)
    focused = []
    for _ in range(4):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        focused.append(browser.ask("document.activeElement.id || document.activeElement.className"))
    assert focused[:3] == ["skip", "language", "theme"]
    assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.look(small)
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.ask("document.activeElement.id") == "main"
    levels = browser.ask("[...document.querySelectorAll('h1, h2, h3, h4')].map((title) => Number(title.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert browser.ask("[...document.querySelectorAll('[onclick], div[role=button]')].length") == 0


def test_a_reproducer_is_copied(browser: Browser, small: Path) -> None:
    browser.look(small)
    browser.press("#discrepancies .copy")
    WebDriverWait(browser.driver, 10).until(lambda _: WORDS["copied"][0] in browser.visible("#discrepancies .copy"))


def test_text_of_a_library_is_never_executed(browser: Browser, tmp_path: Path) -> None:
    hostile = '</script><img src=x onerror="window.caught=1"><svg onload="window.caught=1">\u2028</pre><b>x</b>'
    case = bad(reason=hostile, functions=(hostile,), clauses=(hostile,), id=hostile)
    found = results(good(), dataclasses.replace(case, discrepancies=()))
    browser.look(written(tmp_path, found))
    assert browser.complaints() == []
    assert browser.ask("window.caught === undefined && document.querySelectorAll('img, b b, pre b').length === 0")
    browser.type("#filter-text", "onerror")
    browser.press("#rows button")
    assert browser.ask("document.querySelectorAll('#rows img, #rows svg').length") == 0
    assert hostile.split("\u2028")[0] in browser.ask("document.querySelector('#rows').textContent")
