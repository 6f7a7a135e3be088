"""Where a campaign's programs come from: what is not left to chance, and what has a share of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzed import EVERYTHING, assert_sound, tables

from acl_cts.backends.backend import Options
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.core_defects import load_defects
from acl_cts.backends.registry import open_backend
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.capsules import burden
from acl_cts.fuzz.corpus import Corpus
from acl_cts.fuzz.macros import heavy_macros, macros
from acl_cts.fuzz.mutation import Mutator
from acl_cts.fuzz.plan import CampaignPlan
from acl_cts.fuzz.source import OPENING, OPENINGS_EVERY, Made, Source
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program import Call, Int, Parallel, Repeat, Steady, steps, walk
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.trace import Capability


def source(folder: Path, capabilities: frozenset[Capability] = EVERYTHING, *, racing: bool = False) -> Source:
    """One with an empty corpus."""
    corpus = Corpus(folder / "corpus")
    corpus.open()
    return Source(tables(), corpus, capabilities, frozenset(), "1", racing)


def made(source: Source, count: int, avoided: frozenset[str] = frozenset()) -> list[Made]:
    """Programs, batch by batch as in a campaign."""
    found: list[Made] = []
    while len(found) < count:
        found += source.batch(20, avoided)
    return found


def test_every_macro_comes_once_by_itself_among_other_programs(tmp_path: Path) -> None:
    known = (*macros(tables()), *heavy_macros(tables()))
    openings = [each for each in made(source(tmp_path), OPENINGS_EVERY * (len(known) + 5)) if each.way == OPENING]
    assert len(openings) == len({each.data for each in openings})
    for macro in known:
        functions = [s.function for s in walk(macro.body) if isinstance(s, Call)]
        assert any(
            functions == [s.function for s in walk(each.program.body) if isinstance(s, Call)][: len(functions)]
            for each in openings
        ), macro.name
    for each in openings:
        assert_sound(tables(), each.program)


def test_a_program_of_the_corpus_that_somebody_has_changed_is_mended(tmp_path: Path) -> None:
    maker = source(tmp_path)
    kept = parse_program("# acl-cts program 1\nx = aclrtAllocBuf(size=64)\ncleanup:\n    aclrtFreeBuf(buf=x)\n")
    text = "# acl-cts program 1\nx = aclrtAllocBuf(size=64)\nrepeat n in 2:\n    aclrtFreeBuf(buf=n)\n"
    maker.corpus.add(kept, 1)
    (file,) = (tmp_path / "corpus" / "programs").iterdir()
    for changed in (False, True):
        again = source(tmp_path)
        file.write_text(text if changed else file.read_text())
        (given,) = again.given(again.corpus.unread(tables().interface), "corpus", mending=False)
        assert (given.program == kept) is not changed
        assert_sound(tables(), given.program)
        assert not [
            s
            for s in walk(given.program.body)
            if isinstance(s, Call) and isinstance(s.args[0][1], Int) and "buf" in s.args[0]
        ]


def test_openings_go_past_what_8_and_16_bits_count(tmp_path: Path) -> None:
    openings = (each for each in made(source(tmp_path), 900) if each.way == OPENING)
    every = [s for each in openings for s in walk(each.program.body)]
    assert any(256 < s.count < 1000 for s in every if isinstance(s, Repeat))
    worn = [s for s in every if isinstance(s, Steady)]
    assert {s.at_least for s in worn} == {2**16}
    assert len(worn) == sum(macro.name.startswith("worn/") for macro in heavy_macros(tables())) > 1


def test_avoided_functions_are_in_no_opening_until_they_are_no_longer_avoided(tmp_path: Path) -> None:
    avoided = frozenset({"aclrtFreeBuf"})
    made_here = source(tmp_path)
    before = [each for each in made(made_here, 900, avoided) if each.way == OPENING]
    assert before
    assert not any(isinstance(s, Call) and s.function in avoided for each in before for s in steps(each.program))
    after = [each for each in made(made_here, 900) if each.way == OPENING]
    expected = [each.data for each in made(source(tmp_path), 900) if each.way == OPENING]
    assert {each.data for each in (*before, *after)} == set(expected)


@pytest.mark.parametrize("backend", ["core", "simulator"])
def test_openings_are_judged_and_pass(tmp_path: Path, backend: str) -> None:
    spec = load_spec()
    with open_backend(backend, Options()) as session:
        for program in Mutator(spec, session.capabilities, 1, without=session.missing).openings():
            if program.body:
                judgement = judge(spec, program, session.run(program))
                assert judgement.verdict is Verdict.PASS, format_program(program)


@pytest.mark.parametrize("function", [*tables().functions])
def test_programs_of_every_sort_come_without_any_one_function(function: str) -> None:
    mutator = Mutator(tables(), EVERYTHING, 1, without=frozenset({function}))
    programs = [*mutator.openings(), *(mutator.fresh() for _ in range(40))]
    programs += [mutator.woven(capsule) for capsule in mutator.capsules for _ in range(40)]
    programs += [mutator.mutate(program) for program in programs if program.body]
    assert not any(isinstance(s, Call) and s.function == function for each in programs for s in steps(each))


def share(programs: list[Made], statement: type) -> float:
    """Part of all that they cost, openings left out, of those which hold a `statement`."""
    programs = [each for each in programs if each.way != OPENING]
    cost = {each.data: burden(each.program) for each in programs}
    own = sum(cost[each.data] for each in programs if any(isinstance(s, statement) for s in walk(each.program.body)))
    return own / sum(cost.values())


def test_threads_and_cycles_have_a_share_and_threads_most_of_it_where_races_are_watched(tmp_path: Path) -> None:
    plain, racing = made(source(tmp_path), 800), made(source(tmp_path, racing=True), 800)
    assert share(plain, Parallel) > 0.1
    assert share(plain, Steady) > 0.1
    assert share(racing, Parallel) > 0.5


@pytest.mark.parametrize("lacking", [Capability.THREAD_SAFE, Capability.MEMORY])
def test_what_a_backend_cannot_do_is_not_woven(tmp_path: Path, lacking: Capability) -> None:
    statement = {Capability.THREAD_SAFE: Parallel, Capability.MEMORY: Steady}[lacking]
    assert share(made(source(tmp_path, EVERYTHING - {lacking}), 300), statement) == 0


@pytest.mark.parametrize("defect", ["register-256-forgets", "create-wears-out", "length-set-outside-the-lock"])
def test_what_takes_many_handles_many_turns_or_threads_is_found(tmp_path: Path, defect: str) -> None:
    (known,) = [each for each in load_defects() if each.id == defect]
    flavour = "tsan" if known.flavour == "tsan" else "cover"
    options = Options(library=str(build_core(flavour, known.defines)), call_timeout=5.0)
    backend = "core:tsan" if flavour == "tsan" else "core"
    hunt = Campaign(CampaignPlan((backend,), options, tmp_path / "corpus", 1, 3000, empty=True))
    for event in hunt.run():
        if event.kind == "failing":
            hunt.stopped = lambda: True
    assert hunt.figures.findings + hunt.figures.repeated > 0
