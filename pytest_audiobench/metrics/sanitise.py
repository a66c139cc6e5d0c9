"""Values that users record, made safe: one door for numbers, one for metadata.

A NumPy float in a report kills an xdist worker and leaves exit code 0, so nothing else passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.errors import UsageError

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

_DEEPEST = 20
_LARGEST = 2**53 - 1


class Plain(NamedTuple):
    """A JSON-safe value, and one note for each thing in it that had to be changed."""

    value: Json
    notes: tuple[str, ...] = ()


def number(value: object, name: str) -> float:
    """The float that ``value`` is: int, float, bool, NumPy scalar, Decimal, Fraction, or an Enum of such.

    NaN and infinities come back as they are. Raises UsageError, naming the metric and the type, for anything
    else: text, None, paths, complex numbers, arrays, other Enums, and numbers beyond a float's range.
    """
    inner = value.value if isinstance(value, Enum) else value
    # timedelta64 calls itself an integer.
    if isinstance(inner, (int, float, np.bool_, np.integer, np.floating, Decimal, Fraction)) and not isinstance(
        inner, np.timedelta64
    ):
        try:
            return float(inner)
        except (OverflowError, ValueError):
            raise UsageError(f"the metric {name!r} is beyond the range of a float: {_short(inner)}") from None
    raise UsageError(f"the metric {name!r} must be one number, not {_kind(value)}: {_remedy(inner)}")


def plain(value: object, name: str = "metadata") -> Plain:
    """``value`` as JSON holds it: NumPy values as numbers and lists; paths, dates and exact numbers as text.

    An Enum is its value, an integer beyond 2^53 text, a NaN or infinity None with a note; invalid characters
    are replaced, with a note. ``name`` is how notes and errors call the value. Raises UsageError for what
    JSON cannot hold, for two keys that read the same, and for more than 20 levels.
    """
    notes: list[str] = []
    return Plain(_plain(value, name, notes, 0), tuple(notes))


def _plain(value: object, name: str, notes: list[str], depth: int) -> Json:
    if depth > _DEEPEST:
        raise UsageError(f"{name[:60]} has more than {_DEEPEST} levels: record something flatter")
    if isinstance(value, Enum):
        return _plain(value.value, name, notes, depth)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        notes.append(f"{name} is {float(value)}, written as null")
        return None
    if isinstance(value, (int, Decimal, Fraction)):
        return _exact(value, name)
    if isinstance(value, (str, PurePath)):
        return _text(str(value), name, notes)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return _object(value, name, notes, depth)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_plain(one, f"{name}[{i}]", notes, depth + 1) for i, one in enumerate(value)]
    raise UsageError(f"{name} cannot be recorded: it is {_kind(value)}, which JSON cannot hold")


def _object(value: Mapping[object, object], name: str, notes: list[str], depth: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, inner in value.items():
        written = _text(str(key.value if isinstance(key, Enum) else key), name, notes)
        if written in found:
            raise UsageError(f"{name} has two keys that read {written!r}: rename one")
        found[written] = _plain(inner, f"{name}.{written}", notes, depth + 1)
    return found


def _exact(value: int | Decimal | Fraction, name: str) -> str:
    try:
        return str(value)
    except ValueError:
        raise UsageError(f"{name} cannot be recorded: it is {_short(value)}") from None


def _text(text: str, name: str, notes: list[str]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        notes.append(f"{name} held invalid characters, replaced")
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return str(text)


def _kind(value: object) -> str:
    kind = type(value)
    known = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, np.ndarray):
        return f"a {known} of shape {value.shape}"
    return "None" if value is None else f"the {known} {_short(value)}"


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to write integers of more than 4300 digits.
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _remedy(value: object) -> str:
    if isinstance(value, str):
        return "convert it with float(…)"
    if value is None:
        return "record it only where there is a value"
    if isinstance(value, (complex, np.complexfloating)):
        return "record its real part or its magnitude"
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return "reduce it, by .mean() or .item()"
    return "record a number that stands for it"
