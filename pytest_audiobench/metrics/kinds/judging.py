"""Verdicts of judges, and how far two ways of scoring the same answers agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_audiobench.metrics.estimates import mean_of, of_summed
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.units import AGREEMENT, SHARE
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends
from pytest_audiobench.stats.intervals import Floats, none


def kappa(sums: Floats) -> Floats:
    """Cohen's kappa from sums of shape (r, 4): agreeing, right by the first, right by the second, all; r values.

    NaN where both always say the same one thing: agreement by chance is then 1, and kappa 0 / 0.
    """
    agree, first, second, n = (sums[:, column] for column in range(4))
    # In counts, which floats hold exactly, so that no agreement beyond chance is 0 and not a rounding error.
    by_chance = first * second + (n - first) * (n - second)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(by_chance < n * n, (n * agree - by_chance) / (n * n - by_chance), np.nan)
    return found


_ENDS = Ends(
    np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
)
_summed = of_summed("judge_kappa", ("agree", "first", "second", "n"), kappa, lambda own: _ENDS)


def _kappa(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    """Kappa with its interval, where each of the two says both things five times."""
    found = _summed(statistics, clusters)
    right = [sum(one[side] for one in statistics) for side in ("first", "second")]
    rarer = int(min((min(count, len(statistics) - count) for count in right), default=0))
    if found.lower is None or rarer >= FEWEST_OF_LABEL:
        return found
    reason = none(f"a verdict that is given {rarer} times, {FEWEST_OF_LABEL} needed").method
    return found._replace(lower=None, upper=None, method=reason)


KINDS = (
    MetricKind(
        "judge_score",
        "higher",
        SHARE,
        mean_of("judge_score", "points"),
        lambda one: (one["points"], 1.0),
        'The mean of "points": what a judge gives an answer, from 0 to 1, over the answers whose verdict could be '
        "read.",
    ),
    MetricKind(
        "judge_agreement",
        "higher",
        SHARE,
        mean_of("judge_agreement", "agree"),
        lambda one: (one["agree"], 1.0),
        "The share of answers that two ways of scoring, of which one at least is a judge, both take for right or both "
        "for wrong; answers that one of them leaves out are left out. Points count as right from 0.5 on.",
    ),
    MetricKind(
        "judge_kappa",
        "higher",
        AGREEMENT,
        _kappa,
        about="Cohen's kappa (Cohen 1960) of the same two: (agreement - agreement by chance) / (1 - agreement by "
        "chance), by chance from the two shares of right answers. No number where both say one thing only.",
    ),
)
