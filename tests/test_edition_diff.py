"""What two editions of the tables state differently: the comparison and its command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acl_cts.main import main
from acl_cts.specs.edition_diff import Change, Difference, edition_diff
from acl_cts.specs.loader import FOLDER, load_edition, load_spec

SPEC = load_spec()


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder with the tables of the suite."""
    for path in FOLDER.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    return tmp_path


def changed(tables: Path, file: str, old: str, new: str) -> tuple[Difference, ...]:
    """What differs after `old` became `new` in `file`."""
    path = tables / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return edition_diff(SPEC, load_edition(tables))


def test_an_edition_does_not_differ_from_itself(tables: Path) -> None:
    assert edition_diff(SPEC, load_edition(tables)) == ()


def test_a_limit_moves(tables: Path) -> None:
    (found,) = changed(tables, "mbuf.yaml", "value: 128", "value: 256")
    assert (found.kind, found.name, found.change) == ("limit", "chain", Change.MOVED)
    assert found.parts == (("value", "128", "256"),)


def test_a_clause_changes_its_strength_and_its_text(tables: Path) -> None:
    old = '{id: common.no-hang, strength: implied, en: "Every call returns."'
    (found,) = changed(tables, "errors.yaml", old, old.replace("implied", "explicit").replace("call", "one"))
    assert (found.kind, found.name, found.change) == ("clause", "common.no-hang", Change.CHANGED)
    assert {part: (before, after) for part, before, after in found.parts} == {
        "strength": ("implied", "explicit"),
        "text": ("Every call returns.", "Every one returns."),
    }


def test_another_edition_of_a_document_shows_at_everything_from_it(tables: Path) -> None:
    text = (tables / "mbuf.yaml").read_text(encoding="utf-8")
    assert text.count("edition: current") == 1
    found = changed(tables, "mbuf.yaml", "edition: current", "edition: '9.0'")
    assert {each.change for each in found} == {Change.CHANGED}
    assert all(each.parts == (("edition", "current", "9.0"),) for each in found)
    assert {each.kind for each in found} == {"clause", "limit"}


def test_a_family_that_is_not_reserved_any_more(tables: Path) -> None:
    (found,) = changed(tables, "mbuf.yaml", "status: reserved", "status: documented")
    assert (found.kind, found.parts) == ("family", (("status", "reserved", "documented"),))


def test_a_family_goes_and_comes_with_all_that_is_in_it(tables: Path) -> None:
    (tables / "mbuf.yaml").unlink()
    second = load_edition(tables)
    gone, come = edition_diff(SPEC, second), edition_diff(second, SPEC)
    assert {each.change for each in gone} == {Change.REMOVED}
    assert {each.change for each in come} == {Change.ADDED}
    assert {(each.kind, each.name) for each in gone} == {(each.kind, each.name) for each in come}
    functions = {each.name for each in gone if each.kind == "function"}
    assert functions == set(SPEC.families["mbuf"].functions)
    assert {each.name for each in gone if each.kind == "limit"} == {
        name for name, limit in SPEC.limits.items() if limit.family == "mbuf"
    }


def test_a_signature_and_a_code_change(tables: Path) -> None:
    (found,) = changed(tables, "errors.yaml", "207012:", "207013:")[:1]
    assert (found.kind, found.name, found.change) == ("code", "207012", Change.REMOVED)


# ------------------------------------------------------------------------------------------------------ the command


def command(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["spec", "diff", *args])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_same_tables_are_0_and_others_are_1(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(str(tables), "current") == 0
    assert "they state the same" in capsys.readouterr().out
    changed(tables, "mbuf.yaml", "value: 128", "value: 256")
    assert command(str(tables), "current") == 1
    out = capsys.readouterr().out
    assert "1 limit moved" in out
    assert "limit chain: moved" in out
    assert "- value          256" in out
    assert "+ value          128" in out


def test_json_holds_everything(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(tables, "mbuf.yaml", "value: 128", "value: 256")
    assert command("current", str(tables), "--format", "json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["before"]) == (1, SPEC.digest)
    assert found["differences"] == [
        {
            "kind": "limit",
            "name": "chain",
            "change": "moved",
            "parts": [{"part": "value", "before": "128", "after": "256"}],
        }
    ]


def test_one_table_is_compared_with_one_table(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(str(tables / "allocator.yaml"), str(FOLDER / "allocator.yaml")) == 0
    assert "they state the same" in capsys.readouterr().out


def test_tables_that_cannot_be_read_are_2_and_one_line(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(str(tables / "none"), "current") == 2
    (tables / "mbuf.yaml").write_text("format: [", encoding="utf-8")
    assert command(str(tables), "current") == 2
    (tables / "empty").mkdir()
    assert command(str(tables / "empty"), "current") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("give a folder with tables, or one table")
    assert lines[1].startswith("acl-cts: mbuf.yaml:")
