"""Profiles and must-pass lists: their files, what a claim makes of an answer, and the commands about them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import ALLOC, SUPPORTED, bad, good, not_run, results

from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.mustpass import MustPassList, fulfilled, list_path, list_text, must_pass, read_list
from acl_cts.conformance.profile import FOLDER, Profile, load_profile, profile_names
from acl_cts.main import main
from acl_cts.reports.exit_code import ExitCode, final, holding
from acl_cts.reports.files import ReportError
from acl_cts.reports.html_report import HtmlReport
from acl_cts.reports.junit import junit
from acl_cts.reports.markdown import markdown
from acl_cts.reports.profile_use import Claim
from acl_cts.reports.results import CaseResult, Cause, FunctionSupport, Results, Support, to_json
from acl_cts.reports.summary import Summary
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec

SPEC = load_spec()
STREAM = ("aclrtAllocatorRegister", "aclrtAllocatorGetByStream", "aclrtAllocatorUnregister")
DESCRIPTOR = (
    *("aclrtAllocatorCreateDesc", "aclrtAllocatorDestroyDesc", "aclrtAllocatorSetObjToDesc"),
    *("aclrtAllocatorSetAllocFuncToDesc", "aclrtAllocatorSetAllocAdviseFuncToDesc"),
    *("aclrtAllocatorSetFreeFuncToDesc", "aclrtAllocatorSetGetAddrFromBlockFuncToDesc"),
)


def command(*args: str) -> int:
    """The exit code of `acl-cts` in this process."""
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    assert isinstance(ended.value.code, int)
    return ended.value.code


# ------------------------------------------------------------------------------------------------------ claims


@pytest.mark.parametrize(
    ("name", "stream", "descriptor"),
    [
        ("general", Claim.SUPPORTED, Claim.SUPPORTED),
        ("atlas-200i-500-a2-inference", Claim.UNSUPPORTED, Claim.SUPPORTED),
        ("ipv350", Claim.UNSUPPORTED, Claim.UNSUPPORTED),
    ],
)
def test_products_claim_what_the_documents_say(name: str, stream: Claim, descriptor: Claim) -> None:
    claims = load_profile(name, SPEC).claims
    assert {claims[function] for function in STREAM} == {stream}
    assert {claims[function] for function in DESCRIPTOR} == {descriptor}
    assert {claims[function] for function in SPEC.families["mbuf"].functions} == {Claim.RESERVED}
    assert "aclrtCreateStream" not in claims, "what only helps to judge is not claimed"


def test_every_function_is_claimed_by_everything() -> None:
    claims = load_profile("everything", SPEC).claims
    assert set(claims.values()) == {Claim.SUPPORTED}
    assert set(claims) == {name for name, function in SPEC.functions.items() if not function.auxiliary}


def test_a_family_that_is_asked_for_is_claimed_too() -> None:
    spec = load_spec(more=("acltdt",))
    claims = load_profile("atlas-200i-500-a2-inference", spec).claims
    assert {claims[function] for function in spec.families["acltdt"].functions} == {Claim.SUPPORTED}


def answering(state: Support, claim: Claim, reserved: bool) -> Results:
    entry = FunctionSupport(ALLOC, "mbuf", state, "207000", "", reserved, False, claim)
    case = good() if state is Support.SUPPORTED else CaseResult("c", Verdict.NOT_SUPPORTED, functions=(ALLOC,))
    return results(case, support=(entry,))


@pytest.mark.parametrize(
    ("claim", "reserved", "code"),
    [
        (Claim.SUPPORTED, False, 1),
        (Claim.SUPPORTED, True, 1),
        (Claim.RESERVED, False, 0),
        (Claim.RESERVED, True, 0),
        (Claim.UNSUPPORTED, False, 0),
        (Claim.NONE, False, 4),
        (Claim.NONE, True, 0),
    ],
)
def test_not_supported_is_judged_by_the_claim_and_without_one_by_the_tables(
    claim: Claim, reserved: bool, code: int
) -> None:
    assert final(holding(answering(Support.NOT_SUPPORTED, claim, reserved))) == code


@pytest.mark.parametrize("claim", Claim)
def test_what_is_supported_is_judged_whatever_is_claimed(claim: Claim) -> None:
    assert final(holding(answering(Support.SUPPORTED, claim, True))) == 0


def test_the_summary_tells_profile_claim_and_list() -> None:
    profile = load_profile("general", SPEC)
    made = answering(Support.NOT_SUPPORTED, Claim.RESERVED, True)
    tally = fulfilled(MustPassList(("c",), "0" * 64), made.runs[0])
    run = dataclasses.replace(made.runs[0], must_pass=tally)
    made = dataclasses.replace(made, profile=profile.use(""), runs=(run,))
    text = Summary(made).text()
    assert f"profile general 1 ({profile.written.sha256[:12]})" in text
    assert "reserved by the profile" in text
    assert "must pass         1 case listed: 1 missing" in text


def test_every_form_has_name_and_digest_of_the_profile(tmp_path: Path) -> None:
    profile = load_profile("general", SPEC)
    made = dataclasses.replace(answering(Support.SUPPORTED, Claim.RESERVED, True), profile=profile.use("ab" * 32))
    page = HtmlReport(made, tmp_path, tmp_path).text()
    for text in (Summary(made).text(), markdown(made), junit(made), page, json.dumps(to_json(made))):
        assert "general" in text
        assert profile.written.sha256[:12] in text


# ------------------------------------------------------------------------------------------------------ wrong profiles

TEXT = """\
format: 1
profile: mine
version: 3
title: {en: "Mine"}
documents: {shared-buffer: current}
families:
  mbuf:
    claim: supported
    functions:
      aclrtFreeBuf: unsupported
