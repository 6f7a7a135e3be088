"""The decoder: any bytes become a program.

Bytes are an entrance, not a store: there is no way back from a program to the bytes that would make it, since what a
record means depends on what lives where it stands. What a campaign keeps are programs, in their text form or in their
compact form, which does go both ways; what comes out of a mutator that knows nothing but bytes comes in here.
"""

from __future__ import annotations

import functools

from acl_cts.fuzz.choices import records
from acl_cts.fuzz.generator import Generator
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.rules import Rules, compile_rules
from acl_cts.specs.trace import Capability

EVERYTHING = frozenset(Capability)


def decode(spec: Spec, data: bytes, capabilities: frozenset[Capability] = EVERYTHING) -> Program:
    """The program that `data` stands for, whatever is in it: 16 bytes are one decision.

    Always the same for the same tables and bytes. Never raises, and no call of the program is undefined.
    """
    return _generator(compile_rules(spec), capabilities).program(records(data))


@functools.lru_cache(maxsize=8)
def _generator(rules: Rules, capabilities: frozenset[Capability]) -> Generator:
    return Generator(rules.spec, capabilities)
