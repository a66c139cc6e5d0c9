"""Trials with a score: equal error rate and detection cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pytest_audiobench.metrics.estimates import columns, of_whole
from pytest_audiobench.metrics.metric import MetricKind, Statistics, Whole
from pytest_audiobench.metrics.trials import eer_interpolated, min_dcf, trial_scores
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.bootstrap import FEWEST, Ends, Table
from pytest_audiobench.stats.intervals import Floats

_ENDS = Ends(np.array([[1.0, 1.0, math.inf], [0.0, 1.0, -math.inf]]), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
"""One more trial that is scored as the best one of its kind, and as the worst."""


def table_of(name: str, value: Callable[[Floats, Floats], float], why: str = "") -> Whole:
    """``value`` of the scores of targets and of others, from ``target``, ``has_score`` and ``trial_score``.

    ``why`` says why it never has an interval, where that is so. None without targets, others or any score.
    """

    def whole(statistics: Sequence[Statistics]) -> Table | str:
        found = columns(statistics, name, "target", "has_score", "trial_score")
        targets = found[:, 0].astype(bool)
        if not found[:, 1].any():
            return "no trial has a score"
        if targets.all() or not targets.any():
            return f"the trials have no {'others' if targets.all() else 'targets'}"
        return Table(found, lambda rows: value(*trial_scores(rows)), _ENDS, why or _few(targets))

    return whole


def _few(targets: npt.NDArray[np.bool_]) -> str | None:
    for count, what in ((int(targets.sum()), "targets"), (int((~targets).sum()), "others")):
        if count < FEWEST:
            return f"{count} {what}, {FEWEST} needed"
    return None


def _kind(name: str, unit: str, value: Callable[[Floats, Floats], float], about: str, why: str = "") -> MetricKind:
    whole = table_of(name, value, why)
    return MetricKind(name, "lower", unit, of_whole(whole), about=f"{about} {_TRIALS}", whole=whole)


def _cost(p_target: float, divisor: float) -> Callable[[Floats, Floats], float]:
    return lambda targets, others: min_dcf(targets, others, p_target) / divisor


_TRIALS = (
    "A trial without a score counts as the worst one of its kind. NaN where there are no targets, no other trials or "
    "no score at all."
)

KINDS = (
    _kind(
        "eer_interpolated",
        SHARE,
        eer_interpolated,
        "The equal error rate: where false alarms equal misses on the linearly interpolated ROC curve (other "
        "definitions give other values on small sets).",
    ),
    *(
        _kind(
            name,
            "cost",
            _cost(p, norm),
            f"The least detection cost over all thresholds at a prior of {p:g}, misses and false alarms costing "
            f"1 each, {how}.",
            "a least cost over thresholds is too low in resamples",
        )
        for name, p, norm, how in (
            ("min_dcf_p01", 0.01, 0.01, "divided by the prior (NIST, VoxCeleb)"),
            ("min_dcf_p05", 0.05, 0.05, "divided by the prior (NIST, VoxCeleb)"),
            ("min_dcf_p01_raw", 0.01, 1.0, "not normalised (SpeechBrain)"),
            ("min_dcf_p05_raw", 0.05, 1.0, "not normalised (SpeechBrain)"),
        )
    ),
)
