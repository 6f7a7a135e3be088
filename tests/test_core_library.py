"""The C core, as a library: what it promises under both sets of answers, under faults, and under sanitizers."""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from ctypes import CFUNCTYPE, byref, c_char, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest

from acl_cts.backends.core_defects import load_defects

CORE = Path(__file__).resolve().parent.parent / "backends" / "core"
DRIVERS = Path(__file__).resolve().parent
CC = os.environ.get("CC", "gcc")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow", "-Wconversion", "-pthread"]
SHARED = [*STRICT, "-fPIC", "-shared", "-fvisibility=hidden"]
ALTERNATIVE = "-DACL_CTS_CORE_ALTERNATIVE"
BUILDS = {"default": [], "alternative": [ALTERNATIVE]}

INVALID, OUT_OF_MEMORY, OVER_LIMIT = 107000, 207001, 207012
GIB_4 = 2**32
UNTOUCHED = 0x5EA1
PRIVATE = 96
CHAIN = 128

P, S, U = c_void_p, c_size_t, c_uint32
SIGNATURES: dict[str, list[Any]] = {
    "aclrtAllocBuf": [P, S],
    "aclrtFreeBuf": [P],
    "aclrtGetBufData": [P, P, P],
    "aclrtSetBufUserData": [P, P, S, S],
    "aclrtGetBufUserData": [P, P, S, S],
    "aclrtGetBufDataLen": [P, P],
    "aclrtSetBufDataLen": [P, S],
    "aclrtCopyBufRef": [P, P],
    "aclrtAppendBufChain": [P, P],
    "aclrtGetBufFromChain": [P, U, P],
    "aclrtGetBufChainNum": [P, P],
    "aclrtAllocatorCreateDesc": [],
    "aclrtAllocatorDestroyDesc": [P],
    "aclrtAllocatorSetObjToDesc": [P, P],
    "aclrtAllocatorSetAllocFuncToDesc": [P, P],
    "aclrtAllocatorSetFreeFuncToDesc": [P, P],
    "aclrtAllocatorSetAllocAdviseFuncToDesc": [P, P],
    "aclrtAllocatorSetGetAddrFromBlockFuncToDesc": [P, P],
    "aclrtAllocatorRegister": [P, P],
    "aclrtAllocatorGetByStream": [P] * 7,
    "aclrtAllocatorUnregister": [P],
    "aclInit": [P],
    "aclFinalize": [],
    "aclrtGetDeviceCount": [P],
    "aclrtSetDevice": [c_int32],
    "aclrtResetDevice": [c_int32],
    "aclrtCreateStream": [P],
    "aclrtDestroyStream": [P],
    "aclrtMemcpy": [P, S, P, S, c_int],
    "aclrtGetMemInfo": [c_int, P, P],
    "aclrtGetVersion": [P, P, P],
    "aclrtGetSocName": [],
    "aclGetRecentErrMsg": [],
    "aclctsCapabilities": [],
    "aclctsFailAllocation": [c_uint64],
    "aclctsFaultsFired": [],
    "aclctsLiveCount": [P, P],
}
RESULTS: dict[str, Any] = {
    "aclrtAllocatorCreateDesc": c_void_p,
    "aclrtGetSocName": ctypes.c_char_p,
    "aclGetRecentErrMsg": ctypes.c_char_p,
    "aclctsCapabilities": c_uint64,
    "aclctsFailAllocation": None,
    "aclctsFaultsFired": c_uint64,
    "aclctsLiveCount": None,
}

AllocFunc = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
FreeFunc = CFUNCTYPE(None, c_void_p, c_void_p)
AdviseFunc = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_void_p)
GetAddrFunc = CFUNCTYPE(c_void_p, c_void_p)
SLOTS = ("object", "alloc", "free", "advise", "get_addr")
SETTERS = {
    "object": "aclrtAllocatorSetObjToDesc",
    "alloc": "aclrtAllocatorSetAllocFuncToDesc",
    "free": "aclrtAllocatorSetFreeFuncToDesc",
    "advise": "aclrtAllocatorSetAllocAdviseFuncToDesc",
    "get_addr": "aclrtAllocatorSetGetAddrFromBlockFuncToDesc",
}

pytestmark = pytest.mark.skipif(shutil.which(CC) is None, reason=f"no C compiler ({CC})")


