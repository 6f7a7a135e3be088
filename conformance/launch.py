"""Launching pytest in processes of their own and following their verdicts as they fall.

The processes are forked: what all of them need (tables, cases, modules) is loaded once, before.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

import acl_cts.conformance
from acl_cts.backends.backend import HarnessError
from acl_cts.conformance.crew import PR_SET_PDEATHSIG
from acl_cts.conformance.events import Collected, DamagedEventError, Event, EventReader, Judged, Supported, Trouble
from acl_cts.conformance.journal import Story
from acl_cts.conformance.plan import Plan
from acl_cts.conformance.plugin import FULL, cases_of
from acl_cts.reports.results import BackendRun, CaseResult, Cause, FunctionSupport
from acl_cts.specs.faults import BadInput
from acl_cts.specs.judgement import Verdict

LOOK = 0.05
"""Seconds between two looks at the events."""

GRACE = 5.0
"""Seconds that pytest gets to end by itself after an interrupt."""

TAIL = 15
"""Lines of pytest's own output that are shown when it broke down."""

NOTHING_COLLECTED = 5
"""Exit code with which pytest says that it found nothing to run."""


REFUSED = 4
"""Exit code with which pytest refuses its command line, as for a -k that is no expression."""


class Usage(BadInput):
    """The run cannot start for a reason that the user can mend. The message is one line."""


NEEDLESS = (
    *("cacheprovider", "doctest", "faulthandler", "junitxml", "logging", "monkeypatch", "pastebin", "recwarn"),
    *("setuponly", "setupplan", "stepwise", "threadexception", "tmpdir", "unittest", "unraisableexception", "warnings"),
)
"""Plugins of pytest that conformance items have no use for, and that cost a tenth of a run."""

FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class Heard:
    """What the events said so far."""

    collected: Collected | None = None
    support: tuple[FunctionSupport, ...] = ()
    results: dict[str, CaseResult] = field(default_factory=dict)
    trouble: str = ""

    def take(self, event: Event) -> None:
        """Add one event. A case keeps the first verdict that it got. Raises Usage."""
        match event:
            case Collected():
                if self.collected is not None and self.collected != event:
                    self.trouble = "two test processes collected different cases"
                self.collected = self.collected or event
            case Supported(support=support):
                self.support = self.support or support
            case Judged(result=result):
                self.results.setdefault(result.id, result)
            case Trouble(message=message, usage=usage):
                if usage:
                    raise Usage(message)
                self.trouble = message


@dataclass(slots=True)
class Launch:
    """One backend's pytest, split over `jobs` processes that share nothing but the file of events, which is the plan's
    or a temporary one.

    `watch` is called with every event as it arrives; `keyword` is pytest's -k. `story`: what is known already when the
    plan is to go on with a run.
    """

    plan: Plan
    jobs: int
    keyword: str = ""
    watch: Callable[[Event], None] = lambda event: None
    story: Story = field(default_factory=Story)
    interrupted: bool = False
    _collect_only: bool = False

    def run(self) -> BackendRun:
        """Everything that was judged, in the order of the case list; cases without a verdict get one that says why.

        Ctrl-C ends it early with `interrupted` set. Raises Usage when nothing could run.
        """
        started = time.monotonic()
        known = Heard(self.story.collected, self.story.support, dict(self.story.results))
        whole = known.collected is not None and all(id in known.results for id in known.collected.cases)
        heard = known if whole else self._heard(known)
        return self._sum_up(heard, self.story.duration + time.monotonic() - started)

    def collect(self) -> frozenset[str]:
        """Ids of the cases that would be judged; opens no backend. Raises Usage when there is none, HarnessError when
        pytest broke down."""
        self._collect_only = True
        heard = self._heard(Heard())
        if heard.collected is None:
            raise HarnessError(heard.trouble or "pytest was interrupted before it told the cases")
        return frozenset(heard.collected.cases)

    def _heard(self, heard: Heard) -> Heard:
        """`heard`, and all that the test processes told."""
        folder = _workplace()
        try:
            codes, log = self._follow(folder, heard)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if FULL in codes:
            heard.trouble = next((line.strip("! ") for line in log.splitlines() if "--resume" in line), "journal full")
        if not heard.trouble and not self.interrupted:
            heard.trouble = _breakdown(codes, heard, log)
        return heard

    def _follow(self, folder: Path, heard: Heard) -> tuple[list[int], str]:
        """Run all processes to their end: their exit codes, and all that they printed."""
        events = Path(self.plan.events) if self.plan.events else folder / "events"
        events.touch()
        reader = EventReader(events)
        reader.skip()
        logs = [folder / f"log-{shard}" for shard in range(self.jobs)]
        cases_of(self.plan)
        children: list[ForkProcess] = []
        try:
            children += [self._start(shard, events, log) for shard, log in enumerate(logs)]
            self._listen(children, reader, heard)
        except KeyboardInterrupt:
            self.interrupted = True
            _end(children)
            self._hear(reader, heard)
        finally:
            _end(children)
            reader.close()
        texts = [log.read_text(encoding="utf-8", errors="replace") for log in logs if log.exists()]
        return [child.exitcode or 0 for child in children], "\n".join(texts)

    def _start(self, shard: int, events: Path, log: Path) -> ForkProcess:
        plan = replace(self.plan, events=str(events), shard=(shard, self.jobs))
        child = FORK.Process(target=_test_process, args=(self._arguments(plan), log, os.getpid()), daemon=False)
        child.start()
        return child

    def _listen(self, children: list[ForkProcess], reader: EventReader, heard: Heard) -> None:
        while True:
            running = any(child.exitcode is None for child in children)
            self._hear(reader, heard)
            if not running or heard.trouble:
                return
            time.sleep(LOOK)

    def _hear(self, reader: EventReader, heard: Heard) -> None:
        try:
            for event in reader.read():
                heard.take(event)
                self.watch(event)
        except DamagedEventError as error:
            heard.trouble = f"a test process wrote what cannot be read: {error}"

    def _arguments(self, plan: Plan) -> list[str]:
        home = Path(acl_cts.conformance.__file__).parent
        arguments = [str(home / "test_conformance.py"), "-c", os.devnull, "--rootdir", str(home)]
        arguments += ["-q", "-s", "--tb=short", "--acl-plan", plan.to_json()]
        arguments += [word for plugin in NEEDLESS for word in ("-p", f"no:{plugin}")]
        if self._collect_only:
            arguments.append("--collect-only")
        if self.keyword:
            arguments += ["-k", self.keyword]
        return arguments

    def _sum_up(self, heard: Heard, duration: float) -> BackendRun:
        ids = heard.collected.cases if heard.collected else tuple(heard.results)
        missing = _interrupted if self.interrupted else _unreported
        cases = tuple(heard.results.get(id) or missing(id) for id in ids)
        return BackendRun(
            backend=self.plan.backends[0],
            support=heard.support,
            cases=cases,
            case_list=heard.collected.case_list if heard.collected else "",
            duration=duration,
            complete=all(id in heard.results for id in ids) and heard.collected is not None,
            trouble=heard.trouble,
        )


