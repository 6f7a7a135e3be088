"""Settings: how a failure was executed, kept beside it so that it can be executed in the same way again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.backends.backend import Identity, Options
from acl_cts.backends.native.clang import find_clang
from acl_cts.backends.native.counters import counts
from acl_cts.specs.source_build import PLAIN, SANITIZERS, Build


@dataclass(frozen=True, slots=True)
class Setting:
    """`backend` as on the command line, `library` that answered ('' when there was no file), `options` that open the
    backend in the same way again, and `build`: how C is built that loads that library."""

    backend: str
    library: str
    options: Options
    build: Build = PLAIN

    def __str__(self) -> str:
        return self.backend + (f": {self.library}" if self.library else "")


def setting_of(backend: str, identity: Identity, options: Options) -> Setting:
    """The setting of an open session. A library that was found or named is named again by its whole path; a core that
    was built is not: it is built again, from the sources of the day."""
    built = backend.partition(":")[0] == "core" and not options.library
    library = options.library if built else identity.library or options.library
    return Setting(backend, identity.library, dataclasses.replace(options, library=library), build_of(identity))


def build_of(identity: Identity) -> Build:
    """How C is built that loads the library of `identity`, as its executor was."""
    flavour = identity.details.get("flavour", PLAIN.flavour)
    if flavour not in SANITIZERS:
        return PLAIN
    if flavour == "cover" and identity.library and counts(Path(identity.library)):
        return Build(Path(find_clang().command).name, flavour)
    return Build(flavour=flavour)


def setting_to_json(setting: Setting) -> dict[str, Any]:
    """JSON of `setting`."""
    return dataclasses.asdict(setting)


def setting_from_json(data: Mapping[str, Any]) -> Setting:
    """The setting that `setting_to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
    return Setting(data["backend"], data["library"], Options(**data["options"]), Build(**data.get("build", {})))
