"""Worker: one executor process, from its start to its end, whatever the library in it does."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.native import layout
from acl_cts.backends.native.capture import Capture
from acl_cts.backends.native.channel import Channel, Reached, Status
from acl_cts.backends.native.decode import encode_end
from acl_cts.backends.native.greeting import Greeting, read_greeting
from acl_cts.backends.native.layout import EndCode, State
from acl_cts.backends.native.pinning import PIN
from acl_cts.backends.native.render import guard_name
from acl_cts.specs.interface import Interface

_SLICE = 50
"""Milliseconds between two looks at a worker that does not answer."""

_HELD_UP = 0.25
"""Seconds of one such look that count at most."""

_LEAVE_TIMEOUT = 5.0
"""Seconds that a library gets for its orderly end."""

_RACE = "ThreadSanitizer: "
"""How the summary of a report begins that only the thread sanitizer makes."""

_START_STATES = {State.LOADING: "loading", State.INITIALISING: "aclInit", State.SETTING_DEVICE: "aclrtSetDevice"}


class StartFailed(Exception):
    """The library cannot be used: not loadable, or its start kills or stops the process. The message says what and
    why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How to start workers. Times in seconds. `pinned`: parent and worker share one processor."""

    executor: Path
    library: Path
    device: int = 0
    data_access: str = "auto"
    flavour: str = "plain"
    call_timeout: float = 5.0
    start_timeout: float = 120.0
    pinned: bool = False
    count_leaks: bool = False


@dataclass(frozen=True, slots=True)
class Death:
    """How a worker ended before its time: `code` as of `Popen`, None for one that was killed for standing still."""

    code: int | None
    status: Status
    summary: str

    @property
    def idle(self) -> bool:
        """Whether no program was running."""
        return self.status.state == State.IDLE

    @property
    def thread(self) -> int:
        """Number of the thread of a parallel block that it happened in, counted from 1: the one that a signal or an
        exit came in, otherwise the first that had not ended. 0 outside of such a block."""
        threads = self.status.threads
        if not threads:
            return 0
        unfinished = (number for number, thread in enumerate(threads, 1) if not thread.ended)
        return min(self.status.failed, len(threads)) or next(unfinished, 1)


class Worker:
    """A running executor. Start it with `start`, end it with `leave` or `kill`.

    The child dies with the thread that started it, so a worker belongs to a thread that lives on.
    """

    def __init__(self, setup: Setup, interface: Interface) -> None:
        self.setup = setup
        self.interface = interface
        self.capture = Capture()
        try:
            self.channel = Channel()
        except OSError as error:
            raise HarnessError(
                f"no shared memory for the executor ({error.strerror}); raise the limits of this shell (ulimit -a)"
            ) from error
        self.greeting = Greeting()
        self._pinned = False
        self._ended = False
        self._process: subprocess.Popen[bytes] | None = None

    # ----------------------------------------------------------------------------------------------------- start

    def start(self) -> Greeting:
        """Start the process and wait until the library is ready.

        Raises StartFailed when the library cannot be used, HarnessError when the executor itself does not start.
        """
        try:
            self._spawn()
            bell = self._await(self.setup.start_timeout)
            self.greeting = read_greeting(self.channel.reply(), self.interface)
            if bell != b"r":
                raise self._start_failure(bell)
        except BaseException:
            self.kill()
            raise
        return self.greeting

    def _spawn(self) -> None:
        setup, fds = self.setup, self.channel.child_descriptors
        memory, commands, replies = fds
        command = [*_runner(setup.flavour), str(setup.executor), "--library", str(setup.library)]
        command += ["--device", str(setup.device)]
        command += ["--data-access", setup.data_access, "--parent", str(os.getpid()), "--cpus", self._cpus()]
        command += ["--free-cpus", ",".join(map(str, sorted(PIN.free)))]
        command += ["--shm-fd", str(memory), "--cmd-fd", str(commands), "--reply-fd", str(replies)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self.capture.fd,
                stderr=self.capture.fd,
                pass_fds=fds,
                start_new_session=True,
                env=environment_of(setup),
            )
        except OSError as error:
            raise HarnessError(f"the executor {setup.executor} does not start: {error.strerror or error}") from error
        self.channel.child_started()

    def _cpus(self) -> str:
        if self.setup.pinned:
            self._pinned = True
            return str(PIN.hold())
        return ",".join(map(str, sorted(PIN.free)))

    def _start_failure(self, bell: bytes | None) -> Exception:
        state = State(min(self.channel.status().state, State.LEAVING))
        where = _START_STATES.get(state, "starting")
        if bell == b"x":
            return StartFailed(self.greeting.failure or f"{where} failed")
        if bell is None:
            return StartFailed(f"{where} did not return within {self.setup.start_timeout:g} s")
        code = self._reap()
        if not self.greeting.digest:
            said = [*self.capture.tail().strip().splitlines(), describe(code)][0]
            return HarnessError(f"the executor {self.setup.executor} does not start: {said}")
        return StartFailed(f"{where} ended the process: {describe(code)}")

    # -------------------------------------------------------------------------------------------------- programs

    def run(self, wires: Sequence[bytes]) -> tuple[list[bytes], Death | None]:
        """Answers to these programs, and how the worker died if it did; then the last answer is that program's, as far
        as it came, with its end. A worker that died idle answers nothing. Interrupted, it kills the worker first."""
        try:
            return self._run(wires)
        except BaseException:
            self.kill()
            raise

    def _run(self, wires: Sequence[bytes]) -> tuple[list[bytes], Death | None]:
        channel = self.channel
        channel.put(wires)
        bell = self._exchange()
        if bell == b"r":
            return channel.replies(len(wires)) if len(wires) > 1 else [channel.reply()], None
        death = self._death(bell)
        if death.idle:
            return [], death
        done = min(death.status.program, len(wires) - 1)
        whole = channel.replies(done) if done else []
        return [*whole, channel.rest(done) + self._end_of(death)], death

    def reached(self, answers: int, death: Death | None) -> list[Reached]:
        """What the programs of the last command have reached; nothing is known of one that ended the worker."""
        whole = answers if death is None else max(answers - 1, 0)
        return [*(self.channel.reached(whole) if whole else ()), *(Reached() for _ in range(answers - whole))]

    def check_leaks(self) -> bool | None:
        """Whether memory was lost since the last check; None when the worker died over it."""
        if not self.channel.ring(b"l"):
            return None
        bell = self._await(self.setup.start_timeout)
        return None if bell not in (b"l", b"L") else bell == b"L"

    def _exchange(self) -> bytes | None:
        """Ring and wait; the usual answer comes within microseconds, so it is asked for first."""
        if not self.channel.ring(b"r"):
            return b""
        bell = self.channel.wait(_SLICE)
        return bell if bell else self._await(self.setup.call_timeout)

    def _await(self, patience: float) -> bytes | None:
        """The bell; b'' when the worker is dead, None when it made no progress for `patience` seconds."""
        progress, waited, looked = self.channel.progress(), 0.0, time.monotonic()
        while True:
            bell = self.channel.wait(_SLICE)
            if bell is not None:
                return bell
            # A look that took much longer was held up itself, as with the whole machine: the worker had no chance.
            now = time.monotonic()
            waited, looked = waited + min(now - looked, _HELD_UP), now
            self.capture.trim()
            if self._process is None or self._process.poll() is not None:
                return self.channel.wait(0) or b""
            if self.channel.progress() != progress:
                progress, waited = self.channel.progress(), 0.0
            elif waited > patience:
                return None

    def _death(self, bell: bytes | None) -> Death:
        status = self.channel.status()
        if bell is None:
            self.kill()
            return Death(None, status, "")
        code = self._reap()
        self.kill()
        return Death(code, self.channel.status(), _sanitizer_summary(self.capture.tail()))

    def _reap(self) -> int | None:
        """The exit status of a process that has closed its pipe; killed when it lives on without it."""
        if self._process is None:
            return None
        try:
            return self._process.wait(_LEAVE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _end_of(self, death: Death) -> bytes:
        status = death.status
        where = status.threads[death.thread - 1] if death.thread and not status.failed else status
        depth = min(where.depth, layout.MAX_LOOPS)
        code, detail = self.verdict(death)
        if death.thread:
            detail += f" (thread {death.thread} of {len(status.threads)})"
        return encode_end(
            code,
            detail,
            step=where.step & 0xFFFF_FFFF,
            loops=status.loops[:depth],
            phase=where.phase & 0xFF,
            function=where.function & 0xFFFF,
        )

    def verdict(self, death: Death) -> tuple[EndCode, str]:
        """How a program ended that took its worker along: the ending and its detail."""
        if death.code is None and death.status.signal:  # it stood still in what was left to do after the crash
            return EndCode.CRASH, signal_name(death.status.signal)
        if death.code is None:
            return EndCode.TIMEOUT, f"no progress for {self.setup.call_timeout:g} s"
        if death.code >= 0:
            return EndCode.EXIT, str(death.code)
        if death.summary.startswith(_RACE):
            return EndCode.RACE, death.summary
        detail = signal_name(-death.code)
        if death.status.guard and death.status.signal == -death.code:
            detail += f" at the {guard_name(self.interface, death.status.guard)}"
        return EndCode.CRASH, f"{detail}: {death.summary}" if death.summary else detail

    # ------------------------------------------------------------------------------------------------------- end

    def leave(self) -> None:
        """End in order: the library's own last calls are made; killed when they take too long."""
        if self._process is not None and self._process.poll() is None and self.channel.ring(b"q"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE_TIMEOUT)
        self.kill()

    @property
    def pid(self) -> int | None:
        """Its process, None before it is started."""
        return None if self._process is None else self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it was ended from here; it takes no further programs."""
        return self._ended

    def kill(self) -> None:
        """End at once, with every process that the library started in the worker's session."""
        process = self._process
        if process is not None and not self._ended:
            self._ended = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._pinned:
            self._pinned = False
            PIN.let_go()

    def close(self) -> None:
        """Give back memory and pipes; after `leave` or `kill`."""
        self.channel.close()
        self.capture.close()


