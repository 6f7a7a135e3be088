"""Tokens of C sources, with their places: enough to find where one can be changed, no compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LEXEME = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<directive>(?<![^\n])\#(?:\\\n|[^\n])*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|[0-9]+[uUlL]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\w\s])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `start` and `end`: offsets in the source. `kind`: text, number, word or sign. `spaced`: white space
    stands on both sides."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool


def tokens(source: str) -> tuple[Token, ...]:
    """The tokens of `source`, without comments and preprocessor lines."""
    return tuple(_tokens(source))


def _tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        found = _LEXEME.match(source, at)
        if found is None:
            at += 1
            continue
        at = found.end()
        kind = found.lastgroup or "skip"
        if kind in ("skip", "directive"):
            continue
        around = source[max(0, found.start() - 1) : found.start()], source[at : at + 1]
        yield Token(kind, found.group(), found.start(), at, all(space.isspace() for space in around))


def closing(found: tuple[Token, ...], place: int) -> int:
    """Place of the bracket that closes the one at `place`."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opening, end = found[place].text, pairs[found[place].text]
    depth = 0
    for at in range(place, len(found)):
        depth += (found[at].text == opening) - (found[at].text == end)
        if depth == 0:
            return at
    raise ValueError(f"the bracket at offset {found[place].start} is never closed")
