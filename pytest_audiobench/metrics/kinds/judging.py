"""Verdicts of judges, and how far two ways of scoring the same answers agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_audiobench.metrics.estimates import columns, mean_of, summed_kind
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.units import AGREEMENT, SHARE
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Sums
from pytest_audiobench.stats.intervals import Floats


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


_NAMES = ("agree", "first", "second", "n")
_ENDS = Ends(
    np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
)


def _rare_verdict(found: Resampling) -> str | None:
    _, first, second, n = found.total()[0]
    rarer = int(min(first, second, n - first, n - second))
    return f"a verdict was given {rarer} times, {FEWEST_OF_LABEL} needed" if rarer < FEWEST_OF_LABEL else None


def _agreement(statistics: Sequence[Statistics]) -> Sums:
    return Sums(columns(statistics, "judge_kappa", *_NAMES), kappa, lambda own: _ENDS, _rare_verdict)


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
    summed_kind(
        "judge_kappa",
        "higher",
        AGREEMENT,
        _agreement,
        "Cohen's kappa (Cohen 1960) of the same two: (agreement - agreement by chance) / (1 - agreement by "
        "chance), by chance from the two shares of right answers. No number where both say one thing only.",
        own=lambda one: one["agree"],
    ),
)
