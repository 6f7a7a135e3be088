"""The channel to an executor: shared memory for commands and replies, pipes to ring at."""

from __future__ import annotations

import mmap
import os
import select
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from acl_cts.backends.native import layout

_STATUS = struct.Struct(f"<{len(layout.STATUS)}Q")
_THREAD = struct.Struct(f"<{len(layout.WHERE) + 1}Q")
_THREADS_AT = layout.STATUS_AT + _STATUS.size
_PROGRESS_AT = layout.STATUS_AT + 8 * layout.STATUS.index("progress")
_REPLY_END_AT = layout.STATUS_AT + 8 * layout.STATUS.index("reply_end")
_WORD = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """Where one thread of a parallel block was."""

    progress: int
    step: int
    phase: int
    function: int
    depth: int
    ended: int


@dataclass(frozen=True, slots=True)
class Status:
    """Where the executor was; readable after its death. `threads`: those of the block that was running."""

    step: int
    phase: int
    function: int
    depth: int
    state: int
    program: int
    reply_end: int
    signal: int
    address: int
    guard: int
    access: int
    failed: int
    loops: tuple[int, ...]
    threads: tuple[ThreadStatus, ...]
    frames: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reached:
    """What one program has reached in an instrumented library. `new`: edges that no program before it had, each with
    its bucket of hits; `touched`: how many edges in all."""

    new: tuple[int, ...] = ()
    touched: int = 0


class Channel:
    """Owns one memory file and two pipes; the child's ends are handed over by `child_descriptors`. Made of the memory
    file of another process's channel, it reads and writes what that one does."""

    def __init__(self, memory_fd: int = -1) -> None:
        self.memory_fd = os.memfd_create("acl-cts-channel", os.MFD_CLOEXEC) if memory_fd < 0 else memory_fd
        if memory_fd < 0:
            os.ftruncate(self.memory_fd, layout.SHARED_SIZE)
        self.memory = mmap.mmap(self.memory_fd, layout.SHARED_SIZE)
        self._command_read, self._command_write = os.pipe2(os.O_CLOEXEC)
        self._reply_read, self._reply_write = os.pipe2(os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._reply_read, select.POLLIN)

    @property
    def child_descriptors(self) -> tuple[int, int, int]:
        """Memory, command pipe, reply pipe: what the child inherits."""
        return self.memory_fd, self._command_read, self._reply_write

    def child_started(self) -> None:
        """Close the child's ends here, so that its death shows as the end of the reply pipe."""
        os.close(self._command_read)
        os.close(self._reply_write)
        self._command_read = self._reply_write = -1

    def forget(self) -> None:
        """Nothing was answered, and nobody is at anything: somebody new begins on the other side."""
        self.memory[layout.STATUS_AT : layout.STATUS_AT + layout.STATUS_SIZE] = bytes(layout.STATUS_SIZE)

    def put(self, wires: Sequence[bytes]) -> None:
        """Place a command of these programs. Raises ValueError when it is too long."""
        command = wires[0] if len(wires) == 1 else b"".join(wires)
        start = layout.COMMAND_AT + 8
        if len(command) + 8 > layout.COMMAND_SIZE or len(wires) > layout.MAX_BATCH:
            raise ValueError(f"{len(wires)} programs of {len(command)} bytes are too many for one command")
        _WORD.pack_into(self.memory, layout.COMMAND_AT, len(wires))
        self.memory[start : start + len(command)] = command

    def ring(self, bell: bytes) -> bool:
        """Wake the executor; False when it is gone."""
        try:
            os.write(self._command_write, bell)
        except BrokenPipeError:
            return False
        return True

    def wait(self, milliseconds: int) -> bytes | None:
        """The executor's bell; b'' when it is gone, None when nothing came in time."""
        if not self._poll.poll(milliseconds):
            return None
        return os.read(self._reply_read, 1)

    def progress(self) -> int:
        """A number that grows while the executor gets on."""
        places = (_PROGRESS_AT, *(_THREADS_AT + k * _THREAD.size for k in range(layout.MAX_THREADS)))
        return sum(int(_WORD.unpack_from(self.memory, place)[0]) for place in places)

    def status(self) -> Status:
        """Everything on the status page."""
        values = dict(zip(layout.STATUS, _STATUS.unpack_from(self.memory, layout.STATUS_AT), strict=True))
        del values["progress"]
        loops = tuple(values.pop(f"loop{k}") for k in range(layout.MAX_LOOPS))
        frames = tuple(values.pop(f"frame{k}") for k in range(layout.FRAMES))
        running = range(min(values.pop("threads"), layout.MAX_THREADS))
        threads = (_THREAD.unpack_from(self.memory, _THREADS_AT + k * _THREAD.size) for k in running)
        return Status(
            **values,
            loops=loops,
            threads=tuple(ThreadStatus(*words) for words in threads),
            frames=tuple(frame for frame in frames if frame),
        )

    def reply(self) -> bytes:
        """All that was answered so far."""
        end = _WORD.unpack_from(self.memory, _REPLY_END_AT)[0]
        return self.memory[layout.REPLY_AT : self._inside(end)]

    def replies(self, count: int) -> list[bytes]:
        """The answers to the first `count` programs of the command, each whole."""
        ends = struct.unpack_from(f"<{count}Q", self.memory, layout.ENDS_AT)
        whole = self.memory[layout.REPLY_AT : self._inside(ends[-1])]
        places = [0, *(end - layout.REPLY_AT for end in ends)]
        return [whole[a:b] for a, b in pairwise(places)]

    def rest(self, count: int) -> bytes:
        """What was answered behind the first `count` whole answers."""
        start = layout.REPLY_AT
        if count:
            start = _WORD.unpack_from(self.memory, layout.ENDS_AT + 8 * (count - 1))[0]
        end = _WORD.unpack_from(self.memory, _REPLY_END_AT)[0]
        return self.memory[start : self._inside(end)]

    @property
    def seen(self) -> bytes:
        """The edges that programs have reached so far, as a map to `recall` in another channel."""
        return self.memory[layout.COVER_SEEN_AT : layout.COVER_SEEN_AT + layout.COVER_EDGES]

    def recall(self, seen: bytes) -> None:
        """Let these edges count as reached before."""
        self.memory[layout.COVER_SEEN_AT : layout.COVER_SEEN_AT + layout.COVER_EDGES] = seen

    def reached(self, count: int) -> list[Reached]:
        """What the first `count` programs of the command, each ended, have reached."""
        words = struct.unpack_from(f"<{2 * count}Q", self.memory, layout.COVER_ENDS_AT)
        ends = [0, *(min(end, layout.COVER_LISTED) for end in words[::2])]
        listed = struct.unpack_from(f"<{max(ends)}I", self.memory, layout.COVER_LIST_AT)
        return [Reached(listed[a:b], touched) for (a, b), touched in zip(pairwise(ends), words[1::2], strict=True)]

    @staticmethod
    def _inside(end: int) -> int:
        """A library that writes wildly may have hit the status page: never read beyond the replies."""
        return min(max(end, layout.REPLY_AT), layout.REPLY_AT + layout.REPLY_SIZE)

    def close(self) -> None:
        """Give everything back."""
        for fd in (self.memory_fd, self._command_read, self._command_write, self._reply_read, self._reply_write):
            if fd >= 0:
                os.close(fd)
        self.memory.close()
