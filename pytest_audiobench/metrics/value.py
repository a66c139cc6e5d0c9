"""Numbers as tests see them: the float that a test asserts on, and what a test records, made a plain float."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import ERROR_RATES, FRACTIONS, POINTS, SHARE

_STATUSES = ("parsed", "unparsed", "refused", "empty", "out_of_range", "truncated", "errors", "skipped")


class Metric(float):
    """A value with its interval, coverage and scorer; it compares, adds and formats as the plain float it is."""

    name: str
    """As registered, such as "accuracy"."""
    lower: float | None
    """The interval's lower bound; like ``upper`` None where there is no interval."""
    upper: float | None
    """The interval's upper bound."""
    n: int
    """The samples that it was computed from; of several epochs each counts once."""
    unit: str
    """Such as "share" (0 to 1), "points" (of differences of shares; -1 to 1) or "Hz"; "" for a plain number."""
    direction: Literal["higher", "lower"]
    """Which way is better."""
    coverage: dict[str, int]
    """n and the statuses (parsed, unparsed, refused, …) with their counts; empty for what a test recorded itself."""
    signature: str
    """The scorer's."""
    method: str
    """Which interval it is, or why there is none."""

    def __new__(
        cls,
        value: float,
        *,
        name: str,
        lower: float | None = None,
        upper: float | None = None,
        n: int = 0,
        unit: str = "",
        direction: Literal["higher", "lower"] = "higher",
        coverage: Mapping[str, int] | None = None,
        signature: str = "",
        method: str = "",
    ) -> Metric:
        self = super().__new__(cls, value)
        self.name, self.lower, self.upper, self.n = name, lower, upper, n
        self.unit, self.direction, self.signature, self.method = unit, direction, signature, method
        self.coverage = dict(coverage or {})
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (float(self),), dict(vars(self))

    def __repr__(self) -> str:
        skipped = f"skipped={self.coverage['skipped']}" if self.coverage.get("skipped") else ""
        return " ".join(part for part in (self._number(), self._coverage_text(), skipped, self.signature) if part)

    def explain(self) -> list[str]:
        """Lines for a failed assertion: the number, how it was covered, its interval's method, its signature."""
        lines = [self._number()]
        if self.coverage:
            counts = [f"{self.coverage[s]} {s}" for s in _STATUSES if self.coverage.get(s)]
            lines.append(f"{self._coverage_text()}: {', '.join(counts) or 'no answers'}")
        if self.method:
            lines.append(f"interval: {self.method}")
        if self.signature:
            lines.append(f"signature: {self.signature}")
        return lines

    def _number(self) -> str:
        unit = "" if self.unit in ("", *FRACTIONS) else f" {self.unit}"
        interval = interval_text(self.lower, self.upper)
        return f"{self.name} {value_text(float(self))}{unit}{interval and f' {interval}'} n={self.n}"

    def _coverage_text(self) -> str:
        n = self.coverage.get("n", 0)
        return f"coverage {100.0 * self.coverage.get('parsed', 0) / n:.1f} %" if n else ""


def digits_text(value: float, digits: int, sign: str = "") -> str:
    """A number to ``digits`` significant ones, or to the whole where it has more before the point; ``+``: its sign."""
    whole = 10**digits - 0.5 <= abs(value) < 1e15
    return with_minus(f"{value:{sign}.0f}" if whole else f"{value:{sign}.{digits}g}")


def with_minus(text: str) -> str:
    """A number's text with the sign − in place of a hyphen before it."""
    return f"\N{MINUS SIGN}{text[1:]}" if text[:1] == "-" else text


def value_text(value: float | None) -> str:
    """A number as people read it: three decimals, or three significant digits far from 1; "–" for None."""
    if value is None:
        return "–"
    if not math.isfinite(value) or value == 0.0 or 0.001 <= abs(value) < 10_000:
        return with_minus(f"{value:.3f}")
    return digits_text(value, 3)


def interval_text(lower: float | None, upper: float | None) -> str:
    """``[0.740, 0.792]``, or nothing where there is no interval."""
    return "" if lower is None or upper is None else f"[{value_text(lower)}, {value_text(upper)}]"


PERCENT_UNITS = ERROR_RATES | {SHARE}
"""Units of the registry's metrics that are kept as fractions of one and read as percentages."""

RELATIVE = "%"
"""The unit of differences that are shares of one of the two values."""


def figure_text(value: float | None, unit: str) -> str:
    """``0.875`` as ``87.5 %`` for a share, else four digits and the unit, as ``0.08 s/token``; a dash for no number."""
    if value is None:
        return "–"
    if unit in PERCENT_UNITS:
        return f"{_hundredths(value)} %"
    if unit == POINTS:
        return difference_text(value, unit)
    return f"{digits_text(value, 4)} {unit.replace(' per ', '/')}".rstrip()


def difference_text(difference: float | None, unit: str) -> str:
    """``−3.2 pp`` between two fractions, ``+5.0 %`` for a share of one of the values, else four digits and the unit."""
    if difference is None:
        return "–"
    return f"{signed_text(difference, unit)} {'pp' if unit in FRACTIONS else unit}".rstrip()


def signed_text(number: float, unit: str) -> str:
    """``−3.2``, in the unit in which it is read: pp (points of a hundred) for a difference of fractions."""
    if unit == RELATIVE or unit in FRACTIONS:
        return _hundredths(number, "+")
    return digits_text(number + 0.0, 4, "+")


def _hundredths(number: float, sign: str = "") -> str:
    # Adding zero makes 0.0 of -0.0, which a small negative number rounds to.
    return with_minus(f"{round(100.0 * number, 1) + 0.0:{sign}.1f}")


def bounds_text(lower: float | None, upper: float | None, unit: str) -> str:
    """``83.1 to 90.9``, in the value's own ``unit``; empty where no interval is known."""
    if lower is None or upper is None:
        return ""
    if unit in (POINTS, RELATIVE):
        return f"{signed_text(lower, unit)} to {signed_text(upper, unit)}"
    if unit in PERCENT_UNITS:
        return f"{_hundredths(lower)} to {_hundredths(upper)}"
    return f"{digits_text(lower, 4)} to {digits_text(upper, 4)}"


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
