"""The executor inside of this very process, for engines that guide themselves by what a library there does.

The library may take the process along: only a process that somebody watches, and starts again, opens one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.core_backend import FOLDER
from acl_cts.backends.native.build import LIBRARY, build_library, compile_c, flavour_flags
from acl_cts.backends.native.channel import Channel
from acl_cts.backends.native.clang import FUZZER_NO_LINK, Clang
from acl_cts.backends.native.counters import Counters
from acl_cts.backends.native.decode import Decoder
from acl_cts.backends.native.greeting import capabilities, read_greeting
from acl_cts.backends.native.render import kept_executor
from acl_cts.backends.native.slots import Malformed, TooLarge
from acl_cts.backends.native.wire import lower
from acl_cts.specs.interface import Interface
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Capability, End, Ending, Trace

FLAVOUR = "cover"
"""Of the executor: it tells nothing itself, and knows that the library is instrumented."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """What is loaded: the executor as a library, the library under test, and how to reach its data areas."""

    executor: Path
    library: Path
    device: int = 0
    data_access: str = "auto"


def build_embedded(interface: Interface, clang: Clang) -> Path:
    """The executor as a library. Raises HarnessError when it does not compile."""
    flags = (*LIBRARY, *flavour_flags(FLAVOUR), *clang.flags, "-DEMBEDDED", "-fvisibility=hidden", "-w")
    source = {"executor.c": kept_executor(interface, FLAVOUR)}
    return compile_c("libaclcts_executor.so", source, flags, ("-ldl",), clang.command)


def build_native_core(clang: Clang, defines: Sequence[str] = ()) -> Path:
    """The core with inline counters, under the address and undefined-behaviour sanitizers; `defines` as for the core
    elsewhere."""
    folders = (FOLDER / "include", FOLDER / "src")
    counting = (FUZZER_NO_LINK, *clang.flags)
    return build_library("libaclcts_core.so", folders, FLAVOUR, defines, clang.command, counting)


class Embedded:
    """A library in this process. There can be one for each process."""

    def __init__(self, embedding: Embedding, interface: Interface, memory_fd: int) -> None:
        """`memory_fd`: of the channel through which somebody else watches. Raises HarnessError; a library that cannot
        be used ends the process."""
        self._interface = interface
        self._decoder = Decoder(interface)
        self._channel = Channel(memory_fd)
        words = ["executor", "--library", str(embedding.library), "--device", str(embedding.device)]
        words += ["--data-access", embedding.data_access, "--shm-fd", str(memory_fd)]
        fds = self._channel.child_descriptors
        words += ["--cmd-fd", str(fds[1]), "--reply-fd", str(fds[2])]
        encoded = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        self._words = encoded  # the executor keeps pointers into them
        self._executor = ctypes.PyDLL(str(embedding.executor))
        self._executor.acl_cts_open.restype = None
        self._executor.acl_cts_open(len(words), encoded)
        self._run = self._executor.acl_cts_run
        self._run.restype = None
        greeting = read_greeting(self._channel.reply(), interface)
        self._pointers = greeting.pointers
        self.missing = greeting.missing
        self.capabilities: frozenset[Capability] = capabilities(greeting)
        self.counters = Counters(embedding.library)

    def run(self, program: Program) -> Trace:
        """Execute `program`. Whatever it does to the process happens."""
        try:
            lowered = lower(program, self._interface)
        except Malformed as error:
            return Trace((), Ending(End.ERROR, detail=str(error)), capabilities=self.capabilities)
        except TooLarge as error:
            return Trace((), Ending(End.UNSUPPORTED, detail=str(error)), capabilities=self.capabilities)
        lacking = next((need for need in lowered.needs if need not in self.capabilities), "")
        lacking = lacking or next((name for name in sorted(lowered.functions) if name in self.missing), "")
        if lacking:
            return Trace((), Ending(End.UNSUPPORTED, detail=lacking), capabilities=self.capabilities)
        self._channel.put((lowered.wire,))
        self._run()
        try:
            return self._decoder.decode(self._channel.reply(), self._pointers, self.capabilities, "")
        except ValueError as error:
            raise HarnessError(f"the executor in the process answers what cannot be read: {error}") from error
