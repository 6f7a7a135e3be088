"""The catalogue of defects: faults that can be built into the C core on purpose, to measure the suite."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from acl_cts.backends.core_backend import FOLDER
from acl_cts.specs.judgement import Strength
from acl_cts.specs.loader import load_spec

CATALOGUE = FOLDER / "defects.yaml"
SCHEMA = FOLDER / "defects.schema.json"


class DefectsError(ValueError):
    """The catalogue is wrong. The message is one line: file, defect, what is wrong with it."""


class Kind(StrEnum):
    """What sort of fault a defect is."""

    WRAP = "wrap"
    TRUNCATION = "truncation"
    SIGNED = "signed"
    OFF_BY_ONE = "off-by-one"
    UNCHECKED = "unchecked"
    WRONG_SLOT = "wrong-slot"
    WRONG_ORDER = "wrong-order"
    STALE = "stale"
    SHARED = "shared"
    SEPARATE = "separate"
    REFERENCE = "reference"
    PARTIAL_EFFECT = "partial-effect"
    STRAY_WRITE = "stray-write"
    LEAK = "leak"
    GROWTH = "growth"
    USE_AFTER_FREE = "use-after-free"
    UNINITIALISED = "uninitialised"
    HANG = "hang"
    CRASH = "crash"
    SEQUENCE = "sequence"
    SPECIAL_VALUE = "special-value"
    DEEP_STATE = "deep-state"
    RACE = "race"


class Shows(StrEnum):
    """What a defect shows as. A note changes no verdict."""

    DISCREPANCY = "discrepancy"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault. `function`: where it sits, or is met first. `clause`: what it breaks. `report`: the field report
    that it follows, or ''. `flavour`: the build in which the suite must find it. `why`: one sentence, why it is a
    violation. `shows`: a note if the clause is advisory, otherwise a discrepancy."""

    id: str
    function: str
    clause: str
    kind: Kind
    report: str
    flavour: str
    why: str
    shows: Shows = Shows.DISCREPANCY

    @property
    def defines(self) -> tuple[str, ...]:
        """What `build_core` takes to build it in."""
        return (f"CORE_DEFECT={enumerator(self.id)}",)


def enumerator(identifier: str) -> str:
    """The name by which the C sources know the defect `identifier`."""
    return f"CORE_DEFECT_{identifier.replace('-', '_')}"


@functools.cache
def load_defects(path: Path = CATALOGUE) -> tuple[Defect, ...]:
    """All defects, in the order of the file. Raises DefectsError when it does not keep to its schema, gives an id
    twice, names a function or clause that the tables do not have, or does not show as the strength of its clause says.
    """
    entries = _checked(path)
    spec = load_spec()
    seen: set[str] = set()
    for entry in entries:
        name = entry["id"]
        if name in seen:
            raise DefectsError(f"{path.name}: {name}: is given twice")
        if entry["function"] not in spec.functions:
            raise DefectsError(f"{path.name}: {name}: the tables have no function {entry['function']}")
        clause = spec.clauses.get(entry["clause"])
        if clause is None:
            raise DefectsError(f"{path.name}: {name}: the tables have no clause {entry['clause']}")
        shows = Shows.NOTE if clause.strength is Strength.ADVISORY else Shows.DISCREPANCY
        if entry.get("shows", Shows.DISCREPANCY) != shows:
            raise DefectsError(f"{path.name}: {name}: shows: {clause.id} is {clause.strength}, '{shows}' was expected")
        seen.add(name)
    return tuple(_defect(entry) for entry in entries)


def _defect(entry: dict[str, Any]) -> Defect:
    shows = Shows(entry.get("shows", Shows.DISCREPANCY))
    return Defect(**{**entry, "kind": Kind(entry["kind"]), "shows": shows})


def _checked(path: Path) -> list[dict[str, Any]]:
    """The entries of the file, as its schema wants them."""
    import jsonschema  # takes long to import, and most who know of defects read none

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefectsError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise DefectsError(f"{path.name}: is not YAML: {' '.join(str(error).split())}") from error
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    wrong = jsonschema.exceptions.best_match(validator.iter_errors(data))
    if wrong is None:
        entries: list[dict[str, Any]] = data["defects"]
        return entries
    raise DefectsError(f"{path.name}: {_place(data, list(wrong.absolute_path))}: {wrong.message}")


def _place(data: Any, path: list[str | int]) -> str:
    """Where in the file: the defect's id where it has one, and the key."""
    words = [str(part) for part in path]
    if len(path) > 1 and path[0] == "defects":
        entry = data["defects"][path[1]]
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            words[:2] = [entry["id"]]
    return ": ".join(words) or "the file"
