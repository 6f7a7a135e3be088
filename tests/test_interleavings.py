"""The oracle on parallel blocks: what some order of the calls explains is right, what none explains is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracle_programs import SPEC, Told, complete, ending, names, tell

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.oracle import judge
from acl_cts.specs.plan import MAX_ORDERS, plan
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import End, LiveRecord, SameRecord

TWO_DESCRIPTIONS = complete("d", 1) + complete("e", 2) + "s = aclrtCreateStream()\n"

REPLACED = (
    TWO_DESCRIPTIONS
    + """
aclrtAllocatorRegister(stream=s, allocatorDesc=d)
aclrtAllocatorGetByStream(stream=s)
aclrtAllocatorRegister(stream=s, allocatorDesc=e)
aclrtAllocatorGetByStream(stream=s)
parallel:
    branch:
        aclrtAllocatorRegister(stream=s, allocatorDesc=d)
    branch:
        aclrtAllocatorRegister(stream=s, allocatorDesc=e)
aclrtAllocatorGetByStream(stream=s)
"""
)

COPIES = """
live
a = aclrtAllocBuf(size=64)
repeat i in 50:
    parallel:
        branch:
            b = aclrtCopyBufRef(buf=a)
            aclrtFreeBuf(buf=b)
        branch:
            c = aclrtCopyBufRef(buf=a)
            aclrtFreeBuf(buf=c)
aclrtFreeBuf(buf=a)
live
"""

LAST_PLACE = """
x = aclrtAllocBuf(size=64)
repeat i in 126:
    m[i] = aclrtAllocBuf(size=64)
    aclrtAppendBufChain(headBuf=x, buf=m[i])
m[126] = aclrtAllocBuf(size=64)
m[127] = aclrtAllocBuf(size=64)
parallel:
    branch:
        aclrtAppendBufChain(headBuf=x, buf=m[126])
    branch:
        aclrtAppendBufChain(headBuf=x, buf=m[127])
aclrtGetBufChainNum(headBuf=x)
"""

LENGTHS = """
a = aclrtAllocBuf(size=64)
aclrtGetBufData(buf=a)
parallel:
    branch:
        aclrtSetBufDataLen(buf=a, len=10)
        aclrtGetBufDataLen(buf=a)
    branch:
        aclrtSetBufDataLen(buf=a, len=20)
        aclrtGetBufDataLen(buf=a)
