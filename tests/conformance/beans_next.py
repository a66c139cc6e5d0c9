"""BEANS-Next's metrics that no task of ours is scored by, as published: what our own are held to.

Facts from github earthspecies/beans-next, beans_next/metrics/{dataset,classification}.py and
beans_next/runner/_utils.py (0.1.0). No task of BEANS-Next uses accuracy, precision, recall and F1 of integer labels and
of indicator rows: the ``metrics:`` of a task's file are never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.protocols.bioacoustic.pipeline import Step, Steps


def steps_named(parsers: Sequence[Sequence[Any]], cleaners: Sequence[Sequence[Any]]) -> Steps:
    """Steps from pairs of name and parameters."""
    return Steps(tuple(Step(*step) for step in parsers), tuple(Step(*step) for step in cleaners))


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
