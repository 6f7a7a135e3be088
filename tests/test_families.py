"""Further families: a table and a library are all that is needed, and planted faults are found by their clauses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from target_run import run_command

from acl_cts.commands import spec as checking
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.generator import cases, finish
from acl_cts.main import main
from acl_cts.reports.results import Results
from acl_cts.specs.faults import SpecError
from acl_cts.specs.loader import load_spec, optional_tables
from acl_cts.specs.model import Spec
from acl_cts.specs.trace import Capability

HERE = Path(__file__).resolve().parent
FAMILIES = HERE / "families"
CORE = HERE.parent / "backends" / "core"
KEYED = FAMILIES / "keyed.yaml"
COMPILE = ("gcc", "-std=c11", "-O1", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra")


def built(folder: Path, source: str, *flags: str) -> Path:
    """The library of `source`; over the core when that is what it is for."""
    library = folder / f"lib{'-'.join([Path(source).stem, *flags])}.so"
    over = ["-I", str(CORE / "include"), "-I", str(CORE / "src"), *map(str, sorted((CORE / "src").glob("*.c")))]
    more = over if "over_core" in source else []
    defines = [f"-D{flag}" for flag in flags]
    command = [*COMPILE, "-Werror", *defines, "-o", str(library), str(FAMILIES / source), *more]
    subprocess.run(command, check=True, capture_output=True)
    return library


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """`acl-cts` with these words."""
    return subprocess.run([sys.executable, "-m", "acl_cts.main", *words], capture_output=True, text=True, check=False)


def headlines(results: Results) -> dict[str, int]:
    """Broken clauses that no other explains, with the number of cases."""
    found: dict[str, int] = {}
    for case in results.runs[0].cases:
        for clause in {f.clause for f in case.discrepancies}:
            found[clause] = found.get(clause, 0) + 1
    return found


# ------------------------------------------------------------------------------------------------- the keyed family


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("keyed"), "keyed.c")


def test_a_table_and_a_library_are_all_that_a_family_needs(keyed: Path, tmp_path: Path) -> None:
    results = run_command(keyed, tmp_path / "out", "--table", str(KEYED), "--family", "keyed")
    run = results.runs[0]
    assert results.code == 0
    assert {case.verdict for case in run.cases} == {"pass", "not-run"}
    assert {case.id.split("/")[0] for case in run.cases} == {"keyed"}
    judged = {function for case in run.cases if case.verdict == "pass" for function in case.functions}
    assert judged == set(load_spec(more=(str(KEYED),)).families["keyed"].functions)


@pytest.mark.parametrize(
    ("fault", "clause"), [("FAULT_FILL", "keyed.set-fill.limit"), ("FAULT_BOUND", "keyed.bound.slot")]
)
def test_planted_faults_are_found_by_their_clause(tmp_path: Path, fault: str, clause: str) -> None:
    library, out = built(tmp_path, "keyed.c", fault), tmp_path / "out"
    results = run_command(library, out, "--table", str(KEYED), "--family", "keyed")
    assert results.code == 1
    found = headlines(results)
    assert max(found, key=lambda name: found[name]) == clause
    assert f"1. fail: {clause} " in (out / "summary.txt").read_text()
    _stands_alone(library, out)


def _stands_alone(library: Path, out: Path) -> None:
    """A kept failure is found again without naming the table, and its C form compiles, runs and tells it."""
    failure = sorted((out / "failures").iterdir())[0]
    again = command("replay", str(failure))
    assert (again.returncode, again.stderr) == (1, "")
    alone = out / "alone"
    source = failure / "repro.c"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-o", str(alone), str(source), "-ldl"], check=True, capture_output=True)
    told = subprocess.run([str(alone), str(library)], capture_output=True, text=True, check=False)
    assert "kvCreateStore" in told.stdout


def test_the_keyed_table_is_put_to_the_test_whole(keyed: Path) -> None:
    checked = command("spec", "check", "--table", str(KEYED), "--library", str(keyed))
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "no problem found" in checked.stdout
    unexecuted = command("spec", "check", "--table", str(KEYED))
    assert unexecuted.returncode == 0
    assert "no case was executed" in unexecuted.stdout


def cases_of_the_keyed_family(spec: Spec) -> tuple[Case, ...]:
    """What is derived from its table, without the time of the other families."""
    return cases(spec, lambda spec, drafts: (finish(spec, draft) for draft in drafts if draft.family == "keyed"))


def test_a_clause_that_no_case_reaches_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "keyed.yaml"
    clause = "      - {id: keyed.bind.never, strength: implied, when: store.open > 99, outcome: error, en: Never}\n"
    mark = "      - {id: keyed.bind.null-store"
    table.write_text(KEYED.read_text().replace(mark, clause + mark, 1))
    monkeypatch.setattr(checking, "cached_cases", cases_of_the_keyed_family)
    with pytest.raises(SystemExit) as ended:
        main(["spec", "check", "--table", str(table)])
    assert ended.value.code == 2
    assert capsys.readouterr().out == "keyed.bind.never: no case exercises it\n"


def test_other_backends_say_that_they_do_not_have_the_functions(tmp_path: Path) -> None:
    for backend in ("core", "simulator"):
        done = command(
            *("run", "--backend", backend, "--table", str(KEYED), "--family", "keyed", "--group", "simple"),
            *("--out", str(tmp_path / backend)),
        )
        assert done.returncode == 4, done.stderr
        assert "not supported" in done.stdout
        assert "keyed (12 of 12)" in done.stdout


def test_plain_pytest_takes_a_table_too(keyed: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "conformance", "-q", "-p", "no:cacheprovider", "--table", str(KEYED)),
            *("--backend", "acl", "--library", str(keyed), "-k", "keyed and simple"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parent,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


# ----------------------------------------------------------------------------------------------- a family on request


@pytest.mark.parametrize(
    ("fault", "code", "clause"),
    [("NONE", 0, ""), ("FAULT_USER", 1, "acltdt.set-user.sum"), ("FAULT_CHAIN", 1, "acltdt.from-chain.order")],
)
def test_the_acltdt_family(tmp_path: Path, fault: str, code: int, clause: str) -> None:
    library, out = built(tmp_path, "acltdt_over_core.c", fault), tmp_path / "out"
    # These faults show in the limits; a conforming library meets all cases where the table is put to the test whole.
    narrowed = ("--group", "limit") if clause else ("--shard", "1/4")
    results = run_command(library, out, "--table", "acltdt", "--family", "acltdt", *narrowed)
    assert results.code == code
    assert "blocked" not in {case.verdict for case in results.runs[0].cases}
    found = headlines(results)
    assert max(found, key=lambda name: found[name], default="") == clause
    assert results.runs[0].granted >= (2**32 if clause else 4 * 10**9)  # a share of the cases has not every size


def test_the_acltdt_table_is_put_to_the_test_whole(tmp_path: Path) -> None:
    libraries = [built(tmp_path, "acltdt_over_core.c", *flags) for flags in ((), ("ACL_CTS_CORE_ALTERNATIVE",))]
    words = [word for library in libraries for word in ("--library", str(library))]
    checked = command("spec", "check", "--table", "acltdt", *words)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_nothing_that_is_not_written_for_it_is_called_explicit() -> None:
    clauses = [c for c in load_spec(more=("acltdt",)).clauses.values() if c.family == "acltdt"]
    assert {str(clause.strength) for clause in clauses} == {"implied", "advisory"}


# ------------------------------------------------------------------------------------------------ tables side by side


def test_cases_of_the_other_families_stay_as_they_are() -> None:
    plain = [case.id for case in cached_cases(load_spec())]
    for more in ((str(KEYED),), ("acltdt",)):
        widened = [c.id for c in cached_cases(load_spec(more=more)) if c.family in ("mbuf", "allocator")]
        assert widened == plain


def test_tables_of_a_folder_and_by_name() -> None:
    assert optional_tables() == ("acltdt",)
    both = load_spec(more=(str(FAMILIES), "acltdt"))
    assert [f.name for f in both.families.values() if f.added] == ["keyed", "acltdt"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("family: keyed", "family: mbuf"), r"family: the name 'mbuf' is taken by mbuf.yaml"),
        (("\n  slots:\n", "\n  chain:\n"), r"limits: the name 'chain' is taken by mbuf.yaml"),
        (("ctype: kvStore\n", "ctype: aclrtMbuf\n"), r"aclrtMbuf is the type of mbuf already"),
        (("    states:\n      fresh", "    samples: [none]\n    states:\n      fresh"), "no state is called 'none'"),
        (("    states:\n      fresh", "    holds: none\n    states:\n      fresh"), "holds names no field: 'none'"),
        (("name: width", "name: bytes"), "'bytes' is a reserved word"),
        (("\nfunctions:\n", "\nprograms:\n  odd: |\n    kvNothing()\nfunctions:\n"), "program odd: unknown function"),
    ],
)
def test_a_table_that_does_not_fit_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    table = tmp_path / "changed.yaml"
    text = KEYED.read_text()
    assert change[0] in text
    table.write_text(text.replace(*change, 1))
    with pytest.raises(SpecError, match=said) as error:
        load_spec(more=(str(table),))
    assert "\n" not in str(error.value)


def test_a_table_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    done = command("list", "--table", str(tmp_path / "nothing.yaml"))
    assert done.returncode == 2
    at = tmp_path / "nothing.yaml"
    assert done.stderr == f"acl-cts: no table at {at}; give a file or a folder, or one of acltdt\n"
    (tmp_path / "empty").mkdir()
    assert command("list", "--table", str(tmp_path / "empty")).returncode == 2


def test_capabilities_beyond_the_library_are_no_gap(tmp_path: Path) -> None:
    """Without a count of what is alive nothing can be said about what is given back, and nothing is."""
    source = (FAMILIES / "keyed.c").read_text().replace("return 8;", "return 0;")
    (tmp_path / "keyed.c").write_text(source)
    library = tmp_path / "libkeyed.so"
    subprocess.run([*COMPILE, "-o", str(library), str(tmp_path / "keyed.c")], check=True)
    assert command("spec", "check", "--table", str(KEYED), "--library", str(library)).returncode == 0
    assert Capability.LIVE_COUNT == "live-count"