"""


def written(folder: Path, text: str = TEXT) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_profile_of_ones_own_is_read_from_its_file(tmp_path: Path) -> None:
    profile = load_profile(str(written(tmp_path)), SPEC)
    assert (profile.name, profile.version) == ("mine", 3)
    assert profile.claims["aclrtFreeBuf"] is Claim.UNSUPPORTED
    assert profile.claims[ALLOC] is Claim.SUPPORTED
    assert "aclrtAllocatorCreateDesc" not in profile.claims


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("mbuf:", "mbug:", 7, "no family is called 'mbug'; did you mean mbuf?"),
        ("aclrtFreeBuf", "aclrtFreBuf", 10, "no function 'aclrtFreBuf'; did you mean aclrtFreeBuf?"),
        ("aclrtFreeBuf", "aclrtCreateStream", 10, "no function 'aclrtCreateStream'"),
        ("shared-buffer: current", "shared-buffer: '9.0'", 5, "is about edition '9.0' of shared-buffer"),
        ("shared-buffer", "shared-bufer", 5, "no document 'shared-bufer'; did you mean shared-buffer?"),
        ("claim: supported", "claim: perhaps", 8, "'perhaps' is not one of"),
        ("version: 3", "version: 0", 3, "less than the minimum"),
        ("version: 3", "versoin: 3", 3, "no key 'versoin'"),
        ("profile: mine", "profile: My Own", 2, "small letters"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    path = written(tmp_path, TEXT.replace(old, new, 1))
    with pytest.raises(ReportError) as caught:
        load_profile(str(path), SPEC)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: "), message
    assert told in message
    assert "\n" not in message


def test_an_unknown_name_is_told_with_its_neighbours() -> None:
    with pytest.raises(ReportError, match="no profile is called 'generl', and no file; did you mean general"):
        load_profile("generl", SPEC)


# ------------------------------------------------------------------------------------------------------ must-pass lists


@pytest.mark.parametrize("name", profile_names())
def test_the_stored_list_follows_from_tables_and_profile(name: str) -> None:
    """When this fails after a change of the cases: `acl-cts spec mustpass NAME --write` for every profile."""
    profile = load_profile(name, SPEC)
    stored = read_list(profile)
    assert stored is not None
    assert stored.ids == must_pass(profile, SPEC, cached_cases(SPEC))


def test_a_list_names_only_cases_that_the_profile_claims() -> None:
    cases = {case.id: case for case in cached_cases(SPEC)}
    profile = load_profile("general", SPEC)
    ids = must_pass(profile, SPEC, cases.values())
    assert len(ids) > 400
    for id in ids:
        assert id.startswith("allocator/")
        assert cases[id].group != "robustness"
        assert not cases[id].planned
    assert must_pass(load_profile("ipv350", SPEC), SPEC, cases.values()) == ()


def test_all_files_beside_the_profiles_belong_to_one() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {f"{name}{ending}" for name in profile_names() for ending in (".yaml", ".mustpass.txt")}


IDS = tuple(f"case~{number}" for number in range(6))


def test_every_case_of_the_list_is_told_once() -> None:
    run = results(
        good(id=IDS[0]),
        CaseResult(IDS[1], Verdict.INCONCLUSIVE),
        dataclasses.replace(not_run(Cause.NOT_REACHED), id=IDS[2]),
        bad(id=IDS[3]),
        bad(id=IDS[4], accepted=("W-1",)),
        good("another"),
    ).runs[0]
    tally = fulfilled(MustPassList(IDS, "0" * 64), run)
    assert dataclasses.astuple(tally) == (6, 1, 2, 1, 1, 1, IDS[5])


def test_a_case_of_a_function_that_is_answered_for_is_accepted() -> None:
    lacking = FunctionSupport(ALLOC, "mbuf", Support.NOT_SUPPORTED, "207000", claim=Claim.SUPPORTED)
    case = CaseResult(IDS[0], Verdict.NOT_SUPPORTED, functions=(ALLOC,))
    listed = MustPassList(IDS[:1], "0" * 64)
    assert fulfilled(listed, results(case, support=(lacking,)).runs[0]).missing == 1
    excused = dataclasses.replace(lacking, accepted=("W-1",))
    assert fulfilled(listed, results(case, support=(excused,)).runs[0]).accepted == 1


@given(st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from(Cause)), max_size=6))
def test_the_numbers_add_up(made: list[tuple[Verdict, Cause]]) -> None:
    cases = [CaseResult(id, verdict, cause=cause) for id, (verdict, cause) in zip(IDS, made, strict=False)]
    tally = fulfilled(MustPassList(IDS, "0" * 64), results(*cases).runs[0])
    assert tally.listed == tally.passed + tally.tolerated + tally.failed + tally.accepted + tally.missing
    assert bool(tally.first) == bool(tally.missing)


@pytest.mark.parametrize(("filtered", "code"), [(False, ExitCode.INCOMPLETE), (True, 0)])
def test_a_whole_run_that_lacks_a_listed_case_is_incomplete(filtered: bool, code: int) -> None:
    made = results(good(id=IDS[0]), filtered=filtered, support=(SUPPORTED,))
    tally = fulfilled(MustPassList(IDS, "0" * 64), made.runs[0])
    made = dataclasses.replace(made, runs=(dataclasses.replace(made.runs[0], must_pass=tally),))
    assert final(holding(made)) == code


def listed(folder: Path) -> tuple[Profile, Path]:
    profile = load_profile(str(written(folder)), SPEC)
    path = list_path(profile)
    path.write_text(list_text(profile, ("a~1", "b~2")), encoding="utf-8")
    return profile, path


def test_a_list_survives_its_file(tmp_path: Path) -> None:
    profile, _ = listed(tmp_path)
    found = read_list(profile)
    assert found is not None
    assert found.ids == ("a~1", "b~2")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("must-pass list 1", "must-pass list 2", 1), ("mine 3", "mine 2", 2), ("b~2", "a~1", 4), ("a~1\n", "c~1\n", 4)],
)
def test_a_list_that_does_not_fit_is_one_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    profile, path = listed(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        read_list(profile)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert "--write" in str(caught.value)


# ------------------------------------------------------------------------------------------------------ commands


def test_profiles_are_listed_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("spec", "profiles") == 0
    assert set(profile_names()) <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert command("spec", "profiles", "ipv350") == 0
    out = capsys.readouterr().out
    assert "unsupported aclrtAllocatorRegister" in out
    assert load_profile("ipv350", SPEC).written.sha256 in out
    assert command("spec", "profiles", "ipv3500") == ExitCode.USAGE


def test_a_list_is_printed_checked_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path))
    assert command("spec", "mustpass", path, "--check") == ExitCode.STALE
    assert "is not there" in capsys.readouterr().out
    assert command("spec", "mustpass", path, "--write") == 0
    capsys.readouterr()
    assert command("spec", "mustpass", path, "--check") == 0
    capsys.readouterr()
    stored = tmp_path / "mine.mustpass.txt"
    assert command("spec", "mustpass", path) == 0
    assert capsys.readouterr().out == stored.read_text(encoding="utf-8")
    lines = stored.read_text(encoding="utf-8").splitlines(keepends=True)
    stored.write_text("".join(lines[:-2]), encoding="utf-8")
    assert command("spec", "mustpass", path, "--check") == ExitCode.STALE
    assert "lacks 2, has 0 too many" in capsys.readouterr().out
