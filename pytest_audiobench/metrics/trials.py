"""Yes/no trials that come with a score, such as two clips of one speaker or of two: error rates over all thresholds.

A higher score says "same". Targets are the trials that are. Definitions of the equal error rate disagree on small
sets (0.10 or 0.20 for one target and five others); this one is the interpolated ROC curve's, and its name says so.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import Floats


def eer_interpolated(targets: npt.ArrayLike, others: npt.ArrayLike) -> float:
    """Where the false alarms of the linearly interpolated ROC curve equal its misses.

    What ``roc_curve`` of scikit-learn and a root of 1 - x - tpr(x) give. 0.5 where all scores are equal. NaN without
    targets or without others, and for a score that is NaN.
    """
    misses, alarms = error_rates(targets, others)
    if not len(misses) or not np.isfinite(misses).all():
        return math.nan
    # Both move one way along the thresholds, so that their difference crosses 0 once.
    difference = misses - alarms
    after = int(np.argmax(difference <= 0.0))
    if after == 0 or difference[after] == 0.0:
        return float(alarms[after])
    before = after - 1
    part = difference[before] / (difference[before] - difference[after])
    return float(alarms[before] + part * (alarms[after] - alarms[before]))


def min_dcf(
    targets: npt.ArrayLike, others: npt.ArrayLike, p_target: float, c_miss: float = 1.0, c_alarm: float = 1.0
) -> float:
    """The least detection cost c_miss × misses × p + c_alarm × false alarms × (1 - p) over all thresholds.

    Not normalised: NIST and VoxCeleb divide it by min(c_miss × p, c_alarm × (1 - p)). To accept all and to reject all
    are among the thresholds. NaN without targets or without others, and for a score that is NaN.
    """
    misses, alarms = error_rates(targets, others)
    if not len(misses):
        return math.nan
    return float(np.min(c_miss * misses * p_target + c_alarm * alarms * (1.0 - p_target)))


def error_rates(targets: npt.ArrayLike, others: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Misses and false alarms at each threshold from above all scores to below all, trials of equal score together.

    Empty where there are no targets, no others, or a score is NaN.
    """
    wanted, unwanted = (np.sort(np.asarray(scores, dtype=np.float64)) for scores in (targets, others))
    if not len(wanted) or not len(unwanted) or np.isnan(wanted).any() or np.isnan(unwanted).any():
        return np.empty(0), np.empty(0)
    thresholds = np.unique(np.concatenate([wanted, unwanted]))[::-1]
    below = [np.searchsorted(scores, thresholds, side="left") / len(scores) for scores in (wanted, unwanted)]
    return np.concatenate([[1.0], below[0]]), np.concatenate([[0.0], 1.0 - below[1]])


def trial_scores(trials: Floats) -> tuple[Floats, Floats]:
    """Scores of targets and of others from trials (is target, has a score, score), shape (n, 3).

    Where there is no score it is the worst one of its kind. None of all trials with a score is no scores at all.
    """
    if not trials[:, 1].any():
        return np.empty(0), np.empty(0)
    is_target = trials[:, 0] != 0.0
    worst = np.where(is_target, -math.inf, math.inf)
    scores = np.where(trials[:, 1] != 0.0, trials[:, 2], worst)
    return scores[is_target], scores[~is_target]
