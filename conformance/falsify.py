"""Falsified traces: a real trace with one answer changed, to see that the oracle notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from acl_cts.specs.growth import STEADY_POOL
from acl_cts.specs.interface import Kind, Param
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Exit, Fill, Literal, Program, Ramp, content, steps
from acl_cts.specs.trace import (
    Breach,
    CallRecord,
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
    TouchRecord,
    Trace,
    sentinel,
)

REFUSED = 107000
"""A code for a refusal that the documents expect: invalid parameter."""

UNSUITABLE = 500001
"""A code that suits no refusal of a parameter: internal error."""

OTHERS = 4
"""Pointers of the same trace that are tried in place of one."""

SHIFT = 1 << 24
"""Distance in bytes of an invented pointer from the highest one of the trace."""


@dataclass(frozen=True, slots=True)
class Falsified:
    """A trace that differs from a real one in one answer; `what` says in which, `place` in which record."""

    what: str
    place: int
    trace: Trace


def falsify(spec: Spec, program: Program, trace: Trace) -> Iterator[Falsified]:
    """Every single falsification of `trace`, record by record."""
    for place in range(len(trace.records)):
        yield from falsify_record(spec, program, trace, place)
    yield from _endings(program, trace)


def falsify_record(spec: Spec, program: Program, trace: Trace, place: int) -> Iterator[Falsified]:
    """Every single falsification of the record at `place`."""
    forger = _Forger(spec, program, trace, place)
    match trace.records[place]:
        case CallRecord() as record:
            yield from forger.call(record)
        case TouchRecord() as record:
            yield from forger.touch(record)
        case InvokeRecord() as record:
            yield from forger.invoke(record)
        case LiveRecord() as record:
            yield forger.made("one object more", replace(record, objects=record.objects + 1))
            yield forger.made("one byte more", replace(record, bytes=record.bytes + 1))
            yield forger.made("memory lost", replace(record, lost=not record.lost))
        case MemoryRecord(samples=samples) as record if samples:
            more = tuple(replace(sample, host=sample.turns * STEADY_POOL) for sample in samples)
            yield forger.made("memory grew", replace(record, samples=more))


def _endings(program: Program, trace: Trace) -> Iterator[Falsified]:
    """The process ends, in one way or another, in a call; or an exit on purpose goes wrong."""
    for place, record in enumerate(trace.records):
        if isinstance(record, CallRecord):
            for kind, detail in ((End.CRASH, "SIGSEGV"), (End.TIMEOUT, ""), (End.EXIT, "0")):
                ending = Ending(kind, record.step, record.loops, Phase.CALL, record.function, detail)
                yield Falsified(
                    f"{record.function}: {kind}", place, replace(trace, records=trace.records[:place], ending=ending)
                )
    step = trace.ending.step
    if step is not None and isinstance(steps(program)[step], Exit):
        ending = replace(trace.ending, kind=End.CRASH, detail="SIGSEGV")
        yield Falsified("crash on exit", len(trace.records), replace(trace, ending=ending))


class _Forger:
    """Changes one record of a trace."""

    def __init__(self, spec: Spec, program: Program, trace: Trace, place: int) -> None:
        self.spec = spec
        self.program = program
        self.trace = trace
        self.place = place

    def made(self, what: str, record: Record, pointers: tuple[Pointer, ...] = (), *, final: bool = False) -> Falsified:
        """The trace with `record` in its place, and `pointers` behind those it has; with `final` nothing follows,
        because what followed used a handle that is not given any more."""
        after = () if final else self.trace.records[self.place + 1 :]
        records = (*self.trace.records[: self.place], record, *after)
        trace = replace(self.trace, records=records, pointers=(*self.trace.pointers, *pointers))
        return Falsified(what, self.place, trace)

    def fresh(self) -> tuple[Ptr, Pointer]:
        """A pointer that occurs nowhere in the trace."""
        return Ptr(len(self.trace.pointers)), Pointer(max(p.raw for p in self.trace.pointers) + SHIFT)

    # -- calls

    def call(self, record: CallRecord) -> Iterator[Falsified]:
        yield from self._returned(record)
        signature = self.spec.interface.functions[record.function]
        for name, value in record.outs:
            for label, output, pointers in self._outputs(signature.param(name), value):
                outs = tuple((n, output if n == name else v) for n, v in record.outs)
                final = name == signature.principal and output in (None, Ptr(0))
                what = f"{record.function}: {name} {label}"
                yield self.made(what, replace(record, outs=outs), pointers, final=final)
        for param in signature.params:
            if param.out or param.kind in (Kind.ROOM, Kind.DATA):
                breach = Breach(param.name, -1)
                yield self.made(f"{record.function}: write before {param.name}", replace(record, breaches=(breach,)))
        for ctype, callback in tuple(self.spec.interface.callbacks.items())[:1]:
            hit = Hit(ctype, 1, tuple(0 for _ in callback.params), None)
            yield self.made(f"{record.function}: {ctype} is called", replace(record, hits=(*record.hits, hit)))

    def _returned(self, record: CallRecord) -> Iterator[Falsified]:
        pointer, known = self.fresh()
        what = f"{record.function}: returns"
        if self.spec.interface.functions[record.function].returns is Kind.HANDLE:
            if record.ret == Ptr(0):
                yield self.made(f"{what} a pointer", replace(record, ret=pointer), (known,))
                return
            yield self.made(f"{what} NULL", replace(record, ret=Ptr(0)), final=True)
            for other in self._others(record.ret):
                yield self.made(f"{what} p{other.id}", replace(record, ret=other))
        elif record.ret == 0:
            final = bool(self._principal(record)) or self._locates(record)
            yield self.made(f"{what} {REFUSED}", replace(record, ret=REFUSED), final=final)
        else:
            yield self.made(f"{what} 0", replace(record, ret=0))
            yield self.made(f"{what} {UNSUITABLE}", replace(record, ret=UNSUITABLE))

    def _principal(self, record: CallRecord) -> str:
        return self.spec.interface.functions[record.function].principal

    def _locates(self, record: CallRecord) -> bool:
        return self.spec.interface.functions[record.function].locates is not None

    def _others(self, value: object) -> list[Ptr]:
        """Pointers that calls of this trace gave, the latest first, without `value` and NULL."""
        seen: dict[Ptr, None] = {}
        for record in reversed(self.trace.records):
            if isinstance(record, CallRecord):
                given = [record.ret, *(v for _, v in record.outs)]
                seen.update(dict.fromkeys(v for v in given if isinstance(v, Ptr) and v.id and v != value))
            if len(seen) >= OTHERS:
                break
        return list(seen)[:OTHERS]

    def _outputs(self, param: Param, value: Output) -> Iterator[tuple[str, Output, tuple[Pointer, ...]]]:
        """Other values for an output: what to call them, the value, the pointers that it needs."""
        pointer, known = self.fresh()
        if isinstance(value, bytes):
            yield from ((label, data, ()) for label, data in self._rooms(value) if data != value)
        elif param.kind is Kind.INTEGER:
            if value is None:
                yield "is written", 7, ()
            elif isinstance(value, int):
                top = 2**param.bits - 1
                for number in dict.fromkeys((value + 1, value - 1, 0, top)):
                    if 0 <= number <= top and number != value:
                        yield f"is {number}", number, ()
                yield "is not written", None, ()
        else:
            yield "is another pointer", pointer, (known,)
            if value is not None:
                yield "is not written", None, ()
                if value != Ptr(0):
                    yield "is NULL", Ptr(0), ()
                for other in self._others(value):
                    yield f"is p{other.id}", other, ()

    def _rooms(self, value: bytes) -> Iterator[tuple[str, bytes]]:
        """Other contents of caller memory."""
        if not value:
            return
        yield "has another first byte", bytes((value[0] ^ 0xFF,)) + value[1:]
        yield "has another last byte", value[:-1] + bytes((value[-1] ^ 0xFF,))
        yield "is not written", sentinel(len(value))
        for data in self._inputs():
            yield "shows what was set before", (data + value[len(data) :])[: len(value)]
            yield "shows a part of what was set before", (data[:8] + value[8:])[: len(value)]

    def _inputs(self) -> list[bytes]:
        """Bytes of at least one group of 8 that calls of the program give."""
        found: dict[bytes, None] = {}
        for statement in steps(self.program):
            for _, data in statement.args if isinstance(statement, Call) else ():
                if isinstance(data, Fill | Ramp | Literal) and 8 <= data.length <= 4096:
                    found[content(data)] = None
        return list(found)[:OTHERS]

    # -- touches and invocations

    def touch(self, record: TouchRecord) -> Iterator[Falsified]:
        yield self.made("the data area cannot be touched", replace(record, error="fault", data=None, crc=None))
        if record.data:
            changed = bytes((record.data[0] ^ 0xFF,)) + record.data[1:]
            yield self.made("the data area reads otherwise", replace(record, data=changed))
            changed = record.data[:-1] + bytes((record.data[-1] ^ 0xFF,))
            yield self.made("the data area ends otherwise", replace(record, data=changed))
        if record.crc is not None:
            yield self.made("the data area reads otherwise", replace(record, crc=record.crc ^ 1))

    def invoke(self, record: InvokeRecord) -> Iterator[Falsified]:
        pointer, known = self.fresh()
        if record.ret is not None:
            yield self.made("the callback's result is lost", replace(record, ret=pointer), (known,))
        if not record.hits:
            return
        yield self.made("no callback is reached", replace(record, hits=()))
        first, *rest = record.hits
        for at, arg in enumerate(first.args):
            other, pointers = (arg ^ 1, ()) if isinstance(arg, int) else (pointer, (known,))
            args = (*first.args[:at], other, *first.args[at + 1 :])
            hits = (replace(first, args=args), *rest)
            yield self.made(f"argument {at} arrives changed", replace(record, hits=hits), pointers)
        hits = (replace(first, number=first.number % 4 + 1), *rest)
        yield self.made("another callback is reached", replace(record, hits=hits))
