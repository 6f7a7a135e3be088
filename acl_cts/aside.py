"""Work done aside: in a forked process, while this one does something else."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

from acl_cts.conformance.crew import Crew

FORK = multiprocessing.get_context("fork")


class Aside:
    """Has `task` done in a process of its own, which knows all that this one knew. The task gives '' or what went
    wrong; it is done here when the process ends without telling."""

    def __init__(self, task: Callable[[], str]) -> None:
        self._task = task
        self._reader, writer = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_do, args=(task, writer), daemon=True)
        self._process.start()
        writer.close()

    def result(self) -> str:
        """What the task gave, once it is done."""
        try:
            answer: str = self._reader.recv()
        except EOFError:
            answer = self._task()
        self._process.join()
        self._reader.close()
        return answer


def _do(task: Callable[[], str], writer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    writer.send(task())


Item = TypeVar("Item")
Found = TypeVar("Found")


def gathered(task: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """What `task` gives for each of `items`, in their order; done by as many processes as there are processors, or here
    where there is little to do. The task tells what goes wrong in what it gives."""
    processors = len(os.sched_getaffinity(0))
    if len(items) < 2 or processors < 2:
        return list(map(task, items))

    def work(place: int) -> list[tuple[int, Found]]:
        return [(place, task(items[place]))]

    with Crew(min(processors, len(items)), work) as crew:
        found = dict(crew.do(range(len(items))))
    return [found[place] for place in range(len(items))]
