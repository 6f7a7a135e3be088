"""The JSON form of traces: compact, versioned, exact.

A pointer is the string `p<number>`, bytes are `x<hexadecimal>`, raw pointer values are `0x...` strings because JSON
readers elsewhere round large numbers. What has its usual value (no loops, no breaches, ...) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from acl_cts.specs.trace import (
    FORMAT,
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
    Pointer,
    Ptr,
    Record,
    SameRecord,
    Sample,
    SkipRecord,
    TouchRecord,
    Trace,
)

Json = dict[str, object]

_T = TypeVar("_T")


class TraceError(ValueError):
    """A stored trace is malformed. The message says where, what, and what is expected."""


# ------------------------------------------------------------------------------------------------------------ writing


def trace_to_json(trace: Trace) -> Json:
    """`trace` as dicts, lists, strings and integers; `trace_from_json` gives back an equal trace."""
    result: Json = {
        "trace": FORMAT,
        "records": [_record(record) for record in trace.records],
        "ending": _ending(trace.ending),
        "pointers": [[hex(pointer.raw), pointer.kind] for pointer in trace.pointers],
    }
    if trace.capabilities:
        result["capabilities"] = sorted(capability.value for capability in trace.capabilities)
    if trace.output:
        result["output"] = trace.output
    return result


def _output(value: Output) -> object:
    match value:
        case Ptr(id=number):
            return f"p{number}"
        case bytes():
            return "x" + value.hex()
    return value


def _record(record: Record) -> Json:
    result: Json = {}
    match record:
        case CallRecord():
            result = {"call": record.function, "ret": _output(record.ret)}
            result |= _given("outs", [[name, _output(value)] for name, value in record.outs])
            result |= _given("breaches", [[breach.param, breach.offset] for breach in record.breaches])
            result |= _given("hits", [_hit(hit) for hit in record.hits])
            result |= _given("fault", int(record.fault_fired))
        case SkipRecord(reason=reason):
            result = {"skip": reason}
        case TouchRecord(error=error):
            result = {"touch": error}
            if record.data is not None:
                result["data"] = _output(record.data)
            if record.crc is not None:
                result["crc"] = record.crc
        case InvokeRecord(error=error, ret=ret):
            result = {"invoke": error}
            if ret is not None:
                result["ret"] = _output(ret)
            result |= _given("hits", [_hit(hit) for hit in record.hits])
        case LiveRecord():
            result = {"live": [record.objects, record.bytes], **_given("lost", int(record.lost))}
        case MemoryRecord(samples=samples):
            result = {"memory": [[sample.turns, sample.host, sample.device] for sample in samples]}
        case SameRecord(count=count):
            result = {"same": count}
    return {"step": record.step, **_given("loops", list(record.loops)), **result}


def _hit(hit: Hit) -> list[object]:
    return [hit.ctype, hit.number, [_output(value) for value in hit.args], _output(hit.ret)]


def _ending(ending: Ending) -> Json:
    result: Json = {"kind": ending.kind.value}
    if ending.step is not None:
        result["step"] = ending.step
    if ending.phase is not None:
        result["phase"] = ending.phase.value
    result |= _given("loops", list(ending.loops))
    result |= _given("function", ending.function)
    return result | _given("detail", ending.detail)


def _given(key: str, value: object) -> Json:
    """`value` under `key`, unless it is the empty default."""
    return {key: value} if value else {}


# ------------------------------------------------------------------------------------------------------------ reading


def trace_from_json(stored: object) -> Trace:
    """The trace that `stored` is the JSON form of. Raises TraceError on anything malformed."""
    top = _Node(stored, "trace").object()
    version = top.get("trace").whole()
    if version != FORMAT:
        raise TraceError(f"trace: format {_show(version)} is unknown; format {FORMAT} is expected")
    pointers = tuple(_read_pointer(node) for node in top.get("pointers").items())
    if not pointers or pointers[0].raw != 0:
        raise TraceError("trace.pointers: pointer 0 is missing or not NULL; ['0x0', 'null'] is expected first")
    reader = _Records(len(pointers))
    trace = Trace(
        records=tuple(reader.record(node) for node in top.get("records").items()),
        ending=_read_ending(top.get("ending").object()),
        pointers=pointers,
        capabilities=frozenset(node.member(Capability) for node in top.get("capabilities", []).items()),
        output=top.get("output", "").text(),
    )
    top.finish()
    return trace


def _show(value: object) -> str:
    """`value`, short enough for a message."""
    if isinstance(value, int) and abs(value) >= 2**64:
        return "a number of more than 64 bits"
    shown = ascii(value) if isinstance(value, int | str | None) else type(value).__name__
    return shown if len(shown) <= 40 else shown[:40] + "..."


class _Node:
    """A value inside the stored trace, and where it stands there."""

    __slots__ = ("value", "where")

    def __init__(self, value: object, where: str) -> None:
        self.value = value
        self.where = where

    def refuse(self, expected: str) -> TraceError:
        return TraceError(f"{self.where}: {_show(self.value)}; {expected} is expected")

    def object(self) -> _Object:
        if not isinstance(self.value, dict):
            raise self.refuse("an object")
        return _Object(self.value, self.where)

    def items(self, count: int | None = None) -> list[_Node]:
        """The items of a list; with `count`, exactly so many."""
        if not isinstance(self.value, list) or (count is not None and len(self.value) != count):
            raise self.refuse("a list" if count is None else f"a list of {count}")
        return [_Node(item, f"{self.where}[{number}]") for number, item in enumerate(self.value)]

    def whole(self, low: int = 0, high: int = 2**64 - 1) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.refuse(f"an integer from {low} to {high}")
        return self.value

    def signed(self) -> int:
        return self.whole(-(2**63))

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.refuse("a string")
        return self.value

    def loops(self) -> tuple[int, ...]:
        return tuple(node.whole() for node in self.items())

    def member(self, kind: Callable[[str], _T]) -> _T:
        try:
            return kind(self.text())
        except ValueError:
            if not isinstance(self.value, str):
                raise
            raise self.refuse(f"a known {getattr(kind, '__name__', 'value').lower()}") from None

    def bytes(self) -> bytes:
        text = self.text()
        try:
            exact = bytes.fromhex(text[1:])
        except ValueError:
            exact = b""
        if text != "x" + exact.hex():
            raise self.refuse("'x' and hexadecimal digits")
        return exact


class _Object:
    """An object whose keys are taken one by one; what is left over at the end is refused."""

    __slots__ = ("rest", "where")

    def __init__(self, value: dict[object, object], where: str) -> None:
        self.rest = dict(value)
        self.where = where

    def get(self, key: str, default: object = None) -> _Node:
        """The value of `key`; without a default it must be there."""
        if key not in self.rest and default is None:
            raise TraceError(f"{self.where}: '{key}' is missing; the JSON form of a trace is expected")
        return _Node(self.rest.pop(key, default), f"{self.where}.{key}")

    def optional(self, key: str, read: Callable[[_Node], _T]) -> _T | None:
        return read(self.get(key)) if key in self.rest else None

    def finish(self) -> None:
        for key in self.rest:
            raise TraceError(f"{self.where}: {_show(key)} has no meaning; only the keys of this format are expected")


def _read_pointer(node: _Node) -> Pointer:
    raw, kind = node.items(2)
    text = raw.text()
    try:
        number = int(text, 16) if len(text) <= 18 else -1
    except ValueError:
        number = -1
    if not 0 <= number < 2**64 or hex(number) != text:
        raise raw.refuse("a raw pointer value like '0x7f00'")
    return Pointer(number, kind.text())


def _read_ending(top: _Object) -> Ending:
    ending = Ending(
        kind=top.get("kind").member(End),
        step=top.optional("step", _Node.whole),
        loops=top.get("loops", []).loops(),
        phase=top.optional("phase", lambda node: node.member(Phase)),
        function=top.get("function", "").text(),
        detail=top.get("detail", "").text(),
    )
    top.finish()
    return ending


class _Records:
    """Reads records whose pointers are numbered below `pointers`."""

    def __init__(self, pointers: int) -> None:
        self.pointers = pointers

    def record(self, node: _Node) -> Record:
        top = node.object()
        step = top.get("step").whole()
        loops = top.get("loops", []).loops()
        for kind, read in _KINDS.items():
            if kind in top.rest:
                record = read(self, top, step, loops)
                top.finish()
                return record
        raise TraceError(f"{node.where}: no known kind of record; one of {', '.join(_KINDS)} is expected")

    def pointer_or_int(self, node: _Node) -> int | Ptr:
        if not isinstance(node.value, str):
            return node.signed()
        digits = node.value[1:]
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else -1
        if not 0 <= number < self.pointers or node.value != f"p{number}":
            raise node.refuse(f"an integer, or 'p' and a number below {self.pointers},")
        return Ptr(number)

    def output(self, node: _Node) -> Output:
        if node.value is None:
            return None
        if isinstance(node.value, str) and node.value.startswith("x"):
            return node.bytes()
        return self.pointer_or_int(node)

    def hit(self, node: _Node) -> Hit:
        ctype, number, args, ret = node.items(4)
        return Hit(
            ctype.text(),
            number.whole(),
            tuple(self.pointer_or_int(arg) for arg in args.items()),
            None if ret.value is None else self.pointer_or_int(ret),
        )

    def hits(self, top: _Object) -> tuple[Hit, ...]:
        return tuple(self.hit(node) for node in top.get("hits", []).items())

    def outs(self, top: _Object) -> tuple[tuple[str, Output], ...]:
        pairs = [node.items(2) for node in top.get("outs", []).items()]
        return tuple((name.text(), self.output(value)) for name, value in pairs)

    def call(self, top: _Object, step: int, loops: tuple[int, ...]) -> CallRecord:
        function, ret = top.get("call").text(), self.pointer_or_int(top.get("ret"))
        breaches = [node.items(2) for node in top.get("breaches", []).items()]
        return CallRecord(
            step,
            loops,
            function,
            ret,
            self.outs(top),
            tuple(Breach(param.text(), offset.signed()) for param, offset in breaches),
            self.hits(top),
            bool(top.get("fault", 0).whole(high=1)),
        )

    def skip(self, top: _Object, step: int, loops: tuple[int, ...]) -> SkipRecord:
        return SkipRecord(step, loops, top.get("skip").text())

    def touch(self, top: _Object, step: int, loops: tuple[int, ...]) -> TouchRecord:
        error = top.get("touch").text()
        return TouchRecord(step, loops, error, top.optional("data", _Node.bytes), top.optional("crc", _Node.whole))

    def invoke(self, top: _Object, step: int, loops: tuple[int, ...]) -> InvokeRecord:
        error, ret = top.get("invoke").text(), top.optional("ret", self.pointer_or_int)
        return InvokeRecord(step, loops, error, ret, self.hits(top))

    def live(self, top: _Object, step: int, loops: tuple[int, ...]) -> LiveRecord:
        objects, held = top.get("live").items(2)
        return LiveRecord(step, loops, objects.signed(), held.signed(), top.optional("lost", _Node.whole) == 1)

    def memory(self, top: _Object, step: int, loops: tuple[int, ...]) -> MemoryRecord:
        rows = [node.items(3) for node in top.get("memory").items()]
        return MemoryRecord(step, loops, tuple(Sample(turns.whole(), a.signed(), b.signed()) for turns, a, b in rows))

    def same(self, top: _Object, step: int, loops: tuple[int, ...]) -> SameRecord:
        return SameRecord(step, loops, top.get("same").whole())


_KINDS: dict[str, Callable[[_Records, _Object, int, tuple[int, ...]], Record]] = {
    "call": _Records.call,
    "skip": _Records.skip,
    "touch": _Records.touch,
    "invoke": _Records.invoke,
    "live": _Records.live,
    "memory": _Records.memory,
    "same": _Records.same,
}
