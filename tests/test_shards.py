"""Shards: parts of one run that together are the whole, proved before they are put together."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from expectations import waiver
from hypothesis import given, settings
from hypothesis import strategies as st
from test_command_line import one_line

import acl_cts.reports
from acl_cts.conformance.plugin import everything
from acl_cts.conformance.selection import SelectionError
from acl_cts.conformance.sharding import sharded
from acl_cts.conformance.share import weight
from acl_cts.main import main
from acl_cts.reports.files import write_json
from acl_cts.reports.results import Results, from_json, to_json
from acl_cts.reports.shard import Shard
from acl_cts.reports.stored import read_results

Run = Callable[..., subprocess.CompletedProcess[str]]

BACKENDS = ("--backend", "simulator", "--backend", "odd:wrong-length")
LENGTHS = ("--case", "mbuf/state/aclrtGetBufDataLen/*", "--case", "mbuf/state/aclrtGetBufChainNum/*")
SCHEMA = json.loads((Path(acl_cts.reports.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))


@given(st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_shards_are_disjoint_complete_and_independent_of_the_order(of: int, start: int) -> None:
    cases = everything(())[1][start % 5000 :][:300]
    parts = [sharded(cases, number, of) for number in range(1, of + 1)]
    ids = [case.id for part in parts for case in part]
    assert sorted(ids) == sorted(case.id for case in cases)
    assert {case.id for case in sharded(cases[::-1], 1, of)} == {case.id for case in parts[0]}


def test_shards_are_balanced_and_keep_items_together() -> None:
    cases = everything(())[1][::2]
    parts = [sharded(cases, number, 3) for number in range(1, 4)]
    loads = [sum(map(weight, part)) for part in parts]
    assert max(loads) < 1.02 * min(loads)
    for part in parts:
        mine = {case.item for case in part if case.item}
        assert all(case in part for case in cases if case.item in mine)


def test_a_shard_without_any_case_is_refused() -> None:
    few = everything(())[1][:3]
    with pytest.raises(SelectionError, match=r"shard 5 of 5 has no case: there are only \d to share out"):
        sharded(few, 5, 5)


@given(st.integers(1, 999_999), st.integers(0, 999_999))
def test_the_name_of_a_shard_is_read_back(number: int, more: int) -> None:
    of = min(number + more, 999_999)
    assert Shard.parse(f"{number}/{of}") == Shard(number, of)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/ 2", "٢/٣"])
def test_what_names_no_shard_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="names no shard; write it as I/N"):
        Shard.parse(text)


# ---------------------------------------------------------------------------------------------------- whole runs


def plain(found: Results) -> Results:
    """`found` without what no two runs have in common."""
    runs = []
    for run in found.runs:
        # How often a failure is confirmed depends on what the same process confirmed before.
        cases = tuple(dataclasses.replace(case, duration=0.0, evidence=None, attempts=0) for case in run.cases)
        runs.append(dataclasses.replace(run, duration=0.0, cases=cases))
    options = {name: value for name, value in found.options.items() if name not in ("out", "shard", "jobs")}
    return dataclasses.replace(found, runs=tuple(runs), started="", ended="", options=options)


def files(folder: Path) -> set[str]:
    """Names of all files below `folder`."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def waivers(tmp_path: Path) -> Path:
    """A waiver that covers some of what fails, and one that is out of date."""
    path = tmp_path / "waivers.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "format": 1,
                "waivers": [
                    waiver({"cases": ["mbuf/state/aclrtGetBufDataLen/*f*"]}, expires="2199-01-01"),
                    waiver({"clauses": ["mbuf.alloc.limit"]}, id="W-2", expires="2001-01-01"),
                ],
            }
        )
    )
    return path


