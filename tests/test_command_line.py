"""The command line as a user meets it: processes, exit codes, files, one line for every error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import jsonschema
import pytest
import third_party

import acl_cts.conformance
import acl_cts.reports
from acl_cts.backends.core_backend import build_core

LENGTH = ("--case", "mbuf/state/aclrtGetBuf*")
"""A selection of some size that the wrong lengths of the odd backend touch."""

FEW = ("--case", "mbuf/state/aclrtGetBufDataLen/*")
"""Some of them, for what does not depend on the number."""

Run = Callable[..., subprocess.CompletedProcess[str]]


def stored(tmp_path: Path, out: str = "acl-cts-out") -> dict[str, object]:
    """results.json, held against its schema."""
    found = json.loads((tmp_path / "work" / out / "results.json").read_text(encoding="utf-8"))
    schema = json.loads((Path(acl_cts.reports.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(found)
    for run in found["runs"]:
        assert sum(run["totals"].values()) == len(run["cases"])
        assert len({case["id"] for case in run["cases"]}) == len(run["cases"])
    return dict(found)


def one_line(text: str) -> bool:
    return len(text.strip().splitlines()) == 1


# ------------------------------------------------------------------------------------------------------ exit codes


@pytest.mark.parametrize(
    ("backend", "selection", "code"),
    [
        ("simulator", LENGTH, 0),
        ("odd:no-mbuf", LENGTH, 0),
        ("odd:wrong-length", LENGTH, 1),
        ("odd:once", LENGTH, 1),
        ("odd:nowhere", LENGTH, 2),
        ("odd:unbuilt", LENGTH, 3),
        ("odd:harness", LENGTH, 3),
        ("odd:dies", LENGTH, 3),
        ("odd:lost", LENGTH, 4),
        ("odd:no-allocator", ("--group", "state", "--family", "allocator"), 4),
        ("odd:interrupts", LENGTH, 130),
    ],
)
def test_exit_code(acl: Run, tmp_path: Path, backend: str, selection: tuple[str, ...], code: int) -> None:
    done = acl("run", "--backend", backend, "--jobs", "1", *selection)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    if code == 2:
        assert one_line(done.stderr)
        assert done.stdout == ""
        return
    found = stored(tmp_path)
    assert found["exit"]["code"] == code  # type: ignore[index]
    assert done.stdout.splitlines()[-1].startswith(f"exit code {code}")


def test_an_interrupted_run_keeps_what_it_has(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:interrupts", "--jobs", "1", *LENGTH)
    found = stored(tmp_path)
    assert found["finished"] is False
    totals = found["runs"][0]["totals"]  # type: ignore[index]
    assert totals["pass"] > 0
    assert totals["not-run"] > 0


def test_a_test_process_that_dies_loses_no_case(acl: Run, tmp_path: Path) -> None:
    listed = acl("list", *LENGTH).stdout.split()
    acl("run", "--backend", "odd:dies", "--jobs", "2", *LENGTH)
    cases = stored(tmp_path)["runs"][0]["cases"]  # type: ignore[index]
    assert [case["id"] for case in cases] == listed
    assert {"pass", "error"} <= {case["verdict"] for case in cases}


def test_a_failure_that_does_not_repeat_is_flaky(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:once", "--jobs", "1", *LENGTH)
    assert stored(tmp_path)["runs"][0]["totals"]["flaky"] == 1  # type: ignore[index]


def test_a_time_limit_leaves_the_run_incomplete(acl: Run, tmp_path: Path) -> None:
    done = acl("run", "--backend", "simulator", "--max-time", "0.001", *LENGTH)
    assert done.returncode == 4
    totals = stored(tmp_path)["runs"][0]["totals"]  # type: ignore[index]
    assert totals["not-run"] == sum(totals.values()) > 0
    assert f"0 failed, {totals['not-run']} not judged (time limit)" in done.stderr


def test_fail_on_narrows(acl: Run) -> None:
    assert acl("run", "--backend", "odd:wrong-length", *FEW, "--fail-on", "obligation").returncode == 0
    assert acl("run", "--backend", "odd:wrong-length", *FEW, "--fail-on", "obligation,explicit").returncode == 1


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("run", "--function", "aclrtGetBufDataLne"), "did you mean aclrtGetBufDataLen"),
        (("run", "--family", "mbuff"), "did you mean mbuf"),
        (("run", "--clause", "nothing.like.it.at.all"), "no clause"),
        (("run", "--case", "no/such/case"), "no case matches"),
        (("run", "--group", "no-such-group"), "no group"),
        (("run", "--backend", "cor"), "did you mean core"),
        (("run", "--backend", "simulator:leniant"), "did you mean lenient"),
        (("run", "--out", ""), "--out"),
        (("run", "--backend", "acl", "--library", "."), "is a directory"),
        (("list", "-k", "((("), "((("),
        (("list", "-k", "nothinglikeit"), "no case matches"),
        (("spec", "show", "mbuff"), "did you mean mbuf"),
        (("run", "--fail-on", "everything"), "explicit"),
        (("run", "--seed", "3"), "--shuffle"),
        (("run", "-k", "(((", "--backend", "simulator"), "((("),
        (("rnu",), "did you mean run"),
        (("list", "--function", "aclrtFreeBuff"), "did you mean aclrtFreeBuf?"),
        (("replay", "no-such-file.txt"), "no-such-file.txt"),
        (("spec", "show", "aclrtAlocBuf"), "did you mean aclrtAllocBuf?"),
        (("run", "--backend", "acl", "--library", "/no/such/libascendcl.so"), "/no/such/libascendcl.so"),
    ],
)
def test_a_wrong_word_is_answered_by_what_to_do(acl: Run, args: tuple[str, ...], told: str) -> None:
    done = acl(*args)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unwritable_folder_is_one_line(acl: Run, tmp_path: Path) -> None:
    (tmp_path / "work" / "report").write_text("in the way")
    done = acl("run", "--backend", "simulator", "--out", "report/deeper", *LENGTH)
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert "report/deeper" in done.stderr


@pytest.mark.parametrize(
    "name", ["results.json", "report.html", "report.md", "report.sarif", "junit.xml", "summary.txt"]
)
def test_a_directory_in_the_place_of_a_report_is_found_before_the_run(acl: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "work" / "report" / name).mkdir(parents=True)
    done = acl("run", "--backend", "simulator", "--out", "report", *FEW)
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert f"report/{name}: is a directory" in done.stderr


# ------------------------------------------------------------------------------------------------- files and output


def test_a_run_writes_its_reports_and_a_failure_can_be_replayed(acl: Run, tmp_path: Path) -> None:
    done = acl("run", "--backend", "odd:wrong-length", "--out", "report", *FEW)
    report = tmp_path / "work" / "report"
    assert done.stdout == (report / "summary.txt").read_text(encoding="utf-8")
    cases = stored(tmp_path, "report")["runs"][0]["cases"]  # type: ignore[index]
    failed = [case for case in cases if case["verdict"] == "fail"]
    suite = ElementTree.parse(report / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert int(suite.attrib["failures"]) == len(failed) > 0
    told = next(case for case in failed if case["evidence"]["reproducer"])  # the one of its root that is told
    folder = report / told["files"]
    assert {file.name for file in folder.iterdir()} == {"program.txt", "repro.c", "trace.json", "run.json"}

    assert "evidence" not in next(case for case in cases if case["verdict"] == "pass")
    evidence = told["evidence"]
    assert evidence["program"] == (folder / "program.txt").read_text(encoding="utf-8")
    assert evidence["reproducer"] == (folder / "repro.c").read_text(encoding="utf-8")
    page, comment = ((report / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    assert f'href="./{quote(told["files"])}/"' in page
    assert evidence["command"] in comment

    command = next(line.split("reproduce", 1)[1].split() for line in done.stdout.splitlines() if "reproduce" in line)
    again = acl(*[word.strip("'") for word in command[1:]])
    assert again.returncode == 1
    assert told["discrepancies"][0]["clause"] in again.stdout
    judged = acl("replay", f"{folder}/trace.json", "--format", "json", "--backend", "odd:nowhere")
    assert judged.returncode == 1
    assert json.loads(judged.stdout)["discrepancies"] == told["discrepancies"]
    assert json.loads(judged.stdout)["executed_by"] == {"backend": "odd:wrong-length", "library": ""}

    whole = acl("replay", "report")
    assert whole.returncode == 1
    assert whole.stdout.count("verdict: fail") == len(failed)
    assert whole.stdout.startswith("executed by odd:wrong-length\n")
    elsewhere = acl("replay", f"{folder}", "--backend", "simulator")
    assert elsewhere.returncode == 0
    assert "executed by simulator; the failure was found on odd:wrong-length" in elsewhere.stdout


@pytest.mark.parametrize(
    ("content", "told"), [(b"", "no statement in it"), (b"\x7fELF\xff\xfe", "binary data"), (None, "holds no failure")]
)
def test_what_cannot_be_replayed_is_one_line(acl: Run, tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "work" / "thing"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    done = acl("replay", "thing")
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert told in done.stderr
    assert "codec" not in done.stderr


def test_the_reproducer_compiles_and_says_what_was_expected(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:wrong-length", *FEW)
    source = next((tmp_path / "work" / "acl-cts-out" / "failures").glob("*/repro.c"))
    binary = tmp_path / "repro"
    command = ["gcc", "-std=gnu11", "-Wall", "-Werror", str(source), "-o", str(binary), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = subprocess.run([str(binary), str(build_core())], capture_output=True, text=True, check=True)
    last = again.stdout.splitlines()[-1]
    assert last.startswith("not shown here: the call answered otherwise; expected at step ")
    assert "aclrtGetBufDataLen(buf=" in last
    assert "; seen by the suite: " in last


def test_another_run_forgets_the_failures_of_the_first(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:wrong-length", *FEW)
    failures = tmp_path / "work" / "acl-cts-out" / "failures"
    (failures / "notes").mkdir()
    assert any(failures.glob("*/program.txt"))
    assert acl("run", "--backend", "simulator", *FEW).returncode == 0
    assert [entry.name for entry in failures.iterdir()] == ["notes"]


def test_a_clean_run_leaves_no_empty_folders(acl: Run, tmp_path: Path) -> None:
    report = tmp_path / "work" / "acl-cts-out"
    acl("run", "--backend", "simulator", "--backend", "odd:wrong-length", *FEW)
    assert [entry.name for entry in (report / "failures").iterdir()] == ["odd-wrong-length"]
    acl("run", "--backend", "simulator", *FEW)
    assert sorted(entry.name for entry in report.iterdir()) == [
        *("journal.jsonl", "junit.xml", "report.html", "report.md", "report.sarif", "results.json", "summary.txt")
    ]


def test_several_backends_are_told_apart(acl: Run, tmp_path: Path) -> None:
    done = acl("run", "--backend", "simulator", "--backend", "odd:wrong-length", *FEW)
    assert done.returncode == 1
    runs = stored(tmp_path)["runs"]
    assert [run["backend"] for run in runs] == ["simulator", "odd:wrong-length"]  # type: ignore[attr-defined]
    failed = [case for case in runs[1]["cases"] if case["files"]]  # type: ignore[index]
    assert failed[0]["files"].startswith("failures/odd-wrong-length/")


def test_a_seed_repeats_an_order(acl: Run, tmp_path: Path) -> None:
    orders = []
    for seed in ("1", "1", "2"):
        acl("run", "--backend", "simulator", "--shuffle", "--seed", seed, *FEW)
        found = stored(tmp_path)
        assert found["seed"] == int(seed)
        orders.append([case["id"] for case in found["runs"][0]["cases"]])  # type: ignore[index]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_isolated_and_split_runs_give_the_same_verdicts(acl: Run, tmp_path: Path) -> None:
    told = []
    for extra in (("--jobs", "1"), ("--jobs", "3"), ("--isolate",)):
        acl("run", "--backend", "odd:wrong-length", *FEW, *extra)
        told.append([(c["id"], c["verdict"]) for c in stored(tmp_path)["runs"][0]["cases"]])  # type: ignore[index]
    assert told[0] == told[1] == told[2]


def test_piped_output_is_plain_and_progress_stays_on_stderr(acl: Run) -> None:
    done = acl("run", "--backend", "odd:wrong-length", *FEW, NO_COLOR="1")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.startswith("acl-cts ")
    assert "fail  mbuf/" in done.stderr
    assert acl("run", "--backend", "simulator", "-q", *FEW).stdout == "exit code 0: as expected\n"


def test_the_summary_as_json(acl: Run) -> None:
    done = acl("run", "--backend", "simulator", "--format", "json", *FEW)
    assert json.loads(done.stdout)["exit"] == {"code": 0, "holds": []}


def test_a_terminal_without_unicode_gets_question_marks(acl: Run) -> None:
    done = acl("spec", "docs-defects", "--lang", "zh", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert "?" in done.stdout


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"list | head -1 >{os.devnull}", "0"),
        ("run --backend simulator --max-time 0.001 --group state -q | true", "4"),
    ],
)
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, command: str, code: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m acl_cts.main {command}; echo ${{PIPESTATUS[0]}}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == code
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["list", "--help", "run --help", "run --backend simulator --out r -q --case @"])
def test_a_full_disk_below_stdout_is_one_line_and_loses_no_report(tmp_path: Path, command: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "acl_cts.main", *command.replace("@", FEW[1]).split()],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert one_line(done.stderr)
    assert "standard output: no space left on device" in done.stderr
    assert (tmp_path / "r" / "summary.txt").exists() == command.startswith("run --backend")


# ------------------------------------------------------------------------------------------------ other subcommands


def test_version_and_help(acl: Run) -> None:
    assert acl("--version").stdout == f"acl-cts {acl_cts.__version__}\n"
    for command in (
        "run",
        "list",
        "replay",
        "backends",
        "spec show",
        "spec check",
        "spec coverage",
        "spec docs-defects",
    ):
        done = acl(*command.split(), "--help")
        assert done.returncode == 0
        assert "Example" in done.stdout


def test_list_prints_ids_one_a_line(acl: Run) -> None:
    lines = acl("list", "--family", "allocator").stdout.splitlines()
    assert lines
    assert all(line.startswith("allocator/") and " " not in line for line in lines)
    assert acl("list", "--case", lines[0]).stdout.splitlines() == lines[:1]


def test_list_takes_the_filters_of_run(acl: Run) -> None:
    chosen = acl("list", "-k", "state and aclrtGetBufDataLen").stdout.split()
    assert set(acl("list", *FEW).stdout.split()) <= set(chosen)
    assert all("/state/" in case for case in chosen)
    assert set(chosen) < set(acl("list").stdout.split())


def test_the_help_names_every_group_of_cases(acl: Run) -> None:
    groups = {case.split("/")[1] for case in acl("list").stdout.split()}
    text = acl("list", "--help").stdout.split("--group", 1)[1].split("--clause", 1)[0]
    assert groups == set(text.split("cases:", 1)[1].replace(".", "").replace(",", " ").split())


def test_spec_show_of_a_family(acl: Run) -> None:
    text = acl("spec", "show", "mbuf").stdout
    assert "reserved" in text
    assert "aclrtSetBufUserData" in text
    assert "aclrtAllocatorCreateDesc" not in text


def test_spec_show(acl: Run) -> None:
    text = acl("spec", "show", "aclrtSetBufUserData").stdout
    assert "mbuf.set-user." in text
    assert "aclrtSetBufUserData" in acl("spec", "show").stdout
    assert acl("spec", "coverage").returncode == 0


def test_backends_says_what_can_be_used(acl: Run) -> None:
    text = acl("backends").stdout
    assert "simulator" in text
    assert "usable; capabilities:" in text
    assert "odd" in text


# ---------------------------------------------------------------------------------------------------- plain pytest


@pytest.mark.parametrize(
    ("backend", "code", "jobs"), [("simulator", 0, "0"), ("odd:wrong-length", 1, "0"), ("simulator", 0, "2")]
)
def test_pytest_alone_runs_the_suite(tmp_path: Path, backend: str, code: int, jobs: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    third_party.announce(site)
    folder = Path(acl_cts.conformance.__file__).resolve().parent
    report = tmp_path / "junit.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(folder),
        "--backend",
        backend,
        "-k",
        "state and aclrtGetBufDataLen",
        "-q",
    ]
    command += ["-n", jobs, f"--junitxml={report}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        cwd=folder.parent,
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    assert int(suite.attrib["tests"]) > 0
    if code:
        assert "expected:" in done.stdout
        assert "observed:" in done.stdout
