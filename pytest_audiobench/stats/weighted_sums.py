"""Weighted sums of ratios over the same samples: the slope of a curve, the area beneath it, the mean of its points.

Under condition j the ratio is R_j = sum_i x_ij / sum_i w_ij (an accuracy, a corpus word error rate), and what is asked
for is L = sum_j a_j R_j. Samples are the same under all conditions, so the R_j are not independent. What varies is how
much each sample (or cluster of them) moves L, by the delta method

    u_i = sum_j a_j (x_ij - R_j w_ij) / W_j,    W_j = sum_i w_ij

(the linearised form of one ratio, Cochran 1977, "Sampling techniques", section 6, added up over conditions before it is
squared). Where the a_j are shares of one (a mean, an area), the interval is that of a ratio (``intervals.py``), one
more sample included that is the worst, or the best, under every condition at once. Where they add up to nothing (a
slope, a difference of two runs' means) it is Student's t on the u_i, as for a drop (``paired.py``). A sample without a
score under a condition counts there as nothing: x_ij = w_ij = 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats.drops import Drop, Question, no_drop
from pytest_audiobench.stats.intervals import (
    CONFIDENCE,
    FEWEST_OF_OPEN,
    FEWEST_OF_RATES,
    Clusters,
    Floats,
    Interval,
    beta_bound,
    gamma_bound,
    none,
    numbered,
    percent,
    repeat,
    runaways,
    worst_seen,
)
from pytest_audiobench.stats.paired import moves_of, studentised

_ROUNDING, _SAME = 1e-9, 1e-12
_TWO_SIDED = Question(margin=0.0)


class Points(NamedTuple):
    """The numerators and denominators (>= 0) of each sample under each condition, shape (samples, conditions) each.

    ``clusters`` names each sample's cluster; None where each is its own.
    """

    tops: Floats
    wholes: Floats
    clusters: Clusters = None

    def unfit(self) -> str | None:
        """Why nothing can be combined; None where all points have a value."""
        if self.tops.size == 0:
            return "no samples"
        if not (np.isfinite(self.tops).all() and np.isfinite(self.wholes).all()):
            return "a value is not finite"
        if self.wholes.min() < 0.0:
            return "a denominator is negative"
        return None if (self.wholes.sum(axis=0) > 0.0).all() else "a condition has no value"

    def value(self, weights: Sequence[float]) -> float:
        """L; NaN where a condition has no value."""
        return math.nan if self.unfit() else _summed(self.tops.sum(axis=0) / self.wholes.sum(axis=0), np.array(weights))


def slope_weights(doses: Sequence[float]) -> list[float]:
    """The weights of least squares' slope of points at ``doses``, all points alike: (d - mean d) / sum (d - mean d)².

    Raises ValueError unless two doses differ.
    """
    if len(set(doses)) < 2:
        raise ValueError("a slope needs two doses that differ")
    centre = math.fsum(doses) / len(doses)
    squares = math.fsum((dose - centre) ** 2 for dose in doses)
    return [(dose - centre) / squares for dose in doses]


def area_weights(doses: Sequence[float]) -> list[float]:
    """The weights of the trapezoid rule over the range of ``doses``, divided by the range: those of a mean value.

    Points at one dose share its weight. Raises ValueError unless two doses differ.
    """
    if len(set(doses)) < 2:
        raise ValueError("an area needs two doses that differ")
    places = sorted(set(doses))
    width = places[-1] - places[0]
    reach = dict.fromkeys(places, 0.0)
    for left, right in itertools.pairwise(places):
        for end in (left, right):
            reach[end] += (right - left) / 2.0 / width
    return [reach[dose] / doses.count(dose) for dose in doses]


def mean_interval(
    points: Points, weights: Sequence[float], most: float = math.inf, likely: float | None = 1.0, least: float = 0.0
) -> Interval:
    """The interval of L where ``weights`` are shares of one; of one condition it is :func:`intervals.ratio`'s.

    ``most`` is what no sample's own ratio can exceed; without such an end the worst that was seen under the condition
    stands for it, or ``likely`` where all were better; where nothing is ``likely``, scores being without any scale,
    20 samples or clusters are needed. ``least`` is what none can fall below: of differences, -1 with a ``most`` of 1.
    """
    shares = np.array(weights, dtype=np.float64)
    if shares.min() < 0.0 or abs(shares.sum() - 1.0) > _ROUNDING:
        raise ValueError(f"the weights of a mean are shares of one, not {list(weights)}")
    if (reason := points.unfit()) is not None:
        return none(reason)
    tops, wholes, what = _units(points)
    count = len(tops)
    if what == "clusters" and count < 2:
        return none("1 cluster, 2 needed")
    beyond = math.isfinite(most) and (tops > most * wholes + _ROUNDING).any()
    # The weights being shares of one, L rises by as much as every sample's own ratio is raised by.
    tops = tops - least * wholes
    if beyond or tops.min() < 0.0:
        return none(f"a value is beyond {least:g} to {most:g}")
    most -= least
    if math.isfinite(most):
        worst = np.full(len(shares), most)
    else:
        fewest = FEWEST_OF_OPEN if likely is None else FEWEST_OF_RATES
        if count < fewest:
            return none(f"{count} {what}, {fewest} needed")
        each = zip(points.tops.T, points.wholes.T, tops.T, wholes.T, strict=True)
        wild = [0 if likely is None else runaways(*sides[:2]) for sides in each]
        seen = [worst_seen(*sides) for sides in zip(tops.T, wholes.T, wild, strict=True)]
        worst = np.maximum(seen, likely or 0.0)
    tail = 0.5 - CONFIDENCE / 2.0
    lower, upper = _added(tops, wholes, shares, np.zeros(len(shares))), _added(tops, wholes, shares, worst)
    if math.isfinite(most):
        bounds = [
            most * beta_bound(centre / most, variance / most**2, probability)
            for (centre, variance), probability in ((lower, tail), (upper, 1.0 - tail))
        ]
        return Interval(bounds[0] + least, bounds[1] + least, f"beta {percent(CONFIDENCE)}, {count} {what}")
    method = f"gamma {percent(CONFIDENCE)}, {count} {what}, none unseen beyond {worst.max():.3g}"
    return Interval(gamma_bound(*lower, tail), gamma_bound(*upper, 1.0 - tail), method)


def contrast(points: Points, weights: Sequence[float], span: float = 1.0) -> Drop:
    """L with its two-sided 95 % interval where ``weights`` add up to nothing, by Student's t on what each unit moves.

    ``span`` is what a sample's own ratio can change by, infinite where that is not known. The result's ``p`` is that of
    L <= 0. No interval below the numbers at which a drop has none.
    """
    factors = np.array(weights, dtype=np.float64)
    size = float(np.abs(factors).sum())
    if abs(factors.sum()) > _ROUNDING * size:
        raise ValueError(f"the weights of a contrast add up to nothing, not {list(weights)}")
    if (reason := points.unfit()) is not None:
        return no_drop(math.nan, reason)
    totals = points.wholes.sum(axis=0)
    ratios = points.tops.sum(axis=0) / totals
    about = ((points.tops - ratios * points.wholes) / totals) @ factors
    moved = (points.tops / totals) @ factors
    # What is the same under all conditions moves nothing, whatever floats make of it.
    moved[np.abs(moved) <= _SAME * ((np.abs(points.tops) / totals) @ np.abs(factors))] = 0.0
    shares = (points.wholes / totals) @ (np.abs(factors) / size)
    moves = moves_of(about, moved, shares, points.clusters if repeat(points.clusters) else None)
    return studentised(_summed(ratios, factors), moves, _TWO_SIDED, span * size / 2.0, unseen_cures=True)


def trend_p(points: Points, weights: Sequence[float], span: float = 1.0, worse: int = 0) -> float | None:
    """The p value of "no trend": that of L, a slope, being 0 or on the better side; None where there is no test.

    Each unit's own slope sums up what became of it over the doses, and Student's t is taken on these (the method of
    summary measures: Matthews, Altman, Campbell and Royston 1990, "Analysis of serial measurements in medical
    research", BMJ 300:230-235; here the linearised u_i, so that units of unequal size count as in L). ``worse`` is 1
    or -1 where L above or below 0 is what the test looks for, 0 where it is either.
    """
    if worse:
        return contrast(points, [worse * weight for weight in weights], span).p
    sides = [contrast(points, [sign * weight for weight in weights], span).p for sign in (1.0, -1.0)]
    known = [p for p in sides if p is not None]
    return min(1.0, 2.0 * min(known)) if known else None


def _summed(ratios: Floats, weights: Floats) -> float:
    """The weighted sum; nothing where that is all that floats leave of a difference of equals."""
    value = float(ratios @ weights)
    return 0.0 if abs(value) <= _SAME * float(np.abs(ratios) @ np.abs(weights)) else value


def _units(points: Points) -> tuple[Floats, Floats, str]:
    """Tops and wholes of independent units: of samples, or added up within clusters."""
    if not repeat(points.clusters):
        return points.tops, points.wholes, "samples"
    codes = numbered(points.clusters, len(points.tops))
    added = [np.zeros((int(codes.max()) + 1, points.tops.shape[1])) for _ in range(2)]
    for into, values in zip(added, (points.tops, points.wholes), strict=True):
        np.add.at(into, codes, values)
    return added[0], added[1], "clusters"


def _added(tops: Floats, wholes: Floats, weights: Floats, rates: Floats) -> tuple[float, float]:
    """Mean and variance of L over Dirichlet weights of the units and one more, of ``rates`` under the conditions."""
    totals = wholes.sum(axis=0)
    sizes = (wholes * wholes).sum(axis=0) / totals
    with_it = totals + sizes
    ratios = (tops.sum(axis=0) + rates * sizes) / with_it
    moves = ((tops - ratios * wholes) / with_it) @ weights
    added = float(((rates - ratios) * sizes / with_it) @ weights)
    count = len(tops) + 1
    return float(ratios @ weights), (float(moves @ moves) + added * added) * count / (count + 1)
