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


@pytest.mark.parametrize("part", range(4))
def test_judging_again_gives_the_same(part: int) -> None:
    """Through JSON and the compact program form, in a part of the cases each."""
    with open_backend("core", Options()) as session:
        for case in cached_cases(SPEC)[part::4]:
            if case.needs <= session.capabilities:
                trace = session.run(case.program, solo=case.solo)
                stored = trace_from_json(json.loads(json.dumps(trace_to_json(trace))))
                program = decode_program(encode_program(case.program))
                assert judge(SPEC, program, stored) == judge(SPEC, case.program, trace), case.id
