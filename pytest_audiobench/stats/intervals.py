"""Confidence intervals for what evals measure: a share, a mean score, a ratio of sums.

All three are sums over sums, and have one form. What a set of n samples cannot tell is what the next would be like: a
few right answers say little of the wrong ones. So each bound is drawn from the samples and one more, the worst there
can be for the lower bound and the best for the upper one, all with random weights (the Bayesian bootstrap, Rubin 1981;
with the end of the range added it is Gaffke's 2005 bound, see Learned-Miller and Thomas 2019, arXiv 1905.06208). Of
shares this is exactly the interval of Clopper and Pearson (1934). The weights are not drawn: the mean and variance that
they give are those of a beta distribution where the range has two ends (exact for shares), and of a gamma
distribution where it has no upper one.

Where clips or speakers repeat, samples are not independent: ``clusters`` names each sample's cluster, what is weighed
is the clusters, and the one that is added is as large as a sample's cluster is on average. Clusters that never
repeat are the same as none.

No interval is given (both bounds None, the reason in ``method``) for no samples, for a value that is not finite or
beyond the range, for fewer than 2 clusters, and below the numbers at which simulations (``benchmarks/coverage.py``)
find that the form holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats import special

Floats: TypeAlias = npt.NDArray[np.float64]
Clusters: TypeAlias = Sequence[Hashable] | None
"""Each sample's cluster (its speaker, its recording, its family of questions); None where each is its own."""

CONFIDENCE = 0.95

FEWEST_OF_RATES = 5
"""Samples or clusters of rates without an upper end, where one beyond 1 and beyond all that were seen is left out."""
FEWEST_OF_OPEN = 20
"""Samples or clusters of scores of which nothing but the largest one seen says how large they can be."""


class Interval(NamedTuple):
    """``lower`` and ``upper`` are both None where there is no interval; ``method`` says which interval, or why none."""

    lower: float | None
    upper: float | None
    method: str


def proportion(values: npt.ArrayLike, clusters: Clusters = None) -> Interval:
    """The interval for the share of ones among ``values`` (shape (n,), each 0 or 1).

    Clopper and Pearson's for independent samples: at least 95 % at any share and any n, where Wilson's covers rare
    shares in 84 %. For clusters the form of :func:`mean_interval`.
    """
    scores, codes, count = _prepared(values, clusters)
    if codes is None and count and ((scores == 0.0) | (scores == 1.0)).all():
        return exact(int(scores.sum()), count)
    return mean_interval(scores, clusters)


