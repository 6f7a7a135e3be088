"""Greeting: what an executor tells of its library before the first program."""

from __future__ import annotations

from dataclasses import dataclass, field

from acl_cts.specs.interface import Interface
from acl_cts.specs.trace import Capability

_BITS = {
    1: Capability.ROBUST_HANDLES,
    2: Capability.THREAD_SAFE,
    4: Capability.FAULT_INJECTION,
    8: Capability.LIVE_COUNT,
}


@dataclass(slots=True)
class Greeting:
    """What a worker tells of the library before its first program. `refusals`: what its lifecycle answered amiss."""

    digest: str = ""
    flavour: str = ""
    missing: frozenset[str] = frozenset()
    capabilities: int = 0
    copy: bool = False
    streams: bool = False
    memory: bool = False
    version: str = ""
    soc: str = ""
    pointers: dict[int, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    failure: str = ""


def read_greeting(text: bytes, interface: Interface) -> Greeting:
    """The greeting that stands in lines of text where replies will be."""
    greeting = Greeting()
    callbacks = list(interface.callbacks)
    missing: set[str] = set()
    for line in text.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(" ")
        match key:
            case "digest" | "flavour" | "version" | "soc":
                setattr(greeting, key, value)
            case "missing":
                missing.add(value)
            case "capabilities":
                greeting.capabilities = int(value)
            case "copy":
                greeting.copy = value == "1"
            case "streams":
                greeting.streams = value == "1"
            case "memory":
                greeting.memory = value == "1"
            case "callback":
                ctype, number, raw = map(int, value.split())
                if ctype < len(callbacks):
                    greeting.pointers[raw] = f"callback:{callbacks[ctype]}:{number}"
            case "object":
                number, raw = map(int, value.split())
                greeting.pointers[raw] = f"object:{number}"
            case "refused":
                greeting.refusals.append(value)
            case "unloadable":
                greeting.failure = value
    greeting.missing = frozenset(missing)
    return greeting


def capabilities(greeting: Greeting) -> frozenset[Capability]:
    """What a backend declares, from what its library told."""
    found = {capability for bit, capability in _BITS.items() if greeting.capabilities & bit}
    found |= {Capability.DATA_ACCESS, Capability.EXIT}
    if greeting.streams:
        found.add(Capability.STREAMS)
    if greeting.memory:
        found.add(Capability.MEMORY)
    if greeting.flavour in ("asan", "cover", "tsan"):
        found.add(Capability.INSTRUMENTED)
    return frozenset(found)
