"""A stored trace gets the verdict that it got live, for every case."""

from __future__ import annotations

import json

import pytest

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_bytes import decode_program, encode_program
from acl_cts.specs.trace_json import trace_from_json, trace_to_json

SPEC = load_spec()


PARTS = 4
JUDGED = 8
"""One of so many cases is judged from both forms."""


@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_stored_is_what_was_seen_and_is_judged_alike(part: int) -> None:
    """Through JSON and the compact program form, in a part of the cases each."""
    with open_backend("core", Options()) as session:
        for number, case in enumerate(cached_cases(SPEC)[part::PARTS]):
            if case.needs <= session.capabilities:
                trace = session.run(case.program, solo=case.solo)
                stored = trace_from_json(json.loads(json.dumps(trace_to_json(trace))))
                program = decode_program(encode_program(case.program))
                assert (program, stored) == (case.program, trace), case.id
                if number % JUDGED == 0:
                    assert judge(SPEC, program, stored) == judge(SPEC, case.program, trace), case.id
