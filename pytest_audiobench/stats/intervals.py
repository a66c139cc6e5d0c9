"""Confidence intervals for what evals measure: a share, a mean score, a ratio of sums.

Where clips or speakers repeat, samples are not independent: ``clusters`` names each sample's cluster and
the variance is the cluster-robust one of Miller 2024 (arXiv 2411.00640, equation 4) times C / (C - 1), with
Student's t on C - 1 degrees of freedom. Clusters that never repeat are the same as none.

No interval is given (both bounds None, the reason in ``method``) for no samples, for a value that is not
finite, for fewer than 2 samples or clusters of a mean or ratio, for fewer than 2 clusters of a clustered
share, and for equal scores outside [0, 1]: they say nothing of how scores vary. Equal scores within [0, 1]
(all right, all wrong) have variance 0 too, which would claim certainty; they get Wilson's interval with as
many trials as clusters.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.quantiles import normal_quantile, t_quantile

Floats: TypeAlias = npt.NDArray[np.float64]
Clusters: TypeAlias = Sequence[Hashable] | None

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """``lower`` and ``upper`` are both None where there is no interval; ``method`` says which interval, or why none."""

    lower: float | None
    upper: float | None
    method: str


def wilson(successes: float, trials: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval (Wilson 1927) for ``successes`` in ``trials`` >= 1 independent trials."""
    if not trials >= 1:
        return none("no samples")
    share = successes / trials
    return Interval(*_score(share, trials, _normal(confidence)), f"Wilson {_percent(confidence)}")


def proportion(values: npt.ArrayLike, clusters: Clusters = None, confidence: float = CONFIDENCE) -> Interval:
    """The interval for the share of ones among ``values`` (shape (n,), each 0 or 1).

    Independent samples: Wilson. Clustered ones: Wilson's with the number of trials that would have the
    cluster-robust variance (at most n), and t in place of the normal quantile (Korn and Graubard 1998's
    effective sample size; Franco et al. 2019, "Comparative study of confidence intervals for proportions in
    complex sample surveys"). In simulations the plain share ± t covers 84 % at 30 clusters and a share of
    0.95; this one 91 % there, and 93 to 97 % in the ordinary cases.
    """
    scores, codes, count = _prepared(values, clusters)
    if codes is None:
        return wilson(float(scores.sum()), len(scores), confidence)
    if count < 2:
        return none("fewer than 2 clusters")
    share = float(scores.mean())
    error = _error(scores - share, codes, count, len(scores))
    if error == 0.0:
        return _equal(share, count, f"{count} clusters", confidence)
    trials = min(share * (1.0 - share) / error**2, float(len(scores)))
    bounds = _score(share, trials, _student(confidence, count))
    return Interval(*bounds, f"Wilson {_percent(confidence)}, {count} clusters ({trials:.0f} effective samples)")


def mean(
    values: npt.ArrayLike,
    clusters: Clusters = None,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    confidence: float = CONFIDENCE,
) -> Interval:
    """Mean ± t × standard error for scores (shape (n,)) that lie within ``bounds``, to which it is cut."""
    scores, codes, count = _prepared(values, clusters)
    what = "samples" if codes is None else "clusters"
    if (reason := _unfit(scores, count, what)) is not None:
        return none(reason)
    centre = float(scores.mean())
    error = _error(scores - centre, codes, count, len(scores))
    if scores.min() == scores.max() or error == 0.0:
        return _equal(centre, count, f"{count} {what}", confidence)
    half = _student(confidence, count) * error
    return Interval(
        max(centre - half, bounds[0]), min(centre + half, bounds[1]), f"t {_percent(confidence)}, {count} {what}"
    )


