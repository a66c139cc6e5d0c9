"""BEANS-Zero's own evaluator: the nearest of the data set's target texts, and scores over the whole set.

As published. Facts from github earthspecies/beans-zero, beans_zero/post_processor.py and evaluate.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audiobench.metrics.labels import label_statistics
from pytest_audiobench.protocols.bioacoustic.matching import nearest
from pytest_audiobench.protocols.bioacoustic.splitting import END_TOKEN

MAX_DISTANCE = 5


def one_of(text: str, targets: Sequence[str]) -> str:
    """Of the sorted ``targets`` the one nearest to the answer, case and all; the first of several as near."""
    return nearest(text.partition(END_TOKEN)[0], targets)[0]


def several_of(text: str, targets: Sequence[str]) -> str:
    """Each part between commas put to the nearest of the sorted ``targets``, or to "None" beyond a distance of 5."""
    near = (nearest(part.strip().partition(END_TOKEN)[0], targets) for part in text.split(","))
    return ", ".join(label if distance <= MAX_DISTANCE else "None" for label, distance in near)


def classification(texts: Sequence[str], targets: Sequence[str]) -> list[dict[str, float]]:
    """Accuracy, accuracy against any part of the target between commas, and each sample's labels for F1."""
    known = sorted(set(targets))
    said = [one_of(text, known) for text in texts]
    return [
        {
            "correct": float(one == target),
            "beans_top1_accuracy": float(one in [part.strip() for part in target.split(",")]),
            **label_statistics(known, [target], [one]),
        }
        for one, target in zip(said, targets, strict=True)
    ]


def detection(texts: Sequence[str], targets: Sequence[str]) -> list[dict[str, float]]:
    """Each sample's labels; the classes are the parts of all targets between commas, "None" alone not among them."""
    known = sorted({*targets, "None"})
    classes = frozenset(part.strip() for target in targets if target.lower() != "none" for part in target.split(","))
    rows = [(_labels(several_of(text, known)), _labels(target)) for text, target in zip(texts, targets, strict=True)]
    return [label_statistics(classes, classes & true, classes & said) for said, true in rows]


def _labels(text: str) -> frozenset[str]:
    return frozenset() if text.lower() == "none" else frozenset(text.split(", "))
