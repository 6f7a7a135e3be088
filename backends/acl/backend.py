"""The `acl` backend itself."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from acl_cts.backends.acl.discovery import find_library
from acl_cts.backends.backend import BackendError, Options
from acl_cts.backends.native.elf import foreign
from acl_cts.backends.native.session import NativeSession, Place
from acl_cts.specs.loader import load_spec


@dataclass(frozen=True, slots=True)
class AclBackend:
    """Opens a library with the runtime's ABI; it runs on whatever processors the system gives it."""

    name: str = "acl"
    summary: str = "a vendor's libascendcl.so, by --library PATH or from the environment of its set_env.sh"

    def open(self, options: Options) -> NativeSession:
        """Open a session. Raises BackendError when there is no such library or it cannot be used."""
        library = find_library(options.library, os.environ)
        if not options.executor and (other := foreign(library)):  # an executor may run in an emulator
            raise BackendError(
                f"acl: {library} {other}; pass the library for {platform.machine()}, or --executor PATH with one that "
                "runs it here"
            )
        return NativeSession(Place("acl", library), load_spec(more=options.tables).interface, options)
