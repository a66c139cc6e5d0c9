"""BEANS-Zero's own evaluator: the nearest of the data set's target texts, and scores over the whole set.

As published. Facts from github earthspecies/beans-zero, beans_zero/post_processor.py and evaluate.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audiobench.metrics.labels import label_statistics
from pytest_audiobench.protocols.bioacoustic.matching import nearest
from pytest_audiobench.protocols.bioacoustic.splitting import END_TOKEN

MAX_DISTANCE = 5


def one_of(text: str, targets: frozenset[str]) -> str:
    """The target text nearest to the answer, case and all; the one that sorts first where several are as near."""
    cut = text.partition(END_TOKEN)[0]
    return cut if cut in targets else nearest(cut, sorted(targets))[0]


def several_of(text: str, targets: frozenset[str]) -> str:
    """Each part between commas put to the nearest target text, or to "None" beyond a distance of 5."""
    parts = [part.strip().partition(END_TOKEN)[0] for part in text.split(",")]
    return ", ".join(_within(part, targets | {"None"}) for part in parts)


def _within(part: str, targets: frozenset[str]) -> str:
    if part in targets:
        return part
    label, distance = nearest(part, sorted(targets))
    return label if distance <= MAX_DISTANCE else "None"


def classification(texts: Sequence[str], targets: Sequence[str]) -> list[dict[str, float]]:
    """Accuracy, accuracy against any part of the target between commas, and each sample's labels for F1."""
    known = frozenset(targets)
    said = [one_of(text, known) for text in texts]
    return [
        {
            "beans_accuracy": float(one == target),
            "beans_top1_accuracy": float(one in [part.strip() for part in target.split(",")]),
            **label_statistics(known, [target], [one]),
        }
        for one, target in zip(said, targets, strict=True)
    ]


def detection(texts: Sequence[str], targets: Sequence[str]) -> list[dict[str, float]]:
    """Each sample's labels; the classes are the parts of all targets between commas, "None" alone not among them."""
    known = frozenset(targets)
    classes = frozenset(part.strip() for target in targets if target.lower() != "none" for part in target.split(","))
    rows = [(_labels(several_of(text, known)), _labels(target)) for text, target in zip(texts, targets, strict=True)]
    return [label_statistics(classes, classes & true, classes & said) for said, true in rows]


def _labels(text: str) -> frozenset[str]:
    return frozenset() if text.lower() == "none" else frozenset(text.split(", "))
