"""Trials with a score: equal error rate and detection cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pytest_audiobench.metrics.estimates import columns, nothing
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.trials import eer_interpolated, min_dcf, trial_scores
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.bootstrap import Ends, of_rows
from pytest_audiobench.stats.intervals import Floats, Interval, none


def of_trials(
    name: str, value: Callable[[Floats, Floats], float], lacking: str = ""
) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """``value`` of the scores of targets and of others, from ``target``, ``has_score`` and ``trial_score``.

    With a bootstrap interval, unless ``lacking`` says why there is none. NaN, with the reason as its method, without
    targets, without others or without any score.
    """

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        found = columns(statistics, name, "target", "has_score", "trial_score")
        targets = found[:, 0].astype(bool)
        if not found[:, 1].any():
            interval = none("no trial has a score")
        elif targets.all() or not targets.any():
            interval = none(f"the trials have no {'others' if targets.all() else 'targets'}")
        elif lacking:
            interval = none(lacking)
        else:
            interval = _interval(found, lambda rows: value(*trial_scores(rows)), clusters)
        whole = value(*trial_scores(found))
        return Estimate(whole, interval.lower, interval.upper, len(found), interval.method)

    return estimate


_FEWEST = 20
"""Targets, and others, below which the resampled rates were seen to hold the truth too rarely."""
_ENDS = Ends(np.array([[1.0, 1.0, math.inf], [0.0, 1.0, -math.inf]]), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
"""One more trial that is scored as the best one of its kind, and as the worst."""


def _interval(found: Floats, value: Callable[[Floats], float], clusters: Clusters) -> Interval:
    targets = int(found[:, 0].sum())
    for count, what in ((targets, "targets"), (len(found) - targets, "others")):
        if count < _FEWEST:
            return none(f"{count} {what}, {_FEWEST} needed")
    return of_rows(found, value, clusters, _ENDS)


def _cost(p_target: float, divisor: float) -> Callable[[Floats, Floats], float]:
    return lambda targets, others: min_dcf(targets, others, p_target) / divisor


_TRIALS = (
    "A trial without a score counts as the worst one of its kind. NaN where there are no targets, no other trials or "
    "no score at all."
)

KINDS = (
    MetricKind(
        "eer_interpolated",
        "lower",
        SHARE,
        of_trials("eer_interpolated", eer_interpolated),
        about="The equal error rate: where false alarms equal misses on the linearly interpolated ROC curve (other "
        f"definitions give other values on small sets). {_TRIALS}",
    ),
    *(
        MetricKind(
            name,
            "lower",
            "cost",
            of_trials(name, _cost(p, norm), "a least cost over thresholds is too low in resamples"),
            about=f"The least detection cost over all thresholds at a prior of {p:g}, misses and false alarms costing "
            f"1 each, {how}. {_TRIALS}",
        )
        for name, p, norm, how in (
            ("min_dcf_p01", 0.01, 0.01, "divided by the prior (NIST, VoxCeleb)"),
            ("min_dcf_p05", 0.05, 0.05, "divided by the prior (NIST, VoxCeleb)"),
            ("min_dcf_p01_raw", 0.01, 1.0, "not normalised (SpeechBrain)"),
            ("min_dcf_p05_raw", 0.05, 1.0, "not normalised (SpeechBrain)"),
        )
    ),
)
