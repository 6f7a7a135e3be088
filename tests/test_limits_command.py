"""`acl-cts limits`, and limits in a run, as their users meet them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from target_build import TARGETS, Target, build

from acl_cts.reports.limit_result import LimitResult, LimitVerdict, limit_from_json

PLANTED = Target("planted-length", "length == size accepted", 1, "planted_limits.c", ("LENGTH=len <= size",))
TARGET = {target.name: target for target in TARGETS}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`acl-cts` with these arguments, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "acl_cts.main", *arguments], capture_output=True, text=True, check=False
    )


def limits(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`acl-cts limits`, never with a traceback."""
    done = command("limits", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library whose lengths have another limit."""
    return str(build(PLANTED, tmp_path_factory.mktemp("planted")))


def test_backends_stand_side_by_side() -> None:
    done = limits("--backend", "core", "--backend", "simulator:opposite", "--limit", "data_area")
    assert done.returncode == 0, done.stderr
    head, row, *_ = done.stdout.splitlines()
    assert head.split() == ["limit", "unit", "where", "documented", "core", "simulator:opposite"]
    assert row.split()[-2:] == ["4294967296", "4000000000"]
    assert "\x1b" not in done.stdout
    assert "the binary reading" in done.stdout
    assert "the decimal reading" in done.stdout


def test_json_has_every_result() -> None:
    done = limits("--backend", "simulator", "--format", "json")
    data = json.loads(done.stdout)
    (run,) = data["runs"]
    results = [limit_from_json(each) for each in run["limits"]]
    assert (data["code"], done.returncode, run["backend"], len(results)) == (0, 0, "simulator", 18)
    assert {result.verdict for result in results} == {LimitVerdict.AS_DOCUMENTED}


def test_another_edge_is_a_discrepancy(planted: str) -> None:
    done = limits("--backend", "acl", "--library", planted, "--limit", "data_length")
    assert done.returncode == 1, done.stderr
    assert "4096, differs" in done.stdout
    assert "mbuf.set-len.limit, obligation" in done.stdout
    assert "acl: 5 differs" in done.stdout


def test_nothing_measured_is_incomplete() -> None:
    done = limits("--backend", "simulator:tight-resources", "--limit", "data_area")
    assert done.returncode == 4
    assert "inconclusive, 65536 accepted" in done.stdout


def test_a_reserved_family_that_is_not_supported_is_as_expected(tmp_path: Path) -> None:
    library = build(TARGET["mbuf-not-supported"], tmp_path)
    done = limits("--backend", "acl", "--library", str(library))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "acl: 18 not supported" in done.stdout


@pytest.mark.parametrize(("function", "action"), [("aclrtSetBufDataLen", "crash()"), ("aclrtFreeBuf", "exit(0)")])
def test_a_function_that_always_dies_ends_no_command(function: str, action: str, tmp_path: Path) -> None:
    target = Target("dies", "", 1, "one_call.c", (f"FUNCTION={function}", f"ACTION={action}"))
    done = limits("--backend", "acl", "--library", str(build(target, tmp_path)), "--limit", "data_length")
    assert done.returncode in (1, 4), done.stderr
    assert function in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--limit", "chian"), "did you mean chain"),
        (("--limit", "nothing-like-it"), "there are: private_area"),
        (("--backend", "nowhere"), "nowhere"),
        (("--backend", "acl", "--library", "/nowhere.so"), "/nowhere.so"),
        (("--backend", "core", "--backend", "simulator", "--library", "x.so"), "one --backend only"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: tuple[str, ...], words: str) -> None:
    done = limits(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_the_tables_show_how_an_edge_is_found() -> None:
    done = command("spec", "show", "chain")
    assert done.returncode == 0
    assert "128 buffers" in done.stdout
    assert "aclrtAppendBufChain(headBuf=x, buf=m[i])" in done.stdout
    assert "chain_index" in command("spec", "show", "mbuf").stdout


def run(out: Path, *arguments: str) -> tuple[list[LimitResult], str]:
    """The limits in the results of a run on the core, and its summary."""
    done = command("run", "--backend", "core", "--out", str(out), *arguments)
    assert (out / "results.json").is_file(), done.stderr
    data = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return [limit_from_json(each) for each in data["runs"][0]["limits"]], done.stdout


def test_a_run_tells_the_limits_of_the_functions_that_were_selected(tmp_path: Path) -> None:
    found, summary = run(tmp_path, "--function", "aclrtAppendBufChain")
    assert [(result.limit, result.measured) for result in found] == [("chain", 128)]
    assert "limits            1 probe: 1 as documented" in summary


def test_a_run_of_single_cases_probes_no_limit(tmp_path: Path) -> None:
    found, summary = run(tmp_path, "--case", "mbuf/simple/aclrtAllocBuf/*")
    assert found == []
    assert "limits" not in summary


def test_a_run_whose_time_is_up_says_that_nothing_was_probed(tmp_path: Path) -> None:
    found, summary = run(tmp_path, "--function", "aclrtAppendBufChain", "--max-time", "2")
    (chain,) = found
    assert (chain.verdict, chain.detail) == (LimitVerdict.NOT_PROBED, "the time limit was reached")
    assert "limit             chain, aclrtAppendBufChain: documented 128; here not probed" in summary
