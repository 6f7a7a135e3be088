"""Profiles, baselines and waivers as a user meets them: exit codes, files, one line for every error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Run
from expectations import baseline_file, waiver, waiver_file

import acl_cts.reports

LENGTH = ("--case", "mbuf/state/aclrtGetBuf*", "--jobs", "1")
WRONG = {"clauses": ["mbuf.*"]}
LATER = "2999-12-31"


def stored(tmp_path: Path, out: str = "acl-cts-out") -> dict[str, Any]:
    found = json.loads((tmp_path / "work" / out / "results.json").read_text(encoding="utf-8"))
    schema = json.loads((Path(acl_cts.reports.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(found)
    return dict(found)


@pytest.mark.parametrize(
    ("fault", "scope", "more", "codes"),
    [
        ("wrong-length", WRONG, {}, []),
        ("wrong-length", WRONG, {"expires": "2020-01-01"}, [5]),
        ("wrong-length", {"clauses": ["mbuf.alloc.limit"]}, {}, [1]),
        ("wrong-length", {"clauses": ["mbuf.gone"]}, {}, [1, 5]),
        ("dies", {"cases": ["mbuf/gone/*"]}, {}, [3, 5]),
        ("lost", {"cases": ["mbuf/gone/*"]}, {}, [4, 5]),
        ("once", {"cases": ["mbuf/*"], "verdicts": ["flaky"]}, {}, []),
    ],
)
def test_exit_codes_with_waivers(
    acl: Run, tmp_path: Path, fault: str, scope: dict[str, Any], more: dict[str, str], codes: list[int]
) -> None:
    path = waiver_file(tmp_path, waiver(scope, **{"expires": LATER, **more}))
    done = acl("run", "--backend", f"odd:{fault}", "--waivers", str(path), *LENGTH)
    found = stored(tmp_path)["exit"]
    assert list(dict.fromkeys(held["code"] for held in found["holds"])) == codes, found
    assert done.returncode == found["code"] == (codes[0] if codes else 0)
    assert "Traceback" not in done.stderr


def test_the_way_of_a_known_failure(acl: Run, tmp_path: Path) -> None:
    """From the first run over the baseline to the library that is mended."""
    acl("run", "--backend", "odd:wrong-length", *LENGTH)
    done = acl("baseline", "update", "acl-cts-out", "--baseline", "known.yaml")
    assert done.returncode == 0, done.stderr
    failures = stored(tmp_path)["runs"][0]["totals"]["fail"]
    assert f"odd:wrong-length: added {failures} failures" in done.stdout
    again = acl("run", "--backend", "odd:wrong-length", "--baseline", "known.yaml", *LENGTH)
    assert again.returncode == 0, again.stdout
    assert again.stdout.splitlines()[-1] == f"exit code 0: as expected; {failures} failures known to the baseline"
    assert stored(tmp_path)["runs"][0]["accepted"] == {"waived": 0, "baseline": failures}
    known = tmp_path / "work" / "known.yaml"
    known.write_text(known.read_text(encoding="utf-8").replace("odd:wrong-length", "odd*"), encoding="utf-8")
    mended = acl("run", "--backend", "odd:once-upon", "--baseline", "known.yaml", *LENGTH)
    assert mended.returncode == 5, mended.stdout
    assert f"{failures} known failures of the baseline pass" in mended.stdout


def test_reports_of_a_run_with_waivers_are_made_again_from_its_results(acl: Run, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, waiver(WRONG, expires=LATER))
    acl("run", "--backend", "odd:wrong-length", "--waivers", str(path), *LENGTH)
    folder = tmp_path / "work" / "acl-cts-out"
    before = {name: (folder / name).read_bytes() for name in ("report.html", "report.md", "junit.xml", "summary.txt")}
    assert acl("report", "render", "acl-cts-out").returncode == 0
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(("profile", "code"), [("general", 0), ("everything", 1), ("ipv350", 0)])
def test_a_profile_decides_what_not_supported_means(acl: Run, tmp_path: Path, profile: str, code: int) -> None:
    done = acl("run", "--backend", "odd:no-mbuf", "--profile", profile, *LENGTH)
    found = stored(tmp_path)
    assert (done.returncode, found["exit"]["code"]) == (code, code)
    assert found["profile"]["name"] == profile
    assert len(found["profile"]["sha256"]) == len(found["profile"]["must_pass"]) == 64
    if code:
        assert "aclrtAllocBuf is claimed by the profile and not supported" in done.stdout


def test_a_broken_claim_is_waived_by_function(acl: Run, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, waiver({"functions": ["aclrt*Buf*"]}, expires=LATER))
    done = acl("run", "--backend", "odd:no-mbuf", "--profile", "everything", "--waivers", str(path), *LENGTH)
    assert done.returncode == 0, done.stdout


def test_without_a_profile_nothing_is_told_of_one(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "simulator", *LENGTH)
    found = stored(tmp_path)
    assert {"profile", "expected"}.isdisjoint(found)
    assert {"must_pass", "accepted"}.isdisjoint(found["runs"][0])


# ------------------------------------------------------------------------------------------------------ wrong input


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        ("--waivers", "format: 1\nwaivers:\n  - id: x\n    ownr: y\n", ":4: "),
        ("--waivers", "format: [\n", ":2: is not valid YAML"),
        ("--baseline", "format: 1\nbackends:\n  - backend: 7\n", ":3: "),
        ("--profile", "format: 1\nclaims: []\n", ":2: "),
    ],
)
def test_wrong_files_are_one_line_before_anything_runs(
    acl: Run, tmp_path: Path, option: str, text: str, told: str
) -> None:
    (tmp_path / "work" / "x.yaml").write_text(text, encoding="utf-8")
    done = acl("run", "--backend", "odd:wrong-length", option, "x.yaml", *LENGTH)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"acl-cts: x.yaml{told}")
    assert not (tmp_path / "work" / "acl-cts-out").exists()


@pytest.mark.parametrize("option", ["--waivers", "--baseline", "--profile"])
def test_files_that_are_not_there_are_one_line(acl: Run, option: str) -> None:
    done = acl("run", "--backend", "simulator", option, "gone.yaml", *LENGTH)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "gone.yaml" in done.stderr


# ------------------------------------------------------------------------------------------------------ baseline


def test_files_are_checked_by_themselves(acl: Run, tmp_path: Path) -> None:
    waivers = waiver_file(tmp_path, waiver(WRONG, expires=LATER))
    known = baseline_file(tmp_path, {"backend": "odd:*", "flakes": ["mbuf/*"]})
    done = acl("baseline", "check", "--waivers", str(waivers), "--baseline", str(known))
    assert (done.returncode, done.stdout) == (0, "1 waiver, baseline: nothing out of date\n")
    old = waiver_file(tmp_path, waiver({"clauses": ["mbuf.gone"]}, expires="2020-01-01"))
    done = acl("baseline", "check", "--waivers", str(old))
    assert done.returncode == 5
    told = "waiver W-1: expired on 2020-01-01; clauses: 'mbuf.gone' matches nothing"
    assert done.stdout == f"[exit code 5] {old}:10: {told}\n"
    assert acl("baseline", "check").returncode == 2


def test_a_report_is_held_against_other_files(acl: Run, tmp_path: Path) -> None:
    acl("run", "--backend", "odd:wrong-length", *LENGTH)
    good = waiver_file(tmp_path, waiver(WRONG, expires=LATER))
    done = acl("baseline", "check", "--waivers", str(good), "--results", "acl-cts-out")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "exit code 0: as expected")
    other = waiver_file(tmp_path, waiver({"clauses": ["mbuf.alloc.limit"]}, expires=LATER))
    done = acl("baseline", "check", "--waivers", str(other), "--results", "acl-cts-out")
    assert done.returncode == 1
    assert done.stdout.startswith("[exit code 1] odd:wrong-length: ")


def test_files_are_shown_for_people(acl: Run, tmp_path: Path) -> None:
    waivers = waiver_file(tmp_path, waiver({**WRONG, "verdicts": ["crash", "fail"]}, expires=LATER))
    known = baseline_file(
        tmp_path, {"backend": "core", "failures": {"a/b~1": {"verdict": "crash", "clauses": ["x.y"]}}}
    )
    out = acl("baseline", "show", "--waivers", str(waivers), "--baseline", str(known)).stdout
    assert "core, version *" in out
    assert "crash          a/b~1 (x.y)" in out
    assert "W-1, until 2999-12-31, Ann: known" in out
    assert "clauses mbuf.*; verdicts crash, fail" in out
