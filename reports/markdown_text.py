"""Markdown for comments on code hosts, which take no long ones: hostile text made harmless, and the size kept."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acl_cts.reports.html_report import UNSHOWABLE
from acl_cts.reports.words import counted

MOST = 56_000
"""Bytes of a comment; code hosts refuse those of 64 KiB."""


def fitted(parts: Iterable[str], elsewhere: str) -> str:
    """The `parts` that fit into a comment, in order. What does not is left out from the end, the number of parts left
    out is told, and what holds them all: `elsewhere`."""
    text, used, left = [], 0, 0
    for part in filter(None, parts):
        size = len(part.encode("utf-8", "replace"))
        if used + size > MOST:
            left += 1
            continue
        used += size
        text.append(part)
    if left:
        text.append(f"{counted(left, 'part')} left out here; {elsewhere}.\n")
    return UNSHOWABLE.sub("\ufffd", "\n".join(text))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table; its cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def prose(text: str) -> str:
    """Hostile text in one line: no markup, no mention of a person, no link, no cell of a table.

    Written with character references, which hold in Markdown and inside HTML elements alike.
    """
    plain = re.sub(r"\s+", " ", text).strip()
    escaped = re.sub(r"[&<>\\`*_{}\[\]#|~$@]", lambda found: f"&#{ord(found[0])};", plain)
    return escaped.replace("://", "&#58;//").replace("www.", "www&#46;")


def code(text: str) -> str:
    """Hostile text as code in a line."""
    plain = re.sub(r"\s+", " ", text).replace("|", "¦").strip()
    mark = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    room = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{mark}{room}{plain}{room}{mark}" if plain else ""


def fence(text: str, language: str = "") -> str:
    """Hostile text as a block of code."""
    mark = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"
