"""Decoding: a raw reply of the executor as a trace."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from acl_cts.backends.native import layout
from acl_cts.backends.native.layout import Content, EndCode, Skip, TouchError
from acl_cts.backends.native.layout import Record as Code
from acl_cts.backends.native.render import cell_width, is_integer, is_signed
from acl_cts.specs.interface import Interface, Kind, Param, Signature
from acl_cts.specs.trace import (
    Breach,
    CallRecord,
    Capability,
    End,
    Ending,
    Hit,
    InvokeRecord,
    LiveRecord,
    MemoryRecord,
    Output,
    Phase,
    PointerTable,
    Ptr,
    Record,
    SameRecord,
    Sample,
    SkipRecord,
    TouchRecord,
    Trace,
)

_SKIPS = {
    Skip.UNSET: "unset",
    Skip.UNLOCATED: "unlocated",
    Skip.UNAVAILABLE: "unavailable",
    Skip.NOT_REPEATED: "not-repeated",
}
_ENDS = {
    EndCode.COMPLETED: End.COMPLETED,
    EndCode.CRASH: End.CRASH,
    EndCode.EXIT: End.EXIT,
    EndCode.TIMEOUT: End.TIMEOUT,
    EndCode.ERROR: End.ERROR,
    EndCode.RACE: End.RACE,
}
_PHASES = (Phase.CALL, Phase.TOUCH, Phase.CHECK, Phase.CLEAN_UP)
_SIGN = 1 << 63
_POINTERS = frozenset({Kind.HANDLE, Kind.POINTER, Kind.OBJECT, Kind.CALLBACK})


@dataclass(frozen=True, slots=True)
class _Function:
    """What decoding needs of a signature, worked out once."""

    name: str
    returns_pointer: bool
    outputs: tuple[tuple[int, Param], ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Callback:
    ctype: str
    integers: tuple[bool, ...]
    signed: tuple[bool, ...]
    returns: str


class Decoder:
    """Decodes replies of executors made for one interface."""

    def __init__(self, interface: Interface) -> None:
        self.functions = tuple(_function(s) for s in interface.functions.values())
        self.callbacks = tuple(
            _Callback(
                c.ctype,
                tuple(is_integer(t) for t, _ in c.params),
                tuple(is_signed(t) for t, _ in c.params),
                c.returns,
            )
            for c in interface.callbacks.values()
        )

    def decode(
        self,
        reply: bytes,
        known: Mapping[int, str],
        capabilities: frozenset[Capability] = frozenset(),
        output: str = "",
    ) -> Trace:
        """The trace of `reply`. `known`: kinds of pointers by raw value. Raises ValueError for a damaged reply."""
        words = struct.unpack(f"<{len(reply) // 8}Q", reply[: len(reply) // 8 * 8])
        state = _State(self, reply, words, known)
        try:
            state.run()
        except (ValueError, IndexError, KeyError) as error:
            raise ValueError(f"damaged reply of the executor at byte {8 * state.at}: {error!r}") from error
        return Trace(tuple(state.records), state.ending, tuple(state.table.pointers), capabilities, output)


def _function(signature: Signature) -> _Function:
    outputs = tuple((k, p) for k, p in enumerate(signature.params) if p.out or p.kind is Kind.ROOM)
    names = tuple(p.name for p in signature.params)
    return _Function(signature.name, signature.returns is Kind.HANDLE, outputs, names)


@dataclass(slots=True)
class _State:
    """A reply being read; `at` is the next word."""

    decoder: Decoder
    reply: bytes
    words: tuple[int, ...]
    known: Mapping[int, str]
    at: int = 0
    records: list[Record] = field(default_factory=list)
    table: PointerTable = field(default_factory=PointerTable)
    turns: list[int] = field(default_factory=lambda: [0] * layout.MAX_LOOPS)
    ending: Ending = field(default_factory=lambda: Ending(End.ERROR, detail="the reply has no end"))

    def run(self) -> None:
        words = self.words
        while self.at < len(words):
            head = words[self.at]
            self.at += 1
            code, depth = head & 0xFF, head >> 8 & 0xFF
            if code == Code.CALL:
                self.records.append(self.call(head, self.loops(depth)))
            elif code == Code.TURN:
                self.turns[depth] = self.word()
            elif code == Code.END:
                self.end(head, depth)
                return
            else:
                self.records.append(self.other(code, head, self.loops(depth)))

    def word(self) -> int:
        at = self.at
        self.at = at + 1
        return self.words[at]

    def signed(self) -> int:
        value = self.word()
        return value - (1 << 64) if value & _SIGN else value

    def content(self, length: int) -> bytes:
        start = self.at * 8
        if start + length > len(self.reply):
            raise IndexError("content beyond the end")
        self.at += (length + 7) // 8
        return self.reply[start : start + length]

    def loops(self, depth: int) -> tuple[int, ...]:
        return tuple(self.turns[:depth]) if depth else ()

    def pointer(self, raw: int, executable: bool = False) -> Ptr:
        kind = self.known.get(raw)
        return self.table.symbol(raw, kind or ("executable" if executable else "other"))

    def call(self, head: int, loops: tuple[int, ...]) -> CallRecord:
        function = self.decoder.functions[head >> 16 & 0xFFFF]
        at = self.at
        answer, masks = self.words[at], self.words[at + 1]
        self.at = at + 2
        ret: int | Ptr = answer
        if function.returns_pointer:
            ret = self.pointer(answer)
        elif answer & _SIGN:
            ret = answer - (1 << 64)
        outs: tuple[tuple[str, Output], ...] = ()
        if masks & 0xFFFF:
            outs = tuple([(p.name, self.output(p, masks >> k)) for k, p in function.outputs if masks >> k & 1])
        flags = masks >> 48
        return CallRecord(
            head >> 32,
            loops,
            function.name,
            ret,
            outs,
            self.breaches(function) if flags & layout.BREACHES else (),
            self.hits() if flags & layout.HITS else (),
            bool(flags & layout.FIRED),
        )

    def output(self, param: Param, masks: int) -> Output:
        value = self.words[self.at]
        self.at += 1
        if param.kind is Kind.ROOM:
            return self.content(value)
        if masks >> 16 & 1:
            return None
        if param.kind in _POINTERS:
            return self.pointer(value, bool(masks >> 32 & 1))
        bits = cell_width(param) * 8
        return value - (1 << bits) if is_signed(param.ctype) and value >> (bits - 1) else value

    def breaches(self, function: _Function) -> tuple[Breach, ...]:
        return tuple(Breach(function.names[self.word()], self.signed()) for _ in range(self.word()))

    def hits(self) -> tuple[Hit, ...]:
        return tuple(self.hit() for _ in range(self.word()))

    def hit(self) -> Hit:
        head = self.word()
        callback = self.decoder.callbacks[head & 0xFFFF]
        result = self.word()
        args = tuple(
            self.value(self.word(), integer, signed)
            for integer, signed in zip(callback.integers, callback.signed, strict=True)
        )
        return Hit(callback.ctype, head >> 16 & 0xFFFF, args, self.returned(callback, result))

    def value(self, raw: int, integer: bool, signed: bool) -> int | Ptr:
        if not integer:
            return self.pointer(raw)
        return raw - (1 << 64) if signed and raw & _SIGN else raw

    def returned(self, callback: _Callback, raw: int) -> int | Ptr | None:
        if callback.returns == "void":
            return None
        return self.value(raw, is_integer(callback.returns), is_signed(callback.returns))

    def other(self, code: int, head: int, loops: tuple[int, ...]) -> Record:
        step = head >> 32
        if code == Code.SKIP:
            return SkipRecord(step, loops, _SKIPS[Skip(self.word())])
        if code == Code.TOUCH:
            return self.touch(step, loops)
        if code == Code.INVOKE:
            return self.invoke(step, loops, self.decoder.callbacks[head >> 16 & 0xFFFF])
        if code == Code.LIVE:
            return LiveRecord(step, loops, self.word(), self.word(), bool(head >> 16 & 0xFFFF))
        if code == Code.MEMORY:
            return MemoryRecord(step, loops, tuple(self.sample() for _ in range(self.word())))
        if code == Code.SAME:
            return SameRecord(step, loops, self.word())
        raise KeyError(f"record code {code}")

    def sample(self) -> Sample:
        return Sample(self.word(), self.signed(), self.signed())

    def touch(self, step: int, loops: tuple[int, ...]) -> TouchRecord:
        head = self.word()
        extra = self.signed()
        error = TouchError(head & 0xFF)
        if error is TouchError.FAULT:
            return TouchRecord(step, loops, "fault")
        if error is TouchError.COPY:
            return TouchRecord(step, loops, f"copy:{extra}")
        content = Content(head >> 8 & 0xFF)
        if content is Content.DATA:
            return TouchRecord(step, loops, data=self.content(head >> 32))
        return TouchRecord(step, loops, crc=extra if content is Content.CRC else None)

    def invoke(self, step: int, loops: tuple[int, ...], callback: _Callback) -> InvokeRecord:
        invalid = self.word() & layout.INVALID
        raw = self.word()
        ret = None if invalid else self.returned(callback, raw)
        return InvokeRecord(step, loops, "invalid" if invalid else "", ret, self.hits())

    def end(self, head: int, depth: int) -> None:
        word = self.word()
        loops = tuple(self.word() for _ in range(depth))
        detail = self.content(word >> 32).decode("utf-8", "replace")
        phase = word >> 8 & 0xFF
        function = head >> 16 & 0xFFFF
        step = head >> 32
        self.ending = Ending(
            _ENDS[EndCode(word & 0xFF)],
            None if step == layout.NO_STEP else step,
            loops,
            None if phase == layout.NO_PHASE else _PHASES[phase],
            "" if function >= len(self.decoder.functions) else self.decoder.functions[function].name,
            detail,
        )


def encode_end(
    code: EndCode,
    detail: str,
    *,
    step: int = layout.NO_STEP,
    loops: tuple[int, ...] = (),
    phase: int = layout.NO_PHASE,
    function: int = layout.NO_FUNCTION,
) -> bytes:
    """The last record of a reply, for an executor that could not write it any more."""
    text = detail.encode()
    words = (layout.word(Code.END, len(loops), function, step), code | phase << 8 | len(text) << 32, *loops)
    return struct.pack(f"<{len(words)}Q", *words) + text + bytes(-len(text) % 8)
