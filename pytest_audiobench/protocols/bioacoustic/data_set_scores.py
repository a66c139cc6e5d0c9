"""BEANS-Next's numbers over a whole data set, as published: what its summary.json holds, to the last digit.

CIDEr is so to the twelfth: BEANS-Next's copy of its code takes another logarithm, by which words that all references
share weigh almost nothing in place of nothing; where they share all, its value is noise and this one 0. Facts from
github earthspecies/beans-next, beans_next/metrics/dataset.py and beans_next/runner/_utils.py (0.1.0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pytest_audiobench.metrics.definitions.captions import cider_beans_next
from pytest_audiobench.metrics.estimates import average
from pytest_audiobench.protocols.bioacoustic.pipeline import Target
from pytest_audiobench.protocols.bioacoustic.scoring import average_precision, check_lengths, first_of, split


def dataset_map(predictions: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> float:
    """Mean average precision over all labels that any answer or target holds, an answered label scoring 1, others 0.

    All scores are tied, so the order of the samples decides: answering nothing scores 1.0 or 0.5 by that order. An
    invented label is a further class of precision 0. 0.0 for no samples or no labels. Raises ValueError for lists of
    unequal length.
    """
    check_lengths(predictions, targets)
    # Sorted as there: sums over them end in another digit elsewise.
    labels = sorted({label for row in (*predictions, *targets) for label in row if label})
    if not labels:
        return 0.0
    return average_precision(_membership(predictions, labels), _membership(targets, labels))


def _membership(rows: Iterable[Sequence[str]], labels: Sequence[str]) -> list[list[int]]:
    return [[int(label in members) for label in labels] for members in map(set, rows)]


def macro_f1(predictions: Sequence[str], targets: Sequence[str], zero_division: float = 0.0) -> float:
    """F1 averaged over every string that occurs as an answer or a target.

    A refusal or a misspelling is thereby a further class of F1 ``zero_division``: the more ways of being wrong, the
    lower the value. 0.0 for no samples. Raises ValueError for lists of unequal length.
    """
    check_lengths(predictions, targets)
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


def dataset_scores(pairs: Sequence[tuple[str, Target]], task: str | None) -> dict[str, float]:
    """Scores over all (processed text, target): macro F1, mAP or CIDEr by the task, nothing for other tasks."""
    kind = (task or "").lower()
    if not pairs:
        return {}
    if "caption" in kind:
        captions = [(text, first) for text, target in pairs if (first := first_of(target)) is not None]
        each = cider_beans_next([text for text, _ in captions], [first for _, first in captions])
        return {"cider": average(each)} if each else {}
    if "classification" in kind and "detection" not in kind:
        return {"macro_f1": macro_f1([text for text, _ in pairs], [first_of(target) or "" for _, target in pairs])}
    if "detection" in kind:
        return {"dataset_map": dataset_map([split(text) for text, _ in pairs], [split(target) for _, target in pairs])}
    return {}


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each score's mean over the rows that have it: rows without leave the denominator."""
    names = sorted({name for row in rows for name in row})
    columns = {name: [row[name] for row in rows if name in row] for name in names}
    return {name: sum(values) / len(values) for name, values in columns.items()}
