"""What cannot be right, or is worth a second look, in published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pytest_audiobench.published.registry import Published

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
    return [*_impossible(values), *_copied(values), *_deltas(values)]


def is_possible(value: float, n: int, decimals: int, scale: float = 100.0) -> bool:
    """Whether some k of ``n`` is ``value`` when scale × k / n is rounded to ``decimals``, whichever way halves go."""
    half = 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-9
    nearest = value * n / scale
    return any(abs(scale * k / n - value) <= half for k in (math.floor(nearest), math.ceil(nearest)) if 0 <= k <= n)


def _impossible(values: Sequence[Published]) -> Iterator[Finding]:
    for one in values:
        counted = one.metric.startswith(_SHARES) and not one.metric.endswith("_delta") and one.dataset[:3] != "avg"
        if not counted or one.n is None or one.decimals is None or one.unit not in _SCALES:
            continue
        scale = _SCALES[one.unit]
        if not is_possible(one.value, one.n, one.decimals, scale):
            k = one.value * one.n / scale
            near = ", ".join(f"{scale * at / one.n:.{one.decimals}f}" for at in (math.floor(k), math.ceil(k)))
            says = (
                f"{one.name}: {one.text} is no count of {one.n} samples, the nearest being {near}: "
                "a mean of parts, another number of samples, or an error"
            )
            yield Finding("impossible fraction", (one,), says)


def _copied(values: Sequence[Published]) -> Iterator[Finding]:
    """One model's values in one table that are equal though their data differ. Coarse tables repeat by chance."""
    fine = [one for one in values if _percent_decimals(one) >= 2 and not _is_extreme(one)]
    table = sorted(fine, key=lambda one: (*_table(one), one.value))
    for _, group in groupby(table, key=lambda one: (*_table(one), f"{one.value:.{one.decimals}f}")):
        own = tuple(group)
        if len({one.dataset for one in own}) > 1:
            sets = " and ".join(one.dataset for one in own)
            says = f"{own[0].name}: {own[0].text} stands for {sets} alike; one may be copied from the other"
            yield Finding("copied value", own, says)


def _deltas(values: Sequence[Published]) -> Iterator[Finding]:
    sides = {(one.benchmark, one.model, one.dataset, one.metric, one.conditions): one for one in values}
    for one in values:
        if one.delta_of is None:
            continue
        metric = one.metric.removesuffix("_delta")
        found = [sides.get((one.benchmark, one.model, one.dataset, metric, side)) for side in one.delta_of]
        if found[0] is None or found[1] is None:
            continue
        difference = found[0].value - found[1].value
        decimals = one.decimals or 0
        # Each of three figures is rounded by half a last digit at most.
        if abs(difference - one.value) > 1.5 * 10.0**-decimals + 1e-9:
            says = (
                f"{one.name}: the difference is given as {one.value:.{decimals}f}, and "
                f"{found[0].value:.{decimals}f} - {found[1].value:.{decimals}f} is {difference:.{decimals}f}"
            )
            yield Finding("wrong difference", (one, found[0], found[1]), says)


def _percent_decimals(one: Published) -> int:
    """How finely a share was printed, as decimals of a percentage."""
    if one.decimals is None or one.unit not in _SCALES:
        return 0
    return one.decimals - (2 if one.unit == "fraction" else 0)


def _table(one: Published) -> tuple[str, ...]:
    return one.benchmark, one.source, one.metric, one.unit, one.conditions, one.model


def _is_extreme(one: Published) -> bool:
    return one.value in (0.0, _SCALES.get(one.unit, 1.0))
