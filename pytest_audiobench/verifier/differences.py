"""The first place at which two JSON values differ, as a path: ``samples["digits-017"].prompt[1].parts[0].text``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXCERPT = 60
_CONTEXT = 20
"""Characters that are kept before the first that differs."""


class Missing:
    """Stands where one of the two values has nothing."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


class Difference(NamedTuple):
    """``before`` and ``after`` are what is at ``path``; :data:`MISSING` where that side has nothing there."""

    path: str
    before: Any
    after: Any


def first_difference(before: Any, after: Any, path: str = "") -> Difference | None:
    """The first difference of two JSON values, depth first, objects' keys in order; None where they are equal.

    Numbers differ where their types do: a hash knows 1 from 1.0 and from true.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            left, right = before.get(key, MISSING), after.get(key, MISSING)
            step = f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key)}]"
            if (difference := first_difference(left, right, f"{path}{step}")) is not None:
                return difference
        return None
    if isinstance(before, list) and isinstance(after, list):
        for number in range(max(len(before), len(after))):
            left, right = (side[number] if number < len(side) else MISSING for side in (before, after))
            if (difference := first_difference(left, right, f"{path}[{number}]")) is not None:
                return difference
        return None
    return None if type(before) is type(after) and before == after else Difference(path.lstrip("."), before, after)


def json_excerpt(value: Any, other: Any) -> str:
    """``value`` as JSON on one line, in ASCII, cut to where it differs from ``other``."""
    text, beside = _text(value), _text(other)
    if len(text) <= _EXCERPT:
        return text
    same = next((at for at, pair in enumerate(zip(text, beside, strict=False)) if pair[0] != pair[1]), len(beside))
    start = max(0, min(same - _CONTEXT, len(text) - _EXCERPT))
    end = start + _EXCERPT
    return f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}"


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, Missing) else json.dumps(value)
