"""The mean of what people would say of all answers, from a judge's figures of all and people's labels of some: PPI++.

Angelopoulos, Duchi and Zrnic 2023 (arXiv 2311.01453), for a mean: over n labelled answers with labels Y and the judge's
figures f, and N others with figures f',

    lambda * mean(f') + mean(Y - lambda * f),   lambda = cov(Y, f) / ((1 + n / N) var(f)), cut to 0 to 1.

The paper's interval is the normal one. With few labels it claims too much for a good judge, whose rare mistakes none of
the labels shows: in ``benchmarks/coverage_of_corrections.py`` it holds the truth in as few as 68 % of cases. So each
bound takes one more labelled answer in, as those of ``stats.intervals`` do: one that the judge takes for wholly right
and people for wholly wrong for the lower bound, the other way round for the upper one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats.bootstrap import size_of
from pytest_audiobench.stats.intervals import Clusters, Floats, Interval, beta_bound, mean_interval, none, numbered


class Correction(NamedTuple):
    """The corrected mean, its 95 % interval, and how much of the judge it takes in."""

    value: float
    interval: Interval
    weight: float
    """Lambda: 0 where the judge is unrelated to the labels, near 1 where it agrees with them."""


def corrected_mean(
    figures: Floats, labels: Floats, labelled: Floats, clusters: Clusters = None, tuned: bool = True
) -> Correction:
    """The mean label over all answers, all within 0 to 1; ``labels`` counts where ``labelled`` is 1, all shape (n,).

    Not ``tuned``, lambda is 1, and the mean that of the others alone: for labels of answers that were drawn from other
    samples than these, of which the judge's mean error is all that can be carried over.
    """
    is_labelled = labelled > 0.0
    ours, said, others = figures[is_labelled], labels[is_labelled], figures[~is_labelled]
    codes = numbered(clusters, len(figures))
    if not len(others):
        own = None if clusters is None else [clusters[place] for place in np.flatnonzero(is_labelled)]
        return Correction(float(said.mean()), mean_interval(said, own), 0.0)
    weight = 1.0
    centre = float(others.mean())
    count = int(codes.max()) + 1
    of_labelled, of_others = codes[is_labelled], codes[~is_labelled]
    moves = np.bincount(of_others, weights=others - centre, minlength=count) / len(others)
    if tuned:
        by_label = np.bincount(of_labelled, weights=said - said.mean(), minlength=count) / len(said)
        by_figure = np.bincount(of_labelled, weights=ours - ours.mean(), minlength=count) / len(said)
        # In units of clusters, the paper's covariance and variances; without clusters they are just these.
        spread = float(by_figure @ by_figure + moves @ moves - 2.0 * (by_figure @ moves))
        shared = float(by_label @ by_figure - by_label @ moves)
        weight = min(max(shared / spread, 0.0), 1.0) if spread > 0.0 else 0.0
    corrected = said - weight * (ours - centre)
    value = min(max(float(corrected.mean()), 0.0), 1.0)
    present = np.unique(of_labelled)
    if len(present) < 2:
        return Correction(value, none("1 cluster of labels, 2 needed"), weight)
    sums = np.bincount(of_labelled, weights=corrected, minlength=count)
    lengths = np.bincount(of_labelled, minlength=count).astype(np.float64)
    size = size_of(lengths[present])
    bounds = []
    for end, probability in ((-weight * (1.0 - centre), 0.025), (1.0 + weight * centre, 0.975)):
        whole = len(said) + size
        middle = (float(sums.sum()) + size * end) / whole
        residuals = (sums - middle * lengths) / whole + weight * moves
        of_end = size * (end - middle) / whole
        units = len(present) + 1
        variance = (float(residuals @ residuals) + of_end * of_end) * units / (units + 1)
        bounds.append(beta_bound(middle, variance, probability))
    what = "labels" if len(present) == len(said) else "clusters of labels"
    return Correction(value, Interval(bounds[0], bounds[1], f"PPI++ 95 %, {len(present)} {what}"), weight)
