"""The `core` backend: the C library of this package, built in the asked flavour."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acl_cts.backends.backend import BackendError, Options
from acl_cts.backends.native.build import build_library
from acl_cts.backends.native.session import NativeSession, Place
from acl_cts.specs.loader import load_spec

FOLDER = Path(__file__).resolve().parent / "core"


def build_core(flavour: str = "plain", defines: tuple[str, ...] = (), cc: str = "") -> Path:
    """The core's library; `defines` choose other answers at open points, `cc` another compiler. Raises HarnessError
    without a compiler."""
    return build_library("libaclcts_core.so", (FOLDER / "include", FOLDER / "src"), flavour, defines, cc)


@dataclass(frozen=True, slots=True)
class CoreBackend:
    """Opens the core; `defines` as for `build_core`."""

    defines: tuple[str, ...] = ()
    name: str = "core"
    summary: str = "the C core of this package, built on demand (core:asan, core:tsan for sanitizers)"

    def open(self, options: Options) -> NativeSession:
        """Open a session on the core, or on a prebuilt one that `options.library` names."""
        if options.library:
            library = Path(options.library).resolve()
            if not library.is_file():
                raise BackendError(f"core: no library at {options.library}; leave --library out to have the core built")
        else:
            library = build_core(options.flavour, self.defines)
        place = Place("core", library, pinned=True, count_leaks=options.flavour in ("asan", "cover"))
        return NativeSession(place, load_spec(more=options.tables).interface, options)
