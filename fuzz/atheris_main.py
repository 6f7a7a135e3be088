"""The process that atheris drives: `python -m acl_cts.fuzz.atheris_main READ WRITE core|simulator TABLES...`.

It is started with the engine's runtime preloaded, which tells it of every block of the library and of the mutator. For
each assignment that it reads it forks a process that fuzzes, so that a new one is there at once when a library took the
old one along.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

QUIET = (
    *("acl_cts.specs.loader", "acl_cts.specs.program_bytes", "acl_cts.specs.answer_text", "acl_cts.specs.evaluate"),
    *("acl_cts.specs.machine", "acl_cts.specs.execution", "acl_cts.specs.fork"),
)
"""Imported before anything is traced: their loops are hot, and tracing makes Python several times slower."""

TRACED = {
    "core": ("acl_cts.specs.oracle",),
    "simulator": ("acl_cts.backends.simulator.session", "acl_cts.specs.oracle"),
}
"""Modules, with those that they import first, whose Python code guides as the library does."""

LONGEST = 1 << 16
"""Bytes of a program in compact form."""

NEVER = 1_000_000
"""Seconds after which the engine would end the process because of one program; 0 would be one second. What hangs is
told by who watches it from outside, and judging what is long takes long."""

TICK = 0.1
"""Seconds after which it is asked whether a process that says nothing is still there."""

_PR_SET_PDEATHSIG = 1


def main(words: list[str]) -> None:
    """Fork a process for each assignment, until nobody gives any more."""
    die_with(os.getppid())
    os.environ.pop("LD_PRELOAD", None)  # what is started from here must not have it
    atheris: Any = importlib.import_module("atheris")
    for name in QUIET:
        importlib.import_module(name)
    with atheris.instrument_imports(include=["acl_cts"]):
        for name in TRACED[words[2]]:
            importlib.import_module(name)
    harness = importlib.import_module("acl_cts.fuzz.harness")
    messages = importlib.import_module("acl_cts.fuzz.inprocess")
    harness.prepare(tuple(words[3:]))
    gc.disable()  # a harness collects between programs
    gc.freeze()
    orders, reports = Connection(int(words[0])), Connection(int(words[1]))
    while True:
        try:
            assignment = orders.recv()
        except EOFError:
            return
        server = os.getpid()
        told, telling = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            die_with(server)
            for end in (orders, reports, told):
                end.close()
            fuzz(atheris, harness.Harness(assignment, telling), assignment)
        telling.close()
        reports.send(messages.Born(pid))
        reports.send(messages.Gone(os.waitstatus_to_exitcode(relay(told, reports, pid))))
        told.close()


def relay(told: Connection, reports: Connection, pid: int) -> int:
    """Pass on what the process `pid` tells until it is gone; its status as `os.waitpid` gives it.

    It may be killed in the middle of a message. Were it to write to `reports` itself, the next message would be taken
    for the rest of that one, and its reader would wait for ever; here the part is dropped.
    """
    gone, status = 0, 0
    while True:
        try:
            while told.poll(0 if gone else TICK):
                reports.send_bytes(told.recv_bytes())
        except (EOFError, OSError, ValueError, OverflowError, MemoryError):  # the last three for a length that is none
            return status if gone else _ended(pid)
        if gone:
            return status
        gone, status = os.waitpid(pid, os.WNOHANG)


def _ended(pid: int) -> int:
    """The status of a process that cannot be understood any more."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def die_with(parent: int) -> None:
    """Let this process end when `parent` does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def fuzz(atheris: Any, harness: Any, assignment: Any) -> None:
    """Fuzz until somebody or the library ends it."""
    harness.probe()
    options = [f"-max_len={LONGEST}", "-rss_limit_mb=0", f"-timeout={NEVER}", "-print_funcs=0"]
    options += [
        f"-reload={int(assignment.shared)}",
        f"-seed={assignment.number}",
        "-len_control=0",
        f"-artifact_prefix={assignment.units.parent}/",
    ]
    atheris.Setup(
        ["atheris", *options, str(assignment.units)],
        harness.one,
        custom_mutator=harness.mutate,
        custom_crossover=harness.cross,
    )
    atheris.Fuzz()
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
