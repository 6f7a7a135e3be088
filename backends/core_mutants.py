"""Mutants: copies of the C core with one small change each, made by a table of operators, to measure the suite.

Only the code of the two families is changed: not the switches of open points, the planted defects, the instruments, the
messages, the lock (which needs threads to be noticed), the streams (a library without any is judged without them) or
the lifecycle, of which the tables say nothing (what is given back at its end, in functions called `_trim`, included).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acl_cts.backends.c_tokens import Token, closing, tokens
from acl_cts.backends.core_backend import FOLDER

FILES = (
    *("area.c", "chain.c", "chain.h", "descriptor.c", "descriptor.h", "mbuf.c", "mbuf.h"),
    *("pool.c", "pool.h", "private_area.c", "registration.c"),
)
"""The sources that are changed."""

UNTOUCHED = frozenset({"core_enter", "core_leave", "inner_claim", "live_add", "live_drop"})
"""Calls that stay: the lock and the instruments."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `line` and `column` count from 1. `function`: the C function around it, '' outside of all. `before`
    and `after`: the source from the first changed line to the last, white space folded."""

    file: str
    line: int
    column: int
    operator: str
    function: str
    before: str
    after: str
    start: int
    end: int
    text: str

    @property
    def id(self) -> str:
        """File, line, column and operator; stays as long as the source in front of it stays."""
        return f"{self.file}:{self.line}:{self.column}:{self.operator}"

    def apply(self, source: str) -> str:
        """The changed source."""
        return source[: self.start] + self.text + source[self.end :]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change before it has a name: the operator's, the offsets and what stands there then."""

    operator: str
    start: int
    end: int
    text: str


Operator = Callable[[str, tuple[Token, ...], int], Iterator[_Change]]
"""What can be done at one token: source, tokens, place of the token."""

_SWAPS: Mapping[str, tuple[str, ...]] = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "++": ("--",),
    "--": ("++",),
    "+=": ("-=",),
    "-=": ("+=",),
    "|=": ("&=",),
    "&=": ("|=",),
}
"""Signs that mean one thing wherever they stand."""

_BINARY: Mapping[str, str] = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&", "<<": ">>"}
"""Signs that are changed where they stand between two operands."""

_WORDS: Mapping[str, str] = {"true": "false", "false": "true", "ACL_SUCCESS": "ACL_ERROR_RT_PARAM_INVALID"}

_FIELDS: Mapping[str, str] = {
    "head": "next",
    "next": "head",
    "tail": "next",
    "size": "length",
    "length": "size",
    "alloc": "free",
    "free": "alloc",
    "advise": "alloc",
    "get_addr": "free",
    "written": "filled",
    "filled": "written",
    "live_slots": "slab_count",
    "source": "next",
}
"""Fields and the neighbours that they are taken for."""

_NO_STATEMENT = frozenset(
    {
        *("return", "break", "continue", "goto", "if", "else", "for", "while", "do", "switch", "case", "default"),
        *("struct", "enum", "union", "typedef", "static", "const", "extern", "unsigned", "signed", "void", "bool"),
        *("size_t", "uint32_t", "uint64_t", "uintptr_t", "aclError", "int", "char"),
    }
)
"""Words with which no statement begins that can be left out."""


@cache
def mutants(folder: Path = FOLDER / "src") -> tuple[Mutant, ...]:
    """Every mutant of the sources in `folder`, by file and place."""
    return tuple(mutant for file in FILES for mutant in of_source(file, (folder / file).read_text(encoding="utf-8")))


def of_source(file: str, source: str) -> Iterator[Mutant]:
    """The mutants of one file."""
    found = tokens(source)
    barred = _barred(found, source)
    for place, token in enumerate(found):
        if any(low <= token.start < high for low, high in barred):
            continue
        for operator in _OPERATORS:
            for change in operator(source, found, place):
                yield _named(file, source, found, change)


def _named(file: str, source: str, found: tuple[Token, ...], change: _Change) -> Mutant:
    first = source.rfind("\n", 0, change.start) + 1
    last = source.find("\n", change.end)
    before = source[first:last]
    after = source[first : change.start] + change.text + source[change.end : last]
    return Mutant(
        file=file,
        line=source.count("\n", 0, change.start) + 1,
        column=change.start - first + 1,
        operator=change.operator,
        function=_function(found, change.start),
        before=" ".join(before.split()),
        after=" ".join(after.split()),
        start=change.start,
        end=change.end,
        text=change.text,
    )


def _function(found: tuple[Token, ...], offset: int) -> str:
    """The function whose body `offset` is in."""
    name, depth = "", 0
    for place, token in enumerate(found):
        if token.start > offset:
            break
        if token.text == "{":
            if depth == 0:
                name = _head(found, place)
            depth += 1
        elif token.text == "}":
            depth -= 1
    return name if depth else ""


