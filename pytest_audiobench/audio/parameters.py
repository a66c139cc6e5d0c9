"""Numbers as the strings that edits and recipes are identified by, and back."""

from __future__ import annotations

import math

from pytest_audiobench.errors import UsageError

Parameters = tuple[tuple[str, str], ...]


def decimal(name: str, value: float, *, least: float = -math.inf) -> str:
    """The shortest text that reads back as ``value``: "6" for 6 and 6.0, so that equal values have equal keys.

    Raises UsageError for what is no number, NaN, infinity and values below ``least``.
    """
    try:
        number = float(value) + 0.0
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name}={str(value)[:80]} is not a finite number; give one")
    if number < least:
        raise UsageError(f"{name}={value} is below {least:g}, the least that makes sense; give a larger one")
    return repr(number).removesuffix(".0")


def number(parameters: Parameters, name: str) -> float:
    """The parameter ``name`` as a number. Raises UsageError when it is missing or no finite number."""
    text = dict(parameters).get(name)
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(
            f"the parameter {name}={text!r} is not a finite number; make edits and recipes by their functions"
        )
    return value
