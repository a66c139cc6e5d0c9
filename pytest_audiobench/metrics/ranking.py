"""How well scores rank the samples that have a label before those that have it not, by scikit-learn.

Samples of equal score count as one step (scikit-learn's rule), so the order of samples moves nothing.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.labels import TRUE, listed
from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.stats.intervals import Floats

SCORE = "score_"


def lacking() -> str:
    """What must be installed for these metrics, in a sentence; nothing where it is there."""
    if importlib.util.find_spec("sklearn") is not None:
        return ""
    return "average precision and ROC-AUC need scikit-learn: pip install 'pytest-audiobench[classification]'"


def matrices(statistics: Sequence[Statistics]) -> tuple[Floats, Floats] | str:
    """Truth and score of every label for every sample, each (n, k), or why they cannot be taken together.

    From the statistics of ``metrics.labels``, and a ``score_3`` for each label whose score is not 0.
    """
    labels = listed(statistics, (TRUE, SCORE))
    if isinstance(labels, str):
        return labels
    shape = len(statistics), labels
    truth, scores = np.zeros(shape), np.zeros(shape)
    for row, one in enumerate(statistics):
        for name, value in one.items():
            for prefix, matrix in ((TRUE, truth), (SCORE, scores)):
                if name.startswith(prefix):
                    matrix[row, int(name[len(prefix) :])] = value
    return truth, scores


def average_precision(truth: Floats, scores: Floats) -> float:
    """The sum of precision over the steps in recall (shapes (n,)); NaN without a positive.

    Raises UsageError without scikit-learn, ValueError for a score that is no number.
    """
    _needed()
    if not truth.any():
        return math.nan
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(truth, scores))


def roc_auc(truth: Floats, scores: Floats) -> float:
    """The area under the ROC curve (shapes (n,)); NaN where all samples are positive or none.

    Raises UsageError without scikit-learn, ValueError for a score that is no number.
    """
    _needed()
    if truth.all() or not truth.any():
        return math.nan
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, scores))


def mean_average_precision(truth: Floats, scores: Floats) -> float:
    """The mean of average precision over the labels with a positive (shapes (n, k)); NaN where there is none."""
    return _mean([average_precision(one, its) for one, its in zip(truth.T, scores.T, strict=True)])


def average_precision_all_labels(truth: Floats, scores: Floats) -> float:
    """The mean of average precision over all labels, 0 for one without a positive: scikit-learn's own mean."""
    values = [average_precision(one, its) for one, its in zip(truth.T, scores.T, strict=True)]
    return float(np.mean(np.nan_to_num(values))) if values else math.nan


def micro_average_precision(truth: Floats, scores: Floats) -> float:
    """The average precision of all cells of (n, k) in one ranking."""
    return average_precision(truth.ravel(), scores.ravel())


def macro_roc_auc(truth: Floats, scores: Floats) -> float:
    """The mean of ROC-AUC over the labels that some samples have and some have not; NaN where there is none."""
    return _mean([roc_auc(one, its) for one, its in zip(truth.T, scores.T, strict=True)])


def _needed() -> None:
    if reason := lacking():
        raise UsageError(reason)


def _mean(values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    return math.fsum(there) / len(there) if there else math.nan
