"""A peer of `acl-cts fuzz`: what a tester would write by hand with Hypothesis and ctypes, boundary values and model
included.

    python benchmarks/state_machine_peer.py LIBRARY SEED SECONDS

Prints `found` with what failed first, or `missed`, and how many programs were executed; run by `fuzzing.py`.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import time
from ctypes import byref, c_int32, c_size_t, c_uint32, c_void_p, create_string_buffer
from dataclasses import dataclass, field
from typing import Any, NoReturn

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule, run_state_machine_as_test

PRIVATE, CHAIN, LIMIT = 96, 128, 2**32
SIZES = st.one_of(
    st.sampled_from([1, 2, 63, 64, 255, 256, 4095, 4096, 65535, 65536, LIMIT + 1, 2**63, 2**64 - 64, 2**64 - 1]),
    st.integers(1, 65536),
)
PARTS = st.one_of(
    st.sampled_from([1, 8, PRIVATE - 1, PRIVATE, PRIVATE + 1, 255, 256, 2**16, 2**32, 2**64 - 8, 2**64 - 1]),
    st.integers(1, PRIVATE),
)
OFFSETS = st.one_of(
    st.sampled_from([0, 1, 88, 95, 96, 97, 2**16, 2**32, 2**63, 2**64 - 8, 2**64 - 1]), st.integers(0, PRIVATE)
)
SENTINEL = 0xA5A5A5A5
SLOTS = ("Obj", "AllocFunc", "FreeFunc", "GetAddrFromBlockFunc")
FUNCTION = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)
CALLBACKS = [FUNCTION(lambda allocator, size: None) for _ in range(3)]


@dataclass(eq=False)
class Buf:
    """A buffer as the documents describe it."""

    handle: int
    size: int
    length: int | None = 0
    private: dict[int, int] = field(default_factory=dict)
    located: bool = False
    shared: bool = False
    chain: list[Buf] = field(default_factory=list)
    head: Buf | None = None
    alive: bool = True


def library(path: str) -> ctypes.CDLL:
    """The library with the prototypes that need saying."""
    lib = ctypes.CDLL(path)
    out, size = ctypes.POINTER(c_void_p), ctypes.POINTER(c_size_t)
    lib.aclrtAllocBuf.argtypes = [out, c_size_t]
    lib.aclrtFreeBuf.argtypes = [c_void_p]
    lib.aclrtGetBufData.argtypes = [c_void_p, out, size]
    lib.aclrtSetBufDataLen.argtypes = [c_void_p, c_size_t]
    lib.aclrtGetBufDataLen.argtypes = [c_void_p, size]
    lib.aclrtSetBufUserData.argtypes = [c_void_p, c_void_p, c_size_t, c_size_t]
    lib.aclrtGetBufUserData.argtypes = [c_void_p, c_void_p, c_size_t, c_size_t]
    lib.aclrtCopyBufRef.argtypes = [c_void_p, out]
    lib.aclrtAppendBufChain.argtypes = [c_void_p, c_void_p]
    lib.aclrtGetBufFromChain.argtypes = [c_void_p, c_uint32, out]
    lib.aclrtGetBufChainNum.argtypes = [c_void_p, ctypes.POINTER(c_uint32)]
    lib.aclrtAllocatorCreateDesc.restype = c_void_p
    for name in ("Obj", "AllocFunc", "FreeFunc", "AllocAdviseFunc", "GetAddrFromBlockFunc"):
        getattr(lib, f"aclrtAllocatorSet{name}ToDesc").argtypes = [c_void_p, c_void_p]
    lib.aclrtAllocatorDestroyDesc.argtypes = [c_void_p]
    lib.aclrtCreateStream.argtypes = [out]
    lib.aclrtDestroyStream.argtypes = [c_void_p]
    lib.aclrtAllocatorRegister.argtypes = [c_void_p, c_void_p]
    lib.aclrtAllocatorUnregister.argtypes = [c_void_p]
    lib.aclrtAllocatorGetByStream.argtypes = [c_void_p, *[out] * 6]
    return lib


LIB = library(sys.argv[1])
DEADLINE = time.monotonic() + float(sys.argv[3])
PROGRAMS = itertools.count()


def end(answer: str) -> NoReturn:
    """Say what came of it, and go."""
    print(f"{answer} after {next(PROGRAMS)} programs", flush=True)
    os._exit(0)


class Machine(RuleBasedStateMachine):
    """Buffers and allocator descriptors together."""

    bufs, descs, streams = Bundle("bufs"), Bundle("descs"), Bundle("streams")

    def __init__(self) -> None:
        super().__init__()
        if time.monotonic() > DEADLINE:
            end("missed")  # at once: an exception here would look to Hypothesis like a test that is not repeatable
        next(PROGRAMS)
        self.all: list[Buf] = []
        self.descriptors: dict[int, dict[str, int]] = {}
        self.registered: dict[int, tuple[int, dict[str, int]]] = {}
        self.known: list[int] = []

    @rule(target=bufs, size=SIZES)
    def alloc(self, size: int) -> Any:
        handle = c_void_p()
        code = LIB.aclrtAllocBuf(byref(handle), size)
        if size > LIMIT:
            assert code != 0, "alloc beyond the limit"
            return multiple()
        if code != 0:
            assert size > 65536, "alloc refused"
            return multiple()
        return self.new(handle.value or 0, size)

    def new(self, handle: int, size: int) -> Buf:
        assert handle, "handle"
        assert handle not in [b.handle for b in self.all if b.alive], "handle twice"
        made = Buf(handle, size)
        made.chain = [made]
        self.all.append(made)
        return made

    @rule(buf=bufs)
    def data(self, buf: Buf) -> None:
        if not buf.alive:
            return
        place, size = c_void_p(), c_size_t(SENTINEL)
        assert LIB.aclrtGetBufData(buf.handle, byref(place), byref(size)) == 0
        assert size.value == buf.size, "size"
        buf.located = True
        if buf.size <= 65536:
            ctypes.memset(place, 0x5A, 1)
            ctypes.memset((place.value or 0) + buf.size - 1, 0x5A, 1)

    @rule(buf=bufs, length=st.one_of(SIZES, st.integers(1, 70000)), delta=st.sampled_from([None, -1, 0, 1]))
    def set_length(self, buf: Buf, length: int, delta: int | None) -> None:
        if not buf.alive or not buf.located:
            return
        length = max(1, length if delta is None else buf.size + delta)
        code = LIB.aclrtSetBufDataLen(buf.handle, length)
        assert (code == 0) == (length < buf.size), "set length"
        if code == 0:
            for other in self.all if buf.shared else ():
                other.length = None
            buf.length = length

    @rule(buf=bufs)
    def get_length(self, buf: Buf) -> None:
        if buf.alive and buf.length is not None and not buf.shared:
            size = c_size_t(SENTINEL)
            assert LIB.aclrtGetBufDataLen(buf.handle, byref(size)) == 0
            assert size.value == buf.length, "length"

    @rule(buf=bufs, size=PARTS, offset=OFFSETS, byte=st.integers(0, 255))
    def set_user(self, buf: Buf, size: int, offset: int, byte: int) -> None:
        if not buf.alive:
            return
        data = create_string_buffer(bytes([byte]) * min(size, 4096), min(size, 4096))
        code = LIB.aclrtSetBufUserData(buf.handle, data, size, offset)
        assert (code == 0) == (size + offset <= PRIVATE), "set user data"
        if code == 0:
            buf.private.update(dict.fromkeys(range(offset, offset + size), byte))

    @rule(buf=bufs, size=PARTS, offset=OFFSETS)
    def get_user(self, buf: Buf, size: int, offset: int) -> None:
        if not buf.alive:
            return
        room = create_string_buffer(b"\xc5" * min(size, 4096), min(size, 4096) + 16)
        code = LIB.aclrtGetBufUserData(buf.handle, room, size, offset)
        assert (code == 0) == (size + offset <= PRIVATE), "get user data"
        for at in range(offset, offset + size) if code == 0 else ():
            assert buf.private.get(at, room.raw[at - offset]) == room.raw[at - offset], "user data"

    @rule(target=bufs, buf=bufs)
    def copy(self, buf: Buf) -> Any:
        handle = c_void_p()
        if not buf.alive or buf.head is not None or len(buf.chain) > 1:
            return multiple()
        assert LIB.aclrtCopyBufRef(buf.handle, byref(handle)) == 0, "copy"
        made = self.new(handle.value or 0, buf.size)
        made.shared = buf.shared = True
        made.length = None
        return made

    @rule(head=bufs, buf=bufs)
    def append(self, head: Buf, buf: Buf) -> None:
        plain = head.alive and buf.alive and head is not buf and head.head is None and buf.head is None
        if not plain or len(buf.chain) > 1:
            return
        code = LIB.aclrtAppendBufChain(head.handle, buf.handle)
        assert (code == 0) == (len(head.chain) < CHAIN), "append"
        if code == 0:
            head.chain.append(buf)
            buf.head = head

    @rule(head=bufs, count=st.sampled_from([1, 2, 5, 126, 127]))
    def append_many(self, head: Buf, count: int) -> None:
        for _ in range(count if head.alive and head.head is None else 0):
            handle = c_void_p()
            assert LIB.aclrtAllocBuf(byref(handle), 64) == 0
            self.append(head, self.new(handle.value or 0, 64))

    @rule(buf=bufs, count=st.sampled_from([1, 2, 254, 255, 256]))
    def copy_many(self, buf: Buf, count: int) -> None:
        for _ in range(count if buf.alive and buf.head is None and len(buf.chain) == 1 else 0):
            self.copy(buf)

    @rule(head=bufs, index=st.one_of(st.integers(0, 3), st.sampled_from([63, 64, 126, 127, 128, 255, 256, 2**32 - 1])))
    def from_chain(self, head: Buf, index: int) -> None:
        if not head.alive or head.head is not None or len(head.chain) == 1:
            return
        found = c_void_p()
        code = LIB.aclrtGetBufFromChain(head.handle, index, byref(found))
        assert (code == 0) == (index < len(head.chain)), "index"
        assert code != 0 or found.value == head.chain[index].handle, "order"

    @rule(head=bufs)
    def chain_num(self, head: Buf) -> None:
        if not head.alive or head.head is not None or len(head.chain) == 1:
            return
        guarded = (c_uint32 * 2)(SENTINEL, SENTINEL)
        assert LIB.aclrtGetBufChainNum(head.handle, guarded) == 0
        assert guarded[0] == len(head.chain), "number"
        assert guarded[1] == SENTINEL, "written too far"

    @rule(buf=bufs)
    def free(self, buf: Buf) -> None:
        if not buf.alive or buf.head is not None:
            return
        assert LIB.aclrtFreeBuf(buf.handle) == 0, "free"
        for member in buf.chain:
            member.alive = False

    # -- descriptors

    @rule(target=descs)
    def create(self) -> int:
        handle = LIB.aclrtAllocatorCreateDesc()
        assert handle, "descriptor"
        self.descriptors[handle] = {}
        return int(handle)

    @rule(desc=descs, name=st.sampled_from((*SLOTS, "AllocAdviseFunc")), number=st.integers(0, 2))
    def fill(self, desc: int, name: str, number: int) -> None:
        if desc in self.descriptors:
            value = ctypes.cast(CALLBACKS[number], c_void_p).value or 0
            if name not in self.descriptors[desc]:
                assert getattr(LIB, f"aclrtAllocatorSet{name}ToDesc")(desc, value) == 0, name
                self.descriptors[desc][name] = value

    @rule(desc=descs, number=st.integers(0, 2))
    def fill_all(self, desc: int, number: int) -> None:
        for name in SLOTS:
            self.fill(desc, name, number)

    @rule(target=streams)
    def stream(self) -> int:
        handle = c_void_p()
        assert LIB.aclrtCreateStream(byref(handle)) == 0
        self.known.append(handle.value or 0)
        return handle.value or 0

    @rule(stream=streams, desc=descs)
    def register(self, stream: int, desc: int) -> None:
        if desc not in self.descriptors or stream not in self.known:
            return
        full = all(name in self.descriptors[desc] for name in SLOTS)
        code = LIB.aclrtAllocatorRegister(stream, desc)
        if stream not in self.registered or not full:
            assert (code == 0) == full, "register"
        if code == 0:
            self.registered[stream] = desc, dict(self.descriptors[desc])

    @rule(stream=streams)
    def get(self, stream: int) -> None:
        outs = [c_void_p(SENTINEL) for _ in range(6)]
        if stream not in self.known:
            return
        code = LIB.aclrtAllocatorGetByStream(stream, *map(byref, outs))
        if stream in self.registered:
            desc, slots = self.registered[stream]
            now = self.descriptors.get(desc, {})
            assert code == 0, "get"
            names = (*SLOTS[:3], "AllocAdviseFunc", SLOTS[3])
            for name, out in zip(names, outs[1:], strict=True):
                assert name not in slots or out.value in (slots[name], now.get(name)), name

    @rule(stream=streams)
    def unregister(self, stream: int) -> None:
        if stream in self.known:
            assert LIB.aclrtAllocatorUnregister(stream) == 0, "unregister"
            self.registered.pop(stream, None)

    @rule(desc=consumes(descs))
    def destroy(self, desc: int) -> None:
        if desc in self.descriptors and desc not in [known for known, _ in self.registered.values()]:
            assert LIB.aclrtAllocatorDestroyDesc(desc) == 0, "destroy"
            del self.descriptors[desc]

    def teardown(self) -> None:
        for buf in self.all:
            if buf.alive and buf.head is None:
                self.free(buf)
        for stream in self.known:
            LIB.aclrtAllocatorUnregister(stream)
            LIB.aclrtDestroyStream(stream)
        for desc in self.descriptors:
            LIB.aclrtAllocatorDestroyDesc(desc)


def main() -> None:
    """Search until something fails or time is up."""
    LIB.aclInit(None)
    LIB.aclrtSetDevice(c_int32(0))
    options = settings(
        deadline=None,
        max_examples=10**6,
        stateful_step_count=50,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    search = seed(int(sys.argv[2]))(Machine)
    try:
        run_state_machine_as_test(search, settings=options)
    except AssertionError as error:
        end(f"found {str(error).splitlines()[0] if str(error) else 'a wrong answer'}")
    end("missed")


if __name__ == "__main__":
    main()