class Hooks:
    """One user's allocator: an object, four functions, and the calls that reached them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.object = ctypes.create_string_buffer(1)

        def alloc(allocator: int | None, size: int) -> int:
            self.calls.append(("alloc", allocator, size))
            return 0x1000

        def free(allocator: int | None, block: int | None) -> None:
            self.calls.append(("free", allocator, block))

        def advise(allocator: int | None, size: int, addr: int | None) -> int:
            self.calls.append(("advise", allocator, size, addr))
            return 0x2000

        def get_addr(block: int | None) -> int:
            self.calls.append(("get_addr", block))
            return 0x3000

        self.alloc = AllocFunc(alloc)
        self.free = FreeFunc(free)
        self.advise = AdviseFunc(advise)
        self.get_addr = GetAddrFunc(get_addr)

    def values(self) -> dict[str, int]:
        return {slot: ctypes.cast(getattr(self, slot), c_void_p).value or 0 for slot in SLOTS}


class Core:
    """A loaded core. `call` passes codes through; the named methods are for calls that must succeed."""

    def __init__(self, path: Path) -> None:
        self.lib = ctypes.CDLL(str(path))
        for name, arguments in SIGNATURES.items():
            function = getattr(self.lib, name)
            function.argtypes = arguments
            function.restype = RESULTS.get(name, c_int)

    def call(self, name: str, *arguments: Any) -> Any:
        return getattr(self.lib, name)(*arguments)

    def handle_from(self, name: str, *before: Any, after: tuple[Any, ...] = ()) -> tuple[int, int]:
        """The code of a call and what its only out parameter holds afterwards."""
        out = c_void_p(UNTOUCHED)
        code: int = self.call(name, *before, byref(out), *after)
        return code, out.value or 0

    def ok(self, name: str, *arguments: Any) -> None:
        code = self.call(name, *arguments)
        assert code == 0, (name, arguments, code, self.call("aclGetRecentErrMsg"))

    def alloc(self, size: int = 64) -> int:
        code, handle = self.handle_from("aclrtAllocBuf", after=(size,))
        assert (code, handle not in (0, UNTOUCHED)) == (0, True)
        return handle

    def copy(self, buf: int) -> int:
        code, handle = self.handle_from("aclrtCopyBufRef", buf)
        assert (code, handle not in (0, UNTOUCHED, buf)) == (0, True)
        return handle

    def free(self, *handles: int) -> None:
        for handle in handles:
            self.ok("aclrtFreeBuf", handle)

    def free_all(self, handles: list[int]) -> None:
        """Frees whatever of these is still alive, heads before members if it must be so."""
        while [handle for handle in handles if self.call("aclrtFreeBuf", handle) == 0]:
            pass

    def data(self, buf: int) -> tuple[int, int]:
        pointer, size = c_void_p(UNTOUCHED), c_size_t(UNTOUCHED)
        self.ok("aclrtGetBufData", buf, byref(pointer), byref(size))
        return pointer.value or 0, size.value

    def area(self, buf: int) -> ctypes.Array[c_char]:
        pointer, size = self.data(buf)
        return (c_char * size).from_address(pointer)

    def length(self, buf: int) -> int:
        length = c_size_t(UNTOUCHED)
        self.ok("aclrtGetBufDataLen", buf, byref(length))
        return length.value

    def private(self, buf: int) -> bytes:
        out = ctypes.create_string_buffer(PRIVATE)
        self.ok("aclrtGetBufUserData", buf, out, PRIVATE, 0)
        return out.raw

    def set_private(self, buf: int, data: bytes, offset: int = 0) -> None:
        self.ok("aclrtSetBufUserData", buf, data, len(data), offset)

    def count(self, buf: int) -> tuple[int, int]:
        num = c_uint32(UNTOUCHED)
        code: int = self.call("aclrtGetBufChainNum", buf, byref(num))
        return code, num.value

    def chain(self, head: int, num: int) -> list[int]:
        return [self.handle_from("aclrtGetBufFromChain", head, index)[1] for index in range(num)]

    def stream(self) -> int:
        code, handle = self.handle_from("aclrtCreateStream")
        assert (code, handle not in (0, UNTOUCHED)) == (0, True)
        return handle

    def desc(self, hooks: Hooks | None = None, leave_out: tuple[str, ...] = ()) -> int:
        handle: int = self.call("aclrtAllocatorCreateDesc")
        assert handle
        for slot in SLOTS:
            if hooks is not None and slot not in leave_out:
                self.ok(SETTERS[slot], handle, getattr(hooks, slot))
        return handle

    def registered(self, stream: int) -> tuple[int, int, dict[str, int]]:
        """Code, descriptor and slots from GetByStream."""
        outs = {name: c_void_p(UNTOUCHED) for name in ("desc", "object", "alloc", "free", "advise", "get_addr")}
        code: int = self.call("aclrtAllocatorGetByStream", stream, *(byref(out) for out in outs.values()))
        values = {name: out.value or 0 for name, out in outs.items()}
        return code, values.pop("desc"), values

    def live(self) -> tuple[int, int]:
        objects, held = c_uint64(), c_uint64()
        self.call("aclctsLiveCount", byref(objects), byref(held))
        return objects.value, held.value


def compile_c(output: Path, flags: list[str], sources: list[Path]) -> Path:
    command = [CC, *flags, f"-I{CORE / 'include'}", *map(str, sources), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def core_sources(folder: Path = CORE / "src") -> list[Path]:
    return sorted(folder.glob("*.c"))


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("core")
    return {name: compile_c(folder / f"{name}.so", SHARED + flags, core_sources()) for name, flags in BUILDS.items()}


def load_fresh(library: Path, folder: Path) -> Core:
    """A copy of its own, so that no test sees what another one left."""
    return Core(Path(shutil.copy(library, folder / f"fresh-{library.name}")))


@pytest.fixture(params=list(BUILDS))
def core(request: pytest.FixtureRequest, builds: dict[str, Path], tmp_path: Path) -> Iterator[Core]:
    loaded = load_fresh(builds[request.param], tmp_path)
    yield loaded
    assert loaded.live() == (0, 0), "the test left live objects behind"


@pytest.fixture
def plain(builds: dict[str, Path], tmp_path: Path) -> Iterator[Core]:
    loaded = load_fresh(builds["default"], tmp_path)
    yield loaded
    assert loaded.live() == (0, 0), "the test left live objects behind"


# ---- The library and its header ----


def test_exports_are_those_of_the_header_and_no_others(builds: dict[str, Path]) -> None:
    declared = set(re.findall(r"\b(acl\w+)\(", (CORE / "include" / "acl_cts_core.h").read_text()))
    assert set(SIGNATURES) <= declared
    lib = ctypes.CDLL(str(builds["default"]))
    assert [name for name in SIGNATURES if not hasattr(lib, name)] == []
    inner = ("pool_take", "mbuf_find", "inner_calloc", "core_enter", "refuse")
    assert [name for name in inner if hasattr(lib, name)] == []


@pytest.mark.parametrize(("compiler", "flags"), [(CC, ["-xc", "-std=c11"]), ("g++", ["-xc++", "-std=c++17"])])
def test_header_stands_alone(compiler: str, flags: list[str], tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = tmp_path / "includes.txt"
    source.write_text('#include "acl_cts_core.h"\nint main(void) { return aclrtFreeBuf(NULL) == 0; }\n')
    command = [compiler, *flags, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    done = subprocess.run([*command, f"-I{CORE / 'include'}", str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_c_file_names_its_licence() -> None:
    files = [*CORE.rglob("*.[ch]"), *DRIVERS.glob("core_*.c")]
    assert len(files) > 20
    assert [f.name for f in files if not f.read_text().startswith("/* SPDX-License-Identifier: Apache-2.0 */\n")] == []


def test_lifecycle(core: Core) -> None:
    assert core.call("aclFinalize") == 100001
    assert [core.call("aclInit", None), core.call("aclInit", None)] == [0, 100002]
    assert [core.call("aclFinalize"), core.call("aclFinalize")] == [0, 100001]
    assert [core.call("aclrtSetDevice", device) for device in (0, 1, -1)] == [0, 107001, 107001]
    assert [core.call("aclrtResetDevice", device) for device in (0, 1)] == [0, 107001]
    count = c_uint32()
    assert (core.call("aclrtGetDeviceCount", byref(count)), count.value) == (0, 1)
    assert core.call("aclrtGetSocName") == b"acl-cts-core"
    numbers = [c_int32(-1) for _ in range(3)]
    core.ok("aclrtGetVersion", *map(byref, numbers))
    assert min(number.value for number in numbers) >= 0
    for name, arguments in (("aclrtGetDeviceCount", 1), ("aclrtCreateStream", 1), ("aclrtGetVersion", 3)):
        assert core.call(name, *[None] * arguments) == INVALID
    assert core.call("aclrtGetMemInfo", 1, None, None) == INVALID
    assert core.call("aclctsCapabilities") == 1 | 2 | 4 | 8


def test_memcpy(core: Core) -> None:
    out = ctypes.create_string_buffer(b"........", 8)
    assert [core.call("aclrtMemcpy", out, 8, b"abcd", 4, kind) for kind in range(5)] == [0] * 5
    assert out.raw == b"abcd...."
    assert core.call("aclrtMemcpy", out, 3, b"wxyz", 4, 0) == INVALID
    assert core.call("aclrtMemcpy", out, 8, b"wxyz", 4, 5) == INVALID
    assert core.call("aclrtMemcpy", None, 8, b"wxyz", 4, 0) == INVALID
    assert core.call("aclrtMemcpy", out, 8, None, 4, 0) == INVALID
    assert out.raw == b"abcd...."


def test_memory_info_shows_what_is_held(core: Core) -> None:
    free, total, later = c_size_t(), c_size_t(), c_size_t()
    core.ok("aclrtGetMemInfo", 1, byref(free), byref(total))
    buf = core.alloc(1 << 20)
    core.ok("aclrtGetMemInfo", 1, byref(later), byref(total))
    assert 1 << 20 <= free.value - later.value < 2 << 20
    core.free(buf)


def test_refusals_say_why_once(core: Core) -> None:
    core.call("aclGetRecentErrMsg")
    assert core.call("aclrtSetBufDataLen", None, 1) != 0
    assert b"not a live buffer" in core.call("aclGetRecentErrMsg")
    assert core.call("aclGetRecentErrMsg") is None


def test_finalize_gives_back_what_nobody_needs(core: Core) -> None:
    stale, stream = core.alloc(), core.stream()
    core.free(stale)
    core.ok("aclInit", None)
    core.ok("aclFinalize")
    assert core.call("aclrtFreeBuf", stale) != 0
    core.ok("aclrtDestroyStream", stream)
    core.free(core.alloc())


# ---- Shared buffers ----


@pytest.mark.parametrize("size", [1, 2, 95, 96, 4096, 65536, 2**20 - 1, 2**20, 2**20 + 1, 2**24])
def test_area_has_the_exact_size(core: Core, size: int) -> None:
    buf = core.alloc(size)
    area = core.area(buf)
    assert len(area) == size
    area[0], area[size - 1] = b"a", b"z"
    assert core.area(buf)[size - 1] == b"z"
    assert core.data(buf) == core.data(buf)
    assert core.length(buf) == 0
    objects, held = core.live()
    assert objects == 2
    assert size < held < size + 1024
    core.free(buf)


@pytest.mark.parametrize("size", [GIB_4 + 1, 2**33, 2**63, 2**64 - 64, 2**64 - 1])
def test_area_above_4g_is_refused(core: Core, size: int) -> None:
    assert core.handle_from("aclrtAllocBuf", after=(size,)) == (INVALID, UNTOUCHED)


@pytest.mark.parametrize("size", [2**31, 4 * 10**9, 4 * 10**9 + 1, GIB_4 - 1, GIB_4])
def test_large_area_costs_nothing_and_reaches_to_its_end(builds: dict[str, Path], tmp_path: Path, size: int) -> None:
    for name, library in builds.items():
        core = load_fresh(library, tmp_path)
        code, buf = core.handle_from("aclrtAllocBuf", after=(size,))
        if code == OUT_OF_MEMORY:
            pytest.skip("this machine does not grant 4 GiB of address space")
        if name == "alternative" and size > 4 * 10**9:
            assert (code, buf) == (INVALID, UNTOUCHED)
            continue
        assert code == 0
        pointer, reported = core.data(buf)
        assert reported == size
        for place in (0, size // 2, size - 1):
            byte = c_char.from_address(pointer + place)
            byte.value = b"x"
            assert byte.value == b"x"
        core.free(buf)
        assert core.live() == (0, 0)


@pytest.mark.parametrize(("size", "offset"), [(96, 0), (1, 95), (95, 1), (48, 48), (1, 0)])
def test_user_data_within_the_limit(core: Core, size: int, offset: int) -> None:
    buf = core.alloc()
    core.set_private(buf, b"\xee" * PRIVATE)
    written = bytes(range(1, size + 1))
    core.set_private(buf, written, offset)
    assert core.private(buf) == b"\xee" * offset + written + b"\xee" * (PRIVATE - offset - size)
    out = ctypes.create_string_buffer(b"\x77" * 100, 100)
    core.ok("aclrtGetBufUserData", buf, out, size, offset)
    assert out.raw == written + b"\x77" * (100 - size)
    core.free(buf)


BEYOND = [
    *[(96, 1), (1, 96), (97, 0), (50, 50), (10, 2**64 - 6), (2**64 - 1, 1), (1, 2**64 - 1), (2**63, 2**63)],
    *[(2**64 - 11, 20), (2**32, 0), (8, 2**32), (0, 97), (0, 2**64 - 1), (96, 2**64 - 96)],
]


@pytest.mark.parametrize(("size", "offset"), BEYOND)
def test_user_data_beyond_the_limit(core: Core, size: int, offset: int) -> None:
    buf = core.alloc()
    core.set_private(buf, bytes(range(PRIVATE)))
    out = ctypes.create_string_buffer(b"\x77" * 128, 128)
    assert core.call("aclrtSetBufUserData", buf, out, size, offset) == INVALID
    assert core.call("aclrtGetBufUserData", buf, out, size, offset) == INVALID
    assert core.private(buf) == bytes(range(PRIVATE))
    assert out.raw == b"\x77" * 128
    core.free(buf)


@pytest.mark.parametrize("size", [2, 96, 257, 65537])
def test_length_stays_below_the_size(core: Core, size: int) -> None:
    buf = core.alloc(size)
    core.data(buf)
    core.ok("aclrtSetBufDataLen", buf, size - 1)
    for beyond in (size, size + 1, 2**32, 2**64 - 1):
        assert core.call("aclrtSetBufDataLen", buf, beyond) == INVALID
    assert core.length(buf) == size - 1
    core.ok("aclrtSetBufDataLen", buf, 1)
    assert core.length(buf) == 1
    core.free(buf)


def test_wide_lengths(core: Core) -> None:
    buf = core.alloc(2**31 + 1)
    core.data(buf)
    for length in (255, 256, 65535, 65536, 2**31 - 1, 2**31):
        core.ok("aclrtSetBufDataLen", buf, length)
        assert core.length(buf) == length
    core.free(buf)


def test_recycled_handle_is_as_new(core: Core) -> None:
    first, member = core.alloc(), core.alloc()
    fresh = core.private(first)
    core.data(first)
    core.ok("aclrtSetBufDataLen", first, 50)
    core.set_private(first, b"\xa5" * PRIVATE)
    core.ok("aclrtAppendBufChain", first, member)
    core.free_all([first, member])
    again = {core.alloc(), core.alloc()}
    assert again == {first, member}, "handle values must repeat at once"
    for buf in again:
        assert core.length(buf) == 0
        assert core.private(buf) == fresh
        assert core.count(buf) in [(0, 1), (INVALID, UNTOUCHED)]
    core.free(*again)


def test_order_of_calls_is_asked_of_each_owner_of_a_handle(builds: dict[str, Path], tmp_path: Path) -> None:
    core = load_fresh(builds["alternative"], tmp_path)
    first = core.alloc()
    core.data(first)
    core.free(first)
    assert core.alloc() == first
    assert core.call("aclrtSetBufDataLen", first, 1) == INVALID
    core.free(first)


def test_references_share_the_area_and_nothing_else(core: Core) -> None:
    original = core.alloc(16)
    core.set_private(original, b"o" * PRIVATE)
    ref = core.copy(original)
    assert core.data(ref) == core.data(original)
    assert len(set(core.private(ref))) == 1
    core.set_private(ref, b"r" * PRIVATE)
    assert core.private(original) == b"o" * PRIVATE
    core.set_private(original, b"O" * PRIVATE)
    assert core.private(ref) == b"r" * PRIVATE
    core.area(original)[3] = b"!"
    assert core.area(ref)[3] == b"!"
    core.free(original, ref)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_area_lives_until_its_last_reference(core: Core, order: tuple[int, ...]) -> None:
    handles = [core.alloc(4096)]
    handles.append(core.copy(handles[0]))
    handles.append(core.copy(handles[1]))
    core.area(handles[0])[4095] = b"k"
    place = core.data(handles[0])
    for position, victim in enumerate(order):
        for rest in order[position:]:
            assert core.data(handles[rest]) == place
            assert core.area(handles[rest])[4095] == b"k"
        core.free(handles[victim])
    assert core.live() == (0, 0)


@pytest.mark.parametrize("number", [300, 65600])
def test_many_references(core: Core, number: int) -> None:
    original = core.alloc(8)
    core.area(original)[7] = b"k"
    refs = [core.copy(original) for _ in range(number)]
    assert len({original, *refs}) == number + 1
    assert core.live()[0] == number + 2
    core.free(original, *refs[1:])
    assert core.area(refs[0])[7] == b"k"
    core.free(refs[0])


def build_chain(core: Core, number: int) -> list[int]:
    handles = [core.alloc(number + 1) for _ in range(number)]
    for buf in handles[1:]:
        core.ok("aclrtAppendBufChain", handles[0], buf)
    return handles


@pytest.mark.parametrize("number", [2, 6, 127, 128])
def test_chain_keeps_order_and_count(core: Core, number: int) -> None:
    handles = build_chain(core, number)
    assert core.count(handles[0]) == (0, number)
    assert core.chain(handles[0], number) == handles
    for beyond in (number, 128, 255, 256, 65536, 2**31, 2**32 - 1):
        assert core.handle_from("aclrtGetBufFromChain", handles[0], beyond) == (INVALID, UNTOUCHED)
    core.free_all(handles)


def test_full_chain_refuses_one_more(core: Core) -> None:
    handles = build_chain(core, CHAIN)
    extra = core.alloc(64)
    core.data(extra)
    core.ok("aclrtSetBufDataLen", extra, 7)
    assert core.call("aclrtAppendBufChain", handles[0], extra) == OVER_LIMIT
    assert core.count(handles[0]) == (0, CHAIN)
    assert core.chain(handles[0], CHAIN) == handles
    assert core.count(extra) in [(0, 1), (INVALID, UNTOUCHED)]
    assert core.length(extra) == 7
    core.free(extra)
    core.free_all(handles)


@pytest.mark.parametrize(("left", "right"), [(64, 64), (64, 65), (128, 2), (2, 128), (127, 2), (126, 2)])
def test_joined_chains_keep_to_the_limit(core: Core, left: int, right: int) -> None:
    one, two = build_chain(core, left), build_chain(core, right)
    code = core.call("aclrtAppendBufChain", one[0], two[0])
    if code == 0:
        assert left + right <= CHAIN
        assert core.chain(one[0], left + right) == one + two
        assert core.count(one[0]) == (0, left + right)
    else:
        assert (core.count(one[0]), core.count(two[0])) == ((0, left), (0, right))
        assert (core.chain(one[0], left), core.chain(two[0], right)) == (one, two)
    core.free_all(one + two)


def test_appends_of_every_kind_leave_two_sound_chains(core: Core) -> None:
    handles = [core.alloc() for _ in range(4)]
    for pairs in itertools.product(itertools.product(range(4), repeat=2), repeat=3):
        for head, buf in pairs:
            core.call("aclrtAppendBufChain", handles[head], handles[buf])
        for head in handles:
            code, number = core.count(head)
            if code == 0:
                assert 1 <= number <= 4
                found = [core.handle_from("aclrtGetBufFromChain", head, index) for index in range(number)]
                assert [code for code, _ in found] == [0] * number or number == 1
                assert number == 1 or len({buf for _, buf in found} & set(handles)) == number
        core.free_all(handles)
        assert core.live() == (0, 0)
        handles = [core.alloc() for _ in range(4)]
    core.free_all(handles)


def test_members_keep_what_is_their_own(core: Core) -> None:
    sizes = [16, 65536, 64]
    handles = [core.alloc(size) for size in sizes]
    places = [core.data(buf) for buf in handles]
    for number, buf in enumerate(handles):
        core.set_private(buf, bytes([number + 1]) * PRIVATE)
        core.ok("aclrtSetBufDataLen", buf, number + 5)
    for buf in handles[1:]:
        core.ok("aclrtAppendBufChain", handles[0], buf)
    assert [core.data(buf) for buf in handles] == places
    assert [core.length(buf) for buf in handles] == [5, 6, 7]
    assert [core.private(buf)[95] for buf in handles] == [1, 2, 3]
    core.ok("aclrtSetBufDataLen", handles[1], 65535)
    core.set_private(handles[1], b"m", 95)
    assert (core.length(handles[1]), core.private(handles[1])[94:]) == (65535, b"\x02m")
    core.free_all(handles)


def test_reference_of_a_member_outlives_the_chain(core: Core) -> None:
    handles = [core.alloc(32), core.alloc(32)]
    core.area(handles[1])[31] = b"k"
    ref = core.copy(handles[1])
    core.ok("aclrtAppendBufChain", handles[0], handles[1])
    core.free_all(handles)
    assert core.area(ref)[31] == b"k"
    core.free(ref)


@pytest.mark.parametrize("victim", [1, 2, 4])
def test_free_of_a_member(core: Core, victim: int) -> None:
    handles = build_chain(core, 5)
    code = core.call("aclrtFreeBuf", handles[victim])
    expected = handles if code != 0 else [buf for buf in handles if buf != handles[victim]]
    assert core.count(handles[0]) == (0, len(expected))
    assert core.chain(handles[0], len(expected)) == expected
    appended = core.alloc()
    core.ok("aclrtAppendBufChain", handles[0], appended)
    assert core.chain(handles[0], len(expected) + 1) == [*expected, appended]
    core.free_all([*handles, appended])


def test_cycles_leave_nothing(core: Core) -> None:
    for _ in range(100):
        handles = build_chain(core, 3)
        code, copied = core.handle_from("aclrtCopyBufRef", handles[0])
        assert code == 0 or copied == UNTOUCHED
        core.free_all([*handles, copied])
        assert core.live() == (0, 0)


# ---- Allocator descriptors ----


def test_registered_values_come_back_each_in_its_slot(core: Core) -> None:
    hooks, stream = Hooks(), core.stream()
    desc = core.desc(hooks)
    core.ok("aclrtAllocatorRegister", stream, desc)
    assert core.registered(stream) == (0, desc, hooks.values())
    core.ok("aclrtAllocatorUnregister", stream)
    assert core.registered(stream) in nothing_registered()
    for _ in range(3):
        core.ok("aclrtAllocatorUnregister", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    core.ok("aclrtDestroyStream", stream)
    assert hooks.calls == []


def nothing_registered() -> list[tuple[int, int, dict[str, int]]]:
    return [(INVALID, UNTOUCHED, dict.fromkeys(SLOTS, UNTOUCHED)), (0, 0, dict.fromkeys(SLOTS, 0))]


@pytest.mark.parametrize("missing", ["object", "alloc", "free", "get_addr"])
def test_register_needs_each_required_slot(core: Core, missing: str) -> None:
    used, hooks, stream = core.desc(Hooks()), Hooks(), core.stream()
    core.ok("aclrtAllocatorDestroyDesc", used)
    desc = core.desc(hooks, leave_out=(missing,))
    assert desc == used, "the slot of a full descriptor must be handed out again"
    assert core.call("aclrtAllocatorRegister", stream, desc) == INVALID
    assert core.registered(stream) in nothing_registered()
    core.ok(SETTERS[missing], desc, getattr(hooks, missing))
    core.ok("aclrtAllocatorRegister", stream, desc)
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)


def test_advise_is_optional_and_never_a_wild_pointer(core: Core) -> None:
    hooks, stream = Hooks(), core.stream()
    desc = core.desc(hooks, leave_out=("advise",))
    core.ok("aclrtAllocatorRegister", stream, desc)
    code, _, values = core.registered(stream)
    advise = values.pop("advise")
    assert code == 0
    assert values.items() < hooks.values().items()
    if advise:
        assert AdviseFunc(advise)(1, 2**64 - 1, None) is None
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    assert hooks.calls == []


def test_callbacks_get_their_arguments_unchanged(core: Core) -> None:
    hooks, stream = Hooks(), core.stream()
    desc = core.desc(hooks)
    core.ok("aclrtAllocatorRegister", stream, desc)
    values = core.registered(stream)[2]
    assert AllocFunc(values["alloc"])(values["object"], 2**64 - 1) == 0x1000
    assert AdviseFunc(values["advise"])(None, 0, None) == 0x2000
    FreeFunc(values["free"])(values["object"], None)
    assert GetAddrFunc(values["get_addr"])(5) == 0x3000
    own = values["object"]
    expected = [("alloc", own, 2**64 - 1), ("advise", None, 0, None), ("free", own, None), ("get_addr", 5)]
    assert hooks.calls == expected
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)


def test_last_registration_wins_and_a_refused_one_changes_nothing(core: Core) -> None:
    one, two, stream = Hooks(), Hooks(), core.stream()
    first, second, empty = core.desc(one), core.desc(two), core.desc()
    for desc, hooks in ((first, one), (second, two), (second, two), (first, one)):
        core.ok("aclrtAllocatorRegister", stream, desc)
        assert core.registered(stream) == (0, desc, hooks.values())
    assert core.call("aclrtAllocatorRegister", stream, empty) == INVALID
    assert core.call("aclrtAllocatorRegister", stream, None) == INVALID
    assert core.call("aclrtAllocatorRegister", None, second) == INVALID
    assert core.registered(stream) == (0, first, one.values())
    core.ok("aclrtAllocatorRegister", stream, second)
    core.ok("aclrtAllocatorDestroyDesc", first)
    assert core.registered(stream) == (0, second, two.values())
    core.ok("aclrtDestroyStream", stream)
    for desc in (second, empty):
        core.ok("aclrtAllocatorDestroyDesc", desc)


def test_streams_are_separate(core: Core) -> None:
    one, two = Hooks(), Hooks()
    streams = [core.stream() for _ in range(3)]
    first, second = core.desc(one), core.desc(two)
    core.ok("aclrtAllocatorRegister", streams[0], first)
    core.ok("aclrtAllocatorRegister", streams[1], second)
    core.ok("aclrtAllocatorUnregister", streams[2])
    assert core.registered(streams[0]) == (0, first, one.values())
    assert core.registered(streams[1]) == (0, second, two.values())
    assert core.registered(streams[2]) in nothing_registered()
    core.ok("aclrtAllocatorUnregister", streams[0])
    assert core.registered(streams[1]) == (0, second, two.values())
    core.ok("aclrtAllocatorRegister", streams[2], second)
    assert core.registered(streams[2]) == core.registered(streams[1])
    for stream in streams:
        core.ok("aclrtDestroyStream", stream)
    for desc in (first, second):
        core.ok("aclrtAllocatorDestroyDesc", desc)


def test_registration_does_not_outlive_its_stream(core: Core) -> None:
    desc, stream = core.desc(Hooks()), core.stream()
    core.ok("aclrtAllocatorRegister", stream, desc)
    core.ok("aclrtDestroyStream", stream)
    assert core.stream() == stream, "handle values must repeat at once"
    assert core.registered(stream) in nothing_registered()
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)


def test_registration_does_not_follow_the_next_owner_of_its_descriptor(core: Core) -> None:
    one, two, stream = Hooks(), Hooks(), core.stream()
    desc = core.desc(one)
    core.ok("aclrtAllocatorRegister", stream, desc)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    assert core.desc(two) == desc, "handle values must repeat at once"
    code, _, values = core.registered(stream)
    assert (code, values) in [(0, one.values()), (INVALID, dict.fromkeys(SLOTS, UNTOUCHED))]
    core.ok("aclrtAllocatorRegister", stream, desc)
    assert core.registered(stream) == (0, desc, two.values())
    core.ok("aclrtAllocatorUnregister", stream)
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    assert one.calls == two.calls == []


# ---- Bad handles ----

Outs = ctypes.Array[c_uint64]
BUFFER_CALLS: dict[str, Callable[[int, int, Outs], tuple[Any, ...]]] = {
    "aclrtFreeBuf": lambda bad, live, out: (bad,),
    "aclrtGetBufData": lambda bad, live, out: (bad, byref(out), byref(out, 8)),
    "aclrtSetBufUserData": lambda bad, live, out: (bad, out, 8, 0),
    "aclrtGetBufUserData": lambda bad, live, out: (bad, out, 8, 0),
    "aclrtGetBufDataLen": lambda bad, live, out: (bad, out),
    "aclrtSetBufDataLen": lambda bad, live, out: (bad, 1),
    "aclrtCopyBufRef": lambda bad, live, out: (bad, out),
    "aclrtAppendBufChain": lambda bad, live, out: (bad, live),
    "aclrtAppendBufChain ": lambda bad, live, out: (live, bad),
    "aclrtGetBufFromChain": lambda bad, live, out: (bad, 0, out),
    "aclrtGetBufChainNum": lambda bad, live, out: (bad, out),
}
DESCRIPTOR_CALLS: dict[str, Callable[[int, int, Outs], tuple[Any, ...]]] = {
    "aclrtAllocatorDestroyDesc": lambda bad, stream, out: (bad,),
    **{setter: lambda bad, stream, out: (bad, 1) for setter in SETTERS.values()},
    "aclrtAllocatorRegister": lambda bad, stream, out: (stream, bad),
}
STREAM_CALLS: dict[str, Callable[[int, int, Outs], tuple[Any, ...]]] = {
    "aclrtDestroyStream": lambda bad, desc, out: (bad,),
    "aclrtAllocatorRegister": lambda bad, desc, out: (bad, desc),
    "aclrtAllocatorGetByStream": lambda bad, desc, out: (bad, *(byref(out, 8 * i) for i in range(6))),
}


def check_bad(
    core: Core, calls: dict[str, Callable[[int, int, Outs], tuple[Any, ...]]], bad: list[int], other: int
) -> None:
    for name, arguments in calls.items():
        for handle in bad:
            out = (c_uint64 * 8)(*[UNTOUCHED] * 8)
            before = core.live()
            assert core.call(name.strip(), *arguments(handle, other, out)) == INVALID, (name, hex(handle))
            assert list(out) == [UNTOUCHED] * 8
            assert core.live() == before


def test_bad_handles_are_errors_without_effect(core: Core) -> None:
    outside = ctypes.create_string_buffer(4096)
    buf, desc, stream = core.alloc(), core.desc(Hooks()), core.stream()
    freed_buf, freed_desc, freed_stream = core.alloc(), core.desc(), core.stream()
    core.free(freed_buf)
    core.ok("aclrtAllocatorDestroyDesc", freed_desc)
    core.ok("aclrtDestroyStream", freed_stream)
    foreign = [1, 8, 2**47, 2**63, 2**64 - 8, ctypes.addressof(outside) + 64, core.data(buf)[0]]
    check_bad(core, BUFFER_CALLS, [freed_buf, buf + 1, buf + 16, buf - 1, desc, stream, *foreign], buf)
    check_bad(core, DESCRIPTOR_CALLS, [freed_desc, desc + 1, desc + 8, buf, stream, *foreign], stream)
    check_bad(core, STREAM_CALLS, [freed_stream, stream + 1, stream + 8, buf, desc, *foreign], desc)
    for unknown in [freed_stream, buf, desc, *foreign]:
        core.ok("aclrtAllocatorUnregister", unknown)
    core.free(buf)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    core.ok("aclrtDestroyStream", stream)


def test_null_is_an_error_or_open_but_never_a_crash(core: Core) -> None:
    buf, desc, stream = core.alloc(), core.desc(), core.stream()
    open_points = {"aclrtFreeBuf", "aclrtAllocatorDestroyDesc", "aclrtAllocatorGetByStream"}
    for calls, other in ((BUFFER_CALLS, buf), (DESCRIPTOR_CALLS, stream), (STREAM_CALLS, desc)):
        check_bad(core, {name: call for name, call in calls.items() if name not in open_points}, [0], other)
    out = c_uint64(UNTOUCHED)
    for name, arguments in {
        "aclrtAllocBuf": (None, 8),
        "aclrtGetBufData": (buf, None, None),
        "aclrtSetBufUserData": (buf, None, 1, 0),
        "aclrtGetBufUserData": (buf, None, 1, 0),
        "aclrtGetBufDataLen": (buf, None),
        "aclrtCopyBufRef": (buf, None),
        "aclrtGetBufFromChain": (buf, 0, None),
        "aclrtGetBufChainNum": (buf, None),
    }.items():
        assert core.call(name, *arguments) == INVALID, name
    for position in range(6):
        outs = [None if i == position else byref(out) for i in range(6)]
        core.call("aclrtAllocatorGetByStream", stream, *outs)
        core.call("aclrtAllocatorGetByStream", None, *outs)
    for name in ("aclrtFreeBuf", "aclrtAllocatorDestroyDesc", "aclrtAllocatorUnregister"):
        assert core.call(name, None) in (0, INVALID)
    core.call("aclctsLiveCount", None, None)
    core.free(buf)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    core.ok("aclrtDestroyStream", stream)


# ---- Faults and the live count ----


def fail_each_allocation(core: Core, create: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Creates with the first, second, ... inner allocation failing, until one creation needs no more of them."""
    before = core.live()
    for nth in itertools.count(1):
        fired = core.call("aclctsFaultsFired")
        core.call("aclctsFailAllocation", nth)
        code, handle = create()
        core.call("aclctsFailAllocation", 0)
        if core.call("aclctsFaultsFired") == fired:
            assert code == 0
            return nth - 1, handle
        assert core.call("aclctsFaultsFired") == fired + 1
        assert (code, handle) == (OUT_OF_MEMORY, UNTOUCHED)
        assert core.live() == before
    raise AssertionError("not reached")


