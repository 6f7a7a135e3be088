"""Qualification packages: made once from a small run, then tampered with in every way that has a name."""

from __future__ import annotations

import gc
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, runner
from expectations import waiver, waiver_file
from packages import (
    Members,
    data_of,
    journal_line,
    kinds,
    lines_of,
    members_of,
    put_lines,
    recounted,
    tampered,
    told,
    wrong_with,
)

from acl_cts.fuzz.challenge import Drawn, draw_challenge
from acl_cts.main import main
from acl_cts.qualification import verification, verify_package, write_package
from acl_cts.qualification.verification import Asked
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.inconsistency import MEANING, Wrong

LATER = "2999-12-31"
SMALL = ("--group", "state", "--function", "aclrtGetBufDataLen", "--case", "*BufDataLen/mbuf-[ar]*", "--jobs", "1")
TRACES = "traces/odd-wrong-length.jsonl"
RESULTS, JOURNAL, CHALLENGE = "results.json", "journal.jsonl", "challenge.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a small package was made: `small.zip`, of the run in `small/`."""
    folder = tmp_path_factory.mktemp("made")
    acl = runner(folder)
    waivers = waiver_file(folder, waiver({"cases": ["mbuf/state/aclrtSetBufDataLen/*"]}, expires=LATER))
    options = ("--profile", "everything", "--waivers", str(waivers), "--out", "small.zip")
    done = acl("qualify", "--backend", "odd:wrong-length", *options, *SMALL)
    assert done.returncode == 1, done.stderr
    return folder / "work"


@pytest.fixture(scope="module")
def small(made: Path) -> Path:
    return made / "small.zip"


def test_a_package_is_consistent_and_says_what_the_run_said(small: Path) -> None:
    found = verify_package(small)
    assert not found.problems
    run = data_of(members_of(small), RESULTS)["runs"][0]
    assert found.judged == sum(case["attempts"] > 0 for case in run["cases"]) > 10
    assert all((run["totals"]["fail"], run["totals"]["pass"], run["accepted"]["waived"]))
    assert found.code == ExitCode.DISCREPANCY
    assert ExitCode.INCOMPLETE in {held.code for held in found.holds}, "it is about a selection only"


def test_a_package_holds_what_it_promises(small: Path) -> None:
    members = members_of(small)
    always = {"manifest.json", RESULTS, JOURNAL, "cases.txt", "statement.txt", TRACES}
    assert always | {"profile.yaml", "profile.mustpass.txt", "waivers.yaml"} <= members.keys()
    failures = {name for name in members if name.startswith("failures/")}
    assert {Path(name).name for name in failures} == {"program.txt", "repro.c", "trace.json", "run.json"}
    first, *rest = members
    assert first == "manifest.json"
    assert rest == sorted(rest)


