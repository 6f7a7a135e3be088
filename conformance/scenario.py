"""Scenarios: faults met in the field, each as one or more programs over this API.

They stand in `scenarios/*.yaml`, one file a family, one list of entries a file:

    - id: A9                       # the report that it retells; several entries may share one
      name: length-beyond-area     # unique within its id
      title: one line on the fault
      needs: [live-count]          # beyond what the statements of the program ask for by themselves
      planned: why it cannot run   # declared not run
      solo: true                   # wants a process of its own
      variants: {at-size: {len: 4096}, huge: {len: 2**64-1}}
      program: |
        a = aclrtAllocBuf(size=4096)
        aclrtSetBufDataLen(buf=a, len=$len)

With `variants`, the entry stands for one scenario each, called `name-variant`, in which `$word` is replaced. A program
holds its own clean-up only where it cannot be derived from the program.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

from acl_cts.specs.kept import visible
from acl_cts.specs.program import Call, Exit, FailAllocation, Hooks, Parallel, Program, Read, Steady, Write, walk
from acl_cts.specs.program_text import ProgramError, parse_program
from acl_cts.specs.trace import Capability

FOLDER = Path(__file__).resolve().parent / "scenarios"

_KEYS = frozenset({"id", "name", "title", "needs", "planned", "solo", "variants", "program"})
_ID = re.compile(r"[A-Z][0-9]+")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class ScenarioError(ValueError):
    """A scenario file is wrong. The message is one line and names file and line."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One fault, retold as a program that every conforming library passes.

    `id`: of the report, `A1` to `B20`. `needs`: capabilities without which it is not run. `planned`: when not empty,
    why it is declared not run. `solo`: wants a process of its own. `program` holds a clean-up only where none can be
    derived. `place`: file and line.
    """

    id: str
    name: str
    title: str
    family: str
    program: Program
    needs: frozenset[Capability]
    planned: str
    solo: bool
    place: str


@functools.cache
def load_scenarios(folder: Path = FOLDER) -> tuple[Scenario, ...]:
    """All scenarios of `folder`, file by file, in the order written. Raises ScenarioError."""
    found: dict[tuple[str, str], Scenario] = {}
    for path in sorted(visible(folder.glob("*.yaml"))):
        for scenario in _file(path):
            other = found.setdefault((scenario.id, scenario.name), scenario)
            if other is not scenario:
                raise ScenarioError(
                    f"{scenario.place}: {scenario.id} {scenario.name} stands at {other.place} already; "
                    "another name is expected"
                )
    if not found:
        raise ScenarioError(f"{folder}: no scenario (*.yaml) there")
    return tuple(found.values())


def asked_for(program: Program) -> frozenset[Capability]:
    """The capabilities that the statements of `program` cannot do without; a live count is only taken where there is
    one."""
    found: set[Capability] = set()
    for statement in (*walk(program.body), *walk(program.cleanup)):
        match statement:
            case Parallel():
                found.add(Capability.THREAD_SAFE)
            case FailAllocation():
                found.add(Capability.FAULT_INJECTION)
            case Hooks():
                found.add(Capability.HOOKS)
            case Steady():
                found.add(Capability.MEMORY)
            case Exit():
                found.add(Capability.EXIT)
            case Write() | Read():
                found.add(Capability.DATA_ACCESS)
            case Call(function="aclrtCreateStream"):
                found.add(Capability.STREAMS)
    return frozenset(found)


def _file(path: Path) -> Iterator[Scenario]:
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ScenarioError(f"{path.name}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ScenarioError(f"{path.name}:1: cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(node, yaml.SequenceNode):
        raise ScenarioError(f"{path.name}:1: a list of scenarios is expected")
    for item, entry in zip(node.value, data, strict=True):
        yield from _Entry(path, item, entry).scenarios()


class _Entry:
    """One entry of a file, and where its parts stand."""

    def __init__(self, path: Path, node: yaml.Node, entry: Any) -> None:
        self.path = path
        self.line = node.start_mark.line + 1
        if not isinstance(entry, dict) or not isinstance(node, yaml.MappingNode):
            raise self.error("an entry is a mapping with id, name, title and program")
        self.entry: Mapping[str, Any] = entry
        self.lines: dict[str, tuple[int, int]] = {
            key.value: (key.start_mark.line + 1, value.start_mark.line + 1) for key, value in node.value
        }
        if len(self.lines) < len(node.value):
            raise self.error("a key is given twice")

    def error(self, what: str, line: int = 0) -> ScenarioError:
        return ScenarioError(f"{self.path.name}:{line or self.line}: {what}")

    def scenarios(self) -> Iterator[Scenario]:
        self.check()
        variants = self.entry.get("variants")
        if variants is None:
            yield self.scenario("", {})
            return
        for name, words in variants.items():
            if not isinstance(words, dict):
                raise self.error(f"variant {name}: a mapping of words to what they stand for is expected")
            yield self.scenario(str(name), words)

    def check(self) -> None:
        """Every key is known, and what it holds is of the right kind."""
        unknown = sorted(map(str, self.entry.keys() - _KEYS))
        if unknown:
            raise self.error(f"unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
        for key in ("id", "name", "title", "program"):
            if not isinstance(self.entry.get(key), str) or not self.entry[key].strip():
                raise self.error(f"'{key}' is missing or no text")
        if not _ID.fullmatch(self.entry["id"]):
            raise self.error(f"id {self.entry['id']!r}: a letter and a number are expected")
        if not isinstance(self.entry.get("planned", ""), str) or not isinstance(self.entry.get("solo", False), bool):
            raise self.error("'planned' is a text, 'solo' is true or false")
        if "variants" in self.entry and not (isinstance(self.entry["variants"], dict) and self.entry["variants"]):
            raise self.error("'variants' is a mapping of names to mappings")

    def scenario(self, variant: str, words: Mapping[str, Any]) -> Scenario:
        name = f"{self.entry['name']}-{variant}" if variant else self.entry["name"]
        if not _NAME.fullmatch(name):
            raise self.error(f"name {name!r}: small letters, digits and single hyphens are expected")
        program = self.program(name, words)
        return Scenario(
            self.entry["id"],
            name,
            self.entry["title"],
            self.path.stem,
            program,
            self.needs() | asked_for(program),
            self.entry.get("planned", ""),
            self.entry.get("solo", False),
            f"{self.path.name}:{self.line}",
        )

    def program(self, name: str, words: Mapping[str, Any]) -> Program:
        template = Template(self.entry["program"])
        if not template.is_valid():
            raise self.error(f"{name}: a $ in the program starts no word; $size or the like is expected")
        used = set(template.get_identifiers())
        if used != words.keys():
            raise self.error(f"{name}: the words {sorted(used)} stand in the program, {sorted(words)} are given")
        try:
            return parse_program(template.substitute(words))
        except ProgramError as error:
            raise self.error(f"{name}: {error.what}", self.program_line(error.line)) from None

    def program_line(self, line: int) -> int:
        """Line of the file at which line `line` of the program stands: a block starts below its key."""
        key, value = self.lines["program"]
        return max(key, value) + line if line else key

    def needs(self) -> frozenset[Capability]:
        given = self.entry.get("needs", [])
        known = set(Capability)
        if not isinstance(given, list) or not set(map(str, given)) <= known:
            raise self.error(f"'needs' is a list of capabilities: {', '.join(sorted(known))}")
        return frozenset(map(Capability, given))