def create_desc(core: Core) -> tuple[int, int]:
    handle = core.call("aclrtAllocatorCreateDesc")
    return (0, handle) if handle else (OUT_OF_MEMORY, UNTOUCHED)


def test_every_inner_allocation_can_fail(core: Core) -> None:
    def alloc() -> tuple[int, int]:
        return core.handle_from("aclrtAllocBuf", after=(64,))

    # A first buffer needs a slot, a slab for it, an area and its bytes; a later one finds its slab there.
    reached, buf = fail_each_allocation(core, alloc)
    assert reached >= 3
    reached, other = fail_each_allocation(core, alloc)
    assert reached == 3
    large, huge = fail_each_allocation(core, lambda: core.handle_from("aclrtAllocBuf", after=(2**24,)))
    assert large == 3
    reached, ref = fail_each_allocation(core, lambda: core.handle_from("aclrtCopyBufRef", buf))
    assert reached == 1
    assert fail_each_allocation(core, lambda: (core.call("aclrtAppendBufChain", buf, other), UNTOUCHED))[0] == 1
    reached, desc = fail_each_allocation(core, lambda: create_desc(core))
    assert reached >= 1
    reached, stream = fail_each_allocation(core, lambda: core.handle_from("aclrtCreateStream"))
    assert reached >= 1
    hooks = Hooks()
    for slot in SLOTS:
        core.ok(SETTERS[slot], desc, getattr(hooks, slot))
    for _ in range(2):
        reached, _ = fail_each_allocation(core, lambda: (core.call("aclrtAllocatorRegister", stream, desc), UNTOUCHED))
        assert reached == 1
        assert core.registered(stream) == (0, desc, hooks.values())
    core.free_all([buf, other, huge, ref])
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)


