"""What BEANS-Next makes of a processed answer and its target: scores per sample, with what is wrong about them.

As published, defects included. Facts from github earthspecies/beans-next, beans_next/metrics/{__init__,detection,
classification}.py and beans_next/runner/_utils.py (0.1.0). Ours lie in ``metrics/``: average precision that does not
depend on the order of samples, F1 on the task's own list of labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_audiobench.protocols.bioacoustic.pipeline import Target

_Row = Sequence[int | float]


def average_precision(
    predictions: Sequence[_Row], targets: Sequence[_Row], average: Literal["macro", "micro"] = "macro"
) -> float:
    """Average precision of scores (n rows of k labels), by the label ("macro") or all cells pooled ("micro").

    ``targets`` are rows of 0 and 1, or rows of label indices where any row holds another number. Samples of equal
    score are taken in the order of their rows, so the value depends on that order. A label without a positive counts
    as 0. Raises ValueError for no rows, rows of unequal width, a score that is not a number, or another ``average``.
    """
    check_lengths(predictions, targets)
    if not predictions:
        raise ValueError("average precision needs at least one row")
    if not all(isinstance(row, (list, tuple)) for row in (*predictions, *targets)):
        raise ValueError("average precision needs a row of scores and a row of targets for every sample")
    truth = _indicators(targets)
    if not (width := len(truth[0])) or any(len(row) != width for row in (*truth, *predictions)):
        raise ValueError("every row must have the same number of labels, at least one")
    if any(isinstance(score, bool) or not isinstance(score, (int, float)) for row in predictions for score in row):
        raise ValueError("every score must be a number")
    if average == "micro":
        return _step_sum([cell for row in truth for cell in row], [score for row in predictions for score in row])
    if average != "macro":
        raise ValueError(f"average must be macro or micro, not {average!r}")
    columns = zip(zip(*truth, strict=True), zip(*predictions, strict=True), strict=True)
    return sum(_step_sum(column, scores) for column, scores in columns) / width


def top1_accuracy(predictions: Sequence[str], targets: Sequence[str], label_separator: str = ",") -> float:
    """The share of answers that equal one of the target's parts between separators, case and spaces included.

    A label that itself holds the separator can never be matched as a whole. Raises ValueError for no samples or lists
    of unequal length.
    """
    check_lengths(predictions, targets)
    if not predictions:
        raise ValueError("accuracy needs at least one answer")
    right = (
        predicted in [part.strip() for part in target.split(label_separator)]
        for predicted, target in zip(predictions, targets, strict=True)
    )
    return sum(right) / len(predictions)


def check_lengths(predictions: Sequence[object], targets: Sequence[object]) -> None:
    if len(predictions) != len(targets):
        raise ValueError(f"there are {len(predictions)} answers and {len(targets)} targets")


def _indicators(targets: Sequence[_Row]) -> list[list[int]]:
    if all(cell in (0, 1) for row in targets for cell in row):
        return [[int(cell) for cell in row] for row in targets]
    if any(isinstance(cell, bool) or not isinstance(cell, int) or cell < 0 for row in targets for cell in row):
        raise ValueError("targets are rows of 0 and 1, or rows of label indices")
    width = 1 + max(int(cell) for row in targets for cell in row)
    return [[int(label in row) for label in range(width)] for row in targets]


def _step_sum(truth: Sequence[int], scores: Sequence[float]) -> float:
    """The sum of precision over the steps in recall, one sample at a time, the first row of equal scores first."""
    positives = sum(truth)
    hits, total, recall = 0, 0.0, 0.0
    for seen, row in enumerate(sorted(range(len(scores)), key=lambda row: -scores[row]), start=1):
        if truth[row]:
            hits, before = hits + 1, recall
            recall = hits / positives
            # Summed as published: hits / seen over the positives ends in another digit.
            total += hits / seen * (recall - before)
    return total


def sample_scores(target: Target, processed: str, raw: str, task: str | None) -> dict[str, float]:
    """One sample's scores; the kind of target decides, and an empty processed text is replaced by the raw one.

    A text: 1 or 0 for the same text, ignoring white space. A list with a classification or open-ended task: 1 or 0 for
    any of them. Another list: average precision, precision, recall and F1 of the labels between commas. Captions and
    no target have no scores.
    """
    answer, kind = processed or raw, (task or "").lower()
    if target is None or (isinstance(target, str) and "caption" in kind):
        return {}
    if isinstance(target, str):
        right = float(bool(target.strip()) and _tidy(answer) == _tidy(target))
        return dict.fromkeys(("accuracy", "top1_accuracy", "precision", "recall", "f1"), right)
    wanted = [_tidy(label) for label in target if label]
    if ("classification" in kind or "open_ended" in kind) and "detection" not in kind:
        right = top1_accuracy([answer], [",".join(wanted)]) if wanted else 0.0
        return {"accuracy": right, "top1_accuracy": right}
    return _set_scores(set(wanted), {_tidy(label) for label in answer.split(",") if label.strip()})


def _set_scores(wanted: set[str], predicted: set[str]) -> dict[str, float]:
    if not (labels := sorted(wanted | predicted)):
        return {}
    both = len(wanted & predicted)
    precision = both / len(predicted) if predicted else 0.0
    recall = both / len(wanted) if wanted else 0.0
    total = precision + recall
    return {
        "average_precision": average_precision(
            [[float(label in predicted) for label in labels]], [[int(label in wanted) for label in labels]]
        ),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / total if total else 0.0,
    }


def first_of(target: Target) -> str | None:
    """The one reference that BEANS-Next keeps of a target."""
    return target if isinstance(target, str) else next(iter(target or ()), None)


def split(target: Target) -> list[str]:
    """The labels of a target: a text's parts between commas, or the list as it is."""
    if isinstance(target, str):
        return [part.strip() for part in target.split(",") if part.strip()]
    return list(target or ())


def _tidy(text: str) -> str:
    return " ".join(text.split())
