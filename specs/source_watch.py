"""What a standalone form watches, a call or a count of what lives: what it told the suite, and the C that compares."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.specs.interface import Param, Signature
from acl_cts.specs.source_plan import RETURN


@dataclass(frozen=True, slots=True)
class Seen:
    """What the call at `step`, or the read of a data area, answered: in the turn `loops`, None in every one.

    `ret`: the code, None for a pointer. `outs`: integer outputs and NULL, None for one left untouched. `rooms`: whole
    contents. `crc`: of what was read.
    """

    step: int
    ret: int | None = None
    outs: tuple[tuple[str, int | None], ...] = ()
    rooms: tuple[tuple[str, bytes], ...] = ()
    crc: int | None = None
    loops: tuple[int, ...] | None = None


Pointer = tuple[int, tuple[int, ...], str]
"""A pointer that a call gave: its step, the turn of its loops, and the name of the output or `RETURN`."""


@dataclass(frozen=True, slots=True)
class Same:
    """An address is compared: the output `name` is `known`, a callback or an object of the user by its C expression, or
    it is `like` one that was given before, or none of those that were (`unlike`) or that the user passed (`foreign`),
    nor NULL."""

    name: str
    known: str = ""
    like: Pointer | None = None
    unlike: tuple[Pointer, ...] = ()
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Watched:
    """What the call at `step`, in the turn `loops` of its loops, answered when the fault was seen.

    `accepted`: where the fault is that the call was accepted, or refused, at all; then that decides. `ret`: the code,
    None for a pointer. `outs`: integer outputs and NULL, None for one left untouched. `rooms`: whole contents.
    `pointers`: addresses. `hits`: callbacks that the call reached. `crc`: of what a read found. `decides`: whether the
    fault shows when all of that comes again, after all that was `seen` before has come again: otherwise the same answer
    may be as it should be. `memory`: the fault is that the call changed what it was lent. `live`: of a count, the
    objects and bytes that lived beyond those of the first count. `lost`: at a count, memory was lost that nobody
    counts. `growth`: bytes, in so many turns, by which the memory held grew.
    """

    step: int
    loops: tuple[int, ...]
    accepted: bool | None = None
    ret: int | None = None
    outs: tuple[tuple[str, int | None], ...] = ()
    rooms: tuple[tuple[str, bytes], ...] = ()
    pointers: tuple[Same, ...] = ()
    hits: int | None = None
    crc: int | None = None
    seen: tuple[Seen, ...] = ()
    decides: bool = True
    memory: bool = False
    live: tuple[int, int] | None = None
    lost: bool = False
    growth: tuple[int, int] | None = None

    @property
    def otherwise(self) -> str:
        """What is told where the fault does not show."""
        if self.lost:
            return "no memory is lost"
        if self.memory:
            return "what the call was lent is whole"
        if self.growth is not None:
            return "memory does not grow so"
        if self.crc is not None:
            return "what is read is another content"
        return "the call answered otherwise" if self.live is None else "all was given back"

    @property
    def noted(self) -> tuple[Pointer, ...]:
        """Pointers that are compared later."""
        found: dict[Pointer, None] = {}
        for same in self.pointers:
            found.update(dict.fromkeys(([same.like] if same.like is not None else []) + [*same.unlike]))
        return tuple(found)


COMPARISON_OF_MEMORY = "watch(kept ? OTHERWISE : SHOWN);"
"""The statement that compares what came of the memory that a call was lent."""


def comparison(watched: Watched, signature: Signature) -> str:
    """The statement that compares, right after the call. A refusal by another code may mean another thing, so it
    decides nothing."""
    if watched.accepted:
        return "watch(last_call == ACCEPTED ? SHOWN : OTHERWISE);"
    code = [] if watched.ret is None else [f"ret == ({signature.return_ctype}){watched.ret}"]
    if watched.accepted is False:
        return (
            f"watch({code[0] if code else 'last_call == REFUSED'} ? SHOWN : last_call == ACCEPTED ? OTHERWISE : OPEN);"
        )
    params = {param.name: param for param in signature.params}
    same = [*code, *(_same_cell(params[name], value) for name, value in watched.outs)]
    same += [_same_room(name, content) for name, content in watched.rooms]
    same += [] if watched.hits is None else [f"hits_reached() == {watched.hits}"]
    same += [each for pointer in watched.pointers for each in _same_pointer(pointer, watched.noted)]
    return f"watch({' && '.join(same) or 'true'} ? SHOWN : OTHERWISE);"


def as_seen(seen: Seen, signature: Signature | None) -> str:
    """The statement that compares with what was answered before, '' when nothing of it can be."""
    params = {} if signature is None else {param.name: param for param in signature.params}
    same = [] if seen.crc is None else [f"read_crc == {seen.crc:#x}"]
    same += [] if seen.ret is None or signature is None else [f"ret == ({signature.return_ctype}){seen.ret}"]
    same += [_same_cell(params[name], value) for name, value in seen.outs]
    same += [_same_room(name, content) for name, content in seen.rooms]
    return f"as_seen({' && '.join(same)});" if same else ""


def pointer_of(name: str) -> str:
    """The C expression for the output `name` as a number."""
    return f"(uintptr_t){'ret' if name == RETURN else f'*out_{name}'}"


def comparison_read(watched: Watched) -> str:
    """The same as `comparison`, right after a read."""
    return f"watch(read_crc == {watched.crc:#x} ? SHOWN : OTHERWISE);"


def comparison_growth(growth: tuple[int, int]) -> str:
    """The same after a block that is repeated until memory grows no more."""
    return f"watch(growth_shown({growth[0]}, {growth[1]}));"


def comparison_live(watched: Watched) -> str:
    """The same right after a count. Another number of what lives may be as it should be, and decides nothing."""
    if watched.live is None:
        return "watch(lost());"
    return f"watch(live_shown({watched.live[0]}, {watched.live[1]}));"


def _same_cell(param: Param, value: int | None) -> str:
    cell = f"out_{param.name}"
    return f"!cell_written({cell}, sizeof *{cell})" if value is None else f"*{cell} == ({param.ctype}){value:#x}UL"


def _same_pointer(same: Same, noted: tuple[Pointer, ...]) -> list[str]:
    here = pointer_of(same.name)
    if same.known:
        return [f"{here} == (uintptr_t){same.known}"]
    if same.like is not None:
        return [f"{here} == noted[{noted.index(same.like)}]"]
    others = ["0", *(f"(uintptr_t){each}" for each in same.foreign)]
    return [f"{here} != {each}" for each in [*others, *(f"noted[{noted.index(each)}]" for each in same.unlike)]]


def _same_room(name: str, content: bytes) -> str:
    room, size = f"mem_{name}", len(content)
    return f"{room}.size == {size} && memcmp({room}.at, {quoted_bytes(content)}, {size}) == 0"


def quoted_bytes(data: bytes) -> str:
    """`data` as a C string."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'