def ratio(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    clusters: Clusters = None,
    confidence: float = CONFIDENCE,
    most: float = math.inf,
) -> Interval:
    """The interval for sum(numerators) / sum(denominators), such as a corpus word error rate; shapes (n,).

    It is cut at ``most``, which the ratio cannot exceed.

    The delta method: the ratio's standard error is that of the residuals numerator - ratio × denominator,
    and the interval is t × relative error about the ratio's logarithm. In simulations of word error rates at
    30 utterances it covers 94 to 97 % where ratio ± t covers 91 to 95 %; with 30 speakers of wildly different
    rates, 91 % against 73 to 88 %. No interval of this kind survives one runaway answer in fifty: 45 % at 30
    utterances, 93 % at 400.
    """
    tops, codes, count = _prepared(numerators, clusters)
    whole = np.asarray(denominators, dtype=np.float64)
    what = "samples" if codes is None else "clusters"
    total = float(whole.sum())
    if not total > 0.0:
        return none("the denominators add up to nothing" if total == 0.0 else "a value is not finite")
    if (reason := _unfit(tops, count, what)) is not None:
        return none(reason)
    value = float(tops.sum()) / total
    error = _error(tops - value * whole, codes, count, total)
    # Residuals of equal rates are 0 but for rounding, whose square root would be taken for certainty.
    if value <= 0.0 or error <= 1e-12 * value:
        return _equal(value, count, f"{count} {what}", confidence)
    spread = math.exp(min(_student(confidence, count) * error / value, 700.0))
    return Interval(value / spread, min(value * spread, most), f"log-ratio t {_percent(confidence)}, {count} {what}")


def standard_error(values: npt.ArrayLike, clusters: Clusters = None) -> float:
    """The standard error of the mean of ``values``; NaN for fewer than 2 samples or clusters."""
    scores, codes, count = _prepared(values, clusters)
    return _error(scores - scores.mean(), codes, count, len(scores)) if count > 1 else math.nan


def none(reason: str) -> Interval:
    """No interval, and why."""
    return Interval(None, None, f"no interval: {reason}")


def _prepared(values: npt.ArrayLike, clusters: Clusters) -> tuple[Floats, npt.NDArray[np.intp] | None, int]:
    """The scores, each one's cluster number (None when all are their own), and the number of clusters."""
    scores = np.asarray(values, dtype=np.float64)
    if clusters is None:
        return scores, None, len(scores)
    if len(clusters) != len(scores):
        raise ValueError(f"{len(scores)} samples have {len(clusters)} cluster names")
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    if len(numbers) == len(scores):
        return scores, None, len(scores)
    codes = np.fromiter(map(numbers.__getitem__, clusters), dtype=np.intp, count=len(scores))
    return scores, codes, len(numbers)


def _error(residuals: Floats, codes: npt.NDArray[np.intp] | None, count: int, total: float) -> float:
    sums = residuals if codes is None else np.bincount(codes, weights=residuals, minlength=count)
    return math.sqrt(float(sums @ sums) * count / (count - 1)) / total


def _unfit(scores: Floats, count: int, what: str) -> str | None:
    if len(scores) == 0:
        return "no samples"
    if not np.isfinite(scores).all():
        return "a value is not finite"
    return f"fewer than 2 {what}" if count < 2 else None


def _equal(share: float, count: int, counted: str, confidence: float) -> Interval:
    if not 0.0 <= share <= 1.0:
        return none("all samples have the same score")
    return Interval(
        *_score(share, count, _normal(confidence)), f"Wilson {_percent(confidence)} on {counted}, all of one score"
    )


def _score(share: float, trials: float, quantile: float) -> tuple[float, float]:
    square = quantile * quantile
    centre = share + square / (2.0 * trials)
    half = quantile * math.sqrt(share * (1.0 - share) / trials + square / (4.0 * trials * trials))
    scale = 1.0 + square / trials
    lower = 0.0 if share <= 0.0 else max(0.0, (centre - half) / scale)
    upper = 1.0 if share >= 1.0 else min(1.0, (centre + half) / scale)
    return lower, upper


def _normal(confidence: float) -> float:
    return normal_quantile(0.5 + confidence / 2.0)


def _student(confidence: float, count: int) -> float:
    return t_quantile(0.5 + confidence / 2.0, count - 1)


def _percent(confidence: float) -> str:
    return f"{100.0 * confidence:g} %"
