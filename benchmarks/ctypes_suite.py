"""The peer of the executor: the same calls as a test suite written by hand with pytest and ctypes.

Run by `executor.py`, which tells the library and the numbers through the environment; also a suite of its own:
`ACL_CTS_BENCH_LIBRARY=PATH pytest benchmarks/ctypes_suite.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
import time
from ctypes import byref, c_size_t, c_uint32, c_void_p, create_string_buffer
from pathlib import Path

import pytest

LIBRARY = os.environ["ACL_CTS_BENCH_LIBRARY"]
OUTPUT = os.environ.get("ACL_CTS_BENCH_OUTPUT", "")
PROGRAMS = int(os.environ.get("ACL_CTS_BENCH_PROGRAMS", "20000"))
TESTS = int(os.environ.get("ACL_CTS_BENCH_TESTS", "500"))


def load() -> ctypes.CDLL:
    """The library with its prototypes, ready for calls."""
    library = ctypes.CDLL(LIBRARY)
    handle, handle_out, size_out = c_void_p, ctypes.POINTER(c_void_p), ctypes.POINTER(c_size_t)
    library.aclrtAllocBuf.argtypes = [handle_out, c_size_t]
    library.aclrtFreeBuf.argtypes = [handle]
    library.aclrtGetBufData.argtypes = [handle, handle_out, size_out]
    library.aclrtSetBufDataLen.argtypes = [handle, c_size_t]
    library.aclrtGetBufDataLen.argtypes = [handle, size_out]
    library.aclrtSetBufUserData.argtypes = [handle, c_void_p, c_size_t, c_size_t]
    library.aclrtGetBufUserData.argtypes = [handle, c_void_p, c_size_t, c_size_t]
    library.aclrtCopyBufRef.argtypes = [handle, handle_out]
    library.aclrtGetBufChainNum.argtypes = [handle, ctypes.POINTER(c_uint32)]
    library.aclInit(None)
    assert library.aclrtSetDevice(0) == 0
    return library


def ten_calls(library: ctypes.CDLL) -> None:
    """The program of the benchmark: ten calls, their answers checked."""
    a, b, data = c_void_p(), c_void_p(), c_void_p()
    size, length, count = c_size_t(), c_size_t(), c_uint32()
    assert library.aclrtAllocBuf(byref(a), 256) == 0
    assert library.aclrtGetBufData(a, byref(data), byref(size)) == 0
    assert (size.value, data.value is not None) == (256, True)
    assert library.aclrtSetBufDataLen(a, 100) == 0
    assert library.aclrtGetBufDataLen(a, byref(length)) == 0
    assert length.value == 100
    written = create_string_buffer(bytes(range(1, 17)), 16)
    assert library.aclrtSetBufUserData(a, written, 16, 0) == 0
    read = create_string_buffer(16)
    assert library.aclrtGetBufUserData(a, read, 16, 0) == 0
    assert read.raw == written.raw
    assert library.aclrtCopyBufRef(a, byref(b)) == 0
    assert library.aclrtGetBufChainNum(a, byref(count)) == 0
    assert count.value == 1
    assert library.aclrtFreeBuf(a) == 0
    assert library.aclrtFreeBuf(b) == 0


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load()


def test_in_one_loop(library: ctypes.CDLL) -> None:
    """What ctypes gives at best: one test, one loop. Writes programs a second."""
    start = time.perf_counter()
    for _ in range(PROGRAMS):
        ten_calls(library)
    speed = PROGRAMS / (time.perf_counter() - start)
    if OUTPUT:
        Path(OUTPUT).write_text(json.dumps(speed), encoding="utf-8")


@pytest.mark.parametrize("number", range(TESTS))
def test_one_by_one(library: ctypes.CDLL, number: int) -> None:
    """How such a suite really runs: one program a test."""
    ten_calls(library)
