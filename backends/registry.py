"""Registry: the backends by name, ours and those that other packages announce."""

from __future__ import annotations

from dataclasses import replace

from acl_cts.backends.acl.backend import AclBackend
from acl_cts.backends.backend import Backend, BackendError, Options, Session
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.native.build import FLAVOURS
from acl_cts.backends.near import near
from acl_cts.backends.simulator.profile import PROFILES
from acl_cts.backends.simulator.session import SimulatorBackend

GROUP = "acl_cts.backends"
"""Entry point group of third-party backends: each names a class or function that gives a Backend."""


def _own() -> dict[str, Backend]:
    return {b.name: b for b in (CoreBackend(), SimulatorBackend(), AclBackend())}


def backends() -> dict[str, Backend]:
    """Every backend by its name. Raises BackendError for an announced one that cannot be imported."""
    from importlib.metadata import entry_points  # late, as it is slow and most starts ask for one of ours

    found = _own()
    for entry in entry_points(group=GROUP):
        try:
            backend = entry.load()()
        except Exception as error:
            raise BackendError(f"backend {entry.name} of {entry.value} cannot be loaded: {error!r}") from error
        found.setdefault(entry.name, backend)
    return found


def open_backend(name: str, options: Options) -> Session:
    """Open the backend `name`; behind a colon stands a flavour of the core (`core:asan`) or of an acl executor, or a
    profile of the simulator (`simulator:opposite`). Raises BackendError for a name that nobody has."""
    base, _, variant = name.partition(":")
    known = _own()
    if base not in known:
        known = backends()
    if base not in known:
        raise BackendError(f"no backend {base!r}{near(base, known)}; there are {', '.join(known)}")
    if variant:
        options = _with_variant(base, variant, options)
    return known[base].open(options)


def _with_variant(base: str, variant: str, options: Options) -> Options:
    if base == "simulator" and (hint := near(variant, PROFILES)) and variant not in PROFILES:
        raise BackendError(f"simulator: there is no profile '{variant}'{hint}; there are {', '.join(PROFILES)}")
    if base not in ("core", "acl"):
        return replace(options, library=variant)
    if variant not in FLAVOURS:
        raise BackendError(f"{base}: no flavour {variant!r}{near(variant, FLAVOURS)}; there are {', '.join(FLAVOURS)}")
    return replace(options, flavour=variant)
