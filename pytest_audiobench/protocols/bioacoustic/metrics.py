"""BEANS-Next's metrics over a whole data set, as published, with what is wrong about them.

Facts from github earthspecies/beans-next, beans_next/metrics/{detection,dataset,classification}.py. Ours lie in
``metrics/``: average precision that does not depend on the order of samples, F1 on the task's own list of labels.
No task of BEANS-Next uses accuracy, precision, recall and F1 of integer labels and of indicator rows: the ``metrics:``
of a task's file are never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

_Row = Sequence[int | float]


def average_precision(
    predictions: Sequence[_Row], targets: Sequence[_Row], average: Literal["macro", "micro"] = "macro"
) -> float:
    """Average precision of scores (n rows of k labels), by the label ("macro") or all cells pooled ("micro").

    ``targets`` are rows of 0 and 1, or rows of label indices where any row holds another number. Samples of equal
    score are taken in the order of their rows, so the value depends on that order. A label without a positive counts
    as 0. Raises ValueError for no rows, rows of unequal width, a score that is no number, or another ``average``.
    """
    _check_lengths(predictions, targets)
    if not predictions:
        raise ValueError("average precision needs at least one row")
    if not all(isinstance(row, (list, tuple)) for row in (*predictions, *targets)):
        raise ValueError("average precision needs a row of scores and a row of targets for every sample")
    truth = _indicators(targets)
    width = len(truth[0])
    if not width or any(len(row) != width for row in (*truth, *predictions)):
        raise ValueError("every row must have the same number of labels, at least one")
    if any(isinstance(score, bool) or not isinstance(score, (int, float)) for row in predictions for score in row):
        raise ValueError("every score must be a number")
    if average == "micro":
        return _step_sum([cell for row in truth for cell in row], [score for row in predictions for score in row])
    if average != "macro":
        raise ValueError(f"average must be macro or micro, not {average!r}")
    columns = zip(zip(*truth, strict=True), zip(*predictions, strict=True), strict=True)
    return sum(_step_sum(column, scores) for column, scores in columns) / width


def dataset_map(predictions: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> float:
    """Mean average precision over all labels that any answer or target holds, an answered label scoring 1, others 0.

    All scores are tied, so the order of the samples decides: answering nothing scores 1.0 or 0.5 by that order. An
    invented label is a further class of precision 0. 0.0 for no samples or no labels. Raises ValueError for lists of
    unequal length.
    """
    _check_lengths(predictions, targets)
    labels = sorted({label for row in (*predictions, *targets) for label in row if label})
    if not labels:
        return 0.0
    return average_precision(_membership(predictions, labels), _membership(targets, labels))


def macro_f1(predictions: Sequence[str], targets: Sequence[str], zero_division: float = 0.0) -> float:
    """F1 averaged over every string that occurs as an answer or a target.

    A refusal or a misspelling is thereby a further class of F1 ``zero_division``: the more ways of being wrong, the
    lower the value. 0.0 for no samples. Raises ValueError for lists of unequal length.
    """
    _check_lengths(predictions, targets)
    if not predictions:
        return 0.0
    hits = Counter(predicted for predicted, true in zip(predictions, targets, strict=True) if predicted == true)
    said_of, true_of = Counter(predictions), Counter(targets)
    scores = []
    for label in sorted({*predictions, *targets}):
        precision = hits[label] / said_of[label] if said_of[label] else zero_division
        recall = hits[label] / true_of[label] if true_of[label] else zero_division
        both = precision + recall
        scores.append(2 * precision * recall / both if both else zero_division)
    return sum(scores) / len(scores)


def top1_accuracy(predictions: Sequence[str], targets: Sequence[str], label_separator: str = ",") -> float:
    """The share of answers that equal one of the target's parts between separators, case and spaces included.

    A label that itself holds the separator can never be matched as a whole. Raises ValueError for no samples or lists
    of unequal length.
    """
    _check_lengths(predictions, targets)
    if not predictions:
        raise ValueError("accuracy needs at least one answer")
    right = (
        predicted in [part.strip() for part in target.split(label_separator)]
        for predicted, target in zip(predictions, targets, strict=True)
    )
    return sum(right) / len(predictions)


def _check_lengths(predictions: Sequence[object], targets: Sequence[object]) -> None:
    if len(predictions) != len(targets):
        raise ValueError(f"there are {len(predictions)} answers and {len(targets)} targets")


def _indicators(targets: Sequence[_Row]) -> list[list[int]]:
    if all(cell in (0, 1) for row in targets for cell in row):
        return [[int(cell) for cell in row] for row in targets]
    if any(isinstance(cell, bool) or not isinstance(cell, int) or cell < 0 for row in targets for cell in row):
        raise ValueError("targets are rows of 0 and 1, or rows of label indices")
    width = 1 + max(int(cell) for row in targets for cell in row)
    return [[int(label in row) for label in range(width)] for row in targets]


def _membership(rows: Iterable[Sequence[str]], labels: Sequence[str]) -> list[list[int]]:
    return [[int(label in members) for label in labels] for members in map(set, rows)]


def _step_sum(truth: Sequence[int], scores: Sequence[float]) -> float:
    """The sum of precision over the steps in recall, one sample at a time, the first row of equal scores first."""
    positives = sum(truth)
    hits, total = 0, 0.0
    for seen, row in enumerate(sorted(range(len(scores)), key=lambda row: -scores[row]), start=1):
        if truth[row]:
            hits += 1
            total += hits / seen
    return total / positives if positives else 0.0


Average: TypeAlias = Literal["macro", "micro", "weighted", "binary"]
_Cells: TypeAlias = npt.NDArray[np.int64]


def accuracy(predictions: Sequence[Any], targets: Sequence[Any]) -> float:
    """The share of rows that are right as a whole. Raises ValueError for input that is no integers or rows of them."""
    predicted, true = _label_indicators(predictions, targets)
    return float((predicted == true).all(axis=1).mean())


def precision(
    predictions: Sequence[Any], targets: Sequence[Any], average: Average = "macro", zero_division: float = 0.0
) -> float:
    return _averages(predictions, targets, average, zero_division)[0]


def recall(
    predictions: Sequence[Any], targets: Sequence[Any], average: Average = "macro", zero_division: float = 0.0
) -> float:
    return _averages(predictions, targets, average, zero_division)[1]


def f1(
    predictions: Sequence[Any], targets: Sequence[Any], average: Average = "macro", zero_division: float = 0.0
) -> float:
    """F1, which is ``zero_division`` wherever precision and recall are both 0, for a class that is always wrong too."""
    return _averages(predictions, targets, average, zero_division)[2]


def _averages(predictions: Sequence[Any], targets: Sequence[Any], average: str, empty: float) -> list[float]:
    """Precision, recall and F1. Classes are all integers from 0 to the largest, seen or not."""
    predicted, true = _label_indicators(predictions, targets)
    if average == "binary":
        predicted, true = _positive(predicted, true, isinstance(predictions[0], (list, tuple)))
    hits, stated, wanted = (predicted & true).sum(axis=0), predicted.sum(axis=0), true.sum(axis=0)
    if average == "micro":
        return _scores(int(hits.sum()), int(stated.sum()), int(wanted.sum()), empty)
    each = np.array([_scores(*counts, empty) for counts in zip(hits, stated, wanted, strict=True)])
    if average == "weighted":
        return [float(score) for score in np.average(each, axis=0, weights=wanted)] if wanted.any() else [empty] * 3
    if average not in ("macro", "binary"):
        raise ValueError(f"average must be macro, micro, weighted or binary, not {average!r}")
    return [float(score) for score in each.mean(axis=0)]


def _scores(hits: int, stated: int, wanted: int, empty: float) -> list[float]:
    precision_ = hits / stated if stated else empty
    recall_ = hits / wanted if wanted else empty
    both = precision_ + recall_
    return [precision_, recall_, 2 * precision_ * recall_ / both if both else empty]


def _positive(predicted: _Cells, true: _Cells, rows: bool) -> tuple[_Cells, _Cells]:
    """The column of class 1: the second of flat labels, there or not, the only one of rows."""
    width = predicted.shape[1]
    if width > (1 if rows else 2):
        raise ValueError("average 'binary' needs the labels 0 and 1, or rows of one label")
    if rows:
        return predicted, true
    more = ((0, 0), (0, 2 - width))
    return np.pad(predicted, more)[:, 1:], np.pad(true, more)[:, 1:]


def _label_indicators(predictions: Sequence[Any], targets: Sequence[Any]) -> tuple[_Cells, _Cells]:
    """Rows of 0 and 1, shape (samples, classes), of integers, rows of 0 and 1, or rows of label indices."""
    if not predictions or len(predictions) != len(targets):
        raise ValueError(f"there are {len(predictions)} answers and {len(targets)} targets: give as many, and some")
    rows = [isinstance(labels, (list, tuple)) for labels in (*predictions, *targets)]
    if any(rows) != all(rows):
        raise ValueError("answers and targets must all be integers or all be rows")
    listed = [list(labels) if rows[0] else [labels] for labels in (*predictions, *targets)]
    cells = [cell for row in listed for cell in row]
    if any(isinstance(cell, bool) or not isinstance(cell, int) or cell < 0 for cell in cells):
        raise ValueError("labels must be integers from 0")
    if rows[0] and len({len(row) for row in listed}) == 1 and set(cells) <= {0, 1}:
        made = np.array(listed, dtype=np.int64)
    else:
        made = np.zeros((len(listed), 1 + max(cells, default=-1)), dtype=np.int64)
        for place, row in enumerate(listed):
            made[place, row] = 1
    if not made.shape[1]:
        raise ValueError("there is no label")
    return made[: len(predictions)], made[len(predictions) :]
