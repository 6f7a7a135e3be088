"""The process that atheris drives: its start with the right libraries preloaded, its messages, its end."""

from __future__ import annotations

import importlib.util
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Pipe
from pathlib import Path

from acl_cts.backends.backend import BackendError, HarnessError
from acl_cts.backends.native.capture import Capture
from acl_cts.backends.native.channel import Channel
from acl_cts.backends.native.layout import State
from acl_cts.backends.native.pinning import PIN
from acl_cts.fuzz.inprocess import Assignment, Born, Gone, Message, read_message

MODULE = "acl_cts.fuzz.atheris_main"
CONNECTED = "found LLVMFuzzerCustomMutator"
"""What the engine's log says once it has found the mutator; without it, mutators are ignored in silence."""

GOING = 5.0
"""Seconds that a killed process may take to be gone."""

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Runtime:
    """What is preloaded: the engine's runtime with the address sanitizer in it, and the two hooks for mutators."""

    sanitizer: Path
    hooks: tuple[Path, ...]

    @property
    def preload(self) -> str:
        """As the dynamic linker takes it."""
        return " ".join(map(str, (self.sanitizer, *self.hooks)))


def find_runtime() -> Runtime:
    """What the installed atheris brings. Raises BackendError when there is none, or not the whole of it."""
    found = importlib.util.find_spec("atheris")
    if found is None or found.origin is None:
        raise BackendError("no atheris here; install it, as with: pip install 'acl-cts[atheris]'")
    package = Path(found.origin).parent
    hooks = [next(package.glob(f"{name}.cpython-*.so"), None) for name in ("custom_mutator", "custom_crossover")]
    sanitizer = package.parent / "asan_with_fuzzer.so"
    if not sanitizer.is_file() or None in hooks:
        raise BackendError(f"the atheris in {package} lacks its runtime; install a released wheel: pip install atheris")
    return Runtime(sanitizer, tuple(hook for hook in hooks if hook is not None))


class Lost(Exception):
    """The process that forks those that fuzz is gone, and with it the one that it had forked."""


class Child:
    """A process that forks one that fuzzes, for each assignment, and tells when that one has ended. `started`: it has
    told something."""

    def __init__(self, runtime: Runtime, tables: tuple[str, ...], simulator: bool) -> None:
        self.channel = Channel()
        self.capture = Capture()
        self.started = False
        self._pid = 0
        self._told, theirs = Pipe(duplex=False)
        ours, self._tell = Pipe(duplex=False)
        fds = (ours.fileno(), theirs.fileno())
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, *map(str, fds), "simulator" if simulator else "core", *tables],
            stdin=subprocess.DEVNULL,
            stdout=self.capture.fd,
            stderr=self.capture.fd,
            pass_fds=(*fds, self.channel.memory_fd),
            start_new_session=True,
            env=_environment(runtime),
            preexec_fn=_unpinned,
        )
        theirs.close()
        ours.close()

    def give(self, assignment: Assignment) -> None:
        """Let a new process work on `assignment`. Raises Lost when nobody is there to take it."""
        self.capture.mark()
        self.channel.forget()
        try:
            self._tell.send(replace(assignment, memory=self.channel.memory_fd))
        except ConnectionError:
            raise Lost from None

    def receive(self, seconds: float) -> Message | None:
        """The next message, None when none came in time. Raises Lost when nobody is there to send any."""
        if not self._told.poll(seconds):
            return None
        try:
            message = read_message(self._told.recv_bytes())
        except (EOFError, OSError, ValueError, MemoryError):  # gone, or the library has written there
            raise Lost from None
        self.started = True
        if isinstance(message, Born | Gone):
            self._pid = message.pid if isinstance(message, Born) else 0
        return message

    @property
    def progress(self) -> int | None:
        """A number that grows while the library gets on; None while none of its calls is executed."""
        return self.channel.progress() if self.channel.status().state == State.RUNNING else None

    @property
    def connected(self) -> bool:
        """Whether the engine says that it has found the mutator."""
        return CONNECTED in self.capture.tail()

    def guided_by(self, counters: str) -> bool:
        """Whether the engine says that these counters guide it."""
        return counters in self.capture.tail()

    def kill(self) -> None:
        """End the process that fuzzes."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def settle(self) -> bool:
        """End the process that fuzzes, if there is one, and wait until it is gone. False when that cannot be told, and
        this child is of no use any more."""
        self.kill()
        with suppress(Lost):
            while self._pid:
                if self.receive(GOING) is None:
                    return False
        return True

    @property
    def killed(self) -> bool:
        """Whether somebody ended the process that forks those that fuzz."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        return self._process.returncode == -signal.SIGKILL

    def problem(self) -> HarnessError:
        """What was said last by a process that does not work."""
        lines = [line for line in self.capture.tail().splitlines() if line.strip() and not line.startswith("INFO")]
        what = "ends again and again" if self.started else "does not start"
        return HarnessError(f"atheris {what}: {lines[-1].strip() if lines else 'it says nothing'}")

    def close(self) -> None:
        """End everything, and give it back."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._told.close()
        self._tell.close()
        self.channel.close()
        self.capture.close()


def executed(path: Path) -> Iterator[bytes]:
    """The programs, in compact form, that a child's history file holds; a part of one is left out."""
    data, at = path.read_bytes() if path.exists() else b"", 0
    while at + 4 <= len(data):
        length = _LENGTH.unpack_from(data, at)[0]
        if at + 4 + length <= len(data):
            yield data[at + 4 : at + 4 + length]
        at += 4 + length


def _unpinned() -> None:
    os.sched_setaffinity(0, PIN.free)


def _environment(runtime: Runtime) -> dict[str, str]:
    return {
        **os.environ,
        "LD_PRELOAD": runtime.preload,
        "ASAN_OPTIONS": "allocator_may_return_null=1:symbolize=0:detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "halt_on_error=1:symbolize=0",
    }
