"""The state of a simulated process: what lives in the library, and the code that can be called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acl_cts.backends.simulator.buffer import Area, Buffer
from acl_cts.backends.simulator.descriptor import Descriptor, Registration
from acl_cts.backends.simulator.memory import Arena, Fault, Heap, Memory
from acl_cts.backends.simulator.profile import Profile

HOST = 0x5581_2000_0000
"""Where handles and other inner blocks lie."""

DEVICE = 0x1240_0000_0000
"""Where data areas lie."""

BUFFER_BYTES = 176
LINK_BYTES = 32
DESCRIPTOR_BYTES = 72
REGISTRATION_BYTES = 48
STREAM_BYTES = 400

ZERO = bytes(1)
USED = bytes((0x9E + 29 * k) & 0xFF for k in range(251))
"""What memory looks like that nobody cleared."""

Reached = tuple[str, int, tuple[int, ...], int | None]
"""A built-in callback that was called: C type, number, arguments, result (None for void)."""


@dataclass(frozen=True, slots=True)
class Code:
    """Something that can be called: `takes` integer arguments, gives an integer, or None for void."""

    run: Callable[..., int | None]
    takes: int


class Process:
    """A process with the library in it. Functions of the library take it as their first argument."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.memory = Memory()
        self.heap = Heap()
        self._host = Arena(HOST, reuse=profile.handle_reuse)
        self._device = Arena(DEVICE if profile.data_aligned else DEVICE + 4, reuse=True)
        self.buffers: dict[int, Buffer] = {}
        self.descriptors: dict[int, Descriptor] = {}
        self.streams: set[int] = set()
        self.registrations: dict[int, Registration] = {}
        self.last_stream = 0
        self.private_relics: dict[int, bytes] = {}
        self.executables: dict[int, Code] = {}
        self.kinds: dict[int, str] = {}
        self.reached: list[Reached] = []
        self.hooks = False
        self.inside_hook = False
        self.inside_callback = False
        self.default_advise = 0
        self._area_bytes = 0
        self._before: dict[int, int] = {}
        self._bytes_before = 0

    def begin_program(self) -> None:
        """What the executor arranged for the previous program ends, and the floor under resources counts anew."""
        self.heap.arm(0)
        self.hooks = False
        # A program has the same trace whatever ran before it: bytes of an earlier one, which no trace tells of, could
        # be taken for something else.
        self.private_relics.clear()
        self._before = {id(t): len(t) for t in (self.buffers, self.descriptors, self.streams)}
        self._bytes_before = self._area_bytes

    # ---------------------------------------------------------------------------------------------- resources

    def exhausted(self, objects: dict[int, Buffer] | dict[int, Descriptor] | set[int], size: int = 0) -> bool:
        """Whether the profile has no more room beside the live `objects`, for `size` bytes if it is a data area."""
        profile = self.profile
        if profile.most_objects is not None and len(objects) - self._before.get(id(objects), 0) > profile.most_objects:
            return True
        if profile.most_bytes is not None and self._area_bytes - self._bytes_before > profile.most_bytes:
            return True
        return profile.largest_area is not None and size > profile.largest_area

    def allocate(self, size: int) -> int | None:
        """Address of a new inner block of the library, or None when the allocation fails."""
        return self.heap.allocate(self._host, size)

    def release(self, address: int, size: int) -> None:
        """Free a block that `allocate` gave."""
        self.heap.release(self._host, address, size)

    def allocate_area(self, size: int) -> Area | None:
        """A new data area with fresh content, or None when the allocation fails."""
        address = self.heap.allocate(self._device, size)
        if address is None:
            return None
        self.memory.map(address, size, ZERO if self.profile.fresh_data_zero else USED)
        self._area_bytes += size
        return Area(address, size)

    def release_area(self, area: Area) -> None:
        """Free a data area, its content with it."""
        self.memory.unmap(area.address)
        self._area_bytes -= area.size
        self.heap.release(self._device, area.address, area.size)

    # ---------------------------------------------------------------------------------------------------- code

    def execute(self, address: int, *args: int) -> int | None:
        """Call the code at `address`. Raises Fault when there is none that takes these arguments."""
        code = self.executables.get(address)
        if code is None or code.takes != len(args):
            raise Fault(f"no code for {len(args)} arguments at {address:#x}")
        return code.run(*args)

    def kind(self, raw: int) -> str:
        """What is known of the pointer `raw`, as traces name it."""
        return self.kinds.get(raw, "other")
