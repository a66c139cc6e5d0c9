"""The members of JSON objects taken by name and type; whatever is wrong is said with its place."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from typing import Any

_LONGEST_REPR = 60
_LONGEST_NAME = 10_000
"""Characters that an id, a name or a signature may have."""


class FieldError(Exception):
    """``place`` in a baseline is not as it must be; the message says how."""

    def __init__(self, place: str, says: str) -> None:
        super().__init__(f"{place} {says}")


class Fields:
    """An object with exactly the members ``names``; each method takes one of them. All raise :class:`FieldError`."""

    def __init__(self, value: object, place: str, names: Collection[str]) -> None:
        if not isinstance(value, dict):
            raise FieldError(place, f"must be an object, not {short_repr(value)}")
        for name in names:
            if name not in value:
                raise FieldError(place, f"has no {name!r}")
        for name in value:
            if name not in names:
                near = difflib.get_close_matches(name[:_LONGEST_REPR], names, n=1)
                raise FieldError(
                    place, f"has the unknown {short_repr(name)}" + (f" (is it {near[0]!r}?)" if near else "")
                )
        self._value: Mapping[str, Any] = value
        self.place = place

    def __getitem__(self, name: str) -> Any:
        return self._value[name]

    def at(self, name: str) -> str:
        return f"{self.place}, {name}"

    def text(self, name: str) -> str:
        return text(self[name], self.at(name))

    def text_or_null(self, name: str) -> str | None:
        return None if self[name] is None else self.text(name)

    def count(self, name: str, least: int = 0) -> int:
        return count(self[name], self.at(name), least)

    def number_or_null(self, name: str) -> float | None:
        return None if self[name] is None else number(self[name], self.at(name))

    def flag(self, name: str) -> bool:
        value = self[name]
        if not isinstance(value, bool):
            raise FieldError(self.at(name), f"must be true or false, not {short_repr(value)}")
        return value

    def items(self, name: str) -> list[Any]:
        return items(self[name], self.at(name))

    def texts(self, name: str) -> dict[str, str]:
        """An object of texts."""
        return texts(self[name], self.at(name))


def text(value: object, place: str, most: int = _LONGEST_NAME) -> str:
    if not isinstance(value, str):
        raise FieldError(place, f"must be a text, not {short_repr(value)}")
    if len(value) > most:
        raise FieldError(place, f"has {len(value)} characters, {most} at most are allowed")
    return value


def texts(value: object, place: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise FieldError(place, f"must be an object, not {short_repr(value)}")
    return {text(name, f"{place}, a key"): text(item, f"{place}, {short_repr(name)}") for name, item in value.items()}


def count(value: object, place: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
        raise FieldError(place, f"must be a whole number from {least}, not {short_repr(value)}")
    return value


def number(value: object, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(place, f"must be a number, not {short_repr(value)}")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise FieldError(place, "must be a finite number")
    return value


def items(value: object, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise FieldError(place, f"must be a list, not {short_repr(value)}")
    return value


def short_repr(value: object) -> str:
    """``value`` on one line, cut short."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    start = value[: _LONGEST_REPR + 1] if isinstance(value, str) else value
    try:
        text_ = ascii(start)
    except ValueError:
        return "a number of thousands of digits"
    return text_ if len(text_) <= _LONGEST_REPR else f"{text_[: _LONGEST_REPR - 1]}…"