aclrtGetBufDataLen(buf=a)
"""


def lengths(first: int, second: int, last: int) -> Told:
    """What the threads of LENGTHS read, and what was read behind them."""
    changed = tell(LENGTHS)
    for which, value in enumerate((first, second, last)):
        changed = changed.writing("GetBufDataLen", which, len=value)
    return changed


def registered(number: int) -> Told:
    """REPLACED with the first or the second description as the one that is there in the end."""
    answer = tell(REPLACED)
    return answer.writing("AllocatorGetByStream", **dict(answer.record("AllocatorGetByStream", number).outs))


@pytest.mark.parametrize("text", [REPLACED, COPIES, LAST_PLACE, LENGTHS], ids=["replaced", "copies", "last", "lengths"])
def test_what_one_order_gives_is_right(text: str) -> None:
    judgement = tell(text).judged()
    assert (judgement.verdict, judgement.discrepancies, judgement.reason) == (Verdict.PASS, (), "")
    assert "common.threads" in judgement.held


@pytest.mark.parametrize("number", [0, 1])
def test_the_end_may_be_that_of_any_order(number: int) -> None:
    assert names(registered(number).judged()) == []


def test_a_mixture_of_two_registrations_is_no_order() -> None:
    release = dict(registered(1).record("AllocatorGetByStream").outs)["freeFunc"]
    assert names(registered(0).judged()) == names(registered(1).judged()) == []
    assert names(registered(0).writing("AllocatorGetByStream", freeFunc=release).judged())


@pytest.mark.parametrize(("first", "second", "last"), [(10, 20, 20), (10, 10, 10), (20, 20, 20), (10, 20, 10)])
def test_lengths_that_some_order_explains(first: int, second: int, last: int) -> None:
    assert names(lengths(first, second, last).judged()) == []


@pytest.mark.parametrize(
    ("first", "second", "last", "clause"),
    [
        (20, 10, 10, "common.threads"),  # each thread reads what only the other one set, after its own
        (0, 20, 20, "common.threads"),
        (10, 30, 20, "common.threads"),
        (10, 20, 30, "mbuf.get-len.last"),
        (20, 20, 10, "mbuf.get-len.last"),
    ],
)
def test_lengths_that_no_order_explains(first: int, second: int, last: int, clause: str) -> None:
    found = lengths(first, second, last).judged().discrepancies
    assert [finding.clause.split(".")[0] for finding in found] == [clause.split(".")[0]]
    assert len(found) == 1


def test_one_place_is_given_once() -> None:
    full = tell(LAST_PLACE)
    answers = [full.record("AppendBufChain", which).ret for which in (-2, -1)]
    assert sorted(map(bool, answers)) == [False, True]
    both = full.returning("AppendBufChain", 0, -1 if answers[-1] else -2).judged()
    assert [finding.clause for finding in both.discrepancies] == ["common.threads"]
    assert "mbuf.append.limit" in both.discrepancies[0].observed


def test_neither_may_be_refused_the_last_place() -> None:
    full = tell(LAST_PLACE)
    for which in (-2, -1):
        full = full.returning("AppendBufChain", 107000, which)
    assert names(full.judged()) == ["common.threads"]


def test_iterations_that_are_alike_are_judged_as_if_written_out() -> None:
    whole = tell(COPIES)
    records = list(whole.trace.records)
    folded = [k for k, record in enumerate(records) if isinstance(record, SameRecord)]
    for place in folded:
        again = records[place]
        assert isinstance(again, SameRecord)
        records[place] = replace(again, count=again.count - 1)
    assert whole.judged().verdict is Verdict.PASS
    kept = Told(whole.program, replace(whole.trace, records=tuple(records)))
    assert kept.judged().held == whole.judged().held


def test_a_reference_that_is_lost_shows_in_what_is_alive() -> None:
    lost = tell(COPIES).changed(LiveRecord, lambda record: replace(record, objects=1, bytes=64))
    assert names(lost.judged()) == ["mbuf.free.gives-back"]


def test_what_a_crash_cut_off_is_not_held_against_the_other_thread() -> None:
    """The thread that did not answer may have changed what the other one saw."""
    whole = lengths(20, 20, 20)
    first = whole.calls("SetBufDataLen")[0]
    step = whole.trace.records[first].step + 1
    judgement = whole.cut(first + 1, ending(End.CRASH, step, "aclrtGetBufDataLen", "SIGSEGV")).judged()
    assert judgement.verdict is Verdict.CRASH
    assert [finding.clause for finding in judgement.discrepancies] == ["common.no-crash"]


def test_a_race_is_a_discrepancy_of_its_own_and_no_crash() -> None:
    whole = tell(LENGTHS)
    race = ending(End.RACE, 3, "aclrtSetBufDataLen", "ThreadSanitizer: data race")
    judgement = whole.cut(2, race).judged()
    assert judgement.verdict is Verdict.FAIL
    assert [finding.clause for finding in judgement.discrepancies] == ["common.threads"]
    assert "data race" in judgement.reason


def test_an_order_in_which_a_call_is_undefined_makes_the_program_no_case() -> None:
    text = """
a = aclrtAllocBuf(size=64)
parallel:
    branch:
        aclrtFreeBuf(buf=a)
    branch:
        aclrtGetBufDataLen(buf=a)
"""
    assert plan(SPEC, parse_program(text).body).undefined
    kept = "b = aclrtCopyBufRef(buf=a)\nparallel"
    other = text.replace("parallel", kept).replace("DataLen(buf=a)", "DataLen(buf=b)")
    assert not plan(SPEC, parse_program(other).body).undefined


def test_clean_up_is_what_every_order_leaves() -> None:
    text = """
a = aclrtAllocBuf(size=64)
parallel:
    branch:
        b = aclrtCopyBufRef(buf=a)
    branch:
        c = aclrtCopyBufRef(buf=a)
"""
    known = plan(SPEC, parse_program(text).body)
    assert known.leaves == 0
    assert "common.threads" in known.clauses
    assert len(known.cleanup) == 3


def test_more_orders_than_can_be_looked_at_are_refused() -> None:
    branch = "    branch:\n" + 4 * "        aclrtGetBufDataLen(buf=a)\n"
    text = "a = aclrtAllocBuf(size=64)\nparallel:\n" + 3 * branch
    assert plan(SPEC, parse_program(text).body).undefined.endswith(f"more than {MAX_ORDERS} orders")


def test_a_lost_member_whose_address_was_given_again_is_counted_still() -> None:
    """Threads meet while nobody knows whether members of a freed chain live, and others have their addresses."""
    program = parse_program(
        """# acl-cts program 1
live
h = aclrtAllocBuf(size=64)
m = aclrtAllocBuf(size=64)
aclrtAppendBufChain(headBuf=h, buf=m)
aclrtFreeBuf(buf=h)
n = aclrtAllocBuf(size=64)
o = aclrtAllocBuf(size=64)
repeat round in 2:
    x = aclrtAllocBuf(size=64)
    parallel:
        branch:
            aclrtGetBufData(buf=x)
        branch:
            aclrtGetBufData(buf=x)
    aclrtFreeBuf(buf=x)
cleanup:
    aclrtFreeBuf(buf=n)
    aclrtFreeBuf(buf=o)
    live
"""
    )
    with open_backend("core", Options()) as session:
        judgement = judge(SPEC, program, session.run(program))
    assert judgement.verdict is Verdict.PASS, judgement.reason
