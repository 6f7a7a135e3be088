"""Answers in words: what was called and what came of it, in one line for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acl_cts.specs.program import Call, Int, Literal, Room, Value
from acl_cts.specs.program_text import format_value
from acl_cts.specs.trace import CallRecord, Output, Pointer, Ptr, sentinel
from acl_cts.specs.values import UNWRITTEN, Obj, normalise

SHOWN = 24
"""Bytes of an output that a line shows."""

GIVEN = 8
"""Bytes of a literal argument that a line shows."""


def call_text(call: Call, counters: Mapping[str, int]) -> str:
    """`call` as a program has it, with numbers in place of loop `counters`; rooms for outputs are left out, because
    what is in them afterwards is told."""
    given = [(name, value) for name, value in call.args if not isinstance(value, Room)]
    return f"{call.function}({', '.join(f'{name}={_argument(value, counters)}' for name, value in given)})"


def answer_text(called: str, record: CallRecord, pointers: Sequence[Pointer]) -> str:
    """What the call told as `called` answered: what it returned, and each output with its value or as untouched."""
    outs = "".join(f", {name} {_output(value, tuple(pointers))}" for name, value in record.outs)
    return f"{called} returned {short(normalise(record.ret, tuple(pointers)))}{outs}"


def short(value: Any) -> str:
    """A value for people, one line and not long."""
    if value is None:
        return "NULL"
    if value is UNWRITTEN:
        return "(not written)"
    if isinstance(value, bytes | tuple):
        text = "".join("??" if b is None else f"{b:02x}" for b in value[:SHOWN])
        return f"{text}{'…' if len(value) > SHOWN else ''} ({len(value)} bytes)"
    if isinstance(value, Obj):
        return value.kind
    if isinstance(value, Ptr):
        return f"p{value.id}"
    return str(value)


def _argument(value: Value, counters: Mapping[str, int]) -> str:
    if isinstance(value, Int) and value.loop is not None and value.loop in counters:
        return format_value(replace(value, value=value.value + counters[value.loop], loop=None))
    if isinstance(value, Literal) and value.length > GIVEN:
        return f'bytes("{value.data[:GIVEN].hex()}…" {value.length} bytes)'
    return format_value(value)


def _output(value: Output, pointers: tuple[Pointer, ...]) -> str:
    if value is None or (isinstance(value, bytes) and value and value == sentinel(len(value))):
        return "untouched"
    return f"= {short(normalise(value, pointers))}"
