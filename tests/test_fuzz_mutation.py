"""Mutation: every result is a program without undefined calls, the same for the same seed, and every way is taken."""

from __future__ import annotations

import keyword
import random

import pytest
from fuzzed import EVERYTHING, assert_sound, generator, tables
from hypothesis import given, settings
from programs import programs as any_programs

from acl_cts.conformance.case_cache import cached_cases
from acl_cts.fuzz.choices import rolled
from acl_cts.fuzz.follower import MOST_STEPS, Follower
from acl_cts.fuzz.mutation import LONGEST, Mutator
from acl_cts.fuzz.schedule import FLOOR, Schedule
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Call, Exit, Hooks, Int, Program, Repeat, Statement, walk
from acl_cts.specs.program_rules import MAX_NAME, RESERVED, ProgramError
from acl_cts.specs.program_text import format_program, parse_program


def program(text: str) -> Program:
    """The program that `text` stands for."""
    return parse_program("# acl-cts program 1\n" + text)


def mended(text: str) -> str:
    """What a mutator makes of a program from elsewhere, without the first line."""
    done = Mutator(tables(), EVERYTHING, 1).mend(program(text))
    return format_program(done).partition("\n")[2]


@pytest.mark.parametrize("seed", range(3))
def test_mutants_and_crossings_are_sound(seed: int) -> None:
    mutator, dice = Mutator(tables(), EVERYTHING, seed), random.Random(seed)
    pool = [mutator.fresh() for _ in range(20)]
    for turn in range(250):
        first, second = dice.choice(pool), dice.choice(pool)
        made = mutator.cross(first, second) if turn % 4 == 0 else mutator.mutate(first)
        assert_sound(tables(), made)
        assert parse_program(format_program(made)) == made
        if len(made.body) < 25:
            pool[dice.randrange(len(pool))] = made


def test_a_loop_does_not_bear_the_name_of_a_variable() -> None:
    """In the text of a program its name inside the loop would be the counter: another program than was executed."""
    first = program("n = aclrtAllocBuf(size=64)\nx = aclrtAllocBuf(size=64)\n")
    second = program("y = aclrtAllocBuf(size=8)\nrepeat n in 2:\n    aclrtSetBufDataLen(buf=y, len=n+1)\n")
    mutator, kept = Mutator(tables(), EVERYTHING, 1), 0
    for _ in range(60):
        made = mutator.cross(first, second)
        kept += any(isinstance(s, Repeat) for s in made.body) and "n = " in format_program(made)
        assert parse_program(format_program(made)) == made
    assert kept > 3


