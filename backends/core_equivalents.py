"""Reviewed mutants that no conforming suite can kill, with the reason for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import yaml

from acl_cts.backends.core_backend import FOLDER
from acl_cts.backends.core_mutants import Mutant

REVIEWED = FOLDER / "equivalent_mutants.yaml"

Key = tuple[str, str, str, str]


class EquivalentsError(ValueError):
    """The file of reviewed mutants is wrong or out of date. The message is one line: file, entry, what to do."""


@dataclass(frozen=True, slots=True)
class Equivalent:
    """One reviewed mutant, found again by its text, which outlives line numbers. `reason`: one sentence."""

    file: str
    function: str
    before: str
    after: str
    reason: str

    @property
    def key(self) -> Key:
        """What a mutant is found by."""
        return self.file, self.function, self.before, self.after


def key_of(mutant: Mutant) -> Key:
    """What an entry for `mutant` is found by."""
    return mutant.file, mutant.function, mutant.before, mutant.after


def load_equivalents(mutants: Iterable[Mutant], path: Path = REVIEWED) -> Mapping[Key, Equivalent]:
    """The reviewed mutants. Raises EquivalentsError for an entry that is malformed, given twice, or fits
    none of `mutants` any more, or several."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))["equivalent"]
    except OSError as error:
        raise EquivalentsError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError, TypeError, KeyError) as error:
        raise EquivalentsError(f"{path.name}: is not a list called 'equivalent': {error}") from error
    known = Counter(key_of(mutant) for mutant in mutants)
    found = [_entry(path, number, entry) for number, entry in enumerate(entries or (), 1)]
    for key, times in Counter(entry.key for entry in found).items():
        if times > 1:
            raise EquivalentsError(f"{path.name}: {key[0]}, {key[1]}: '{key[3]}' is given twice; remove one")
        if key not in known:
            raise EquivalentsError(
                f"{path.name}: {key[0]}, {key[1]}: no mutant turns '{key[2]}' into '{key[3]}' any more; review it anew"
            )
        if known[key] > 1:
            raise EquivalentsError(
                f"{path.name}: {key[0]}, {key[1]}: '{key[3]}' fits {known[key]} mutants; "
                "one text cannot tell them apart: remove it"
            )
    return {entry.key: entry for entry in found}


def _entry(path: Path, number: int, entry: object) -> Equivalent:
    names = [field.name for field in fields(Equivalent)]
    if not isinstance(entry, dict) or set(entry) != set(names):
        raise EquivalentsError(f"{path.name}: entry {number}: has not just the keys {', '.join(names)}")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["reason"]:
        raise EquivalentsError(f"{path.name}: entry {number}: its values are texts, and its reason is not empty")
    return Equivalent(**entry)
