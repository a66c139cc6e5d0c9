"""How large a drop is none: ``1pp`` (points of a hundred) or a number in the metric's own unit."""

from __future__ import annotations

import math
import re

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import FRACTIONS, RANGES, MetricKind, span

FORM = "write a margin as 1pp (points of a hundred) or 0.01 (in the metric's own unit)"
_MARGIN = re.compile(r"\s*(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*(?P<unit>pp)?\s*")


def point(kind: MetricKind) -> float | None:
    """One point of a hundred of ``kind`` in its own unit; None where its scale has no hundredth (a cost, seconds)."""
    if kind.unit in FRACTIONS:
        return 0.01
    least, most = RANGES.get(kind.unit, (-math.inf, math.inf))
    return most / 100.0 if math.isfinite(least) and math.isfinite(most) else None


def read_margin(text: str) -> tuple[float, bool]:
    """The number of a margin, and whether it is in points. Raises UsageError for anything else, such as ``1%``."""
    match = _MARGIN.fullmatch(text) if isinstance(text, str) and len(text) < 100 else None
    if match is None:
        hint = "; 1% could be a percentage of the score or a point of it" if "%" in str(text) else ""
        raise UsageError(f"{str(text)[:40]!r} is no margin: {FORM}{hint}")
    return float(match["number"]), match["unit"] is not None


def margin_of(text: str, kind: MetricKind) -> float:
    """The margin in the unit of ``kind``. Raises UsageError where it has no such margin, or none could be missed."""
    number, in_points = read_margin(text)
    margin = _in_points(number, kind) if in_points else number
    if margin >= (most := span(kind.unit)):
        # Above all, a 1 that was meant as a point would be a hundred of them.
        meant = f": write {number:g}pp for {number:g} points of a hundred" if not in_points and number < 100.0 else ""
        raise UsageError(
            f"a margin of {text.strip()} is all that {kind.name} can drop by ({most:g}), so that nothing could miss it"
            f"{meant}"
        )
    return margin


def _in_points(number: float, kind: MetricKind) -> float:
    hundredth = point(kind)
    if hundredth is None:
        raise UsageError(
            f"{kind.name} is in {kind.unit or 'a unit of its own'}, which has no points of a hundred: give its margin "
            "as a plain number in that unit"
        )
    # Multiplying would round 1.1 points to another float than 0.011.
    return float(f"{number!r}e-2") if hundredth == 0.01 and "e" not in repr(number) else number * hundredth