def describe(code: int | None) -> str:
    """An exit status in words."""
    if code is None:
        return "it was killed"
    return signal_name(-code) if code < 0 else f"exit status {code}"


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _runner(flavour: str) -> list[str]:
    """What starts the executor: TSan of older compilers refuses address spaces that are randomised too widely."""
    widest = 28
    bits = Path("/proc/sys/vm/mmap_rnd_bits")
    tool = shutil.which("setarch")
    if flavour != "tsan" or tool is None or not bits.is_file() or int(bits.read_text()) <= widest:
        return []
    return [tool, "-R"]


def _sanitizer_summary(text: str) -> str:
    for line in text.splitlines():
        if line.startswith("SUMMARY: "):
            return line.removeprefix("SUMMARY: ").strip()
    for line in text.splitlines():
        if "runtime error:" in line:
            return line.strip()
    return ""


def environment_of(setup: Setup) -> dict[str, str]:
    """The child's environment: ours, with the sanitizers told to stop at the first fault and to be quick about it."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if setup.flavour in ("asan", "cover"):
        leaks = "detect_leaks=1:leak_check_at_exit=0" if setup.count_leaks else "detect_leaks=0"
        environment["ASAN_OPTIONS"] = (
            f"allocator_may_return_null=1:symbolize=0:abort_on_error=1:use_sigaltstack=0:{leaks}"
        )
        environment["UBSAN_OPTIONS"] = "halt_on_error=1:abort_on_error=1:print_stacktrace=0:symbolize=0"
    elif setup.flavour == "tsan":
        environment["TSAN_OPTIONS"] = "halt_on_error=1:abort_on_error=1:symbolize=0:report_signal_unsafe=0"
    return environment
