"""Words for people: nouns with their number."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 case`, `2 cases`; `plural` for nouns that do not just take an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def first_line(text: str) -> str:
    """The first line of `text`, '' when there is none."""
    return text.partition("\n")[0]
