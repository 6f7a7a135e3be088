"""What a report quotes of a clause, so that results can be read without the tables they were judged by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClauseText:
    """A clause in words, and where it comes from.

    `text` is English, `zh` Chinese. `source`: document, section, edition. `strength` and `outcome` as in the tables.
    `function` is '' for a clause about every call.
    """

    text: str
    source: str
    zh: str = ""
    strength: str = ""
    outcome: str = ""
    family: str = ""
    function: str = ""
