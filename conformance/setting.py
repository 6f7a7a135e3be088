"""Settings: how a failure was executed, kept beside it so that it can be executed in the same way again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acl_cts.backends.backend import Identity, Options


@dataclass(frozen=True, slots=True)
class Setting:
    """`backend` as on the command line, `library` that answered ('' when there was no file), and `options` that open
    the backend in the same way again."""

    backend: str
    library: str
    options: Options

    def __str__(self) -> str:
        return self.backend + (f": {self.library}" if self.library else "")


def setting_of(backend: str, identity: Identity, options: Options) -> Setting:
    """The setting of an open session. A library that was found or named is named again by its whole path; a core that
    was built is not: it is built again, from the sources of the day."""
    built = backend.partition(":")[0] == "core" and not options.library
    library = options.library if built else identity.library or options.library
    return Setting(backend, identity.library, dataclasses.replace(options, library=library))


def setting_to_json(setting: Setting) -> dict[str, Any]:
    """JSON of `setting`."""
    return dataclasses.asdict(setting)


def setting_from_json(data: Mapping[str, Any]) -> Setting:
    """The setting that `setting_to_json` gave. Raises KeyError or TypeError for anything else."""
    return Setting(data["backend"], data["library"], Options(**data["options"]))
