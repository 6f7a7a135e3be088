"""The pytest plugin: `pytest conformance --backend core` collects the cases as items and judges them."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

from acl_cts.backends.backend import BackendError, HarnessError, Options, Session
from acl_cts.backends.native.pinning import PIN
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.budget import Budget, Signature
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.challenge import cases_in
from acl_cts.conformance.events import Charged, Collected, Event, EventFile, Judged, Started, Supported, Trouble
from acl_cts.conformance.failures import keep
from acl_cts.conformance.garbage import tidy
from acl_cts.conformance.generator import case_list_hash
from acl_cts.conformance.journal import JournalError, Story, full, read_journal
from acl_cts.conformance.plan import Plan
from acl_cts.conformance.repeated import repeated
from acl_cts.conformance.runner import Outcome, Runner
from acl_cts.conformance.selection import SelectionError
from acl_cts.conformance.setting import setting_of
from acl_cts.conformance.sharding import sharded
from acl_cts.conformance.share import share, weight
from acl_cts.conformance.trace_file import KeptQuestions, KeptTrace, TraceFile
from acl_cts.reports.files import ReportError
from acl_cts.reports.results import RED, CaseResult
from acl_cts.specs.faults import SpecError
from acl_cts.specs.judgement import Verdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.trace import End, Phase

PLAN = pytest.StashKey[Plan]()
BENCH = pytest.StashKey["Bench"]()
FULL = 74
"""Exit code of a test process that cannot write the journal any more."""

GREY = frozenset({Verdict.NOT_RUN, Verdict.NOT_SUPPORTED, Verdict.INCONCLUSIVE})
"""Verdicts that leave an item skipped when it has no others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a run without the front door."""
    group = parser.getgroup("acl-cts", "conformance of the shared buffer and allocator descriptor APIs")
    group.addoption(
        "--backend", action="append", metavar="NAME", help="core, core:asan, simulator, acl, ... (default: core)"
    )
    group.addoption("--library", default="", metavar="PATH", help="library under test, for --backend acl")
    group.addoption("--device", type=int, default=0, help="device number, for --backend acl")
    group.addoption(
        "--data-access", default="auto", choices=["auto", "direct", "copy"], help="how data areas are touched"
    )
    group.addoption("--executor", default="", metavar="PATH", help="prebuilt executor, where there is no compiler")
    group.addoption("--call-timeout", type=float, default=5.0, metavar="SECONDS", help="time one call may take")
    group.addoption("--thread-safe", action="store_true", help="the library's vendor says that threads may call it")
    group.addoption("--table", action="append", default=[], metavar="PATH", help="table of a further family")
    group.addoption("--acl-plan", default="", metavar="JSON", help="everything at once; given by `acl-cts run`")


def pytest_configure(config: pytest.Config) -> None:
    """Read the plan."""
    gc.disable()  # garbage is collected between two cases
    text = config.getoption("--acl-plan")
    config.stash[PLAN] = Plan.from_json(text) if text else _plan_of_options(config)
    config.stash[BENCH] = Bench(config.stash[PLAN])
    number, processes = config.stash[PLAN].shard
    PIN.turn = number if processes > 1 else None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the sessions."""
    if BENCH in config.stash:
        config.stash[BENCH].close()


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[pytest.Item] | None:
    """Turn the one test function into an item for every group of cases."""
    if name != "test_conformance" or not callable(obj):
        return None
    plan = collector.config.stash[PLAN]
    try:
        chosen = sharded(plan.selection.apply(cases_of(plan)), *plan.part)
    except (SelectionError, SpecError, ReportError) as error:
        collector.config.stash[BENCH].give_up(error, usage=True)
    return [
        ConformanceItem.from_parent(
            collector, name=f"{name}[{backend}-{item}]", backend=backend, cases=tuple(group), body=obj
        )
        for backend in plan.backends
        for item, group in by_item(chosen)
    ]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle, when a seed asks for it; tell the front door what is about to be judged; keep this process's part."""
    plan = config.stash[PLAN]
    if plan.seed is not None:
        random.Random(plan.seed).shuffle(items)
    for backend in plan.backends:
        mine = [item for item in items if isinstance(item, ConformanceItem) and item.backend == backend]
        if mine:
            ids = tuple(case.id for item in mine for case in item.cases)
            config.stash[BENCH].send(Collected(backend, everything(plan.options.tables)[2], ids))
    items[:] = share(items, *plan.shard, _cost)
    if plan.resume:
        items[:] = [item for item in items if not isinstance(item, ConformanceItem) or item.shorten()]
    gc.freeze()  # the cases stay to the end: no use looking for garbage among them