def test_failed_replacement_leaves_the_earlier_registration(core: Core) -> None:
    one, two, stream = Hooks(), Hooks(), core.stream()
    first, second = core.desc(one), core.desc(two)
    core.ok("aclrtAllocatorRegister", stream, first)
    core.call("aclctsFailAllocation", 1)
    assert core.call("aclrtAllocatorRegister", stream, second) == OUT_OF_MEMORY
    assert core.registered(stream) == (0, first, one.values())
    core.ok("aclrtDestroyStream", stream)
    for desc in (first, second):
        core.ok("aclrtAllocatorDestroyDesc", desc)


def test_growth_of_the_handle_table_can_fail(core: Core) -> None:
    """The slab that holds buffer 65 fails: the 64 before it stay, and the next try succeeds."""
    handles = [core.alloc() for _ in range(64)]
    core.call("aclctsFailAllocation", 2)
    assert core.handle_from("aclrtAllocBuf", after=(8,)) == (OUT_OF_MEMORY, UNTOUCHED)
    handles.append(core.alloc(8))
    assert len(set(handles)) == 65
    core.free(*handles)


def test_fault_fires_once_and_can_be_disarmed(core: Core) -> None:
    core.call("aclctsFailAllocation", 1)
    core.call("aclctsFailAllocation", 0)
    core.free(core.alloc())
    core.call("aclctsFailAllocation", 1)
    assert core.handle_from("aclrtAllocBuf", after=(8,)) == (OUT_OF_MEMORY, UNTOUCHED)
    core.free(core.alloc())
    assert core.call("aclctsFaultsFired") == 1


