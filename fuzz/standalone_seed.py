"""Seeds: programs in the bytes that the self-contained target reads, a record of fixed length for each call."""

from __future__ import annotations

from dataclasses import dataclass, field

from acl_cts.specs.interface import Kind, Signature
from acl_cts.specs.model import Spec
from acl_cts.specs.program import (
    Call,
    Callback,
    Fill,
    Index,
    Int,
    Invoke,
    Literal,
    Live,
    Null,
    Object,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Statement,
    Value,
    Write,
)

RECORD = 24
"""Bytes of a call: function, which argument is NULL, how often; three small arguments; two numbers of nine bytes."""

LONGEST = 300
"""Calls of a seed at most."""

NULL_FROM = 200
"""Value of the second byte from which on an argument is NULL."""

FROM_END = 200
"""Value of a byte that means a handle from which on it is counted from the newest one, 255, on."""

MOST_TURNS = 257
"""Turns of one record at most."""

_SMALL, _NUMBERS = (3, 4, 5), (6, 15)


def turns_of(spec: Spec) -> tuple[int, ...]:
    """How often a record may repeat its call, by the last values of its third byte: small numbers, what 8 bits hold,
    and the documented limits of what can be built up."""
    limits = {value for limit in spec.limits.values() for value in limit.readings.values()}
    near = {value + delta for value in limits for delta in (-2, -1, 0, 1)}
    found = {2, 3, 4, 5, 8, 16, 40, 64, 254, 255, 256, 257, *near}
    return tuple(sorted(count for count in found if 2 <= count <= MOST_TURNS))


class _Inexpressible(Exception):
    """The target has no bytes for this."""


@dataclass(slots=True)
class _Encoder:
    spec: Spec
    turns: tuple[int, ...] = ()
    records: list[bytes] = field(default_factory=list)
    slots: dict[str, int] = field(default_factory=dict)
    known: dict[tuple[str, int | None], tuple[str, int]] = field(default_factory=dict)

    def block(self, body: tuple[Statement, ...], loops: dict[str, int]) -> None:
        for statement in body:
            match statement:
                case Call():
                    self.call(statement, loops)
                case Repeat(count=count, loop=loop, body=inner) if calls := self._runs(count, inner, loop):
                    for call in calls:
                        self.call(call, {**loops, loop: 0}, count)
                case Repeat(count=count, loop=loop, body=inner):
                    for turn in range(count):
                        self.block(inner, {**loops, loop: turn})
                case Read() | Write() | Live() | Invoke():
                    pass  # the target touches data areas itself; the others change nothing
                case _:
                    raise _Inexpressible
            if len(self.records) > LONGEST:
                raise _Inexpressible

    def _runs(self, count: int, body: tuple[Statement, ...], loop: str) -> tuple[Call, ...]:
        """The calls of a loop's body if each can be repeated by itself: it makes something of what stays the same, or
        goes along the handles of an array."""
        calls = tuple(s for s in body if isinstance(s, Call) and self._walks(s, loop))
        return calls if count in self.turns and calls == body else ()

    def _walks(self, call: Call, loop: str) -> bool:
        function = self.spec.functions.get(call.function)
        if function is None or any(isinstance(value, Int) and value.loop for _, value in call.args):
            return False
        handles = [value for _, value in call.args if isinstance(value, Ref)]
        counted = [value.index is not None and value.index.loop == loop for value in handles]
        if function.creates:
            return not any(counted) and call.target is not None and call.target.index is not None
        return bool(counted) and counted == [False] * (len(counted) - 1) + [True]

    def call(self, call: Call, loops: dict[str, int], turns: int = 1) -> None:
        function = self.spec.functions.get(call.function)
        if function is None:
            raise _Inexpressible
        record = bytearray(RECORD)
        record[0] = list(self.spec.functions).index(call.function)
        given, small, numbers = dict(call.args), 0, 0
        for place, param in enumerate(function.signature.params):
            value = given.get(param.name)
            integer = param.kind is Kind.INTEGER and not param.out
            if isinstance(value, Null) and not integer:
                if record[1]:
                    raise _Inexpressible  # one NULL is all that a record can tell
                record[1] = self._null(place, len(function.signature.params))
            if integer:
                at = _NUMBERS[numbers % 2]
                record[at + 1 : at + 9] = self._number(value, loops).to_bytes(8, "little")
                numbers += 1
            else:
                record[_SMALL[small % 3]] = self._small(function.signature, param.kind, param.out, value, loops)
                small += 1
        if turns > 1:
            record[2] = 256 - len(self.turns) + self.turns.index(turns)
        self.records.append(bytes(record))
        for turn in range(turns):
            for kind in function.creates.values():
                self._made(kind, call, {name: turn if turns > 1 else value for name, value in loops.items()})

    @staticmethod
    def _null(place: int, count: int) -> int:
        """The least byte that means the argument at `place`."""
        return NULL_FROM + place % count

    def _number(self, value: Value | None, loops: dict[str, int]) -> int:
        if not isinstance(value, Int):
            raise _Inexpressible
        return (value.value + (loops[value.loop] if value.loop else 0)) % 2**64

    def _small(self, signature: Signature, kind: Kind, out: bool, value: Value | None, loops: dict[str, int]) -> int:
        if out or value is None or isinstance(value, Null) or kind is Kind.ROOM:
            return 0
        match value:
            case Ref(name=name, index=index, field=None):
                found = self.known.get((name, self._index(index, loops)))
                if found is None or found[1] >= FROM_END:
                    raise _Inexpressible
                return found[1]
            case Callback(number=number) | Object(number=number):
                return number - 1
            case Fill(byte=byte) | Ramp(start=byte):
                return byte
            case Literal(data=data):
                return data[0] if data else 0
        raise _Inexpressible

    def _made(self, kind: str, call: Call, loops: dict[str, int]) -> None:
        slot = self.slots.get(kind, 0)
        self.slots[kind] = slot + 1
        if call.target is not None:
            self.known[call.target.name, self._index(call.target.index, loops)] = (kind, slot)

    @staticmethod
    def _index(index: Index | None, loops: dict[str, int]) -> int | None:
        if index is None:
            return None
        return index.offset + (loops[index.loop] if index.loop else 0)


def encode_seed(spec: Spec, program: Program) -> bytes:
    """The bytes that make the target call what `program` does, without its clean-up; empty when it has none."""
    encoder = _Encoder(spec, turns_of(spec))
    try:
        encoder.block(program.body, {})
    except _Inexpressible:
        return b""
    return b"".join(encoder.records)