def _head(found: tuple[Token, ...], place: int) -> str:
    """The name in front of the parameters in front of the body that opens at `place`; '' for no function."""
    if place == 0 or found[place - 1].text != ")":
        return ""
    depth = 0
    for at in range(place - 1, 0, -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth == 0:
            return found[at - 1].text
    return ""


def _barred(found: tuple[Token, ...], source: str) -> list[tuple[int, int]]:
    """Stretches that are not changed: planted defects, the lock, the instruments, what is given back at the end."""
    stretches = []
    for place, token in enumerate(found):
        if token.text in ("DEFECT", "DEFECTIVE"):
            stretches.append(_planted(found, place, source))
        elif token.text.startswith("defect_") or token.text.endswith("_trim"):
            if _function(found, token.start):
                continue
            stretches.append(_whole_function(found, place))
        elif token.text in UNTOUCHED and found[place + 1].text == "(":
            stretches.append((token.start, found[closing(found, place + 1)].end))
    return stretches


def _planted(found: tuple[Token, ...], place: int, source: str) -> tuple[int, int]:
    """The word of a defect; its whole line, and the block that opens there, where they belong to the defect alone."""
    begin = source.rfind("\n", 0, found[place].start) + 1
    end = source.find("\n", found[place].start)
    line = [k for k in range(len(found)) if begin <= found[k].start < end]
    called = closing(found, place + 1) if found[place].text == "DEFECT" else place
    if found[place - 1].text == "!" or any(found[k].text in ("||", "?") for k in line):
        return found[place].start, found[called].end
    opened = next((k for k in line if k > place and found[k].text == "{"), None)
    return begin, end if opened is None else found[closing(found, opened)].end


def _whole_function(found: tuple[Token, ...], place: int) -> tuple[int, int]:
    """From the name at `place` to the end of what is declared or defined there."""
    end = next(k for k in range(place, len(found)) if found[k].text in ("{", ";"))
    return found[place].start, found[closing(found, end) if found[end].text == "{" else end].end


# ------------------------------------------------------------------------------------------------------- operators


def _swap(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    token = found[place]
    if token.kind == "sign":
        for other in _SWAPS.get(token.text, ()):
            yield _Change(f"{token.text}→{other}", token.start, token.end, other)
        if token.spaced and token.text in _BINARY:
            other = _BINARY[token.text]
            yield _Change(f"{token.text}→{other}", token.start, token.end, other)


def _constant(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    token = found[place]
    digits = token.text.rstrip("uUlL")
    if token.kind == "number":
        suffix, value = token.text[len(digits) :], int(digits, 0)
        for other in (value + 1, value - 1):
            if other >= 0:
                yield _Change(f"{token.text}→{other}", token.start, token.end, f"{other}{suffix}")


def _word(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    token = found[place]
    if token.kind == "word" and token.text in _WORDS:
        other = _WORDS[token.text]
        yield _Change(f"{token.text}→{other}", token.start, token.end, other)


def _field(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    token = found[place]
    if place and found[place - 1].text in ("->", ".") and found[place - 2].kind != "sign" and token.text in _FIELDS:
        other = _FIELDS[token.text]
        yield _Change(f"{token.text}→{other}", token.start, token.end, other)


_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def _negate(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    """A condition is turned round, unless the change of its only comparison does that already."""
    if found[place].text in ("if", "while") and found[place + 1].text == "(":
        end = closing(found, place + 1)
        opened, closed = found[place + 1].start, found[end].end
        swapped = [each.text for each in found[place:end] if each.text in _SWAPS]
        if len(swapped) != 1 or swapped[0] not in _COMPARISONS:
            yield _Change("negate", opened, closed, f"(!{source[opened:closed]})")


def _delete(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    token = found[place]
    if place == 0 or token.kind not in ("word", "sign") or token.text in _NO_STATEMENT:
        return
    if found[place - 1].text not in (";", "{", "}") or token.text in ("{", "}", ";", "."):
        return
    end = next((k for k in range(place, len(found)) if found[k].text in (";", "{", "}")), None)
    if end is None or found[end].text != ";" or not _acts(found[place:end]):
        return
    if any(each.text in UNTOUCHED or each.text.startswith("refuse") for each in found[place:end]):
        return
    yield _Change("delete", token.start, found[end].start, "")


def _acts(statement: tuple[Token, ...]) -> bool:
    """Whether it does something, and declares nothing."""
    two_words = len(statement) > 1 and statement[0].kind == statement[1].kind == "word"
    return not two_words and any(each.text in ("=", "(", "++", "--", "+=", "-=", "|=", "&=") for each in statement)


def _fall_through(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    """A return is left out, except the one that a function ends with."""
    if found[place].text != "return":
        return
    end = next(k for k in range(place, len(found)) if found[k].text == ";")
    after = next((each for each in found[end:] if each.text not in (";", "}")), None)
    if after is not None and _function(found, after.start) == _function(found, found[place].start) != "":
        yield _Change("fall-through", found[place].start, found[end].start, "")


def _accept(source: str, found: tuple[Token, ...], place: int) -> Iterator[_Change]:
    """A refusal becomes a success."""
    token = found[place]
    if token.text == "return" and found[place + 1].text.startswith("refuse"):
        end = closing(found, place + 2)
        yield _Change("accept", found[place + 1].start, found[end].end, "ACL_SUCCESS")


_OPERATORS: tuple[Operator, ...] = (_swap, _constant, _word, _field, _negate, _delete, _fall_through, _accept)