def _interrupted(id: str) -> CaseResult:
    return CaseResult(id, Verdict.NOT_RUN, "interrupted before its turn", Cause.INTERRUPTED)


def _unreported(id: str) -> CaseResult:
    return CaseResult(id, Verdict.ERROR, "the test process ended before it reported this case", Cause.UNREPORTED)


def _breakdown(codes: list[int], heard: Heard, log: str) -> str:
    """Why pytest broke down, or '' when it did not. Raises Usage when the filter is wrong or leaves nothing."""
    if REFUSED in codes:
        errors = [line for line in log.splitlines() if line.startswith("ERROR")]
        raise Usage(errors[-1] if errors else log.strip())
    if heard.collected is None and set(codes) == {NOTHING_COLLECTED}:
        raise Usage("no case matches these filters; `acl-cts list` shows all cases")
    broken = [code for code in codes if code not in (0, 1, NOTHING_COLLECTED)]
    if heard.collected is not None and not broken:
        return ""
    tail = "\n".join(log.splitlines()[-TAIL:])
    return f"pytest ended with code {(broken or codes)[0]}; its last lines:\n{tail}"


def _workplace() -> Path:
    """An empty folder for events and logs. Raises Usage."""
    try:
        return Path(tempfile.mkdtemp(prefix="acl-cts-"))
    except OSError as error:
        raise Usage(f"no temporary folder can be made ({error.strerror}); free disk space or set TMPDIR") from error


def _test_process(arguments: list[str], log: Path, parent: int) -> None:
    """What a forked process does: pytest, with its output in `log`; the exit code is pytest's. It does not outlive the
    front door `parent`."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (stays open to the end)
    os.dup2(sys.stdin.fileno(), 0)
    sys.stdout = sys.stderr = log.open("w", encoding="utf-8", errors="replace")
    for descriptor in (1, 2):
        os.dup2(sys.stdout.fileno(), descriptor)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]  # the user's settings for other suites
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    gc.freeze()
    try:
        code = int(pytest.main(arguments))
    finally:
        sys.stdout.flush()
    sys.exit(code)


def _end(children: list[ForkProcess]) -> None:
    """End all of `children` and everything that they started: politely, then for certain."""
    for child in children:
        if child.exitcode is None and child.pid is not None:
            with contextlib.suppress(ProcessLookupError):  # has not made a group of its own yet, or is gone
                os.killpg(child.pid, signal.SIGINT)
    until = time.monotonic() + GRACE
    # A second Ctrl-C: no more patience.
    with contextlib.suppress(KeyboardInterrupt):
        for child in children:
            child.join(max(0.0, until - time.monotonic()))
    for child in children:
        if child.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.join()
