"""YAML that remembers its lines: what a person wrote by hand is answered with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C where PyYAML was built with it: several times faster."""

_BOOL = "tag:yaml.org,2002:bool"
_TIME = "tag:yaml.org,2002:timestamp"


class Located(dict[Any, Any]):
    """A mapping that remembers the line where it starts and the lines of its keys."""

    line: int = 0
    lines: dict[Any, int]


class LocatedList(list[Any]):
    """A list that remembers the lines of its entries."""

    lines: list[int]


class LocatedLoader(SafeLoader):  # type: ignore[misc]
    """Safe YAML, with lines, refusing a key given twice. Truth values are `true` and `false` only; a date is text."""


def _mapping(loader: LocatedLoader, node: yaml.MappingNode) -> Iterator[Located]:
    made = Located()
    made.line = node.start_mark.line + 1
    made.lines = {}
    yield made
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int):
            raise yaml.MarkedYAMLError(problem=f"{key!r} is not a key", problem_mark=key_node.start_mark)
        if key in made:
            raise yaml.MarkedYAMLError(problem=f"{key!r} is given twice", problem_mark=key_node.start_mark)
        made.lines[key] = key_node.start_mark.line + 1
        made[key] = loader.construct_object(value_node, deep=True)


def _sequence(loader: LocatedLoader, node: yaml.SequenceNode) -> Iterator[LocatedList]:
    made = LocatedList()
    made.lines = [entry.start_mark.line + 1 for entry in node.value]
    yield made
    made.extend(loader.construct_object(entry, deep=True) for entry in node.value)


LocatedLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
LocatedLoader.add_constructor("tag:yaml.org,2002:seq", _sequence)
LocatedLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag not in (_BOOL, _TIME)]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
LocatedLoader.add_implicit_resolver(
    _BOOL, re.compile("^(?:true|false)$"), list("tf")
)  # `on` is a key here, not a truth value


def plain(value: Any) -> Any:
    """`value` without lines and with texts for keys, as a JSON schema takes it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def line_of(data: Any, path: Sequence[str | int]) -> int:
    """The line of what stands at `path` below `data`, or of the innermost thing around it that has one."""
    line = data.line if isinstance(data, Located) else 1
    for key in path:
        if isinstance(data, Located):
            key = key if key in data else int(key) if str(key).isdigit() and int(key) in data else key
            line = data.lines.get(key, line)
            data = data.get(key)
        elif isinstance(data, LocatedList):
            line, data = data.lines[int(key)], data[int(key)]
    return line
