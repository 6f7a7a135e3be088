"""What a standalone form watches, a call or a count of what lives: what it told the suite, and the C that compares."""

from __future__ import annotations

from dataclasses import dataclass

from acl_cts.specs.interface import Param, Signature


@dataclass(frozen=True, slots=True)
class Watched:
    """What the call at `step`, in the turn `loops` of its loops, answered when the fault was seen.

    `accepted`: where the fault is that the call was accepted, or refused, at all; then that decides. `ret`: the code,
    None for a pointer. `outs`: integer outputs and NULL, None for one left untouched. `rooms`: whole contents.
    `decides`: whether the fault shows when all of that comes again; addresses, for one, are never compared. `live`: of
    a count, the objects and bytes that lived beyond those of the first count.
    """

    step: int
    loops: tuple[int, ...]
    accepted: bool | None = None
    ret: int | None = None
    outs: tuple[tuple[str, int | None], ...] = ()
    rooms: tuple[tuple[str, bytes], ...] = ()
    decides: bool = True
    live: tuple[int, int] | None = None

    @property
    def otherwise(self) -> str:
        """What is told where the fault does not show."""
        return "the call answered otherwise" if self.live is None else "all was given back"


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
    return f"watch({' && '.join(same) or 'true'} ? {'SHOWN' if watched.decides else 'OPEN'} : OTHERWISE);"


def comparison_live(live: tuple[int, int]) -> str:
    """The same right after a count. Another number of what lives may be as it should be, and decides nothing."""
    return f"watch(live_shown({live[0]}, {live[1]}));"


def _same_cell(param: Param, value: int | None) -> str:
    cell = f"out_{param.name}"
    return f"!cell_written(&{cell}, sizeof {cell})" if value is None else f"{cell} == ({param.ctype}){value:#x}UL"


def _same_room(name: str, content: bytes) -> str:
    room, size = f"mem_{name}", len(content)
    return f"{room}.size == {size} && memcmp({room}.at, {quoted_bytes(content)}, {size}) == 0"


def quoted_bytes(data: bytes) -> str:
    """`data` as a C string."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'
