"""The number a test asserts on: a float that carries what it was measured under."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pytest_audiobench.metrics.units import ERROR_RATES, SHARE

_STATUSES = ("parsed", "unparsed", "refused", "empty", "out_of_range", "truncated", "errors", "skipped")


class Metric(float):
    """A value with its interval, coverage and scorer; it compares, adds and formats as the plain float it is."""

    name: str
    lower: float | None
    """The interval's lower bound; like ``upper`` None where there is no interval."""
    upper: float | None
    n: int
    unit: str
    direction: Literal["higher", "lower"]
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
        return " ".join(part for part in (self._number(), self._covered(), skipped, self.signature) if part)

    def explain(self) -> list[str]:
        """Lines for a failed assertion: the number, how it was covered, its interval's method, its signature."""
        lines = [self._number()]
        if self.coverage:
            counts = [f"{self.coverage[s]} {s}" for s in _STATUSES if self.coverage.get(s)]
            lines.append(f"{self._covered()}: {', '.join(counts) or 'no answers'}")
        if self.method:
            lines.append(f"interval: {self.method}")
        if self.signature:
            lines.append(f"signature: {self.signature}")
        return lines

    def _number(self) -> str:
        unit = "" if self.unit in ("", SHARE, *ERROR_RATES) else f" {self.unit}"
        interval = interval_text(self.lower, self.upper)
        return f"{self.name} {value_text(float(self))}{unit}{interval and f' {interval}'} n={self.n}"

    def _covered(self) -> str:
        n = self.coverage.get("n", 0)
        return f"coverage {100.0 * self.coverage.get('parsed', 0) / n:.1f} %" if n else ""


def value_text(value: float | None) -> str:
    """A number as people read it: three decimals, or three significant digits far from 1; "–" for None."""
    if value is None:
        return "–"
    if not math.isfinite(value) or value == 0.0 or 0.001 <= abs(value) < 10_000:
        return f"{value:.3f}"
    return f"{value:.3g}"


def interval_text(lower: float | None, upper: float | None) -> str:
    """``[0.740, 0.792]``, or nothing where there is no interval."""
    return "" if lower is None or upper is None else f"[{value_text(lower)}, {value_text(upper)}]"
