"""The runner: one verdict for every case, whatever the library does."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from fake_session import Answer, FakeSession, strict_oracle, succeed

from acl_cts.backends.backend import BackendError, HarnessError
from acl_cts.conformance import budget, confirm, worker
from acl_cts.conformance.case import Case
from acl_cts.conformance.runner import Runner
from acl_cts.reports.results import Cause, Support
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program import Call, Int, Program, Target
from acl_cts.specs.trace import Capability, End, Ptr

SPEC = load_spec()


def case(name: str, *calls: str, **more: object) -> Case:
    """A case that makes `calls`, each a function's name; its number makes the program distinct."""
    functions = calls or ("aclrtAllocBuf",)
    body = tuple(Call(function, (("size", Int(len(name))),), Target("a")) for function in functions)
    fields = {"functions": frozenset(functions), "clauses": frozenset({"c"}), "family": "mbuf", "group": "g"} | more
    return Case(id=f"mbuf/g/{name}", program=Program(body), **fields)  # type: ignore[arg-type]


def runner(session: FakeSession, **more: object) -> Runner:
    return Runner(SPEC, session, strict_oracle, **more)  # type: ignore[arg-type]


def answering(function: str, answer: Answer) -> FakeSession:
    """A library in which `function` always answers `answer`."""
    return FakeSession(lambda call, before: answer if call.function == function else succeed(call, before))


def test_a_good_library_passes() -> None:
    outcome = runner(FakeSession()).judge(case("fine"))
    assert outcome.result.verdict is Verdict.PASS
    assert outcome.result.succeeded == ("aclrtAllocBuf",)
    assert outcome.result.attempts == 1


def test_a_failure_is_confirmed_in_a_new_worker() -> None:
    session = answering("aclrtGetBufData", 100000)
    made = runner(session)
    made.support  # noqa: B018
    workers = session.workers
    outcome = made.judge(case("bad", "aclrtGetBufData"))
    assert outcome.result.verdict is Verdict.FAIL
    assert outcome.result.attempts == 2
    assert session.workers > workers
    assert outcome.trace is not None


def test_failures_of_one_root_cause_are_not_confirmed_for_ever() -> None:
    made = runner(answering("aclrtGetBufData", 100000))
    attempts = [made.judge(case(f"bad{n}", "aclrtGetBufData")).result.attempts for n in range(15)]
    assert attempts == [2] * confirm.CONFIRMATIONS + [1] * (15 - confirm.CONFIRMATIONS)


@pytest.mark.parametrize("culprit_at", [0, 3, 9])
def test_a_failure_that_needs_an_earlier_program_is_flaky_and_the_program_is_named(culprit_at: int) -> None:
    cases = [case(f"innocent{n:02}" + "x" * n) for n in range(10)]
    poison = cases[culprit_at].program

    def behave(call: Call, before: list[Program]) -> Answer:
        return 500001 if call.function == "aclrtGetBufData" and poison in before else succeed(call, before)

    made = runner(FakeSession(behave))
    assert [made.judge(each).result.verdict for each in cases] == [Verdict.PASS] * 10
    outcome = made.judge(case("victim", "aclrtGetBufData"))
    assert outcome.result.verdict is Verdict.FLAKY
    assert [executed.id for executed in outcome.history] == [cases[culprit_at].id]
    assert cases[culprit_at].id in outcome.result.reason
    assert "0 of 5" in outcome.result.reason
    assert outcome.result.discrepancies, "the failure that was seen is kept"


def test_a_failure_that_never_comes_back_is_flaky_all_the_same() -> None:
    seen = Counter[str]()

    def behave(call: Call, before: list[Program]) -> Answer:
        seen[call.function] += 1
        return 500001 if call.function == "aclrtCopyBufRef" and seen[call.function] == 2 else succeed(call, before)

    outcome = runner(FakeSession(behave)).judge(case("once", "aclrtCopyBufRef"))
    assert outcome.result.verdict is Verdict.FLAKY
    assert "do not bring it back" in outcome.result.reason


def test_crashes_are_bounded_and_every_case_has_a_verdict() -> None:
    session = answering("aclrtGetBufData", End.CRASH)
    made = runner(session)
    verdicts = [made.judge(case(f"c{n}", "aclrtGetBufData")).result for n in range(300)]
    counted = Counter(result.verdict for result in verdicts)
    assert set(counted) == {Verdict.CRASH, Verdict.BLOCKED}
    assert counted.total() == 300
    executed = sum(
        any(c.function == "aclrtGetBufData" for c in p.body if isinstance(c, Call)) for p in session.executed
    )
    assert executed <= budget.CRASHES + 10
    assert "common.no-crash" in verdicts[-1].reason
    assert "aclrtGetBufData" in verdicts[-1].reason
    assert made.judge(case("other", "aclrtCopyBufRef")).result.verdict is Verdict.PASS


def test_hangs_are_bounded_more_tightly() -> None:
    session = answering("aclrtCopyBufRef", End.TIMEOUT)
    made = runner(session)
    counted = Counter(made.judge(case(f"c{n}", "aclrtCopyBufRef")).result.verdict for n in range(50))
    hung = sum(any(c.function == "aclrtCopyBufRef" for c in p.body if isinstance(c, Call)) for p in session.executed)
    assert hung <= budget.TIMEOUTS + 1
    assert counted[Verdict.TIMEOUT] + counted[Verdict.BLOCKED] == 50
    assert counted[Verdict.TIMEOUT] >= 1


