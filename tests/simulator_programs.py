"""Short forms for programs that the simulator's tests write, and for what they look for in its traces."""

from __future__ import annotations

import re
from dataclasses import replace

from acl_cts.backends.simulator.builtin import install
from acl_cts.backends.simulator.execution import execute
from acl_cts.backends.simulator.process import Process
from acl_cts.backends.simulator.profile import Profile
from acl_cts.backends.simulator.session import CAPABILITIES
from acl_cts.specs.program import Call, Callback, Index, Int, Null, Object, Program, Ref, Statement, Target, Value
from acl_cts.specs.trace import CallRecord, End, Output, Ptr, Record, Trace

REQUIRED = ("Obj", "AllocFunc", "FreeFunc", "GetAddrFromBlockFunc")

_PLACE = re.compile(r"(\w+)(?:\[(?:(\d+)|([a-z]\w*))\])?(?:\.(\w+))?")


def ref(text: str) -> Ref:
    """`a`, `a.field`, `a[3]` or `a[i]`."""
    match = _PLACE.fullmatch(text)
    assert match is not None
    name, number, loop, field = match.groups()
    index = None if number is None and loop is None else Index(int(number or 0), loop)
    return Ref(name, index, field)


def call(function: str, target: str | None = None, /, **args: Value | int | str | None) -> Call:
    """`aclrt` + function; integers, None for NULL and texts for references stand for themselves."""
    place = None if target is None else ref(target)
    return Call(
        f"aclrt{function}",
        tuple((name, _value(value)) for name, value in args.items()),
        None if place is None else Target(place.name, place.index),
    )


def _value(value: Value | int | str | None) -> Value:
    match value:
        case None:
            return Null()
        case int():
            return Int(value)
        case str():
            return ref(value)
    return value


def descriptor(name: str, number: int, *without: str, advise: bool = True) -> list[Statement]:
    """Create descriptor `name` and set its slots to the built-in callbacks and object `number`."""
    made: list[Statement] = [call("AllocatorCreateDesc", name)]
    for slot in (*REQUIRED, *(("AllocAdviseFunc",) if advise else ())):
        if slot not in without:
            given: dict[str, Value] = {"allocator": Object(number)} if slot == "Obj" else {"func": Callback(number)}
            made.append(call(f"AllocatorSet{slot}ToDesc", allocatorDesc=name, **given))
    return made


def run(*statements: Statement, profile: Profile | None = None, **answers: bool) -> Trace:
    """Execute a program in a new process of the default profile, with other `answers`; it runs to its end."""
    trace = execute(new_process(profile, **answers), Program(statements), CAPABILITIES)
    assert trace.ending.kind is End.COMPLETED, trace.ending
    return trace


def new_process(profile: Profile | None = None, **answers: bool) -> Process:
    """A process in which nothing happened yet."""
    process = Process(replace(profile or Profile(), **answers))
    install(process)
    return process


def last(trace: Trace) -> Record:
    """The last record."""
    return trace.records[-1]


def calls(trace: Trace, function: str = "") -> list[CallRecord]:
    """Records of calls, of all functions or of `aclrt` + function."""
    return [r for r in trace.records if isinstance(r, CallRecord) and r.function.endswith(function)]


def out(record: Record, name: str) -> Output:
    """What a call wrote for `name`."""
    assert isinstance(record, CallRecord)
    return dict(record.outs)[name]


def accepted(record: Record) -> bool:
    """Whether a call answered success."""
    assert isinstance(record, CallRecord)
    return record.ret == 0


def raw(trace: Trace, value: object) -> int:
    """The address behind a pointer of a trace."""
    assert isinstance(value, Ptr)
    return trace.pointers[value.id].raw


def kind(trace: Trace, value: object) -> str:
    """What a trace knows of a pointer."""
    assert isinstance(value, Ptr)
    return trace.pointers[value.id].kind
