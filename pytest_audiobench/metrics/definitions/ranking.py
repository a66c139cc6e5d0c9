"""How well scores rank: average precision, the area under the ROC curve, equal error rates and detection costs.

Samples of equal score count as one step (scikit-learn's rule), so the order of samples moves nothing. Trials are yes/no
questions with a score, such as two clips of one speaker or of two: a higher score says "same", and targets are the
trials that are. Definitions of the equal error rate disagree on small sets (0.10 or 0.20 for one target and five
others); this one is the interpolated ROC curve's, and its name says so.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.metrics.estimates import columns, of_form
from pytest_audiobench.metrics.label_statistics import TRUE, listed
from pytest_audiobench.metrics.metric import SHARE, MetricKind, Statistics, Whole
from pytest_audiobench.stats.bootstrap import FEWEST, Ends, Table
from pytest_audiobench.stats.intervals import Floats

SCORE = "score_"


def lacks_scikit_learn() -> str:
    """What must be installed for these metrics, in a sentence; nothing where it is there."""
    if importlib.util.find_spec("sklearn") is not None:
        return ""
    return f"average precision and ROC-AUC need scikit-learn: {install_command('classification')}"


def matrices(statistics: Sequence[Statistics]) -> tuple[Floats, Floats] | str:
    """Truth and score of every label for every sample, each (n, k), or why they cannot be taken together.

    From the statistics of ``metrics.labels``, and a ``score_3`` for each label whose score is not 0.
    """
    labels = listed(statistics, (TRUE, SCORE))
    if isinstance(labels, str):
        return labels
    shape = len(statistics), labels
    truth, scores = np.zeros(shape), np.zeros(shape)
    for row, sample in enumerate(statistics):
        for name, value in sample.items():
            for prefix, matrix in ((TRUE, truth), (SCORE, scores)):
                if name.startswith(prefix):
                    matrix[row, int(name[len(prefix) :])] = value
    return truth, scores


def average_precision(truth: Floats, scores: Floats) -> float:
    """The sum of precision over the steps in recall (shapes (n,)); NaN without a positive.

    Raises UsageError without scikit-learn, ValueError for a score that is no number.
    """
    _require_scikit_learn()
    if not truth.any():
        return math.nan
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(truth, scores))


def roc_auc(truth: Floats, scores: Floats) -> float:
    """The area under the ROC curve (shapes (n,)); NaN where all samples are positive or none.

    Raises UsageError without scikit-learn, ValueError for a score that is no number.
    """
    _require_scikit_learn()
    if truth.all() or not truth.any():
        return math.nan
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, scores))


def mean_average_precision(truth: Floats, scores: Floats) -> float:
    """The mean of average precision over the labels with a positive (shapes (n, k)); NaN where there is none."""
    return _mean(_by_label(average_precision, truth, scores))


def average_precision_all_labels(truth: Floats, scores: Floats) -> float:
    """The mean of average precision over all labels, 0 for one without a positive: scikit-learn's own mean."""
    values = _by_label(average_precision, truth, scores)
    return float(np.mean(np.nan_to_num(values))) if values else math.nan


def micro_average_precision(truth: Floats, scores: Floats) -> float:
    """The average precision of all cells of (n, k) in one ranking."""
    return average_precision(truth.ravel(), scores.ravel())


def macro_roc_auc(truth: Floats, scores: Floats) -> float:
    """The mean of ROC-AUC over the labels that some samples have and some have not; NaN where there is none."""
    return _mean(_by_label(roc_auc, truth, scores))


def roc_auc_all_labels(truth: Floats, scores: Floats) -> float:
    """The mean of ROC-AUC over all labels, NaN where any is true of all samples or of none: scikit-learn's own mean."""
    return float(np.mean(_by_label(roc_auc, truth, scores))) if truth.shape[1] else math.nan


def _require_scikit_learn() -> None:
    if reason := lacks_scikit_learn():
        raise UsageError(reason)


def _by_label(value: Callable[[Floats, Floats], float], truth: Floats, scores: Floats) -> list[float]:
    return [value(*label) for label in zip(truth.T, scores.T, strict=True)]