def _cost(item: pytest.Item) -> int:
    return sum(map(weight, item.cases)) if isinstance(item, ConformanceItem) else 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Only the judging itself, when the front door runs it: an item has nothing to set up or to tear down, its verdicts
    travel as events, and what pytest does for an item that passes costs more than many a case."""
    if not isinstance(item, ConformanceItem) or not item.config.stash[PLAN].events:
        return None
    call = pytest.CallInfo.from_call(item.runtest, when="call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
    if call.excinfo is not None:
        hook = item.ihook
        hook.pytest_runtest_logreport(report=hook.pytest_runtest_makereport(item=item, call=call))
    return True


class ConformanceItem(pytest.Item):
    """Cases that are judged together; red when one of them is."""

    def __init__(
        self, *, backend: str, cases: tuple[Case, ...], body: Callable[[Iterator[CaseResult]], None], **rest: Any
    ) -> None:
        super().__init__(**rest)
        self.backend = backend
        self.cases = cases
        self.body = body

    def shorten(self) -> bool:
        """Leave out cases that have their verdict; whether any is left."""
        done = self.config.stash[BENCH].story(self.backend).results
        self.cases = tuple(case for case in self.cases if case.id not in done)
        return bool(self.cases)

    def runtest(self) -> None:
        """Judge the cases, one after the other."""
        self.body(self.config.stash[BENCH].judge(self.backend, self.cases))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdicts, without Python's way to them."""
        if isinstance(excinfo.value, Red):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says it is."""
        return self.path, None, self.name


class Red(AssertionError):
    """Cases that failed; the message names each with expected and observed."""


def verdict_of(results: Iterable[CaseResult]) -> None:
    """Raise Red when a result is red; skip when none was judged."""
    listed = list(results)
    red = [result for result in listed if result.verdict in RED]
    if red:
        raise Red("\n".join(line for result in red for line in _lines(result)))
    if all(result.verdict in GREY for result in listed):
        pytest.skip("; ".join(sorted({f"{result.verdict}: {result.reason}" for result in listed})))


def _lines(result: CaseResult) -> Iterator[str]:
    yield f"{result.verdict}: {result.id}"
    if not result.discrepancies:
        yield f"    {result.reason}"
    for finding in result.discrepancies:
        yield f"    {finding.clause} ({finding.strength}), {finding.function}, step {finding.step}"
        yield f"        expected: {finding.expected}"
        yield f"        observed: {finding.observed}"


@dataclass(slots=True)
class Bench:
    """What one pytest process works with: a session and a runner per backend, opened when first used."""

    plan: Plan
    _runners: dict[str, Runner] = field(default_factory=dict)
    _sessions: list[Session] = field(default_factory=list)
    _events: EventFile | None = None
    _stories: dict[str, Story] = field(default_factory=dict)
    _traces: TraceFile | None = None

    def story(self, backend: str) -> Story:
        """What the journal tells of `backend`."""
        if not self._stories:
            try:
                self._stories = read_journal(Path(self.plan.events)).stories
            except JournalError as error:
                self.give_up(error, usage=True)
        return self._stories.get(backend, Story())

    def judge(self, backend: str, chosen: tuple[Case, ...]) -> Iterator[CaseResult]:
        """The result of each case, told and kept before it is handed on."""
        runner = self._runner(backend)
        shard = self.plan.shard[0]
        for case in chosen:
            self.send(Started(backend, case.id, shard))
            outcome = repeated(runner.judge, case, self.plan.repeat)
            result = outcome.result
            if self.plan.failures and result.verdict in RED and outcome.trace is not None:
                result = replace(result, files=self._keep(backend, case, outcome))
            if outcome.trace is not None:
                left_out = case.functions - (outcome.executed or case).functions
                self._keep_trace(KeptTrace(case.id, outcome.trace, tuple(sorted(left_out))))
            self.send(Judged(backend, result, shard))
            del outcome
            tidy()
            yield result

    def send(self, event: Event) -> None:
        """Tell the front door, if there is one."""
        if not self.plan.events:
            return
        try:
            if self._events is None:
                self._events = EventFile(self.plan.events)
            self._events.send(event)
        except OSError as error:
            pytest.exit(full(self.plan.events, error), returncode=FULL)

    def close(self) -> None:
        """Close sessions and events."""
        for session in self._sessions:
            session.close()
        self._sessions.clear()
        self._runners.clear()
        if self._events is not None:
            self._events.close()
            self._events = None
        if self._traces is not None:
            self._traces.close()
            self._traces = None

    def _keep_trace(self, kept: KeptTrace | KeptQuestions) -> None:
        """Append `kept` to the plan's file of traces, if it has one."""
        if not self.plan.traces:
            return
        try:
            if self._traces is None:
                self._traces = TraceFile(Path(self.plan.traces))
            self._traces.keep(kept)
        except OSError as error:
            pytest.exit(full(self.plan.traces, error), returncode=FULL)

    def _runner(self, backend: str) -> Runner:
        if backend not in self._runners:
            try:
                session = open_backend(backend, self.plan.options)
                self._sessions.append(session)
                spec, budget = everything(self.plan.options.tables)[0], self._budget(backend)
                runner = Runner(spec, session, judge, self.plan.isolate, self.plan.deadline, budget)
                if self.plan.resume:
                    runner.recall(self.story(backend).judged_by(self.plan.shard[0]))
                self.send(Supported(backend, tuple(runner.support.values())))
                self._keep_trace(KeptQuestions(session.missing, session.capabilities, tuple(runner.asked)))
            except (BackendError, HarnessError) as error:
                self.give_up(error, usage=isinstance(error, BackendError))
            self._runners[backend] = runner
        return self._runners[backend]

    def _budget(self, backend: str) -> Budget:
        """A budget that tells what is charged, less what the same process has spent before the run was cut off."""
        shard = self.plan.shard[0]

        def tell(signature: Signature, clause: str) -> None:
            phase = signature.phase.value if signature.phase else ""
            self.send(Charged(backend, shard, signature.kind.value, signature.function, phase, clause))

        budget = Budget(watch=tell)
        for charge in self.story(backend).charges if self.plan.resume else ():
            if charge.shard == shard:
                phase = Phase(charge.phase) if charge.phase else None
                budget.count(Signature(End(charge.kind), charge.function, phase), charge.clause)
        return budget

    def _keep(self, backend: str, case: Case, outcome: Outcome) -> str:
        runner = self._runner(backend)
        setting = setting_of(backend, runner.session.identity, self.plan.options)
        try:
            return keep(Path(self.plan.failures), outcome.executed or case, outcome, runner.spec, setting)
        except ReportError as error:
            self.give_up(error, usage=False)

    def give_up(self, error: Exception, *, usage: bool) -> NoReturn:
        """End pytest; `usage` when the user can mend what is wrong."""
        self.send(Trouble(str(error), usage))
        pytest.exit(str(error), returncode=2 if usage else 3)


