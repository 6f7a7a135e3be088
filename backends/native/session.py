"""Sessions of the native executor: programs in, traces out, a new worker after whatever the library did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from acl_cts.backends.backend import BackendError, HarnessError, Identity, Options
from acl_cts.backends.native import layout
from acl_cts.backends.native.build import build_executor
from acl_cts.backends.native.channel import Reached
from acl_cts.backends.native.clang import find_clang
from acl_cts.backends.native.counters import counts
from acl_cts.backends.native.decode import Decoder, encode_end
from acl_cts.backends.native.elf import build_id, file_digest
from acl_cts.backends.native.greeting import Greeting, capabilities
from acl_cts.backends.native.layout import Access
from acl_cts.backends.native.prebuilt import fitting
from acl_cts.backends.native.render import interface_digest, kept_executor
from acl_cts.backends.native.slots import Malformed, TooLarge
from acl_cts.backends.native.symbols import Symbols
from acl_cts.backends.native.wire import Lowered, lower
from acl_cts.backends.native.worker import Death, Setup, StartFailed, Worker
from acl_cts.specs.interface import Interface
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability, End, Ending, LiveRecord, Trace

DATA_ACCESS = ("auto", "direct", "copy")


RECENT = 8192
"""Lowered programs that are kept: more than there are cases, as these are put to one library after another."""


class _Kept(NamedTuple):
    """A program that was lowered; it is kept with it, so that no other one gets its identity."""

    program: Program
    interface: Interface
    lowered: Lowered


_RECENT: dict[int, _Kept] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """What a session opens: under which backend's name, which library; `pinned` for libraries built here."""

    backend: str
    library: Path
    pinned: bool = False
    count_leaks: bool = False


@dataclass(frozen=True, slots=True)
class Guided:
    """The answer to a program, and what the program has reached. `frames`: of one that ended the process, the innermost
    functions of the library that were being executed."""

    trace: Trace
    reached: Reached
    frames: tuple[str, ...] = ()