def test_the_same_seed_gives_the_same_programs() -> None:
    def run() -> list[Program]:
        mutator, made = Mutator(load_spec(), EVERYTHING, 5), [Program(())]
        for turn in range(120):
            made.append(mutator.cross(made[-1], made[turn // 2]) if turn % 5 == 4 else mutator.mutate(made[-1]))
            if turn % 7 == 0:
                mutator.reward()
        return made

    assert run() == run()
    assert run()[-1] != Mutator(load_spec(), EVERYTHING, 6).mutate(Program(()))


def test_conformance_cases_survive_mending() -> None:
    """They are the seeds: what has no undefined call, and needs no process of its own, stays as it is."""
    mutator, spec, kept = Mutator(load_spec(), EVERYTHING, 1), load_spec(), 0
    cases = [case for case in cached_cases(spec) if int(case.id[-8:], 16) % 12 == 0]
    for case in cases:
        done = mutator.mend(case.program)
        assert_sound(spec, done)
        kept += done.body == case.program.body
    assert kept / len(cases) > 0.8


@settings(max_examples=60, deadline=None)
@given(any_programs())
def test_programs_that_make_no_sense_can_be_mended(nonsense: Program) -> None:
    done = Mutator(tables(), EVERYTHING, 1).mend(nonsense)
    assert_sound(tables(), done)
    assert not any(isinstance(s, Exit | Hooks) for s in walk(done.body))


def test_a_call_on_a_freed_handle_goes_to_another_one_or_away() -> None:
    assert "aclrtGetBufData(buf=b)" in mended(
        "a = aclrtAllocBuf(size=1)\nb = aclrtAllocBuf(size=2)\naclrtFreeBuf(buf=a)\naclrtGetBufData(buf=a)"
    )
    assert mended("a = aclrtAllocBuf(size=1)\naclrtFreeBuf(buf=a)\naclrtFreeBuf(buf=a)").count("aclrtFreeBuf") == 1


def test_data_is_as_long_as_the_call_says() -> None:
    done = mended("a = aclrtAllocBuf(size=1)\naclrtSetBufUserData(buf=a, dataPtr=bytes(0x5A * 4), size=90, offset=0)")
    assert "bytes(0x5A * 90)" in done
    done = mended("a = aclrtAllocBuf(size=1)\naclrtGetBufUserData(buf=a, dataPtr=room(4), size=90, offset=0)")
    assert "room" not in done


def test_touches_stay_inside_the_area() -> None:
    done = mended("a = aclrtAllocBuf(size=100)\naclrtGetBufData(buf=a)\nread a[90:200]\nwrite a[500:508] = ramp(1, 8)")
    assert "read a[0:100]" in done
    assert "write a[92:100]" in done
    assert "read" not in mended("a = aclrtAllocBuf(size=100)\nread a[0:1]")


def test_where_worlds_differ_nothing_is_used_after_the_first_end() -> None:
    """Whether a member can be freed is open, so nobody knows what lives of the chain."""
    done = mended(
        "h = aclrtAllocBuf(size=1)\nm = aclrtAllocBuf(size=2)\naclrtAppendBufChain(headBuf=h, buf=m)\n"
        "aclrtFreeBuf(buf=m)\naclrtGetBufData(buf=h)"
    )
    assert "aclrtGetBufData" not in done
    assert done.count("aclrtFreeBuf") == 1


def test_an_alias_of_which_worlds_disagree_is_not_used() -> None:
    """If the second registration is refused, the first description is told, and it is gone."""
    complete = "".join(
        f"{name} = aclrtAllocatorCreateDesc()\n"
        f"aclrtAllocatorSetObjToDesc(allocatorDesc={name}, allocator={obj})\n"
        f"aclrtAllocatorSetAllocFuncToDesc(allocatorDesc={name}, func=cb(1))\n"
        f"aclrtAllocatorSetFreeFuncToDesc(allocatorDesc={name}, func=cb(1))\n"
        f"aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc={name}, func=cb(1))\n"
        for name, obj in (("d", "obj(1)"), ("e", "null"))
    )
    told = (
        f"{complete}s = aclrtCreateStream()\naclrtAllocatorRegister(stream=s, allocatorDesc=d)\n"
        "aclrtAllocatorRegister(stream=s, allocatorDesc=e)\naclrtAllocatorDestroyDesc(allocatorDesc=d)\n"
        "r = aclrtAllocatorGetByStream(stream=s)\n"
        "aclrtAllocatorSetObjToDesc(allocatorDesc=r, allocator=obj(3))\n"
    )
    done = mended(told)
    assert "allocatorDesc=r" not in done
    assert_sound(tables(), program(done))


def test_an_injected_fault_makes_every_answer_doubtful_until_it_is_taken_back() -> None:
    done = mended(
        "h = aclrtAllocBuf(size=1)\nm = aclrtAllocBuf(size=2)\nfail allocation 2\n"
        "aclrtAppendBufChain(headBuf=h, buf=m)\naclrtFreeBuf(buf=m)\naclrtGetBufData(buf=h)"
    )
    assert "aclrtGetBufData" not in done
    assert done.index("cleanup") < done.index("fail allocation 0")


def test_a_repeat_that_breaks_later_is_cut() -> None:
    done = program(mended("a = aclrtAllocBuf(size=1)\nrepeat i in 9:\n    aclrtFreeBuf(buf=a)"))
    (repeat,) = [s for s in done.body if isinstance(s, Repeat)]
    assert repeat.count == 1
    assert_sound(tables(), done)


def test_repeats_inside_repeats_are_bounded() -> None:
    text = "a = aclrtAllocBuf(size=1)\nrepeat i in 4000:\n    repeat j in 4000:\n        aclrtGetBufData(buf=a)"
    outer = next(s for s in program(mended(text)).body if isinstance(s, Repeat))
    inner = next(s for s in outer.body if isinstance(s, Repeat))
    assert outer.count * inner.count <= MOST_STEPS


def test_a_name_that_stands_for_something_is_not_given_again() -> None:
    done = mended("a = aclrtAllocBuf(size=1)\na = aclrtAllocBuf(size=2)\naclrtGetBufData(buf=a)")
    assert "aclrtGetBufData(buf=a1)" in done
    assert done.count("aclrtFreeBuf") == 2


# --------------------------------------------------------------------------------------------------------- the ways


def kinds_of_change(before: Program, after: Program) -> set[str]:
    """What happened, as far as it can be told from outside."""
    found: set[str] = set()
    old, new = before.body, after.body
    functions = (
        [s.function for s in walk(old) if isinstance(s, Call)],
        [s.function for s in walk(new) if isinstance(s, Call)],
    )
    if len(new) < len(old):
        found.add("shorter")
    if len(new) > len(old):
        found.add("longer")
    if len(new) == len(old) and new != old and sorted(map(repr, new)) == sorted(map(repr, old)):
        found.add("swapped")
    if functions[0] == functions[1]:
        if [ints(s) for s in walk(old)] != [ints(s) for s in walk(new)]:
            found.add("nudged")
        if [refs(s) for s in walk(old)] != [refs(s) for s in walk(new)]:
            found.add("retargeted")
        if [s.count for s in walk(old) if isinstance(s, Repeat)] != [
            s.count for s in walk(new) if isinstance(s, Repeat)
        ]:
            found.add("counted")
    return found


def ints(statement: Statement) -> list[int]:
    """Integer arguments."""
    return [v.value for _, v in statement.args if isinstance(v, Int)] if isinstance(statement, Call) else []


def refs(statement: Statement) -> list[str]:
    """Arguments that are something else than integers."""
    return [repr(v) for _, v in statement.args if not isinstance(v, Int)] if isinstance(statement, Call) else []


def test_every_way_of_change_is_taken() -> None:
    mutator = Mutator(load_spec(), EVERYTHING, 2)
    start = mutator.mend(
        program(
            "a = aclrtAllocBuf(size=4096)\nb = aclrtAllocBuf(size=64)\naclrtGetBufData(buf=a)\n"
            "aclrtSetBufDataLen(buf=a, len=9)\nrepeat i in 4:\n    r[i] = aclrtCopyBufRef(buf=a)\n"
            "aclrtSetBufUserData(buf=b, dataPtr=ramp(1, 8), size=8, offset=88)"
        )
    )
    seen: set[str] = set()
    for _ in range(400):
        seen |= kinds_of_change(start, mutator.mutate(start))
    assert seen == {"shorter", "longer", "swapped", "nudged", "retargeted", "counted"}


def test_a_number_is_nudged_across_its_limit() -> None:
    mutator = Mutator(load_spec(), EVERYTHING, 3)
    start = mutator.mend(
        program(
            "a = aclrtAllocBuf(size=777)\naclrtGetBufData(buf=a)\n"
            "aclrtSetBufDataLen(buf=a, len=9)\naclrtGetBufDataLen(buf=a)"
        )
    )
    lengths = set()
    for _ in range(3000):
        for statement in mutator.mutate(start).body:
            if isinstance(statement, Call) and statement.function == "aclrtSetBufDataLen":
                lengths |= set(ints(statement))
    assert {776, 777, 778} <= lengths


def test_long_programs_only_get_shorter() -> None:
    mutator = Mutator(load_spec(), EVERYTHING, 4)
    body = "a = aclrtAllocBuf(size=1)\n" + "aclrtGetBufData(buf=a)\n" * (LONGEST + 5)
    start = mutator.mend(program(body))
    assert all(len(mutator.mutate(start).body) < len(start.body) for _ in range(20))


def test_a_crossing_has_something_of_both() -> None:
    mutator = Mutator(tables(), EVERYTHING, 5)
    first = mutator.mend(program("a = aclrtAllocBuf(size=1)\nb = aclrtAllocBuf(size=2)\naclrtGetBufData(buf=b)"))
    second = mutator.mend(program("s = kvCreateStore()\nkvCount(store=s)\nkvBound(store=s)"))
    functions = [
        {s.function for s in walk(mutator.cross(first, second).body) if isinstance(s, Call)} for _ in range(30)
    ]
    assert any({"aclrtAllocBuf", "kvCount"} <= found for found in functions)


# ------------------------------------------------------------------------------------------------------ the schedule


def test_a_new_name_is_no_reserved_word_and_not_too_long() -> None:
    words = [word for word in (*keyword.kwlist, *RESERVED) if word.islower() and len(word) > 1]
    names = {word[1:] for word in words if word[0] in "abcdefgh"} | {w[:-1] for w in words if w.endswith("s")}
    mutator = Mutator(load_spec(), EVERYTHING, 1)
    for name in sorted({*names, "z" * MAX_NAME}):
        try:
            known = program(f"{name} = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf={name})")
        except ProgramError:  # what is left is a reserved word too
            continue
        for _ in range(40):
            assert_sound(load_spec(), mutator.cross(known, known))
            assert_sound(load_spec(), mutator.mutate(known))


def test_what_pays_is_done_more_often_and_nothing_starves() -> None:
    schedule, dice = Schedule(["good", "bad", "worse"]), random.Random(1)
    for _ in range(3000):
        if schedule.pick(dice) == "good":
            schedule.reward("good")
    shares = schedule.shares()
    assert shares["good"] > 0.7
    assert min(shares.values()) > FLOOR / 3 / 2
    assert sum(shares.values()) == pytest.approx(1)


def test_a_rewarded_mutator_changes_its_ways() -> None:
    plain, rewarded = Mutator(load_spec(), EVERYTHING, 7), Mutator(load_spec(), EVERYTHING, 7)
    start = generator("mbuf").program(rolled(random.Random(1), 6))
    same = [plain.mutate(start) for _ in range(300)]
    other = []
    for _ in range(300):
        other.append(rewarded.mutate(start))
        if len(other[-1].body) < len(start.body):
            rewarded.reward()
    assert sum(len(p.body) for p in other[150:]) < sum(len(p.body) for p in same[150:])


def test_a_follower_takes_statements_one_by_one() -> None:
    follower = Follower(load_spec(), EVERYTHING)
    statements = program("a = aclrtAllocBuf(size=8)\naclrtFreeBuf(buf=a)\naclrtFreeBuf(buf=a)").body
    assert [follower.add(statement) for statement in statements] == [True, True, False]
    assert follower.finish().body == statements[:2]
