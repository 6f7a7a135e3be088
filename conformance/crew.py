"""A crew: forked processes that share out tasks; what was loaded before is there in each of them."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.native.pinning import PIN
from acl_cts.specs.faults import BadInput

FORK = multiprocessing.get_context("fork")

PR_SET_PDEATHSIG = 1
"""Of prctl: the signal that a process gets when the one that started it ends."""

Task = TypeVar("Task")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class _Finished:
    """The task that a process had is through."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """What ended a task before its time. `bad_input`: by the fault of what was given."""

    message: str
    bad_input: bool


@dataclass(slots=True)
class _Hand:
    """One process: takes a task through `pipe`, answers with what it finds, piece by piece."""

    process: ForkProcess
    pipe: Connection


@dataclass(slots=True)
class Crew(Generic[Task, Found]):
    """`size` processes that do `work`: for a task, any number of finds. Use it as a context; leaving it ends them all,
    whatever they are at."""

    size: int
    work: Callable[[Task], Iterable[Found]]
    _hands: list[_Hand] = field(default_factory=list)

    def __enter__(self) -> Crew[Task, Found]:
        try:
            for number in range(self.size):
                self._hands.append(self._hire(number))
        except BaseException:
            self._dismiss()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._dismiss()

    def do(self, tasks: Sequence[Task]) -> Iterator[Found]:
        """Everything found, as it is found; tasks are handed out in their order. Raises HarnessError when a task or a
        process fails, BadInput when a task cannot use what was given."""
        todo = deque(tasks)
        busy: dict[Connection, _Hand] = {}
        for hand in self._hands[: len(todo)]:
            self._hand_out(hand, todo, busy)
        while busy:
            for ready in wait(list(busy)):
                hand = busy[ready]  # type: ignore[index]
                answer = self._answer(hand)
                if isinstance(answer, _Failed):
                    raise (BadInput if answer.bad_input else HarnessError)(answer.message)
                if isinstance(answer, _Finished):
                    del busy[hand.pipe]
                    self._hand_out(hand, todo, busy)
                else:
                    yield answer

    def _hand_out(self, hand: _Hand, todo: deque[Task], busy: dict[Connection, _Hand]) -> None:
        if todo:
            hand.pipe.send(todo.popleft())
            busy[hand.pipe] = hand

    def _answer(self, hand: _Hand) -> Any:
        try:
            return hand.pipe.recv()
        except (EOFError, ConnectionError):
            hand.process.join(5)
            raise HarnessError(f"a measuring process ended by itself (exit code {hand.process.exitcode})") from None

    def _hire(self, number: int) -> _Hand:
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=self._serve, args=(number, theirs, ours, os.getpid()), daemon=False)
        process.start()
        theirs.close()
        return _Hand(process, ours)

    def _serve(self, number: int, pipe: Connection, other: Connection, parent: int) -> None:
        """What a process does. It does not outlive the one that started it, and leaves Ctrl-C to that one."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        other.close()
        for hand in self._hands:
            hand.pipe.close()
        PIN.turn = number if self.size > 1 else None
        gc.disable()  # garbage is collected between two cases
        gc.freeze()
        with contextlib.suppress(EOFError):
            while True:
                self._do(pipe.recv(), pipe)

    def _do(self, task: Task, pipe: Connection) -> None:
        try:
            for found in self.work(task):
                pipe.send(found)
        except Exception as error:
            # Told to the parent, which ends the whole measurement with it.
            told = isinstance(error, HarnessError | BadInput)
            kind = "" if told else f"internal error, please report it with the lines above: {type(error).__name__}: "
            if not told:
                traceback.print_exc()
            pipe.send(_Failed(f"{kind}{error}", isinstance(error, BadInput)))
            return
        pipe.send(_Finished())

    def _dismiss(self) -> None:
        for hand in self._hands:
            hand.process.kill()
        for hand in self._hands:
            hand.process.join()
            hand.pipe.close()
        self._hands.clear()
