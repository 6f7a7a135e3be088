"""Typed reading of JSON that others may have written: each value is of the kind that is asked for, or a ValueError says
where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, TypeGuard, TypeVar

Value = TypeVar("Value")
Member = TypeVar("Member", bound=StrEnum)

LARGEST = 2**80
"""Numbers from here on are no sizes, times or counts, and floating point could not hold all of them."""


@dataclass(frozen=True, slots=True)
class Typed:
    """One JSON object. `place` tells where it stands, as `runs[0].cases[3]`."""

    data: Mapping[str, Any]
    place: str = ""

    def text(self, name: str) -> str:
        """A string."""
        value = self._get(name)
        if not isinstance(value, str):
            self._refuse(name, "text")
        return value

    def number(self, name: str) -> float:
        """A number that is not negative, and no larger than anything that can be measured."""
        value = self._get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < LARGEST:
            self._refuse(name, "a number from 0")
        return value

    def count(self, name: str) -> int:
        """An integer that is not negative."""
        value = self.integer(name)
        if value < 0:
            self._refuse(name, "an integer from 0")
        return value

    def integer(self, name: str) -> int:
        """Any integer of a size that occurs."""
        value = self._get(name)
        if not is_integer(value):
            self._refuse(name, "an integer")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Any integer, or null."""
        return None if self._get(name) is None else self.integer(name)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._get(name)
        if not isinstance(value, bool):
            self._refuse(name, "true or false")
        return value

    def word(self, name: str, words: type[Member]) -> Member:
        """A member of `words`."""
        text = self.text(name)
        try:
            return words(text)
        except ValueError:
            self._refuse(name, f"one of {', '.join(word.value for word in words)}")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            self._refuse(name, "a list of texts")
        return tuple(values)

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers."""
        values = self._list(name)
        if not all(is_integer(value) for value in values):
            self._refuse(name, "a list of integers")
        return tuple(values)

    def tuples(self, name: str, *kinds: type) -> tuple[tuple[Any, ...], ...]:
        """A list of lists with one entry for each of `kinds`."""
        values = self._list(name)
        for value in values:
            if not isinstance(value, list) or [type(entry) for entry in value] != list(kinds):
                self._refuse(name, f"a list of lists of {', '.join(kind.__name__ for kind in kinds)}")
        return tuple(tuple(value) for value in values)

    def text_by_name(self, name: str) -> dict[str, str]:
        """An object of strings."""
        inner = self.nested(name)
        return {key: inner.text(key) for key in inner.data}

    def mapping(self, name: str) -> dict[str, Any]:
        """An object of which nothing more is known."""
        value = self._get(name)
        if not isinstance(value, dict):
            self._refuse(name, "an object")
        return value

    def nested(self, name: str) -> Typed:
        """An object."""
        return Typed(self.mapping(name), self._place(name))

    def listed(self, name: str, read: Callable[[Mapping[str, Any], str], Value]) -> tuple[Value, ...]:
        """A list of objects, each read by `read`, which is also told its place."""
        values = self._list(name)
        if not all(isinstance(value, dict) for value in values):
            self._refuse(name, "a list of objects")
        where = self._place(name)
        return tuple(read(value, f"{where}[{number}]") for number, value in enumerate(values))

    def named(self, name: str, read: Callable[[Typed], Value]) -> dict[str, Value]:
        """An object of objects, each read by `read`."""
        inner = self.nested(name)
        return {key: read(inner.nested(key)) for key in inner.data}

    def _list(self, name: str) -> list[Any]:
        value = self._get(name)
        if not isinstance(value, list):
            self._refuse(name, "a list")
        return value

    def _get(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise ValueError(f"{self._place(name)} is missing") from None

    def _place(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        raise ValueError(f"{self._place(name)} is not {wanted}")


def is_integer(value: object) -> TypeGuard[int]:
    """Whether `value` is an integer of a size that occurs; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST
