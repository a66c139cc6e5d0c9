"""What BEANS-Next makes of a processed answer and its target: scores per sample, over the data set, and their means.

As published, defects included. Facts from github earthspecies/beans-next, beans_next/metrics/__init__.py and
beans_next/runner/_utils.py (0.1.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_audiobench.metrics.definitions.captions import cider_beans_next
from pytest_audiobench.metrics.estimates import average
from pytest_audiobench.protocols.bioacoustic.metrics import average_precision, dataset_map, macro_f1, top1_accuracy
from pytest_audiobench.protocols.bioacoustic.pipeline import Target


def sample_scores(target: Target, processed: str, raw: str, task: str | None) -> dict[str, float]:
    """One sample's scores; the kind of target decides, and an empty processed text is replaced by the raw one.

    A text: 1 or 0 for the same text, white space aside. A list with a classification or open-ended task: 1 or 0 for
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
    labels = sorted(wanted | predicted)
    if not labels:
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
