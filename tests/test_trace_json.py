"""The JSON form of traces: exact round trips through a JSON text, and refusal of everything malformed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import traces

from acl_cts.specs.trace import CallRecord, End, Ending, Pointer, Ptr, TouchRecord, Trace
from acl_cts.specs.trace_json import TraceError, trace_from_json, trace_to_json

TRACE = Trace(
    records=(
        CallRecord(0, (), "aclrtAllocBuf", 0, (("buf", Ptr(1)),)),
        CallRecord(1, (7,), "aclrtGetBufUserData", 107000, (("dataPtr", b"\xc5\xcc"),), fault_fired=True),
        TouchRecord(2, (), data=b""),
    ),
    ending=Ending(End.COMPLETED),
    pointers=(Pointer(0, "null"), Pointer(0x7F00_0000_1000)),
)
STORED: dict[str, Any] = {
    "trace": 1,
    "records": [
        {"step": 0, "call": "aclrtAllocBuf", "ret": 0, "outs": [["buf", "p1"]]},
        {
            "step": 1,
            "loops": [7],
            "call": "aclrtGetBufUserData",
            "ret": 107000,
            "outs": [["dataPtr", "xc5cc"]],
            "fault": 1,
        },
        {"step": 2, "touch": "", "data": "x"},
    ],
    "ending": {"kind": "completed"},
    "pointers": [["0x0", "null"], ["0x7f0000001000", "other"]],
}


@given(traces())
def test_every_trace_round_trips(trace: Trace) -> None:
    assert trace_from_json(json.loads(json.dumps(trace_to_json(trace)))) == trace


def test_the_form_is_as_published() -> None:
    assert trace_to_json(TRACE) == STORED
    assert trace_from_json(STORED) == TRACE


def test_reading_leaves_the_stored_object_alone() -> None:
    stored = copy.deepcopy(STORED)
    trace_from_json(stored)
    assert stored == STORED


@pytest.mark.parametrize(
    ("path", "value", "hint"),
    [
        (("trace",), 2, "format 1 is expected"),
        (("trace",), True, "trace.trace: True"),
        (("records",), {}, "trace.records: dict; a list"),
        (("records", 0), 5, "trace.records[0]: 5; an object"),
        (("records", 0), {"step": 0}, "no known kind"),
        (("records", 0, "step"), -1, "trace.records[0].step: -1"),
        (("records", 0, "step"), 2**200, "more than 64 bits"),
        (("records", 0, "ret"), "p2", "below 2"),
        (("records", 0, "ret"), "p-1", "below 2"),
        (("records", 0, "ret"), "p01", "below 2"),
        (("records", 0, "ret"), None, "None; an integer"),
        (("records", 0, "ret"), 1.5, "float"),
        (("records", 0, "outs"), [["buf"]], "a list of 2"),
        (("records", 0, "extra"), 1, "'extra' has no meaning"),
        (("records", 1, "outs", 0, 1), "xC5", "hexadecimal"),
        (("records", 1, "outs", 0, 1), "xzz", "hexadecimal"),
        (("records", 1, "fault"), 2, "0 to 1"),
        (("ending", "kind"), "fine", "known end"),
        (("ending", "phase"), 3, "a string"),
        (("pointers",), [], "pointer 0"),
        (("pointers", 0, 0), "0x1", "pointer 0"),
        (("pointers", 1, 0), "0x" + "f" * 17, "raw pointer"),
        (("pointers", 1, 0), "7f", "raw pointer"),
        (("capabilities",), ["flight"], "known capability"),
        (("output",), [], "a string"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(path: tuple[Any, ...], value: object, hint: str) -> None:
    stored: Any = copy.deepcopy(STORED)
    inner = stored
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(TraceError) as caught:
        trace_from_json(stored)
    message = str(caught.value)
    assert hint in message
    assert len(message) < 200


@pytest.mark.parametrize("key", ["trace", "records", "ending", "pointers"])
def test_a_missing_part_is_named(key: str) -> None:
    with pytest.raises(TraceError, match=f"'{key}' is missing"):
        trace_from_json({name: value for name, value in STORED.items() if name != key})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(JSON)
def test_any_json_is_refused_or_read(stored: object) -> None:
    with pytest.raises(TraceError):
        trace_from_json(stored)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in keys for place in places(inner, (*path, key)))]


@given(st.data())
def test_a_damaged_trace_is_refused_or_read(data: st.DataObject) -> None:
    stored: Any = json.loads(json.dumps(trace_to_json(data.draw(traces()))))
    path = data.draw(st.sampled_from(places(stored)[1:]))
    inner = stored
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(JSON)
    refusal = None
    try:
        trace = trace_from_json(stored)
    except TraceError as error:
        refusal = str(error)
    if refusal is None:
        assert trace_from_json(trace_to_json(trace)) == trace
    else:
        assert "expected" in refusal