def test_live_count_says_what_is_held(core: Core) -> None:
    counts = [core.live()[0]]
    buf = core.alloc(1000)
    counts.append(core.live()[0])
    ref = core.copy(buf)
    counts.append(core.live()[0])
    desc, stream = core.desc(Hooks()), core.stream()
    counts.append(core.live()[0])
    core.ok("aclrtAllocatorRegister", stream, desc)
    core.ok("aclrtAllocatorRegister", stream, desc)
    counts.append(core.live()[0])
    assert counts == [0, 2, 3, 5, 6]
    held = core.live()[1]
    core.free(buf)
    assert held - core.live()[1] < 1000, "the area is still referenced"
    core.free(ref)
    assert held - core.live()[1] > 1000
    core.ok("aclrtAllocatorDestroyDesc", desc)
    core.ok("aclrtDestroyStream", stream)


# ---- Answers at open points ----


def refused(code: int) -> int:
    assert code in (0, INVALID)
    return 1 if code else 0


def accepted(code: int) -> int:
    return 1 - refused(code)


def with_buffer(probe: Callable[[Core, int], int]) -> Callable[[Core], int]:
    def run(core: Core) -> int:
        buf = core.alloc()
        answer = probe(core, buf)
        core.free_all([buf])
        return answer

    return run