class NativeSession:
    """A library in a worker process."""

    def __init__(self, place: Place, interface: Interface, options: Options) -> None:
        """Start the first worker. Raises BackendError when the library cannot be used, HarnessError without an
        executor."""
        if options.data_access not in DATA_ACCESS:
            known = ", ".join(DATA_ACCESS)
            raise BackendError(f"{place.backend}: no data access {options.data_access!r}; use one of {known}")
        self._place = place
        self._interface = interface
        self._digest = interface_digest(interface)
        self._decoder = Decoder(interface)
        executor, flavour = find_executor(interface, options)
        self._prebuilt = bool(options.executor)
        self._setup = Setup(
            executor=executor,
            library=place.library,
            device=options.device,
            data_access=options.data_access,
            flavour=flavour,
            call_timeout=options.call_timeout,
            start_timeout=options.start_timeout,
            pinned=place.pinned,
            count_leaks=place.count_leaks,
        )
        self._startups = 0
        self._closed = False
        self._access = ""
        self._seen = b""
        self._symbols: Symbols | None = None
        self._worker: Worker | None = None
        try:
            self._greeting = self._start().greeting
            self._check(self._greeting, options)
            self._try_leak_check()
            self._sha256 = file_digest(place.library)
            self._build_id = build_id(place.library)
        except StartFailed as error:
            why = f"{error}{_flavour_wanted(place, options.flavour)}"
            raise BackendError(f"{place.backend}: {place.library} cannot be used: {why}") from error
        except BaseException:
            self.close()
            raise
        self._capabilities = capabilities(self._greeting)
        if options.thread_safe:
            self._capabilities |= {Capability.THREAD_SAFE}

    def _try_leak_check(self) -> None:
        """Do without leak checks where the worker dies over one, as where processes may not look into each other."""
        if self._setup.count_leaks and self._live().check_leaks() is None:
            self._dispose(self._live())
            self._setup = replace(self._setup, count_leaks=False)

    def _check(self, greeting: Greeting, options: Options) -> None:
        name, library = self._place.backend, self._place.library
        if greeting.digest != self._digest:
            raise HarnessError(
                f"{name}: the executor {self._setup.executor} is not the one that was asked; build it anew"
            )
        judged = {f.name for f in self._interface.functions.values() if not f.auxiliary}
        if judged <= greeting.missing:
            raise BackendError(f"{name}: {library} exports none of the {len(judged)} functions; pass another library")
        if options.data_access == "copy" and not greeting.copy:
            raise BackendError(f"{name}: {library} exports no aclrtMemcpy; use --data-access direct")

    # ------------------------------------------------------------------------------------------------- what it is

    @property
    def identity(self) -> Identity:
        """Who answers here."""
        details = {"flavour": self._greeting.flavour, "data access": self._access_name()}
        if self._place.count_leaks:
            details["lost memory"] = "looked for" if self._setup.count_leaks else "not checked: not allowed here"
        if self._greeting.version:
            details["version"] = self._greeting.version
        if self._greeting.soc:
            details["soc"] = self._greeting.soc
        if self._greeting.refusals:
            details["warning"] = f"{'; '.join(self._greeting.refusals)}; a missing device looks like that"
        return Identity(self._place.backend, str(self._place.library), self._sha256, self._build_id, details)

    def _access_name(self) -> str:
        """How data areas are reached: as asked for, or as the worker chose at the first one."""
        if self._worker is not None:
            self._note_access(self._worker)
        return self._access or self._setup.data_access

    def _note_access(self, worker: Worker) -> None:
        access = worker.channel.status().access
        if access in (Access.DIRECT, Access.COPY):
            self._access = Access(access).name.lower()

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the library and the executor can do."""
        return self._capabilities

    @property
    def missing(self) -> frozenset[str]:
        """Functions of the interface that the library does not export."""
        return self._greeting.missing

    @property
    def setup(self) -> Setup:
        """How its workers are started."""
        return self._setup

    @property
    def prebuilt(self) -> bool:
        """Whether the executor was built elsewhere, perhaps for another machine."""
        return self._prebuilt

    @property
    def interface(self) -> Interface:
        """The interface that programs are lowered for."""
        return self._interface

    @property
    def startups(self) -> int:
        """Workers started so far."""
        return self._startups

    @property
    def pid(self) -> int | None:
        """Process of the worker, None while there is none."""
        return None if self._worker is None else self._worker.pid

    # --------------------------------------------------------------------------------------------------- programs

    def run(self, program: Program, *, solo: bool = False) -> Trace:
        """Execute `program`; with `solo` in a process of its own. Raises HarnessError for faults of the suite, and
        BackendError when the library does not start any more, as after the loss of its device."""
        try:
            lowered = self._lowered(program)
        except Malformed as error:
            return self._unexecuted(End.ERROR, str(error))
        except TooLarge as error:
            return self._unexecuted(End.UNSUPPORTED, str(error))
        lacking = self.lacking(lowered)
        if lacking:
            return self._unexecuted(End.UNSUPPORTED, lacking)
        if solo:
            self.restart()
        worker = self._live()
        worker.capture.mark()
        replies, death = worker.run((lowered.wire,))
        output = worker.capture.since_mark()
        if death is not None:
            replies = self._bury(worker, replies, death)
        trace = self._decode(replies[0], worker, output)
        # A leak checker tells of lost memory again and again: the next program must not start with it.
        if solo or any(isinstance(record, LiveRecord) and record.lost for record in trace.records):
            self.restart()
        return trace

    def lower(self, program: Program) -> Lowered:
        """`program` for `run_raw` and `run_batch`. Raises Malformed or TooLarge."""
        return lower(program, self._interface)

    def _lowered(self, program: Program) -> Lowered:
        """As `lower`, done once for a program that is put to one library after another."""
        kept = _RECENT.get(id(program))
        if kept is not None and kept.program is program and kept.interface is self._interface:
            return kept.lowered
        lowered = lower(program, self._interface)
        if len(_RECENT) >= RECENT:
            _RECENT.clear()
        _RECENT[id(program)] = _Kept(program, self._interface, lowered)
        return lowered

    def lacking(self, lowered: Lowered) -> str:
        """What a lowered program needs and this backend has not, '' when it can run."""
        for need in lowered.needs:
            if need not in self._capabilities:
                return need
        known = self._interface.functions.keys() - self.missing
        return next((f for f in sorted(lowered.functions) if f not in known), "")

    def run_raw(self, wire: bytes) -> bytes:
        """Execute one lowered program; its reply as it came. Raises HarnessError as `run_batch` does."""
        if self._worker is None or self._worker.ended:
            return self.run_batch((wire,))[0]
        replies, death = self._worker.run((wire,))
        if death is None:
            return replies[0]
        return self._bury(self._worker, replies, death)[0]

    def run_batch(self, wires: Sequence[bytes]) -> list[bytes]:
        """Execute lowered programs with few commands; one reply each, whatever happens to the worker in between.

        Raises BackendError when the library does not start any more.
        """
        answers: list[bytes] = []
        while len(answers) < len(wires):
            worker = self._live()
            replies, death = worker.run(_portion(wires, len(answers)))
            answers += replies if death is None else self._bury(worker, replies, death)
        return answers

    def run_guided(self, wires: Sequence[bytes]) -> list[Guided]:
        """As `run_batch`, with what each program has reached in a library that tells of its blocks."""
        answers: list[Guided] = []
        while len(answers) < len(wires):
            worker = self._live()
            worker.capture.mark()
            replies, death = worker.run(_portion(wires, len(answers)))
            reached = worker.reached(len(replies), death)
            frames: tuple[str, ...] = ()
            if death is not None:
                frames = self._names(death)
                replies, reached = self._bury(worker, replies, death), reached or [Reached()]
            # Where the built-in callbacks lie differs from worker to worker, so each answer is read by its own.
            traces = [self._decode(reply, worker, "") for reply in replies]
            answers += [Guided(trace, each) for trace, each in zip(traces, reached, strict=True)]
            if frames:
                answers[-1] = replace(answers[-1], frames=frames)
        return answers

    @property
    def seen(self) -> bytes:
        """The edges that were reached so far, for `recall`."""
        return self._seen if self._worker is None else self._worker.channel.seen

    def recall(self, seen: bytes = b"") -> None:
        """Go on with a new worker, and let only these edges count as reached before; none without an argument."""
        self.restart()
        self._seen = seen

    def _names(self, death: Death) -> tuple[str, ...]:
        """The innermost functions of the library in which the worker died."""
        if not death.status.frames:
            return ()
        if self._symbols is None:
            self._symbols = Symbols.of(self._place.library)
        return tuple(self._symbols.name(frame) for frame in death.status.frames)

    def decode(self, reply: bytes) -> Trace:
        """The trace of a raw reply."""
        return self._decode(reply, self._worker, "")

    @property
    def watches_leaks(self) -> bool:
        """Whether `check_leaks` can be asked."""
        return self._setup.count_leaks

    def check_leaks(self) -> bool:
        """Whether the library lost memory since the last check; needs the asan flavour. Raises HarnessError when that
        cannot be found out."""
        if not self._setup.count_leaks:
            raise HarnessError(f"{self._place.backend}: the session was not opened for leak checks")
        lost = self._live().check_leaks()
        if lost is None:
            self.restart()
            raise HarnessError(f"{self._place.backend}: the worker died over a leak check")
        return lost

    def _decode(self, reply: bytes, worker: Worker | None, output: str) -> Trace:
        known = (worker.greeting if worker is not None else self._greeting).pointers
        try:
            return self._decoder.decode(reply, known, self._capabilities, output)
        except ValueError as error:
            return self._unexecuted(End.ERROR, str(error))

    def _unexecuted(self, kind: End, detail: str) -> Trace:
        return Trace((), Ending(kind, detail=detail), capabilities=self._capabilities)

    def _bury(self, worker: Worker, replies: list[bytes], death: Death) -> list[bytes]:
        """Dispose of a dead worker; its replies, the last one with its end. One that died between programs is found out
        by the next program, which then is not to blame."""
        self._dispose(worker)
        if replies:
            return replies
        code, detail = worker.verdict(death)
        return [encode_end(code, f"{detail} before the program started")]

    # ---------------------------------------------------------------------------------------------------- workers

    def _start(self) -> Worker:
        worker = Worker(self._setup, self._interface)
        try:
            if self._seen:
                worker.channel.recall(self._seen)
            worker.start()
        except BaseException:
            worker.close()
            raise
        refusals = worker.greeting.refusals
        if refusals and self._startups and not self._greeting.refusals:
            # What worked at first and does not any more is no answer of a conforming library to judge.
            worker.kill()
            worker.close()
            raise StartFailed("; ".join(refusals))
        self._startups += 1
        self._worker = worker
        return worker

    def _live(self) -> Worker:
        if self._closed:
            raise HarnessError(f"{self._place.backend}: the session is closed")
        if self._worker is not None and self._worker.ended:
            self._dispose(self._worker)
        if self._worker is not None:
            return self._worker
        try:
            return self._start()
        except StartFailed as error:
            library = self._place.library
            raise BackendError(f"{self._place.backend}: {library} does not start any more: {error}") from error

    def _dispose(self, worker: Worker) -> None:
        self._note_access(worker)
        self._worker = None
        if self._setup.flavour == "cover" or self._seen:
            self._seen = worker.channel.seen
        worker.kill()
        worker.close()

    def restart(self) -> None:
        """Throw the worker away; the next program meets a new process."""
        if self._worker is not None:
            worker = self._worker
            worker.leave()
            self._dispose(worker)

    def close(self) -> None:
        """End the worker; further calls are not allowed."""
        self.restart()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _portion(wires: Sequence[bytes], start: int) -> Sequence[bytes]:
    """As many programs from `start` on as fit into one command."""
    portion = wires[start : start + layout.MAX_BATCH]
    while len(portion) > 1 and sum(map(len, portion)) > layout.COMMAND_SIZE - 8:
        portion = portion[: len(portion) // 2]
    return portion


def _flavour_wanted(place: Place, flavour: str) -> str:
    """What to say of a library that was built for an executor of another flavour, '' for others."""
    try:
        data = Path(place.library).read_bytes()
    except OSError:
        return ""
    wanted = "cover" if b"__sanitizer_cov_" in data else "asan"
    if flavour != "plain" or not (b"__asan_init" in data or wanted == "cover"):
        return ""
    return f"; it was built with a sanitizer or hooks for coverage: use --backend {place.backend}:{wanted}"


def find_executor(interface: Interface, options: Options) -> tuple[Path, str]:
    """The executor to use, and its flavour: the prebuilt one of the options, otherwise built here.

    Raises BackendError for one that does not fit, HarnessError when nothing can be built.
    """
    if not options.executor:
        source = kept_executor(interface, options.flavour)
        return build_executor(source, options.flavour, _compiler(options)), options.flavour
    path = Path(options.executor).resolve()
    return path, fitting(path, interface, options.flavour).flavour


def _compiler(options: Options) -> str:
    """The compiler of the executor, '' for the usual one: what clang has instrumented wants clang's runtime."""
    path = Path(options.library)
    inline = options.flavour == "cover" and path.is_file() and counts(path)
    return find_clang().command if inline else ""