def exact(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Clopper and Pearson's interval (1934) for ``successes`` in ``trials`` independent trials."""
    if trials < 1:
        return none("no samples")
    tail, failures = 0.5 - confidence / 2.0, trials - successes
    lower = float(special.betaincinv(successes, failures + 1.0, tail)) if successes else 0.0
    upper = float(special.betaincinv(successes + 1.0, failures, 1.0 - tail)) if failures else 1.0
    return Interval(lower, upper, f"Clopper-Pearson {percent(confidence)}")


def mean_interval(
    values: npt.ArrayLike,
    clusters: Clusters = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = CONFIDENCE,
) -> Interval:
    """The interval for the mean of scores (shape (n,)) that lie within ``bounds``, of which the upper may be infinite.

    Without an upper bound the largest score that was seen stands for it.
    """
    scores = np.asarray(values, dtype=np.float64)
    return _weighed(scores, np.ones(len(scores)), clusters, _Range(*bounds), confidence)


def ratio(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    clusters: Clusters = None,
    most: float = math.inf,
    likely: float = 1.0,
) -> Interval:
    """The interval for sum(numerators) / sum(denominators), such as a corpus word error rate; shapes (n,), each >= 0.

    ``most`` is what no sample's own ratio can exceed. Without such an end the worst that was seen stands for it, or
    ``likely`` where all were better: an answer may be all wrong though none was. Where there are :func:`runaways` the
    next may be twice as long as the longest. Of answers beyond that, such as runaways of which none is among the
    samples, no interval can know, and ``method`` says from where on: one in fifty with ten times as many words costs 54
    points of coverage at 30 answers, and none at 400.
    """
    tops, wholes = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    total = float(wholes.sum())
    if not total > 0.0:
        return none("the denominators add up to nothing" if total == 0.0 else "a value is not finite")
    return _weighed(tops, wholes, clusters, _Range(0.0, most, likely), CONFIDENCE)


def runaways(tops: Floats, wholes: Floats) -> int:
    """How many numerators exceed their denominators by more than an average denominator: answers that run away, each
    with more errors beyond an all-wrong answer than that has.
    """
    return int((tops - wholes > wholes.mean()).sum()) if len(wholes) else 0


def worst_seen(tops: Floats, wholes: Floats, wild: int) -> float:
    """The worst ratio of a unit; or, where samples run away, that of one of usual size with twice the most errors: the
    few that were seen say little of how long the next may be.
    """
    seen = float((tops[wholes > 0.0] / wholes[wholes > 0.0]).max(initial=0.0))
    return max(seen, 2.0 * float(tops.max()) * float(wholes.sum() / (wholes @ wholes))) if wild else seen


def linearised(
    statistics: Floats,
    value: Callable[[Floats], tuple[float, Floats]],
    ends: tuple[Floats, Floats],
    clusters: Clusters = None,
) -> Interval:
    """The interval for a function of the column sums of ``statistics`` (n, k) that lies in 0 to 1 and that scaling all
    sums does not move; the delta method.

    ``value`` gives it and its slopes at sums of shape (k,). ``ends`` are what one more sample may be where the value is
    lowest and where it is highest.
    """
    first, codes, count = _prepared(statistics[:, 0], clusters)
    if (reason := _unfit(statistics, count, codes is not None)) is not None:
        return none(reason)
    units, size = statistics, 1.0
    if codes is not None:
        units = np.zeros((count, statistics.shape[1]))
        np.add.at(units, codes, statistics)
        lengths = np.bincount(codes, minlength=count).astype(np.float64)
        size = float(lengths @ lengths) / len(first)
    bounds = []
    for end, probability in zip(ends, (0.5 - CONFIDENCE / 2.0, 0.5 + CONFIDENCE / 2.0), strict=True):
        centre, slopes = value(units.sum(axis=0) + size * end)
        moves, of_end = units @ slopes, size * float(end @ slopes)
        spread = (float(moves @ moves) + of_end * of_end) * (count + 1) / (count + 2)
        bounds.append(beta_bound(centre, spread, probability))
    what = "samples" if codes is None else "clusters"
    return Interval(bounds[0], bounds[1], f"beta {percent(CONFIDENCE)}, {count} {what}")


class _Range(NamedTuple):
    """Between what a sample's own ratio lies; ``likely`` is one that counts where ``most`` is open."""

    least: float
    most: float
    likely: float | None = None


def _weighed(tops: Floats, wholes: Floats, clusters: Clusters, within: _Range, confidence: float) -> Interval:
    scores, codes, count = _prepared(tops, clusters)
    what = "samples" if codes is None else "clusters"
    if (reason := _unfit(scores, count, codes is not None)) is not None:
        return none(reason)
    if not np.isfinite(wholes).all():
        return none("a value is not finite")
    # Of an open range the products with 0 words would be no numbers.
    beyond = math.isfinite(within.most) and (scores > within.most * wholes + 1e-9).any()
    if beyond or (scores < within.least * wholes - 1e-9).any():
        return none(f"a value is beyond {within.least:g} to {within.most:g}")
    wild = 0 if within.likely is None or math.isfinite(within.most) else runaways(scores, wholes)
    if codes is not None:
        scores = np.bincount(codes, weights=scores, minlength=count).astype(np.float64)
        wholes = np.bincount(codes, weights=wholes, minlength=count).astype(np.float64)
    tail = 0.5 - confidence / 2.0
    if math.isfinite(within.most):
        ends = _added(scores, wholes, within.least), _added(scores, wholes, within.most)
        width = within.most - within.least
        bounds = [
            within.least + width * beta_bound((centre - within.least) / width, spread / width**2, probability)
            for (centre, spread), probability in zip(ends, (tail, 1.0 - tail), strict=True)
        ]
        return Interval(bounds[0], bounds[1], f"beta {percent(confidence)}, {count} {what}")
    fewest = FEWEST_OF_OPEN if within.likely is None else FEWEST_OF_RATES
    if count < fewest:
        return none(f"{count} {what}, {fewest} needed")
    seen = worst_seen(scores, wholes, wild)
    if (worst := max(seen, within.likely or 0.0)) == within.least:
        return none("all samples have the same score")
    lower, upper = _added(scores, wholes, within.least), _added(scores, wholes, worst)
    return Interval(
        gamma_bound(*lower, tail),
        gamma_bound(*upper, 1.0 - tail),
        f"gamma {percent(confidence)}, {count} {what}{_wild_text(wild)}, none unseen beyond {worst:.3g}",
    )


def _wild_text(count: int) -> str:
    return f", {count} runaway{'s' * (count > 1)}" if count else ""


def _added(tops: Floats, wholes: Floats, rate: float) -> tuple[float, float]:
    """Mean and variance of sum(w tops) / sum(w wholes) over Dirichlet weights of the units and one more of ``rate``."""
    total = float(wholes.sum())
    size = float(wholes @ wholes) / total
    whole = total + size
    centre = (float(tops.sum()) + rate * size) / whole
    residuals = tops - centre * wholes
    of_end = (rate - centre) * size
    count = len(tops) + 1
    return centre, (float(residuals @ residuals) + of_end * of_end) / whole**2 * count / (count + 1)


def beta_bound(centre: float, variance: float, probability: float) -> float:
    """The quantile of the beta distribution of this mean and variance."""
    if variance <= 0.0 or not 0.0 < centre < 1.0:
        return min(max(centre, 0.0), 1.0)
    # Weights on clusters of very different sizes can vary more than any beta distribution about that mean.
    trials = max(centre * (1.0 - centre) / variance - 1.0, 0.05)
    return float(special.betaincinv(centre * trials, (1.0 - centre) * trials, probability))


def gamma_bound(centre: float, variance: float, probability: float) -> float:
    """The quantile of the gamma distribution of this mean and variance."""
    if variance <= 0.0 or centre <= 0.0:
        return max(centre, 0.0)
    return float(special.gammaincinv(max(centre * centre / variance, 0.05), probability)) * variance / centre


def standard_error(values: npt.ArrayLike, clusters: Clusters = None) -> float:
    """The standard error of the mean of ``values``; NaN for fewer than 2 samples or clusters."""
    scores, codes, count = _prepared(values, clusters)
    if count < 2:
        return math.nan
    residuals = scores - scores.mean()
    sums = residuals if codes is None else np.bincount(codes, weights=residuals, minlength=count)
    return math.sqrt(float(sums @ sums) * count / (count - 1)) / len(scores)


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
    if not repeat(clusters):
        return scores, None, len(scores)
    codes = numbered(clusters, len(scores))
    return scores, codes, int(codes.max()) + 1


def _unfit(scores: Floats, count: int, clustered: bool) -> str | None:
    if len(scores) == 0:
        return "no samples"
    if not np.isfinite(scores).all():
        return "a value is not finite"
    return "1 cluster, 2 needed" if clustered and count < 2 else None


def percent(confidence: float) -> str:
    """``95 %``."""
    return f"{100.0 * confidence:g} %"


def repeat(clusters: Clusters) -> bool:
    """Whether a cluster holds two samples; clusters that never repeat are the same as none."""
    return clusters is not None and len(set(clusters)) < len(clusters)


def numbered(clusters: Clusters, samples: int) -> npt.NDArray[np.intp]:
    """Each sample's cluster by its number, from 0 in the order of their first samples, shape (samples,)."""
    if clusters is None:
        return np.arange(samples, dtype=np.intp)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    return np.fromiter(map(numbers.__getitem__, clusters), dtype=np.intp, count=len(clusters))