def _mean(values: Sequence[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def table_of(value: Callable[[Floats, Floats], float]) -> Whole:
    """``value`` of all samples' truth and scores (see :func:`matrices`), which stand side by side in a row."""

    def whole(statistics: Sequence[Statistics]) -> Table | str:
        samples = matrices(statistics)
        if isinstance(samples, str):
            return samples
        if not np.isfinite(samples[1]).all():
            return "a score is not finite"
        labels = samples[0].shape[1]
        return Table(
            np.hstack(samples),
            lambda rows: value(rows[:, :labels], rows[:, labels:]),
            # Each resample would rank all samples anew.
            lacking="ranks of samples are no sums",
        )

    return whole


_TIES = (
    "Samples of equal score count as one step (scikit-learn), so their order moves nothing. NaN where a score is not "
    "finite. Needs scikit-learn."
)


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


def eer_nearest(targets: npt.ArrayLike, others: npt.ArrayLike) -> float:
    """The greater of misses and false alarms at the corner of the ROC curve where the two are nearest.

    As trainers of speaker encoders take it from ``roc_curve`` of scikit-learn, which leaves out what lies on a straight
    line between two others. NaN without targets or without others, and for a score that is NaN.
    """
    misses, alarms = error_rates(targets, others)
    if not len(misses):
        return math.nan
    # In trials, of which differences are exact.
    counts = np.rint(np.stack([misses * np.size(targets), alarms * np.size(others)]))[:, 1:]
    is_corner = np.ones(len(misses), dtype=bool)
    is_corner[2:-1] = np.diff(counts, 2).any(axis=0)
    misses, alarms = misses[is_corner], alarms[is_corner]
    nearest = int(np.argmin(np.abs(misses - alarms)))
    return float(max(misses[nearest], alarms[nearest]))


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
    of_targets, of_others = (np.sort(np.asarray(scores, dtype=np.float64)) for scores in (targets, others))
    if not len(of_targets) or not len(of_others) or np.isnan(of_targets).any() or np.isnan(of_others).any():
        return np.empty(0), np.empty(0)
    thresholds = np.unique(np.concatenate([of_targets, of_others]))[::-1]
    below = [np.searchsorted(scores, thresholds, side="left") / len(scores) for scores in (of_targets, of_others)]
    return np.concatenate([[1.0], below[0]]), np.concatenate([[0.0], 1.0 - below[1]])


def trial_scores(trials: Floats) -> tuple[Floats, Floats]:
    """Scores of targets and of others from trials (is target, has a score, score), shape (n, 3).

    Where there is no score it is the worst one of its kind. None of all trials with a score is no scores at all.
    """
    if not trials[:, 1].any():
        return np.empty(0), np.empty(0)
    is_target = trials[:, 0] != 0.0
    scores = np.where(trials[:, 1] != 0.0, trials[:, 2], np.where(is_target, -math.inf, math.inf))
    return scores[is_target], scores[~is_target]


_ENDS = Ends(np.array([[1.0, 1.0, math.inf], [0.0, 1.0, -math.inf]]), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
"""One more trial that is scored as the best one of its kind, and as the worst."""


def trials_of(name: str, value: Callable[[Floats, Floats], float], why: str = "") -> Whole:
    """``value`` of the scores of targets and of others, from ``target``, ``has_score`` and ``trial_score``.

    ``why`` says why it never has an interval, where that is so. None without targets, others or any score.
    """

    def whole(statistics: Sequence[Statistics]) -> Table | str:
        trials = columns(statistics, name, "target", "has_score", "trial_score")
        targets = trials[:, 0].astype(bool)
        if not trials[:, 1].any():
            return "no trial has a score"
        if targets.all() or not targets.any():
            return f"the trials have no {'others' if targets.all() else 'targets'}"
        return Table(trials, lambda rows: value(*trial_scores(rows)), _ENDS, why or _few(targets))

    return whole


def _few(targets: npt.NDArray[np.bool_]) -> str | None:
    for count, what in ((int(targets.sum()), "targets"), (int((~targets).sum()), "others")):
        if count < FEWEST:
            return f"{count} {what}, {FEWEST} needed"
    return None


def _kind(name: str, unit: str, value: Callable[[Floats, Floats], float], about: str, why: str = "") -> MetricKind:
    whole = trials_of(name, value, why)
    return MetricKind(name, "lower", unit, of_form(whole), about=f"{about} {_TRIALS}", whole=whole)


def _cost(p_target: float, divisor: float) -> Callable[[Floats, Floats], float]:
    return lambda targets, others: min_dcf(targets, others, p_target) / divisor


_TRIALS = (
    "A trial without a score counts as the worst one of its kind. NaN where there are no targets, no other trials or "
    "no score at all."
)

KINDS = (
    *(
        MetricKind(name, "higher", SHARE, of_form(whole), about=f"{about} {_TIES}", whole=whole)
        for (name, whole), about in {
            ("mean_average_precision", table_of(mean_average_precision)): "The mean of average precision over the "
            "labels that are true of a sample; NaN where none is. (Labels without a positive would make a perfect "
            "answer score less than 1.)",
            ("average_precision_all_labels", table_of(average_precision_all_labels)): "The mean of average precision "
            "over all labels of the list, 0 for one that is true of no sample: scikit-learn's macro mean, as "
            "published scripts take it.",
            ("micro_average_precision", table_of(micro_average_precision)): "The average precision of all pairs of "
            "sample and label in one ranking; NaN where nothing is true.",
            ("roc_auc", table_of(macro_roc_auc)): "The mean of the area under the ROC curve over the labels that some "
            "samples have and some have not; NaN where there is none. (One label that is true of all samples, or of "
            "none, would leave the others without a number.)",
            ("roc_auc_all_labels", table_of(roc_auc_all_labels)): "The mean of the area under the ROC curve over all "
            "labels of the list, NaN where one is true of all samples or of none: scikit-learn's macro mean since its "
            "version 1.6 (older ones refuse), as published scripts take it.",
        }.items()
    ),
    _kind(
        "eer_interpolated",
        SHARE,
        eer_interpolated,
        "The equal error rate: where false alarms equal misses on the linearly interpolated ROC curve (other "
        "definitions give other values on small sets).",
    ),
    _kind(
        "eer_nearest",
        SHARE,
        eer_nearest,
        "The equal error rate as trainers of speaker encoders take it: the greater of false alarms and misses at the "
        "corner of the ROC curve where they are nearest.",
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
