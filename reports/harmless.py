"""Text from elsewhere, made harmless for a terminal: nothing in it moves the cursor, hides, or runs backwards."""

from __future__ import annotations

MOST = 300
"""Characters that are shown of one text."""


def harmless(text: object, most: int = MOST) -> str:
    """`text` in one line, cut to `most` characters; those that change how others look become escapes."""
    whole = str(text)
    shown = "".join(_escaped(character) for character in whole[:most])
    return shown if len(whole) <= most else f"{shown}... ({len(whole)} characters)"


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