def test_the_same_run_gives_the_same_package(made: Path, tmp_path: Path) -> None:
    write_package(made / "small", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (made / "small.zip").read_bytes()


def test_a_statement_that_was_filled_in_is_packed(made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "small", tmp_path / "run")
    text = (run / "statement.txt").read_text(encoding="utf-8")
    assert "[name, version, build number]" in text
    (run / "statement.txt").write_text(text.replace("[name, version, build number]", "Nine"), encoding="utf-8")
    logs = tmp_path / "plog"
    logs.mkdir()
    (logs / "a:b.log").write_text("one", encoding="utf-8")
    write_package(run, tmp_path / "again.zip", (logs,))
    empty = verify_package(made / "small.zip").unfilled
    assert verify_package(tmp_path / "again.zip").unfilled == empty - 1 > 5
    members = members_of(tmp_path / "again.zip")
    assert b"Nine" in members["statement.txt"]
    assert members["vendor/logs/plog/a_b.log"] == b"one"
    assert not verify_package(tmp_path / "again.zip").problems


# --------------------------------------------------------------------------------------- what was done to a package


def case_of(data: dict[str, Any], verdict: str = "pass", **more: Any) -> dict[str, Any]:
    """The first case with this verdict."""
    return next(
        case
        for case in data["runs"][0]["cases"]
        if case["verdict"] == verdict and all(case.get(name) == value for name, value in more.items())
    )


def in_results(change: Callable[[dict[str, Any]], None], *, count: bool = True) -> Callable[[Members], None]:
    """Change the results; `count`: have the totals add up."""

    def edit(members: Members) -> None:
        def all_of_it(data: dict[str, Any]) -> None:
            change(data)
            if count:
                recounted(data)

        told(members, RESULTS, all_of_it)

    return edit


def in_case(verdict: str, **changes: Any) -> Callable[[Members], None]:
    return in_results(lambda data: case_of(data, verdict).update(changes))


def in_traces(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        lines = lines_of(members, TRACES)
        change(lines)
        put_lines(members, TRACES, lines)

    return edit


def append(name: str, text: bytes) -> Callable[[Members], None]:
    return lambda members: members.update({name: members[name] + text})


def repaired(members: Members) -> None:
    """A failing case passes, with everything in the results that goes with it."""

    def change(data: dict[str, Any]) -> None:
        case = case_of(data, "fail")
        case.update(verdict="pass", reason="", discrepancies=[], blocked=[], files="")
        del case["evidence"]

    in_results(change)(members)


def unheard(members: Members) -> None:
    """A case was not executed, it says, for want of a capability."""
    id = case_of(data_of(members, RESULTS), "fail")["id"]
    in_results(lambda data: case_of(data, "fail").update(verdict="not-run", cause="capability", attempts=0))(members)
    in_traces(lambda lines: lines.remove(next(line for line in lines if line.get("id") == id)))(members)


def dropped(members: Members) -> None:
    in_results(lambda data: data["runs"][0]["cases"].remove(case_of(data, "fail")))(members)


def claimed_whole(data: dict[str, Any]) -> None:
    data["filtered"] = False
    data["options"].update(families=[], functions=[], groups=[], clauses=[], cases=[])


def judged_otherwise(members: Members) -> None:
    """The journal tells another verdict, with a checksum that fits."""
    lines = members[JOURNAL].splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b'"event": "judged"' in line)
    event = json.loads(lines[place].partition(b" ")[2])
    event["result"]["reason"] = "another"
    lines[place] = journal_line(event)
    members[JOURNAL] = b"".join(lines)


def another_trace(members: Members) -> None:
    """The trace beside a failing program is that of another one."""
    names = [name for name in members if name.endswith("/trace.json")]
    members[names[0]] = members[names[1]]


def unsupported(members: Members) -> None:
    """A failing case could not be executed, its trace says, for want of what the backend has."""
    id = case_of(data_of(members, RESULTS), "fail")["id"]

    def change(lines: list[dict[str, Any]]) -> None:
        line = next(line for line in lines if line.get("id") == id)
        line["trace"].update(records=[], ending={"kind": "unsupported", "detail": "data-access"})

    in_traces(change)(members)


def without_reason(members: Members) -> None:
    """A case was judged without calls of a function that ended no process."""
    id = case_of(data_of(members, RESULTS))["id"]

    def change(lines: list[dict[str, Any]]) -> None:
        next(line for line in lines if line.get("id") == id).update(without=["aclrtGetBufChainNum"])

    in_traces(change)(members)


def shown(change: Callable[[str], str]) -> Callable[[Members], None]:
    """The reproducer of a failure changed, in the file and in the results."""

    def edit(members: Members) -> None:
        name = next(name for name in members if name.endswith("/repro.c"))
        text = change(members[name].decode())
        members[name] = text.encode()
        files = name.rpartition("/")[0]
        in_results(lambda data: case_of(data, "fail", files=files)["evidence"].update(reproducer=text))(members)

    return edit


def built(**build: str) -> Callable[[Members], None]:
    """How the reproducers of the failures are said to be built."""

    def edit(members: Members) -> None:
        for name in [name for name in members if name.endswith("/run.json")]:
            told(members, name, lambda data: data.update(build=build))

    return edit


def in_manifest(change: Callable[[dict[str, Any]], None]) -> Callable[[Members], None]:
    return lambda members: told(members, "manifest.json", change)


def support(data: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = data["runs"][0]["support"][3]
    return entry


def fulfil(numbers: dict[str, Any]) -> None:
    """Cases that were not judged have passed."""
    numbers.update(passed=numbers["passed"] + numbers["missing"], missing=0, first="")


RIPE: dict[str, tuple[Callable[[Members], None], set[str]]] = {
    "statement": (append("statement.txt", b"x"), {"member-changed"}),
    "member gone": (lambda m: m.pop("statement.txt") and None, {"member-missing"}),
    "member added": (lambda m: m.update({"extra.txt": b"x"}), {"member-extra"}),
    "listed twice": (in_manifest(lambda d: d["members"].append(d["members"][0])), {"manifest"}),
    "manifest of another form": (in_manifest(lambda d: d.pop("about")), {"manifest"}),
    "manifest gone": (lambda m: m.pop("manifest.json") and None, {"member-missing"}),
    "manifest not sealed again": (
        lambda m: m.update({"manifest.json": m["manifest.json"].replace(b'"challenge": ""', b'"challenge": "x"')}),
        {"seal", "about"},
    ),
    "another library": (
        in_manifest(lambda d: d["about"]["libraries"]["odd:wrong-length"].update(sha256="0" * 64)),
        {"about"},
    ),
}
"""By what was done without making the manifest fit: the edit, and the kinds of inconsistency it leads to."""

HIDDEN: dict[str, tuple[Callable[[Members], None], set[str]]] = {
    "seal": (lambda m: m.update({RESULTS: m[RESULTS].replace(b'"seed": null', b'"seed": 7')}), {"seal"}),
    "layout": (lambda m: m.update({RESULTS: b" " + m[RESULTS]}), {"seal"}),
    "results of another form": (in_results(lambda d: d.pop("started"), count=False), {"results"}),
    "shard": (in_results(lambda d: d.update(shard={"number": 1, "of": 2})), {"results"}),
    "totals": (in_results(lambda d: d["runs"][0]["totals"].update({"pass": 9999}), count=False), {"totals", "results"}),
    "case twice": (in_results(lambda d: d["runs"][0]["cases"].append(case_of(d))), {"case-twice", "results"}),
    "case gone": (dropped, {"case-missing", "trace-extra", "journal"}),
    "case renamed": (in_case("pass", id="mbuf/state/x/y~00000000"), {"case-missing", "case-unknown", "trace-extra"}),
    "case of other clauses": (in_case("pass", clauses=[]), {"case", "journal"}),
    "claimed to be whole": (in_results(claimed_whole), {"case-missing"}),
    "verdict": (repaired, {"verdict", "journal"}),
    "not executed": (unheard, {"not-executed", "journal"}),
    "reason": (in_case("fail", reason="no reason"), {"judgement", "journal"}),
    "observation": (in_case("pass", held=[]), {"judgement", "journal"}),
    "trace gone": (in_traces(lambda lines: lines.pop(5) and None), {"trace-missing"}),
    "trace twice": (in_traces(lambda lines: lines.append(lines[5])), {"trace-twice"}),
    "trace of nothing": (in_traces(lambda lines: lines.append(lines[5] | {"id": "mbuf/x"})), {"trace-extra"}),
    "trace of another form": (in_traces(lambda lines: lines[5]["trace"].pop("ending") and None), {"trace"}),
    "trace of another program": (in_traces(lambda lines: lines[5].update(trace=lines[1]["trace"])), {"verdict"}),
    "trace with other abilities": (in_traces(lambda lines: lines[5]["trace"].pop("capabilities") and None), {"trace"}),
    "trace without a function": (in_traces(lambda lines: lines[5].update(without=["aclrtAllocBuf"])), {"trace"}),
    "no traces": (lambda m: m.pop(TRACES) and None, {"member-missing", "trace-missing", "support"}),
    "support": (in_results(lambda d: support(d).update(state="not-supported")), {"support"}),
    "answers about support": (in_traces(lambda lines: lines.pop(0) and None), {"support"}),
    "notes": (
        in_results(lambda d: d["runs"][0].update(notes=[{"clause": "a", "key": "", "answers": [["b", 1, "c"]]}])),
        {"notes"},
    ),
    "limit": (in_results(lambda d: d["runs"][0].update(limits=[LIMIT])), {"limit"}),
    "journal": (judged_otherwise, {"journal"}),
    "journal without checksum": (lambda m: m.update({JOURNAL: m[JOURNAL].replace(b"mbuf", b"mbuf ", 1)}), {"journal"}),
    "journal cut off": (lambda m: m.update({JOURNAL: m[JOURNAL][:-1] + b"0"}), {"journal"}),
    "run on another day": (in_results(lambda d: d.update(started="2020-01-01T00:00:00+00:00")), {"journal"}),
    "tables": (in_results(lambda d: d.update(spec="0" * 64)), {"tables", "about", "journal"}),
    "quoted tables": (in_results(lambda d: d["tables"]["limits"].clear()), {"tables"}),
    "case list": (append("cases.txt", b"mbuf/x mbuf.y\n"), {"case-list"}),
    "hash of the case list": (in_results(lambda d: d["runs"][0].update(case_list="0" * 64)), {"case-list"}),
    "strengths": (in_results(lambda d: d.update(fail_on=["explicit"])), {"fail-on"}),
    "exit code": (in_results(lambda d: d["exit"].update(code=0, holds=[])), {"exit"}),
    "claims": (in_results(lambda d: support(d).update(claim="unsupported")), {"profile"}),
    "profile": (append("profile.yaml", b"\n"), {"profile"}),
    "must-pass list": (append("profile.mustpass.txt", b"x\n"), {"profile"}),
    "must-pass numbers": (
        in_results(lambda d: fulfil(d["runs"][0]["must_pass"])),
        {"must-pass"},
    ),
    "waivers": (append("waivers.yaml", b"# x\n"), {"waivers"}),
    "waivers gone": (lambda m: m.pop("waivers.yaml") and None, {"waivers", "accepted"}),
    "accepted by nobody": (
        in_results(lambda d: case_of(d, "fail", accepted=None).update(accepted=["W-1"])),
        {"accepted"},
    ),
    "use of a waiver": (in_results(lambda d: d["expected"]["waivers"][0].update(cases=1)), {"waivers"}),
    "program of a failure": (
        lambda m: m.update({next(n for n in m if n.endswith("/program.txt")): b"# acl-cts program 1\nlive\n"}),
        {"evidence"},
    ),
    "reproducer gone": (lambda m: m.pop(next(n for n in m if n.endswith("/repro.c"))) and None, {"evidence"}),
    "trace of another failure": (another_trace, {"evidence"}),
    "no backend": (in_results(lambda d: d["runs"].clear()), {"results"}),
    "not executed, by its trace": (unsupported, {"not-executed"}),
    "left out for no reason": (without_reason, {"not-executed"}),
    "beside a failure": (lambda m: m.update({"failures/x/readme.txt": b"x"}), {"member-extra"}),
    "reproducer of nothing": (shown(lambda text: "int main(void) { return 0; }\n"), {"evidence"}),
    "reproducer of less": (shown(lambda text: text.replace("aclrtFreeBuf(", "(void)(", 1)), {"evidence"}),
    "reproducer for another flavour": (built(flavour="asan"), {"evidence"}),
    "code in the compiler of a reproducer": (built(compiler="cc */ int x; /*"), {"evidence"}),
    "code in the head of a reproducer": (shown(lambda text: "/*\n */ int x; /*\n */\n" + text), {"evidence"}),
    "code behind joined lines": (shown(lambda text: "/*\n * a *\\\n/\nint x;\n/*\n */\n" + text), {"evidence"}),
    "code behind a trigraph": (shown(lambda text: "/*\n * a *??/\n/\nint x;\n/*\n */\n" + text), {"evidence"}),
    "challenge": (in_results(lambda d: d["options"].update(challenge=7)), {"challenge", "journal"}),
}
"""The same by somebody who made manifest, seal and totals fit."""

LIMIT = {
    "limit": "data_area", "function": "aclrtAllocBuf", "param": "size", "unit": "byte", "kind": "absolute",
    "documented": [["binary", 1]], "measured": 1, "verdict": "as documented", "up_to": None, "detail": "",
    "context": "", "steps": 1,
}  # fmt: skip


@pytest.mark.parametrize("done", RIPE)
def test_what_the_manifest_shows_is_named(small: Path, tmp_path: Path, done: str) -> None:
    edit, expected = RIPE[done]
    assert wrong_with(tampered(small, tmp_path, edit, again=False)) == expected


@pytest.mark.parametrize("done", HIDDEN)
def test_what_only_the_content_shows_is_named(small: Path, tmp_path: Path, done: str) -> None:
    edit, expected = HIDDEN[done]
    found = verify_package(tampered(small, tmp_path, edit))
    assert expected <= kinds(found), found.problems
    assert found.code == ExitCode.INCONSISTENT


def test_every_kind_but_those_of_a_challenge_and_a_signature_is_tried_above() -> None:
    tried = set().union(*(expected for _, expected in (RIPE | HIDDEN).values()))
    assert {str(kind) for kind in Wrong} - tried == {"signature"}
    assert MEANING.keys() == set(Wrong)


def test_a_profile_that_was_not_used_is_asked_for(small: Path) -> None:
    assert wrong_with(small, Asked(profile="general")) == {"profile"}
    assert not wrong_with(small, Asked(profile="everything"))


def forgotten(members: Members) -> None:
    """Everything says that the backend could not tell how much memory its process held."""
    told(members, RESULTS, lambda data: data["runs"][0]["capabilities"].remove("memory"))
    for name in [name for name in members if name.startswith("traces/")]:
        members[name] = re.sub(rb'"memory", ?', b"", members[name])
    lines = [json.loads(line.partition(b" ")[2]) for line in members[JOURNAL].splitlines()]
    for line in lines:
        if "capabilities" in line:
            line["capabilities"].remove("memory")
    members[JOURNAL] = b"".join(map(journal_line, lines))


def test_a_package_without_what_every_executor_brings_is_no_whole_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "plain.zip"
    case = ("--case", "mbuf/simple/aclrtAllocBuf/valid~*", "--jobs", "1")
    assert said(capsys, "--backend", "core", "--out", str(package), *case)[0] == 0
    found = verify_package(tampered(package, tmp_path, forgotten))
    assert not found.problems
    assert found.code == ExitCode.INCOMPLETE
    assert "core is said to lack memory" in " ".join(held.reason for held in found.holds)


def test_a_waiver_that_has_expired_since_is_told(small: Path) -> None:
    later = verify_package(small, Asked(today=date(3000, 1, 1)))
    assert not later.problems
    assert [held.code for held in later.holds].count(ExitCode.STALE) == 1
    assert ExitCode.STALE not in {held.code for held in verify_package(small).holds}


# ------------------------------------------------------------------------------------------------------- challenge


@pytest.fixture(scope="module")
def challenged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package whose cases are those of a challenge, without the time of the others."""
    folder = tmp_path_factory.mktemp("challenged")
    options = ("--group", "challenge", "--case", "mbuf/*", "--challenge", "grün 7", "--out", "hard.zip")
    done = runner(folder)("qualify", "--backend", "simulator", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "work" / "hard.zip"


@pytest.fixture(autouse=True)
def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes seconds."""
    monkeypatch.setattr(verification, "draw_challenge", _draw)


@cache
def _drawn(seed: str) -> Drawn:
    spec, cases, _ = verification.everything(())
    return draw_challenge(spec, seed, cases)


def _draw(spec: object, seed: str, cases: object) -> Drawn:
    return _drawn(seed)


def test_a_challenge_is_drawn_again_and_found_met(challenged: Path) -> None:
    found = verify_package(challenged, Asked(challenge="grün 7"))
    assert not found.problems
    assert found.drawn == 200
    assert found.judged == len(data_of(members_of(challenged), RESULTS)["runs"][0]["cases"]) > 60


def test_another_challenge_is_not_honoured(challenged: Path, small: Path) -> None:
    assert wrong_with(challenged, Asked(challenge="red 7")) == {"challenge"}
    assert wrong_with(small, Asked(challenge="red 7")) == {"challenge"}


def test_programs_that_the_seed_does_not_draw_are_found(challenged: Path, tmp_path: Path) -> None:
    easy = "# acl-cts program 1\nx = aclrtAllocBuf(size=1)\n"
    edit: Callable[[Members], None] = lambda m: told(m, CHALLENGE, lambda d: d["programs"].__setitem__(0, easy))  # noqa: E731
    assert wrong_with(tampered(challenged, tmp_path, edit)) == {"challenge"}


def test_a_case_of_the_challenge_that_was_left_out_is_found(challenged: Path, tmp_path: Path) -> None:
    edit = in_results(lambda data: data["runs"][0]["cases"].pop(3))
    assert {"case-missing", "trace-extra"} <= wrong_with(tampered(challenged, tmp_path, edit))


def test_a_challenge_draws_the_same_and_nothing_known() -> None:
    spec, cases, _ = verification.everything(())
    few = draw_challenge(spec, "a", cases, 12)
    assert few == draw_challenge(spec, "a", cases, 12)
    assert few.challenge.programs[0] != draw_challenge(spec, "b", cases, 1).challenge.programs[0]
    assert len(few.cases) == 12
    assert not {case.id for case in cases} & {case.id for case in few.cases}
    assert all(case.needs <= {"streams", "data-access", "exit"} for case in few.cases)


# ----------------------------------------------------------------------------------------------------- command line


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and errors of `acl-cts qualify` with these words, without the time of a start."""
    with pytest.raises(SystemExit) as ended:
        main(["qualify", *words])
    gc.enable()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_command_tells_problems_in_plain_text_and_json(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path
) -> None:
    escapes = "\x1b[2Jgone\u202e<script>"
    path = tampered(small, tmp_path, in_case("fail", reason=escapes))
    code, out, err = said(capsys, "verify", str(path))
    assert code == 6
    assert out.splitlines()[0] == f"{path}: INCONSISTENT"
    assert re.search(r"^judgement: judging the trace again", out, re.MULTILINE)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", out + err)
    as_json = json.loads(said(capsys, "verify", str(path), "--json")[1])
    assert {problem["id"] for problem in as_json["problems"]} == {"judgement", "journal"}
    assert as_json["exit"]["code"] == 6
    assert not as_json["consistent"]


@pytest.mark.parametrize(
    ("options", "told_what"),
    [((), "kept no traces"), (("--keep-traces", "--shard", "1/2"), "is shard 1 of 2 only")],
)
def test_a_package_of_a_run_that_is_none_for_it_is_refused(
    acl: Run, tmp_path: Path, options: tuple[str, ...], told_what: str
) -> None:
    acl("run", "--backend", "simulator", "--group", "simple", "--out", "plain", *options)
    done = acl("qualify", "--from", "plain", "--out", "p.zip")
    assert done.returncode == 2
    assert told_what in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "work" / "p.zip").exists()


def test_there_is_no_package_of_a_run_that_did_not_come_to_its_end(acl: Run, tmp_path: Path) -> None:
    done = acl("qualify", "--backend", "odd:dies", *SMALL[:4], "--out", "p.zip")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == "acl-cts: the run did not come to its end, so there is no package of it"
    assert not (tmp_path / "work" / "p.zip").exists()


@pytest.mark.parametrize(
    ("words", "told_what"),
    [
        (("--backend", "core"), "--out FILE names the package"),
        (("--out", "."), "is a folder"),
        (("--from", "nowhere", "--backend", "core", "--out", "p.zip"), "--backend is for a new one"),
        (("--from", "nowhere", "--out", "p.zip"), "nowhere"),
        (("--out", "p.zip", "--sign", "pgp:me"), "neither gpg:KEY nor minisign:KEY"),
        (("--out", "p.zip", "--sign", "minisign:nowhere.key"), "minisign"),
        (("verify", "nowhere.zip"), "is no file"),
        (("verify", "nowhere.zip", "--signature", "x"), "needs --signed-by"),
        (("--out", "p.zip", "verify", "nowhere.zip"), "--out is none of them"),
        (("--out", "p.zip", "--challenge", "a\tb"), "printable text"),
    ],
)
def test_wrong_words_are_bad_input(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told_what: str) -> None:
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert told_what in err


def test_verifying_needs_no_compiler_and_no_library(small: Path, tmp_path: Path) -> None:
    """With an empty PATH there is neither."""
    command = [sys.executable, "-m", "acl_cts.main", "qualify", "verify", str(small), "-q"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "exit code 1: consistent; the library disagrees with the documents\n")
