"""Several values of the same samples (one question in several wordings): their mean, their ends, and their range.

The largest minus the smallest of noisy values is too large, and their best too good. So all values are resampled
together, each sample or cluster with all that it gave (a paired bootstrap), and intervals are made that hold for all
values, or for all differences of two, at once: as many standard errors to both sides as the largest deviation among
them has in 95 % of the resamples (max-t: Westfall and Young 1993, "Resampling-based multiple testing"), widened as
Student's t is for few. Where the truths lie in all of these, the least of the truths lies between the least lower and
the least upper bound, and the largest difference also. No bound is nearer than failures can move a value of which
the samples show none ("rule of three", ``paired.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats import special
from pytest_audiobench.stats.bootstrap import FEWEST, RESAMPLES, Resampling, Rows, Sums, resampling
from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats, Interval, none, percent


class Extremes(NamedTuple):
    """The intervals of the mean of several values, of the least and the greatest of them, and of their range."""

    mean: Interval
    least: Interval
    greatest: Interval
    range: Interval

    @classmethod
    def unknown(cls, reason: str) -> Extremes:
        """No interval at all, and why."""
        return cls(*[none(reason)] * 4)


def extremes(
    values: Sequence[Sums], clusters: Clusters, span: float = 1.0, ends: tuple[float, float] = (-math.inf, math.inf)
) -> Extremes:
    """The intervals over ``values``, whose units are those of the same samples in one order.

    ``span`` is what a sample's own value can change by, infinite where that is not known; no value lies beyond
    ``ends``. None for fewer than 20 samples or clusters, and where a resample has no value.
    """
    units = resampling(_beside([sums.units for sums in values]), clusters)
    if units.units < FEWEST:
        return Extremes.unknown(f"{units.units} {units.what}, {FEWEST} needed")
    for sums in values:
        if sums.lacking is not None and (reason := sums.lacking(resampling(sums.units, clusters))) is not None:
            return Extremes.unknown(reason)
    starts = [0, *accumulate(resampling(sums.units).total().shape[1] for sums in values)]

    def each(totals: Floats) -> Floats:
        parts = zip(values, pairwise(starts), strict=True)
        return np.stack([sums.value(totals[:, start:end]) for sums, (start, end) in parts], axis=1)

    drawn, there = units.resampled(each), each(units.total())[0]
    if not (np.isfinite(drawn).all() and np.isfinite(there).all()):
        return Extremes.unknown("some resamples have no value")
    method = f"paired bootstrap {percent(CONFIDENCE)}, {units.units} {units.what}, {RESAMPLES} resamples"
    simultaneous = f"{method}, simultaneous"
    unseen = -span * math.expm1(math.log((1.0 - CONFIDENCE) / 2.0) / units.units) if math.isfinite(span) else 0.0
    mean, middle = there.mean(), _reach(drawn.mean(axis=1, keepdims=True), units, unseen)[0]
    reach = _reach(drawn, units, unseen)
    first, second = np.triu_indices(len(values), 1)
    apart, between = np.abs(there[first] - there[second]), _reach(drawn[:, first] - drawn[:, second], units, unseen)
    farthest = Interval(max(0.0, float((apart - between).max())), float((apart + between).max()), simultaneous)
    if not between.all():
        farthest = none("two of them never differ, and a sample's value has no end")
    least, most = ends
    return Extremes(
        _within(Interval(float(mean - middle), float(mean + middle), method), least, most),
        _within(Interval(float((there - reach).min()), float((there + reach).min()), simultaneous), least, most),
        _within(Interval(float((there - reach).max()), float((there + reach).max()), simultaneous), least, most),
        _within(farthest, 0.0, most - least),
    )


def _reach(drawn: Floats, units: Resampling, unseen: float) -> Floats:
    """How far the bounds of each column's value lie from it, such that all hold at once."""
    errors = drawn.std(axis=0, ddof=1)
    # A column that never moves is not part of the largest deviation, whatever floats make of its error.
    moving = errors > 1e-12 * np.maximum(1.0, np.abs(drawn).max(axis=0))
    if not moving.any():
        return np.full(len(errors), unseen)
    deviations = np.abs(drawn[:, moving] - drawn[:, moving].mean(axis=0)) / errors[moving]
    count, tail = units.units, 0.5 + CONFIDENCE / 2.0
    few = float(special.stdtrit(count - 1, tail) / special.ndtri(tail)) * math.sqrt(count / (count - 1))
    factor = few * float(np.quantile(deviations.max(axis=1), CONFIDENCE))
    reach: Floats = np.maximum(np.where(moving, factor * errors, 0.0), unseen)
    return reach


def _within(interval: Interval, least: float, most: float) -> Interval:
    if interval.lower is None or interval.upper is None:
        return interval
    return interval._replace(lower=max(least, interval.lower), upper=min(most, interval.upper))


def _beside(units: Sequence[Floats | Rows]) -> Floats | Rows:
    rows = [each for each in units if isinstance(each, Rows)]
    return reduce(Rows.beside, rows) if rows else np.hstack([np.asarray(each) for each in units])