def with_chain(probe: Callable[[Core, list[int]], int]) -> Callable[[Core], int]:
    """The probe gets a chain of three, and two buffers outside it."""

    def run(core: Core) -> int:
        handles = [*build_chain(core, 3), core.alloc(), core.alloc()]
        answer = probe(core, handles)
        core.free_all(handles)
        return answer

    return run


def with_registered(probe: Callable[[Core, int, int, Hooks], int], *leave_out: str) -> Callable[[Core], int]:
    def run(core: Core) -> int:
        hooks, stream = Hooks(), core.stream()
        desc = core.desc(hooks, leave_out)
        core.ok("aclrtAllocatorRegister", stream, desc)
        answer = probe(core, stream, desc, hooks)
        core.ok("aclrtDestroyStream", stream)
        core.call("aclrtAllocatorDestroyDesc", desc)
        return answer

    return run


def alloc_zero(core: Core) -> int:
    code, buf = core.handle_from("aclrtAllocBuf", after=(0,))
    if code == 0:
        pointer, size = core.data(buf)
        assert (pointer != 0, size) == (True, 0)
        assert core.call("aclrtSetBufDataLen", buf, 0) == INVALID
        core.free(buf)
    return accepted(code)


def decimal_4g(core: Core) -> int:
    code, buf = core.handle_from("aclrtAllocBuf", after=(4 * 10**9 + 1,))
    if code == OUT_OF_MEMORY:
        return 0
    core.free_all([buf])
    return refused(code)


def data_one_null(core: Core, buf: int) -> int:
    pointer, size = c_void_p(UNTOUCHED), c_size_t(UNTOUCHED)
    codes = {
        core.call("aclrtGetBufData", buf, None, byref(size)),
        core.call("aclrtGetBufData", buf, byref(pointer), None),
    }
    assert (pointer.value, size.value) == ((UNTOUCHED, UNTOUCHED) if codes != {0} else core.data(buf))
    return accepted(*codes)


