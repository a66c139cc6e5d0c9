"""What one condition has over another on the same samples: a paired difference of shares, means or ratios of sums.

The pairs' own differences are what varies, so that the difficulty of a sample drops out (Miller 2024, arXiv
2411.00640, section 4.2). Both conditions share their denominators (1 a sample for a share, the reference's words for
a word error rate), so the difference of the two ratios is itself a ratio of sums, and its standard error that of the
residuals, cluster-robust where clusters repeat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Interval, none, residual_interval, wilson


class Difference(NamedTuple):
    """``value`` is sum(differences) / sum(denominators), NaN where the denominators add up to nothing."""

    value: float
    interval: Interval


def paired_difference(
    differences: npt.ArrayLike, denominators: npt.ArrayLike, clusters: Clusters = None, confidence: float = CONFIDENCE
) -> Difference:
    """The interval for the difference of two ratios of sums over the same samples.

    ``differences`` are the samples' differences of numerators and ``denominators`` their common denominators, both
    of shape (n,). Value ± t × standard error. Where no pair of 0-or-1 scores differs, or all differ alike, the
    standard error is 0, which would claim certainty. An unseen share of the pairs, up to Wilson's bound for none in as
    many trials as there are clusters, may then be otherwise: 1 or -1 where none differs, and the contrary where all
    differ alike. For other scores without any spread there is no interval.
    """
    tops, whole = np.asarray(differences, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    total = float(whole.sum())
    if not len(tops) or not total > 0.0:
        return Difference(float("nan"), none("no samples" if not len(tops) else "the denominators add up to nothing"))
    value = float(tops.sum()) / total
    if (whole == 1.0).all() and (tops == tops[0]).all() and tops[0] in (-1.0, 0.0, 1.0):
        return Difference(value, _unanimous(value, len(set(clusters)) if clusters else len(tops), confidence))
    return Difference(value, residual_interval(value, tops - value * whole, total, clusters, confidence))


def _unanimous(value: float, count: int, confidence: float) -> Interval:
    unseen = wilson(0, count, confidence).upper or 0.0
    reach = unseen if value == 0.0 else 2.0 * unseen
    lower, upper = max(-1.0, value - reach), min(1.0, value + reach)
    return Interval(lower, upper, f"Wilson {100 * confidence:g} % on {count} pairs that all agree")
