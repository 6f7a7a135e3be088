"""JSON from elsewhere: read only when it is as plain as what this suite writes."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from acl_cts.reports.harmless import harmless

DIGITS = 40
"""Digits of a number; nothing here has more."""


class StrictError(ValueError):
    """A text is no JSON that is safe to go on with. The message says why."""


def strict(raw: bytes) -> Any:
    """What `raw` says: without NaN, names given twice, numbers of no sense and nesting without end. Raises
    StrictError."""
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_refuse, parse_int=_integer, object_pairs_hook=_object)
    except RecursionError:
        raise StrictError("is nested too deeply") from None
    except StrictError:
        raise
    except (UnicodeDecodeError, ValueError) as error:
        raise StrictError(f"is not JSON ({harmless(error)})") from error


def _refuse(word: str) -> NoReturn:
    raise StrictError(f"holds {word}, which is no number")


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise StrictError(f"holds a number of {len(text)} digits")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StrictError("holds a name twice in one object")
    return found
