"""What cannot be right, or is worth a second look, in published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pytest_audiobench.published_figures.registry import Published

_SHARES = ("accuracy", "string_match", "following_rate")
"""Metrics that count right answers; error rates and graded scores are no counts of samples."""
_SCALES = {"percent": 100.0, "fraction": 1.0}


class Finding(NamedTuple):
    """A rule that figures break, and in a sentence how."""

    rule: str
    values: tuple[Published, ...]
    says: str


def lint(values: Sequence[Published]) -> list[Finding]:
    """All findings on ``values``: impossible fractions, copied values, differences that do not add up."""
    return [*_impossible(values), *_copied_values(values), *_deltas(values)]


def is_possible(value: float, n: int, decimals: int, scale: float = 100.0) -> bool:
    """Whether some k of ``n`` is ``value`` when scale × k / n is rounded to ``decimals``, whichever way halves go."""
    half = 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-9
    nearest = value * n / scale
    return any(abs(scale * k / n - value) <= half for k in (math.floor(nearest), math.ceil(nearest)) if 0 <= k <= n)


def _impossible(values: Sequence[Published]) -> Iterator[Finding]:
    for value in values:
        is_share = value.metric.startswith(_SHARES) and not value.metric.endswith("_delta")
        if (
            not is_share
            or value.dataset[:3] == "avg"
            or value.n is None
            or value.decimals is None
            or value.unit not in _SCALES
        ):
            continue
        scale = _SCALES[value.unit]
        if not is_possible(value.value, value.n, value.decimals, scale):
            k = value.value * value.n / scale
            near = ", ".join(f"{scale * at / value.n:.{value.decimals}f}" for at in (math.floor(k), math.ceil(k)))
            says = (
                f"{value.name}: {value.text} is no count of {value.n} samples, the nearest being {near}: "
                "a mean of parts, another number of samples, or an error"
            )
            yield Finding("impossible fraction", (value,), says)


def _copied_values(values: Sequence[Published]) -> Iterator[Finding]:
    """One model's values in one table that are equal though their data differ. Coarse tables repeat by chance."""
    fine = [
        value
        for value in values
        if _percent_decimals(value) >= 2 and value.value not in (0.0, _SCALES.get(value.unit, 1.0))
    ]
    table = sorted(fine, key=lambda value: (*_table(value), value.value))
    for _, group in groupby(table, key=lambda value: (*_table(value), f"{value.value:.{value.decimals}f}")):
        equal = tuple(group)
        if len({value.dataset for value in equal}) > 1:
            sets = " and ".join(value.dataset for value in equal)
            says = f"{equal[0].name}: {equal[0].text} stands for {sets} alike; one may be copied from the other"
            yield Finding("copied value", equal, says)


def _deltas(values: Sequence[Published]) -> Iterator[Finding]:
    sides = {(value.benchmark, value.model, value.dataset, value.metric, value.conditions): value for value in values}
    for value in values:
        if value.delta_of is None:
            continue
        metric = value.metric.removesuffix("_delta")
        parts = [sides.get((value.benchmark, value.model, value.dataset, metric, side)) for side in value.delta_of]
        if parts[0] is None or parts[1] is None:
            continue
        difference = parts[0].value - parts[1].value
        decimals = value.decimals or 0
        # Each of three figures is rounded by half a last digit at most.
        if abs(difference - value.value) > 1.5 * 10.0**-decimals + 1e-9:
            says = (
                f"{value.name}: the difference is given as {value.value:.{decimals}f}, and "
                f"{parts[0].value:.{decimals}f} - {parts[1].value:.{decimals}f} is {difference:.{decimals}f}"
            )
            yield Finding("wrong difference", (value, parts[0], parts[1]), says)


def _percent_decimals(value: Published) -> int:
    """How finely a share was printed, as decimals of a percentage."""
    if value.decimals is None or value.unit not in _SCALES:
        return 0
    return value.decimals - (2 if value.unit == "fraction" else 0)


def _table(value: Published) -> tuple[str, ...]:
    return value.benchmark, value.source, value.metric, value.unit, value.conditions, value.model
