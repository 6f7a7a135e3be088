"""The simulator's memory: 4 GiB without having them, addresses that repeat, faults outside."""

from __future__ import annotations

import tracemalloc
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acl_cts.backends.simulator.memory import Arena, Fault, Heap, Memory

GIB4 = 4 << 30


def test_a_region_of_4_gib_takes_almost_no_memory() -> None:
    tracemalloc.start()
    try:
        memory = Memory()
        memory.map(1 << 40, GIB4, b"\0")
        memory.write(1 << 40, b"\xa5", GIB4)
        memory.write((1 << 40) + GIB4 - 1, b"\x01", 1)
        assert memory.read((1 << 40) + GIB4 - 3, 3) == b"\xa5\xa5\x01"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@given(st.lists(st.tuples(st.integers(0, 99), st.binary(min_size=1, max_size=7), st.integers(0, 60)), max_size=12))
def test_content_is_what_was_written_last(writes: list[tuple[int, bytes, int]]) -> None:
    memory, expected = Memory(), bytearray((b"xyz" * 34)[:100])
    memory.map(4096, 100, b"xyz")
    for offset, wheel, length in writes:
        length = min(length, 100 - offset)
        memory.write(4096 + offset, wheel, length)
        expected[offset : offset + length] = (wheel * length)[:length]
    assert memory.read(4096, 100) == expected
    assert memory.read(4096 + 17, 31) == expected[17:48]
    assert memory.checksum(4096, 100) == crc32(expected)


def test_a_checksum_spans_several_pieces() -> None:
    memory, size = Memory(), (3 << 20) + 77
    memory.map(0x1000, size, b"abcdefg")
    memory.write(0x1000 + (1 << 20) - 1, b"Z", 2)
    expected = bytearray((b"abcdefg" * (size // 7 + 1))[:size])
    expected[(1 << 20) - 1 : (1 << 20) + 1] = b"ZZ"
    assert memory.checksum(0x1000, size) == crc32(expected)


@pytest.mark.parametrize(("address", "length"), [(0xFFF, 2), (0x1000, 101), (0x1064, 1), (0, 1), (0x1000, 1 << 64)])
def test_touching_outside_faults(address: int, length: int) -> None:
    memory = Memory()
    memory.map(0x1000, 100, b"\0")
    for touch in (memory.read, memory.checksum):
        with pytest.raises(Fault):
            touch(address, length)
    with pytest.raises(Fault):
        memory.write(address, b"\0", length)


def test_an_unmapped_region_faults_and_its_content_is_gone() -> None:
    memory = Memory()
    memory.map(0x1000, 100, b"\0")
    memory.write(0x1000, b"A", 100)
    memory.unmap(0x1000)
    with pytest.raises(Fault):
        memory.read(0x1000, 1)
    memory.map(0x1000, 100, b"\0")
    assert memory.read(0x1000, 100) == bytes(100)


def test_the_address_freed_last_comes_first_again() -> None:
    arena = Arena(0x10000, reuse=True)
    first, second = arena.take(64), arena.take(64)
    arena.give_back(first, 64)
    arena.give_back(second, 64)
    assert [arena.take(64), arena.take(64)] == [second, first]


def test_without_reuse_no_address_comes_again() -> None:
    arena = Arena(0x10000, reuse=False)
    seen = set()
    for _ in range(100):
        seen.add(arena.take(64))
        arena.give_back(max(seen), 64)
    assert len(seen) == 100


@given(st.lists(st.tuples(st.integers(0, 1 << 33), st.booleans()), max_size=40))
def test_live_blocks_never_overlap(steps: list[tuple[int, bool]]) -> None:
    arena, live = Arena(0x10000, reuse=True), list[tuple[int, int]]()
    for size, keep in steps:
        block = (arena.take(size), size)
        for address, other in live:
            assert block[0] + max(size, 1) <= address or address + max(other, 1) <= block[0]
        if keep:
            live.append(block)
        else:
            arena.give_back(*block)


def test_exactly_the_nth_allocation_fails() -> None:
    heap, arena = Heap(), Arena(0x10000, reuse=True)
    heap.arm(3)
    assert [heap.allocate(arena, 8) is None for _ in range(5)] == [False, False, True, False, False]
    assert (heap.objects, heap.bytes, heap.fired) == (4, 32, True)
