"""Work done aside: in a forked process, while this one does something else."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

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
