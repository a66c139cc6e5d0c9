"""JSON that anyone may have edited, read strictly: every mistake is reported with its place."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError

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
        return text_or_null(self[name], self.at(name))

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


def text_or_null(value: object, place: str) -> str | None:
    return None if value is None else text(value, place)


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


_CONSTANT = re.compile(rb"[\[,:]\s*(-?Infinity|NaN)")
_MARK = b"\xef\xbb\xbf"
_LFS = b"version https://git-lfs"


class FileKind(NamedTuple):
    """What a file should be, for messages: ``made_by`` is the command that writes one, ``remedy`` what to do."""

    what: str
    made_by: str
    remedy: str


def strict_json(content: bytes, name: str, kind: FileKind) -> Any:
    """The JSON value in the file called ``name``. Raises UsageError for NaN, repeated names and endless nesting."""
    if not content.strip():
        raise UsageError(f"{name} is empty: {kind.remedy}")
    if content.startswith(_LFS):
        raise UsageError(f"{name} is a pointer of git-lfs and not the file: fetch it (git lfs pull)")
    try:
        return json.loads(
            content.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_unique_members
        )
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}, line {line} is not UTF-8, so this is no {kind.what}: {kind.remedy}") from None
    except json.JSONDecodeError as error:
        if not content.removeprefix(_MARK).lstrip().startswith(b"{"):
            raise UsageError(f"{name} is no {kind.what}: write one with {kind.made_by}") from None
        raise UsageError(
            f"{name}, line {error.lineno} is not JSON ({_json_error_text(content, error)}): {kind.remedy}"
        ) from None
    except _Constant as error:
        match = _CONSTANT.search(content)
        line = content.count(b"\n", 0, match.start(1) if match else 0) + 1
        raise UsageError(f"{name}, line {line} holds {error}, which is no number: {kind.remedy}") from None
    except FieldError as error:
        raise UsageError(f"{name}: {error}: {kind.remedy}") from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else "a number has too many digits"
        raise UsageError(f"{name} cannot be read, since {why}: {kind.remedy}") from None


class _Constant(Exception):
    """NaN or an infinity, which are no JSON and no statistic."""


def _refuse_constant(name: str) -> None:
    raise _Constant(name)


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise FieldError(
            f"the object that begins with {short_repr(names[0])}: {short_repr(pairs[0][1])}",
            f"has {short_repr(repeated)} twice",
        )
    return members


def _json_error_text(content: bytes, error: json.JSONDecodeError) -> str:
    if any(content.find(mark) >= 0 for mark in (b"\n<<<<<<< ", b"\n>>>>>>> ")):
        return "it holds both sides of a merge conflict"
    if not content.rstrip().endswith(b"}"):
        return "it ends too early: the file was cut"
    return error.msg