def length_zero(core: Core, buf: int) -> int:
    core.data(buf)
    core.ok("aclrtSetBufDataLen", buf, 5)
    code = core.call("aclrtSetBufDataLen", buf, 0)
    assert core.length(buf) == (5 if code else 0)
    return refused(code)


def length_shared(core: Core, buf: int) -> int:
    ref = core.copy(buf)
    core.data(ref)
    core.ok("aclrtSetBufDataLen", ref, 9)
    core.free(ref)
    assert core.length(buf) in (0, 9)
    return 1 if core.length(buf) == 9 else 0


def ref_length(core: Core, buf: int) -> int:
    core.data(buf)
    core.ok("aclrtSetBufDataLen", buf, 9)
    ref = core.copy(buf)
    length = core.length(ref)
    core.free(ref)
    assert length in (0, 9)
    return 1 if length == 9 else 0


def ref_private(core: Core, buf: int) -> int:
    fresh = core.private(buf)
    core.set_private(buf, bytes(range(PRIVATE)))
    ref = core.copy(buf)
    private = core.private(ref)
    core.free(ref)
    assert private in (fresh, bytes(range(PRIVATE)))
    return 0 if private == fresh else 1


def user_data(pointer: Any) -> Callable[[Core, int], int]:
    def run(core: Core, buf: int) -> int:
        codes = {core.call(f"aclrt{verb}BufUserData", buf, pointer, 0, 96) for verb in ("Set", "Get")}
        return refused(*codes)

    return run


def free_head(core: Core, chain: list[int]) -> int:
    core.free(chain[0])
    alive = [core.call("aclrtGetBufDataLen", buf, byref(c_size_t())) == 0 for buf in chain[1:3]]
    assert alive in ([True, True], [False, False])
    return int(alive[0])


def copy_chained(core: Core, chain: list[int]) -> int:
    for buf in chain[:2]:
        code, ref = core.handle_from("aclrtCopyBufRef", buf)
        if code == 0:
            assert core.data(ref) == core.data(buf)
            core.free(ref)
    return refused(code)


def append_to_member(core: Core, chain: list[int]) -> int:
    code = core.call("aclrtAppendBufChain", chain[1], chain[3])
    assert core.count(chain[0]) == (0, 3 if code else 4)
    return accepted(code)


def append_self(core: Core, chain: list[int]) -> int:
    codes = {core.call("aclrtAppendBufChain", buf, buf) for buf in (chain[0], chain[3])}
    assert core.chain(chain[0], 3) == chain[:3]
    return accepted(*codes)


def append_member(core: Core, chain: list[int]) -> int:
    code = core.call("aclrtAppendBufChain", chain[0], chain[1])
    assert core.count(chain[0]) == (0, 3)
    assert core.chain(chain[0], 3) == (chain[:3] if code else [chain[0], chain[2], chain[1]])
    assert core.call("aclrtAppendBufChain", chain[3], chain[2]) == code
    assert core.count(chain[0]) == (0, 3 if code else 2)
    return accepted(code)


def append_chain(core: Core, chain: list[int]) -> int:
    core.ok("aclrtAppendBufChain", chain[3], chain[4])
    code = core.call("aclrtAppendBufChain", chain[0], chain[3])
    assert core.count(chain[0]) == (0, 3 if code else 5)
    return accepted(code)


def index_member(core: Core, chain: list[int]) -> int:
    code, buf = core.handle_from("aclrtGetBufFromChain", chain[1], 2)
    assert buf == (UNTOUCHED if code else chain[2])
    return accepted(code)


def count_member(core: Core, chain: list[int]) -> int:
    code, number = core.count(chain[2])
    assert number == (UNTOUCHED if code else 3)
    return accepted(code)


def set_again(core: Core) -> int:
    desc, hooks = core.desc(Hooks()), Hooks()
    codes = {core.call(SETTERS[slot], desc, getattr(hooks, slot)) for slot in SLOTS}
    core.ok("aclrtAllocatorDestroyDesc", desc)
    return refused(*codes)


def null_value(*slots: str) -> Callable[[Core], int]:
    def run(core: Core) -> int:
        desc = core.desc()
        codes = {core.call(SETTERS[slot], desc, None) for slot in slots}
        core.ok("aclrtAllocatorDestroyDesc", desc)
        return accepted(*codes)

    return run


def null_counts(core: Core) -> int:
    """Needs a build that accepts a NULL function."""
    hooks, stream = Hooks(), core.stream()
    desc = core.desc(hooks, leave_out=("alloc",))
    core.ok(SETTERS["alloc"], desc, None)
    code = core.call("aclrtAllocatorRegister", stream, desc)
    if code == 0:
        assert core.registered(stream) == (0, desc, {**hooks.values(), "alloc": 0})
    core.ok("aclrtDestroyStream", stream)
    core.ok("aclrtAllocatorDestroyDesc", desc)
    return accepted(code)


def set_seen(core: Core, stream: int, desc: int, hooks: Hooks) -> int:
    """Sets what was left out before Register: the one slot that may be set now under every other answer."""
    core.ok(SETTERS["advise"], desc, hooks.advise)
    values = core.registered(stream)[2]
    return 1 if values == hooks.values() else 0


def get_nothing(core: Core) -> int:
    stream = core.stream()
    answer = nothing_registered().index(core.registered(stream))
    core.ok("aclrtDestroyStream", stream)
    return answer


def get_null_output(core: Core, stream: int, desc: int, hooks: Hooks) -> int:
    answers = set()
    for position in range(6):
        outs = [c_void_p(UNTOUCHED) for _ in range(6)]
        arguments = [None if i == position else byref(out) for i, out in enumerate(outs)]
        code = core.call("aclrtAllocatorGetByStream", stream, *arguments)
        written = [i for i, out in enumerate(outs) if out.value != UNTOUCHED]
        assert written == ([] if code else [i for i in range(6) if i != position])
        answers.add(accepted(code))
    (answer,) = answers
    return answer


def get_orphan(core: Core, stream: int, desc: int, hooks: Hooks) -> int:
    core.ok("aclrtAllocatorDestroyDesc", desc)
    code, handle, values = core.registered(stream)
    assert code or (handle, values) == (desc, hooks.values())
    return refused(code)


def advise_unset(core: Core, stream: int, desc: int, hooks: Hooks) -> int:
    advise = core.registered(stream)[2]["advise"]
    assert not advise or AdviseFunc(advise)(None, 1, None) is None
    return 1 if advise else 0


