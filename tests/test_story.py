"""The whole story of a release: run, package, verify, baseline, diff, trend; two versions of a library, of which the
second has three faults and answers one open point in another way. Every number that is told is counted again here."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
from two_versions import ANSWER, DEFECTS, build_version

import acl_cts.reports
from acl_cts.backends.core_defects import load_defects

Run = Callable[..., subprocess.CompletedProcess[str]]

CHOSEN = ("--function", "aclrtAppendBufChain")
"""What the three faults and the open point are about; with the limit that one of them moves."""

BROKEN = ("fail", "crash", "timeout", "leak", "flaky")


def stored(path: Path, schema: str) -> dict[str, Any]:
    """A JSON file, held against its published schema."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    text = (Path(acl_cts.reports.__file__).parent / f"{schema}.schema.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(json.loads(text)).validate(found)
    return found


def judged(folder: Path) -> dict[str, dict[str, Any]]:
    """The cases of a report by their ids."""
    (run,) = stored(folder / "results.json", "results")["runs"]
    return {case["id"]: case for case in run["cases"]}


def failing(cases: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The clause that explains each failing case."""
    return {id: case["discrepancies"][0]["clause"] for id, case in cases.items() if case["verdict"] in BROKEN}


def answers(cases: dict[str, dict[str, Any]], clause: str) -> dict[str, set[tuple[str, str]]]:
    """What each case that did not fail saw at an open point."""
    found: dict[str, set[tuple[str, str]]] = {}
    for id, case in cases.items():
        for seen in case["observations"]:
            if seen["clause"] == clause and case["verdict"] not in BROKEN:
                found.setdefault(id, set()).add((seen["key"], seen["answer"]))
    return found


def test_two_versions_of_a_library(acl: Run, tmp_path: Path) -> None:
    work, runs = tmp_path / "work", tmp_path / "work" / "runs"
    libraries = {}
    for name, defects, answer in (("8.0", (), ()), ("8.1", DEFECTS, (ANSWER,))):
        (tmp_path / name).mkdir()
        libraries[name] = ("--backend", "acl", "--library", str(build_version(tmp_path / name, defects, *answer)))

    def told(code: int, *words: str) -> str:
        done = acl(*words)
        assert done.returncode == code, (words, done.stdout[-2000:], done.stderr)
        return done.stdout

    # Run: the first version in two shards, the second at once.
    for number in (1, 2):
        told(0, "run", *libraries["8.0"], *CHOSEN, "--shard", f"{number}/2", "--out", f"shard-{number}")
    told(0, "report", "merge", "runs/8.0", "shard-1", "shard-2")
    told(1, "run", *libraries["8.1"], *CHOSEN, "--keep-traces", "--out", "runs/8.1")
    before, after = judged(runs / "8.0"), judged(runs / "8.1")
    assert before.keys() == after.keys()
    assert failing(before) == {}
    clauses = failing(after)
    expected = {defect.clause for defect in load_defects() if defect.id in DEFECTS}
    assert expected <= set(clauses.values())
    unrun = {id for id, case in before.items() if case["verdict"] == "not-run"}
    assert unrun == {id for id, case in after.items() if case["verdict"] == "not-run"}

    # Package, and verify without the library.
    told(1, "qualify", "--from", "runs/8.1", "--out", "8.1.zip")
    (tmp_path / "8.1" / "libascendcl.so").rename(tmp_path / "8.1" / "away.so")
    text = told(1, "qualify", "verify", "8.1.zip")
    assert re.search(rf"verdicts +{len(after)} cases: .* {len(clauses)} fail", text)
    assert re.search(rf"judged again +{len(after) - len(unrun)} traces", text)
    assert f"{len(clauses)} cases disagree with the documents" in text
    (tmp_path / "8.1" / "away.so").rename(tmp_path / "8.1" / "libascendcl.so")

    # Baseline: what is known is no news, and what is mended is out of date.
    told(0, "baseline", "update", "runs/8.1", "--baseline", "known.yaml")
    again = ("run", "--rerun-failed", "runs/8.1", "--baseline", "known.yaml")
    text = told(0, *again, "--out", "runs/again")
    assert text.rstrip().endswith(f"{len(clauses)} failures known to the baseline")
    text = told(5, *again, *libraries["8.0"], "--out", "mended")
    assert f"{len(clauses)} known failures of the baseline pass" in text

    # Diff.
    text = told(1, "report", "diff", "runs/8.0", "runs/8.1", "--out", "changes", "--all")
    found = stored(work / "changes" / "diff.json", "diff")
    (backend,) = found["backends"]
    assert backend["totals"] == {
        "newly failing": len(clauses),
        "judged in neither": len(unrun),
        "unchanged": len(after) - len(clauses) - len(unrun),
    }
    assert {case["id"] for case in backend["cases"] if case["change"] == "newly failing"} == clauses.keys()
    assert text.count("  newly failing: pass → fail  ") == len(clauses)
    assert sum(int(number) for number in re.findall(r"judged in neither: (\d+) ×", text)) == len(unrun)
    assert (backend["same_library"], backend["renamed"], backend["support"]) == (False, 0, [])
    (limit,) = backend["limits"]
    assert (limit["limit"], limit["shift"]) == ("chain", "newly wrong")
    assert [cell["measured"] for cell in limit["cells"]] == [128, 129]
    accusing = Counter(
        clause
        for case in after.values()
        for clause in {found["clause"] for kind in ("discrepancies", "notes") for found in case[kind]}
    )
    changed = {row["clause"]: row["broken"] for row in backend["clauses"]}
    assert {clause: number for clause, (_, number) in changed.items() if number} == accusing
    assert all(first == 0 for first, number in changed.values() if number)
    for point in backend["open_points"]:
        one, two = answers(before, point["clause"]), answers(after, point["clause"])
        assert point["changed"] == sum(one[id] != two[id] for id in one.keys() & two.keys())
    points = {point["clause"]: point for point in backend["open_points"] if point["shift"] != "unchanged"}
    # Where a data area lies is the allocator's affair and may differ from run to run.
    assert points.keys() - {"mbuf.data.alignment"} == {"mbuf.append.self"}
    assert [answer for answer, _ in points["mbuf.append.self"]["cells"][0]] == ["refused"]
    assert points["mbuf.append.self"]["cells"][1][0][0] == "accepted"
    assert found["exit"] == {
        "code": 1,
        "holds": [
            {"code": 1, "reason": f"acl: {len(clauses)} cases newly failing"},
            {"code": 1, "reason": "acl: 1 limit probe newly wrong"},
        ],
    }
    # Known failures are told apart, and what was not run again is not called unchanged.
    text = told(4, "report", "diff", "runs/8.0", "runs/again", "--format", "json")
    (backend,) = json.loads(text)["backends"]
    rest = len(after) - len(clauses) - len(unrun)
    assert backend["totals"] == {
        "newly failing, accepted": len(clauses),
        "not judged any more": rest,
        "judged in neither": len(unrun),
    }

    # Trend.
    text = told(0, "report", "trend", "runs")
    assert [line.split("  ")[1:] for line in text.splitlines()[:3]] == [
        ["8.0", "acl 0 failed"],
        ["8.1", f"acl {len(clauses)} failed"],
        ["again", f"acl {len(clauses)} failed"],
    ]
    history = stored(runs / "trend.json", "trend")
    moments = [point["backends"]["acl"] for point in history["points"]]
    assert [(moment["failed"], moment["accepted"]) for moment in moments] == [
        (0, 0),
        (len(clauses), 0),
        (len(clauses), len(clauses)),
    ]
    assert moments[1]["failures"] == dict(Counter(clauses.values()))
    assert [[limit["measured"] for limit in moment["limits"]] for moment in moments] == [[128], [129], []]
    assert [[answer for answer, _ in moment["open_points"].get("mbuf.append.self", [])][:1] for moment in moments] == [
        ["refused"],
        ["accepted"],
        [],
    ]
    assert history["unreadable"] == []
    page = (runs / "trend.html").read_text(encoding="utf-8")
    assert page.count('<svg class="plot"') > 3
