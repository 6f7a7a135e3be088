"""Tables: one file of YAML as it was written, checked by schema.json."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from acl_cts.specs.faults import SpecError
from acl_cts.specs.located import Located, LocatedLoader, line_of, plain


@dataclass(frozen=True, slots=True)
class Table:
    """One file and its content. `added`: it was asked for beside those of the suite."""

    path: Path
    data: Located
    added: bool = False

    def error(self, line: int, what: str, clause: str = "") -> SpecError:
        """What is wrong in this line of it."""
        place = f"{self.path.name}:{line}"
        return SpecError(f"{place}: {clause + ': ' if clause else ''}{what}")


def read_table(path: Path, schema: Path | None, *, added: bool = False) -> Table:
    """The table at `path`, held against `schema` if that is given. Raises SpecError or OSError."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=LocatedLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SpecError(f"{path.name}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise SpecError(f"{path.name}:1: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(data, Located):
        raise SpecError(f"{path.name}:1: a table is a mapping")
    table = Table(path, data, added)
    if schema is not None:
        _check_schema(table, schema)
    return table


@functools.cache
def _validator(path: Path, text: str) -> Any:
    import jsonschema  # takes as long to import as all tables to read, and is rarely needed

    try:
        schema = json.loads(text)
        jsonschema.Draft202012Validator.check_schema(schema)
    except (ValueError, RecursionError, jsonschema.SchemaError) as error:
        raise SpecError(f"{path.name}: is no JSON schema: {str(error).splitlines()[0]}; put it back") from None
    return jsonschema.Draft202012Validator(schema)


def _check_schema(table: Table, schema: Path) -> None:
    from jsonschema.exceptions import best_match

    found = _validator(schema, schema.read_text(encoding="utf-8")).iter_errors(plain(table.data))
    errors = sorted(found, key=lambda e: (len(e.absolute_path), str(e.absolute_path)))
    if errors:
        worst = best_match(errors)
        line, clause = _place(table.data, list(worst.absolute_path))
        raise table.error(
            line, f"{worst.message[:200]} (at {'/'.join(map(str, worst.absolute_path)) or 'top'})", clause
        )


def _place(data: Any, path: list[Any]) -> tuple[int, str]:
    clause, inner = "", data
    for key in path:
        if isinstance(inner, Located):
            key = key if key in inner else int(key) if str(key).isdigit() and int(key) in inner else key
            inner = inner.get(key)
        elif isinstance(inner, list):
            inner = inner[key]
        if isinstance(inner, Located) and isinstance(inner.get("id"), str):
            clause = inner["id"]
    return line_of(data, path), clause
