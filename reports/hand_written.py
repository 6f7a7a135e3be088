"""Files that people write by hand: YAML held against a schema, whose every fault is one line with file and line."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from acl_cts.reports.files import ReportError
from acl_cts.specs.located import Located, LocatedLoader, line_of, plain

LARGEST = 16 * 2**20
"""Bytes from which on a file is not one that a person wrote."""


@dataclass(frozen=True, slots=True)
class HandWritten:
    """One file: its content, as its schema wants it, and the SHA-256 of its bytes."""

    path: Path
    data: Located
    sha256: str

    def place(self, *where: str | int) -> str:
        """File and line of what stands at `where`."""
        return f"{self.path}:{line_of(self.data, where)}"

    def error(self, what: str, *where: str | int) -> ReportError:
        """The error that says `what` of the place `where`."""
        return ReportError(f"{self.place(*where)}: {what}")

    def date(self, *where: str | int) -> date:
        """The date at `where`. Raises ReportError when the calendar has no such day."""
        text: Any = self.data
        for key in where:
            text = text[key]
        try:
            return date.fromisoformat(text)
        except ValueError:
            raise self.error(f"{text!r} is no day of the calendar; write it as 2027-03-31", *where) from None


def read_hand_written(path: Path, schema: Path) -> HandWritten:
    """The file at `path`, which keeps to the JSON schema in the file `schema`. Raises ReportError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error
    return take_hand_written(path, raw, schema)


def take_hand_written(path: Path, raw: bytes, schema: Path) -> HandWritten:
    """The same for a file of which the bytes `raw` are at hand; `path` is only told."""
    if len(raw) > LARGEST:
        raise ReportError(f"{path}: has {len(raw)} bytes, more than the {LARGEST} that are read")
    data = _parsed(path, raw)
    if not isinstance(data, Located):
        raise ReportError(f"{path}:1: holds no mapping of names to values; {_advice(schema)}")
    found = HandWritten(path, data, hashlib.sha256(raw).hexdigest())
    wrong = _worst(list(_validator(schema).iter_errors(plain(data))))
    if wrong is not None:
        where = list(wrong.absolute_path)
        raise found.error(f"{_told(wrong)}; {_advice(schema)}", *where, *_unknown(wrong))
    return found


def _parsed(path: Path, raw: bytes) -> Any:
    try:
        text = raw.decode("utf-8")
        _refuse_aliases(path, text)
        return yaml.load(text, Loader=LocatedLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ReportError(f"{path}:{mark.line + 1 if mark else 1}: is not valid YAML: {error.problem}") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ReportError(f"{path}:{line}: is not UTF-8 text") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ReportError(f"{path}:1: is not valid YAML: {str(error).splitlines()[0]}") from None


def _refuse_aliases(path: Path, text: str) -> None:
    """A few lines of them can stand for more than fits into memory, and nothing here needs any."""
    for event in yaml.parse(text, Loader=LocatedLoader):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise ReportError(f"{path}:{line}: *{event.anchor} stands for another part; write that part out")


@functools.cache
def _validator(schema: Path) -> Any:
    return jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))


def _worst(errors: list[jsonschema.ValidationError]) -> jsonschema.ValidationError | None:
    """The error to tell: a key that is mistyped rather than the one that is missing for it."""
    mistyped = (error for error in errors if error.validator == "additionalProperties")
    return next(mistyped, None) or jsonschema.exceptions.best_match(errors)


def _told(wrong: jsonschema.ValidationError) -> str:
    """What is wrong, with the key it is about, in one line."""
    key = ".".join(map(str, wrong.absolute_path)) or "the file"
    message = " ".join(str(wrong.message).split())
    if wrong.validator == "additionalProperties":
        known = ", ".join(_schema(wrong).get("properties", {}))
        names = ", ".join(repr(name) for name in _unknown(wrong))
        return f"{key}: there is no key {names}" + (f"; there are {known}" if known else "")
    if wrong.validator == "required":
        return f"{key}: {message.replace('is a required property', 'is missing')}"
    hint = _schema(wrong).get("description", "") if wrong.validator in ("pattern", "enum", "const") else ""
    return f"{key}: {message[:160]}" + (f" ({hint})" if hint else "")


def _unknown(wrong: jsonschema.ValidationError) -> list[str]:
    """The first key that the schema does not know, when that is what is wrong."""
    if wrong.validator != "additionalProperties" or not isinstance(wrong.instance, dict):
        return []
    known = _schema(wrong).get("properties", {})
    return [name for name in wrong.instance if name not in known][:1]


def _schema(wrong: jsonschema.ValidationError) -> Mapping[str, Any]:
    """The part of the schema that is not kept."""
    return wrong.schema if isinstance(wrong.schema, Mapping) else {}


def _advice(schema: Path) -> str:
    return f"its form is told in {schema.parent.name}/{schema.name}"
