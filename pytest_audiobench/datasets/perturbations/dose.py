"""How much of a perturbation there is: a number that a curve can be drawn over."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

from pytest_audiobench.errors import UsageError

Harder: TypeAlias = Literal["", "higher", "lower"]
"""Which way a dose makes a task harder; empty where it does so in no one way."""

_LEAST, _MOST = 1e-100, 1e100
"""Between these a sum of squares of doses neither vanishes nor overflows."""


def is_dose(value: object) -> bool:
    """Whether ``value`` is an integer or a float, 0 or of a magnitude from 1e-100 to 1e100."""
    return type(value) in (int, float) and (value == 0 or _LEAST <= abs(value) <= _MOST)  # type: ignore[arg-type]


def dose_of(name: str, written: Any) -> float:
    """The dose of the perturbation ``name`` as a float, of whatever kind the number is. Raises UsageError for others."""
    try:
        number = math.nan if isinstance(written, str | bytes) else float(written) + 0.0
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not is_dose(number):
        raise UsageError(
            f"the dose {written!r} of {name} is no number that a curve can be drawn over; give a finite one"
        )
    return number