@cache
def everything(tables: tuple[str, ...]) -> tuple[Spec, tuple[Case, ...], str]:
    """Tables, further ones among them, cases and the hash of the case list, once a process."""
    spec = load_spec(more=tables)
    generated = cached_cases(spec)
    return spec, generated, case_list_hash(generated)


def cases_of(plan: Plan) -> tuple[Case, ...]:
    """The cases that `plan` selects from: all that there are, and those of its challenge. Raises ReportError."""
    return everything(plan.options.tables)[1] + cases_in(plan.challenge, plan.options.tables)


def by_item(chosen: Iterable[Case]) -> Iterator[tuple[str, list[Case]]]:
    """Cases by the item that they share, items in the order of their first case."""
    groups: dict[str, list[Case]] = {}
    for case in chosen:
        groups.setdefault(case.item or case.id, []).append(case)
    yield from groups.items()


def _plan_of_options(config: pytest.Config) -> Plan:
    asked = config.getoption("--backend") or ["core"]
    return Plan(
        backends=tuple(asked),
        options=Options(
            library=config.getoption("--library"),
            device=config.getoption("--device"),
            data_access=config.getoption("--data-access"),
            executor=config.getoption("--executor"),
            call_timeout=config.getoption("--call-timeout"),
            tables=tuple(config.getoption("--table")),
            thread_safe=config.getoption("--thread-safe"),
        ),
    )