def test_a_function_whose_simplest_call_says_so_is_not_supported_and_never_executed_again() -> None:
    session = answering("aclrtCopyBufRef", 207000)
    made = runner(session)
    entry = made.support["aclrtCopyBufRef"]
    assert entry.state is Support.NOT_SUPPORTED
    before = len(session.executed)
    result = made.judge(case("ref", "aclrtCopyBufRef")).result
    assert result.verdict is Verdict.NOT_SUPPORTED
    assert "aclrtCopyBufRef" in result.reason
    assert len(session.executed) == before


def test_what_needs_a_handle_from_a_function_that_is_not_supported_is_not_supported_through_it() -> None:
    support = runner(answering("aclrtAllocBuf", 207000)).support
    assert support["aclrtFreeBuf"].state is Support.NOT_SUPPORTED
    assert support["aclrtFreeBuf"].through == "aclrtAllocBuf"
    assert support["aclrtAllocatorSetObjToDesc"].state is Support.SUPPORTED


def test_one_refused_argument_is_not_a_lack_of_support() -> None:
    def behave(call: Call, before: list[Program]) -> Answer:
        return 207000 if call.args == (("size", Int(4096)),) else succeed(call, before)

    assert runner(FakeSession(behave)).support["aclrtAllocBuf"].state is Support.SUPPORTED


def test_a_missing_symbol_is_not_supported() -> None:
    support = runner(FakeSession(missing=frozenset({"aclrtGetBufChainNum"}))).support
    assert support["aclrtGetBufChainNum"].state is Support.NOT_SUPPORTED
    assert "export" in support["aclrtGetBufChainNum"].reason


@pytest.mark.parametrize(("code", "state"), [(207000, Support.NOT_SUPPORTED), (107000, Support.SUPPORTED)])
def test_null_from_create_means_what_a_set_on_null_says(code: int, state: Support) -> None:
    def behave(call: Call, before: list[Program]) -> Answer:
        if call.function == "aclrtAllocatorCreateDesc":
            return Ptr(0)
        return code if call.function == "aclrtAllocatorSetObjToDesc" else succeed(call, before)

    assert runner(FakeSession(behave)).support["aclrtAllocatorCreateDesc"].state is state


def test_cases_with_a_stream_are_not_run_without_streams_the_others_are() -> None:
    session = FakeSession(capabilities=EVERYTHING_BUT_STREAMS)
    made = runner(session)
    assert made.support["aclrtAllocatorRegister"].state is Support.UNDECIDED
    with_stream = made.judge(case("with", "aclrtCreateStream", "aclrtAllocatorRegister")).result
    assert (with_stream.verdict, with_stream.cause) == (Verdict.NOT_RUN, Cause.STREAM)
    assert made.judge(case("null", "aclrtAllocatorRegister")).result.verdict is Verdict.PASS


EVERYTHING_BUT_STREAMS = frozenset(Capability) - {Capability.STREAMS}


def test_declared_cases_are_not_run_and_say_why() -> None:
    session = FakeSession(capabilities=frozenset())
    made = runner(session)
    planned = made.judge(case("planned", planned="waits for threads")).result
    assert (planned.verdict, planned.cause, planned.reason) == (Verdict.NOT_RUN, Cause.PLANNED, "waits for threads")
    counting = made.judge(case("counting", needs=frozenset({Capability.LIVE_COUNT}))).result
    assert (counting.verdict, counting.cause) == (Verdict.NOT_RUN, Cause.CAPABILITY)
    assert "live-count" in counting.reason
    assert made.judge(case("robust", group="robustness")).result.cause is Cause.CAPABILITY
    assert session.executed == []


def test_after_the_deadline_nothing_is_executed() -> None:
    session = FakeSession()
    result = runner(session, deadline=time.monotonic() - 1).judge(case("late")).result
    assert (result.verdict, result.cause) == (Verdict.NOT_RUN, Cause.TIME_LIMIT)
    assert session.executed == []


def test_isolation_leaves_no_history() -> None:
    earlier: list[int] = []

    def behave(call: Call, before: list[Program]) -> Answer:
        earlier.append(len(before))
        return succeed(call, before)

    made = runner(FakeSession(behave), isolate=True)
    made.support  # noqa: B018
    earlier.clear()
    for n in range(3):
        made.judge(case(f"alone{n}"))
    assert earlier == [0, 0, 0]


def test_a_fault_of_the_suite_is_an_error_and_does_not_repeat_for_ever() -> None:
    session = FakeSession()
    made = runner(session)
    made.support  # noqa: B018
    session.broken = HarnessError("the worker does not start")
    results = [made.judge(case(f"n{n}")).result for n in range(10)]
    assert {result.verdict for result in results} == {Verdict.ERROR}
    assert results[0].reason == "the worker does not start"
    assert "in a row" in results[-1].reason


def test_a_lost_device_leaves_the_rest_not_run() -> None:
    session = FakeSession()
    made = runner(session)
    made.support  # noqa: B018
    session.broken = BackendError("device 0 is gone")
    results = [made.judge(case(f"n{n}")).result for n in range(3)]
    assert {(result.verdict, result.cause) for result in results} == {(Verdict.NOT_RUN, Cause.BACKEND_LOST)}


def test_workers_are_replaced_when_leftovers_add_up() -> None:
    session = FakeSession()
    made = runner(session)
    made.support  # noqa: B018
    workers = session.workers
    for n in range(worker.LEFTOVERS):
        made.judge(case(f"n{n}", leaves=3))
    assert session.workers == workers
    made.judge(case("next"))
    assert session.workers == workers + 1
    made.judge(case("many", leaves=SPEC.floor.live_objects))
    made.judge(case("another"))
    assert session.workers == workers + 2
