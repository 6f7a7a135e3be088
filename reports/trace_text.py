"""A trace in words: one line for every record, as `acl-cts replay` prints it."""

from __future__ import annotations

from acl_cts.specs.trace import (
    CallRecord,
    End,
    Ending,
    Hit,
    InvokeRecord,
    LiveRecord,
    MemoryRecord,
    Output,
    Pointer,
    Ptr,
    Record,
    SameRecord,
    SkipRecord,
    TouchRecord,
    Trace,
)

SHOWN = 16
"""Bytes of a buffer that one line shows."""


def trace_lines(trace: Trace, statements: tuple[str, ...]) -> list[str]:
    """Every record beside the text of its statement (`statements`, by step number), then the ending."""
    lines = []
    for record in trace.records:
        where = f"{record.step}" + "".join(f"[{loop}]" for loop in record.loops)
        statement = statements[record.step] if record.step < len(statements) else "?"
        lines.append(f"  {where:>6}  {statement}\n          -> {record_text(record, trace.pointers)}")
    if trace.output:
        lines.append("  output of the library:")
        lines.extend(f"    | {line}" for line in trace.output.splitlines())
    lines.append(f"  ended: {ending_text(trace.ending)}")
    return lines


def ending_text(ending: Ending) -> str:
    """How the execution ended, and where."""
    if ending.kind is End.COMPLETED:
        return "completed"
    parts = [ending.kind.value, ending.detail]
    if ending.function:
        parts.append(f"in {ending.function}")
    if ending.step is not None:
        parts.append(f"at step {ending.step}" + "".join(f"[{loop}]" for loop in ending.loops))
    if ending.phase is not None:
        parts.append(f"(phase {ending.phase})")
    return " ".join(part for part in parts if part)


def record_text(record: Record, pointers: tuple[Pointer, ...]) -> str:
    """One record in words."""
    match record:
        case CallRecord():
            return _call(record, pointers)
        case SkipRecord(reason=reason):
            return f"skipped ({reason})"
        case TouchRecord(error=error, data=data, crc=crc):
            if error:
                return f"failed ({error})"
            return "written" if data is None and crc is None else f"read {_content(data, crc)}"
        case InvokeRecord(error=error, ret=ret, hits=hits):
            return f"not called ({error})" if error else f"returned {_value(ret, pointers)}{_hits(hits, pointers)}"
        case LiveRecord(objects=objects, bytes=held, lost=lost):
            return f"{objects} objects live, {held} bytes{', memory was lost' if lost else ''}"
        case MemoryRecord(samples=()):
            return "memory is measured from here on"
        case MemoryRecord(samples=samples):
            last = samples[-1]
            device = f", {last.device} on the device" if last.device else ""
            return f"after {last.turns} turns {last.host} bytes more are held{device}"
        case SameRecord(count=count):
            return f"the same answers {count} times more"


def _call(record: CallRecord, pointers: tuple[Pointer, ...]) -> str:
    text = _value(record.ret, pointers)
    for name, value in record.outs:
        text += f", {name} = {_value(value, pointers)}"
    for breach in record.breaches:
        text += f", WROTE OUTSIDE {breach.param} at byte {breach.offset}"
    if record.fault_fired:
        text += ", injected fault fired"
    return text + _hits(record.hits, pointers)


def _hits(hits: tuple[Hit, ...], pointers: tuple[Pointer, ...]) -> str:
    text = ""
    for hit in hits:
        args = ", ".join(_value(arg, pointers) for arg in hit.args)
        text += f", reached {hit.ctype} {hit.number}({args}) -> {_value(hit.ret, pointers)}"
    return text


def _content(data: bytes | None, crc: int | None) -> str:
    return f"CRC-32 {crc:08x}" if data is None else _bytes(data)


def _bytes(data: bytes) -> str:
    shown = data[:SHOWN].hex(" ")
    return f"{len(data)} bytes: {shown}{' ...' if len(data) > SHOWN else ''}"


def _value(value: Output | int | Ptr, pointers: tuple[Pointer, ...]) -> str:
    match value:
        case None:
            return "untouched"
        case Ptr(id=number):
            kind = pointers[number].kind if number < len(pointers) else "other"
            return {"null": "NULL", "other": f"p{number}"}.get(kind, f"p{number} <{kind}>")
        case bytes():
            return _bytes(value)
        case _:
            return str(value)