PROBES: dict[str, Callable[[Core], int]] = {
    "ALLOC_ZERO": alloc_zero,
    "DECIMAL_4G": decimal_4g,
    "FRESH_DATA": with_buffer(lambda core, buf: 0 if set(core.area(buf).raw) == {0} else 1),
    "ODD_DATA": with_buffer(lambda core, buf: core.data(buf)[0] % 2),
    "DATA_ONE_NULL": with_buffer(data_one_null),
    "LENGTH_ZERO": with_buffer(length_zero),
    "LENGTH_FIRST": with_buffer(lambda core, buf: refused(core.call("aclrtSetBufDataLen", buf, 1))),
    "LENGTH_SHARED": with_buffer(length_shared),
    "REF_LENGTH": with_buffer(ref_length),
    "FRESH_PRIVATE": with_buffer(lambda core, buf: 0 if core.private(buf) == bytes(PRIVATE) else 1),
    "REF_PRIVATE": with_buffer(ref_private),
    "USER_DATA_ZERO": with_buffer(user_data(b"x")),
    "USER_DATA_NULL": with_buffer(user_data(None)),
    "FREE_NULL": lambda core: accepted(core.call("aclrtFreeBuf", None)),
    "FREE_HEAD": with_chain(free_head),
    "FREE_MEMBER": with_chain(lambda core, chain: refused(core.call("aclrtFreeBuf", chain[1]))),
    "COPY_CHAINED": with_chain(copy_chained),
    "APPEND_TO_MEMBER": with_chain(append_to_member),
    "APPEND_SELF": with_chain(append_self),
    "APPEND_MEMBER": with_chain(append_member),
    "APPEND_CHAIN": with_chain(append_chain),
    "INDEX_UNCHAINED": with_buffer(lambda core, buf: refused(core.handle_from("aclrtGetBufFromChain", buf, 0)[0])),
    "INDEX_MEMBER": with_chain(index_member),
    "COUNT_UNCHAINED": with_buffer(lambda core, buf: refused(core.count(buf)[0])),
    "COUNT_MEMBER": with_chain(count_member),
    "DESTROY_NULL": lambda core: accepted(core.call("aclrtAllocatorDestroyDesc", None)),
    "SET_AGAIN": set_again,
    "NULL_OBJECT": null_value("object"),
    "NULL_FUNC": null_value("alloc", "free", "advise", "get_addr"),
    "NULL_COUNTS": null_counts,
    "SET_SEEN": with_registered(set_seen, "advise"),
    "GET_NOTHING": get_nothing,
    "GET_NULL_STREAM": lambda core: nothing_registered().index(core.registered(0)),
    "GET_NULL_OUTPUT": with_registered(get_null_output),
    "GET_ORPHAN": with_registered(get_orphan),
    "ADVISE_UNSET": with_registered(advise_unset, "advise"),
    "UNREGISTER_NULL": lambda core: accepted(core.call("aclrtAllocatorUnregister", None)),
}
# A probe that another switch would keep from its point.
MOOT = {"REF_LENGTH": "LENGTH_SHARED", "USER_DATA_NULL": "USER_DATA_ZERO"}


def answers_of(core: Core) -> dict[str, int]:
    probes = {name: probe for name, probe in PROBES.items() if name != "NULL_COUNTS"}
    answers = {name: probe(core) for name, probe in probes.items()}
    if answers["NULL_FUNC"]:
        answers["NULL_COUNTS"] = null_counts(core)
    assert core.live() == (0, 0)
    return answers


def test_every_switch_has_a_probe() -> None:
    switches = re.findall(r"#ifndef CORE_ANSWER_(\w+)", (CORE / "src" / "answers.h").read_text())
    assert sorted(switches) == sorted(PROBES)


def test_default_and_alternative_differ_at_every_open_point(builds: dict[str, Path], tmp_path: Path) -> None:
    default = answers_of(load_fresh(builds["default"], tmp_path))
    assert default == {name: 0 for name in PROBES if name != "NULL_COUNTS"}
    assert answers_of(load_fresh(builds["alternative"], tmp_path)) == dict.fromkeys(PROBES, 1)


@pytest.fixture(scope="session")
def flipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One library for each switch, with that one alone at its other answer."""
    folder = tmp_path_factory.mktemp("flipped")

    def build(name: str) -> Path:
        flags = [f"-DCORE_ANSWER_{name}=1"] + ["-DCORE_ANSWER_NULL_FUNC=1"] * (name == "NULL_COUNTS")
        return compile_c(folder / f"{name}.so", SHARED + flags, core_sources())

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(PROBES, pool.map(build, PROBES), strict=True))


@pytest.mark.parametrize("switch", list(PROBES))
def test_each_switch_changes_its_answer_alone(flipped: dict[str, Path], tmp_path: Path, switch: str) -> None:
    answers = answers_of(load_fresh(flipped[switch], tmp_path))
    moot = {name for name, by in MOOT.items() if by == switch}
    expected = {switch} | ({"NULL_FUNC"} if switch == "NULL_COUNTS" else set())
    assert {name for name, answer in answers.items() if answer} - moot == expected


# ---- Sanitizers ----

ASAN = "-fsanitize=address,undefined"
TSAN = "-fsanitize=thread"
SANITIZED = [*STRICT, "-g", "-O1", "-fno-sanitize-recover=all"]


def run_driver(driver: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1",
    }
    return subprocess.run(
        [str(driver), *arguments], capture_output=True, text=True, check=False, timeout=300, env=environment
    )


@pytest.fixture(scope="session", params=list(BUILDS))
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    flags = [*SANITIZED, ASAN, *BUILDS[request.param]]
    folder = tmp_path_factory.mktemp("walk")
    return compile_c(folder / "walk", flags, [*core_sources(), DRIVERS / "core_walk.c"])


@pytest.mark.parametrize("seed", range(8))
def test_random_walk_is_clean(walk: Path, seed: int) -> None:
    done = run_driver(walk, str(seed), "20000")
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_while_registered_is_clean(walk: Path) -> None:
    done = run_driver(walk, "1", "2000", "registered")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("seed", range(4))
def test_random_walk_is_clean_under_mixed_answers(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    answers = [f"-DCORE_ANSWER_{name}={choice.randrange(2)}" for name in PROBES]
    driver = compile_c(tmp_path / "walk", [*SANITIZED, ASAN, *answers], [*core_sources(), DRIVERS / "core_walk.c"])
    done = run_driver(driver, str(seed), "20000")
    assert (done.returncode, done.stderr) == (0, ""), answers


@pytest.mark.parametrize("sanitizer", [TSAN, ASAN])
@pytest.mark.parametrize("build", list(BUILDS))
def test_threads_are_clean(tmp_path: Path, sanitizer: str, build: str) -> None:
    flags = [*SANITIZED, sanitizer, *BUILDS[build]]
    driver = compile_c(tmp_path / "threads", flags, [*core_sources(), DRIVERS / "core_threads.c"])
    done = run_driver(driver, "500")
    assert (done.returncode, done.stderr) == (0, "")


PLANTED = (
    "copy-takes-no-reference",
    "free-loses-memory",
    "removed-registration-loses-memory",
    "set-user-sum-wraps",
    "chains-join-without-limit",
    "recycled-private-area-shows",
    "recycled-buffer-keeps-its-length",
    "freed-handles-live-on",
    "failed-alloc-loses-memory",
)
"""Defects that the walk must run into."""


@pytest.mark.parametrize("identifier", PLANTED)
def test_the_walk_finds_planted_faults(tmp_path: Path, identifier: str) -> None:
    """The walk can fail: it does so on a core with any of these defects."""
    defines = next(f"-D{define}" for defect in load_defects() if defect.id == identifier for define in defect.defines)
    flags = ["-std=c11", "-pthread", "-g", "-O1", "-fno-sanitize-recover=all", ASAN, defines]
    driver = compile_c(tmp_path / "driver", flags, [*core_sources(), DRIVERS / "core_walk.c"])
    assert run_driver(driver, "1", "20000").returncode != 0


def test_the_threads_find_a_missing_lock(tmp_path: Path) -> None:
    sources = Path(shutil.copytree(CORE / "src", tmp_path / "src"))
    text = (sources / "lock.c").read_text()
    assert text.count("static pthread_mutex_t core_lock") == 1
    (sources / "lock.c").write_text(text.replace("static pthread_mutex_t", "static _Thread_local pthread_mutex_t"))
    flags = ["-std=c11", "-pthread", "-g", "-O1", "-fno-sanitize-recover=all", TSAN]
    driver = compile_c(tmp_path / "driver", flags, [*core_sources(sources), DRIVERS / "core_threads.c"])
    assert run_driver(driver, "500").returncode != 0