def test_merged_shards_are_the_unsharded_run(acl: Run, tmp_path: Path, waivers: Path) -> None:
    asked = (*BACKENDS, *LENGTHS, "--waivers", str(waivers))
    work = tmp_path / "work"
    whole = acl("run", *asked, "--out", "whole")
    for number in (1, 2):
        done = acl("run", *asked, "--shard", f"{number}/2", "--out", f"shard-{number}")
        told = f"shard {number} of 2"
        assert told in done.stdout.splitlines()[0]
        assert done.stdout.rstrip().endswith(f"; {told}")
        for name in ("report.md", "summary.txt", "report.sarif"):
            assert told in (work / f"shard-{number}" / name).read_text(encoding="utf-8").lower()
        assert f'name="shard" value="{number}/2"' in (work / f"shard-{number}" / "junit.xml").read_text()
        assert f"{number} / 2" in (work / f"shard-{number}" / "report.html").read_text()
    merged = acl("report", "merge", "merged", "shard-2", "shard-1/results.json")
    assert merged.returncode == whole.returncode == 1, merged.stderr
    assert merged.stderr == ""
    found, expected = read_results(work / "merged"), read_results(work / "whole")
    assert plain(found) == plain(expected)
    assert found.expected == expected.expected
    assert [run.accepted for run in found.runs] == [run.accepted for run in expected.runs]
    assert found.runs[1].accepted["waived"] > 0
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads((work / "merged" / "results.json").read_text()))
    assert sorted(
        path.name for path in (work / "merged").rglob("*") if path.is_file() and path.name != "journal.jsonl"
    ) == (sorted(path.name for path in (work / "whole").rglob("*") if path.is_file() and path.name != "journal.jsonl"))
    assert files(work / "merged") == files(work / "whole") - {"journal.jsonl"}
    told = [case for case in found.runs[1].cases if case.evidence and case.evidence.reproducer]
    again = acl("replay", f"merged/{told[0].files}", "--backend", "odd:wrong-length")
    assert again.returncode == 1
    assert f"merged/{told[0].files}" in told[0].evidence.command  # type: ignore[union-attr]
    # A waiver that was changed in the meantime would tell of another run.
    waivers.write_text(waivers.read_text().replace("2199", "2198"))
    late = acl("report", "merge", "late", "shard-1", "shard-2")
    assert (late.returncode, one_line(late.stderr)) == (2, True)
    assert "waivers.yaml: was changed" in late.stderr
    assert not (work / "late").exists()


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of a small run."""
    folder = tmp_path_factory.mktemp("shards")
    for number in (1, 2):
        with pytest.raises(SystemExit):
            main(
                [
                    *("run", "-q", "--backend", "simulator", "--case", "mbuf/state/aclrtGetBufDataLen/*"),
                    *("--shard", f"{number}/2", "--out", str(folder / str(number))),
                ]
            )
    return folder


def merged(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["report", "merge", *map(str, words)])
    return int(ended.value.code or 0), capsys.readouterr().err


def changed(shards: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The second shard with a change, sealed again."""
    data = to_json(read_results(shards / "2"))
    change(data)
    folder = tmp_path / "changed"
    folder.mkdir()
    write_json(folder / "results.json", to_json(from_json(data)))
    return folder


def other_version(data: dict[str, Any]) -> None:
    data["tool"]["version"] = "0.0.1"


def other_tables(data: dict[str, Any]) -> None:
    data["spec"] = "e" * 64


def other_library(data: dict[str, Any]) -> None:
    data["runs"][0]["identity"]["sha256"] = "ab"


def other_profile_of_the_simulator(data: dict[str, Any]) -> None:
    data["runs"][0]["identity"]["details"]["profile"] = "other"


def other_backend(data: dict[str, Any]) -> None:
    data["runs"][0]["backend"] = "core"


def other_cases(data: dict[str, Any]) -> None:
    data["runs"][0]["case_list"] = "f" * 64


def other_setting(data: dict[str, Any]) -> None:
    data["options"]["call_timeout"] = 1.0


def other_support(data: dict[str, Any]) -> None:
    data["runs"][0]["support"][0]["state"] = "undecided"


def other_number(data: dict[str, Any]) -> None:
    data["shard"]["of"] = 3


def lacking(data: dict[str, Any]) -> None:
    del data["runs"][0]["cases"][0]
    data["runs"][0]["totals"]["pass"] -= 1


def foreign(data: dict[str, Any]) -> None:
    data["runs"][0]["cases"].append(data["runs"][0]["cases"][0] | {"id": "mbuf/of/nobody~00000000"})
    data["runs"][0]["totals"]["pass"] += 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other_version, "the version of the suite is 0.0.1"),
        (other_tables, "the digest of the tables is eeeeeeeeeeee"),
        (other_library, "simulator: sha256 is ab"),
        (other_profile_of_the_simulator, "simulator: profile is other"),
        (other_backend, "the list of backends is core"),
        (other_cases, "has another case list"),
        (other_setting, "the setting call_timeout is 1.0"),
        (other_support, "support of"),
        (other_number, "is shard 2 of 3, but"),
        (lacking, "1 case of shard 2 of 2 missing, first mbuf/state/"),
        (foreign, "1 case not of shard 2 of 2, first mbuf/of/nobody~00000000"),
    ],
)
def test_shards_of_different_runs_are_refused(
    shards: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, Any]], None],
    told: str,
) -> None:
    code, err = merged(capsys, tmp_path / "out", shards / "1", changed(shards, tmp_path, change))
    assert (code, one_line(err)) == (2, True)
    assert told in err
    assert not (tmp_path / "out").exists()


def test_a_missing_shard_is_incomplete_and_named(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = merged(capsys, tmp_path / "out", shards / "1")
    assert (code, one_line(err)) == (4, True)
    assert "1 shard is missing: 2/2; run it with --shard 2/2" in err
    assert not (tmp_path / "out").exists()


def test_a_shard_twice_and_a_whole_run_are_refused(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(shards / "1", tmp_path / "again")
    code, err = merged(capsys, tmp_path / "out", shards / "1", shards / "2", tmp_path / "again")
    assert code == 2
    assert "is shard 1 of 2, and so is" in err
    assert merged(capsys, tmp_path / "whole", shards / "1", shards / "2")[0] == 0
    code, err = merged(capsys, tmp_path / "out", shards / "1", tmp_path / "whole")
    assert code == 2
    assert "is a whole run and no shard" in err
    assert merged(capsys, shards / "1", shards / "1", shards / "2")[0] == 2


def test_options_that_other_shards_would_not_know_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--shard", "3/2"], ["--shard", "1/2", "-k", "pair"]):
        with pytest.raises(SystemExit) as ended:
            main(["run", "--backend", "simulator", *words])
        assert ended.value.code == 2
        assert "--shard" in capsys.readouterr().err
