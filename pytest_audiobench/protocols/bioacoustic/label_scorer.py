"""A task's own labels, and which of them are true of a sample."""

from __future__ import annotations

import re
from functools import lru_cache

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.bioacoustic.selection import Target

_NONE = re.compile(r"\s*(?:none)?\s*", re.I)
_SHOWN = 5


def labels_for(sample: Sample, labels: tuple[str, ...]) -> tuple[str, ...]:
    """``labels``, or where there are none the sample's choices. Raises UsageError where both are missing."""
    found = labels or sample.choices
    if not found:
        raise UsageError(
            f"sample {sample.id!r} has no choices, and bioacoustic was given no labels: "
            "give the data set's label list as choices, or bioacoustic(labels=…)"
        )
    return found


def classes_for(sample: Sample, labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels that can be heard: "None" is no class."""
    return _classes(labels_for(sample, labels))


@lru_cache(maxsize=256)
def _classes(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label for label in labels if not _NONE.fullmatch(label))


def target_of(sample: Sample) -> Target:
    """The sample's truth as BEANS-Next holds it: a list where the data set gives references, else one text."""
    return sample.references or sample.reference


def true_label(sample: Sample, labels: tuple[str, ...], said: str | None) -> str | None:
    """The true label of ``labels`` that was ``said``, else the first true one; None where the truth is empty.

    Raises UsageError when the truths are no labels of the task.
    """
    true = [truth for truth in sample.truths if truth in labels]
    if not true and any(truth.strip() for truth in sample.truths):
        raise _no_label(sample, sample.truths[0], labels)
    return said if said in true else next(iter(true), None)


def true_labels(sample: Sample, classes: tuple[str, ...]) -> frozenset[str]:
    """The classes that are true of the sample: its references, or the parts of its one reference between commas.

    A class that holds commas itself is found as a whole. "None" and an empty reference are no class. Raises
    UsageError for a truth that is no class of the task.
    """
    if not sample.references:
        return frozenset(_parts(sample, classes))
    for truth in sample.references:
        if truth not in classes and not _NONE.fullmatch(truth):
            raise _no_label(sample, truth, classes)
    return frozenset(classes).intersection(sample.references)


def _parts(sample: Sample, classes: tuple[str, ...]) -> list[str]:
    spelled = _spelled(classes)
    pieces, found, place = sample.reference.split(","), [], 0
    while place < len(pieces):
        ends = range(len(pieces), place, -1)
        whole = next((end for end in ends if _tidy(",".join(pieces[place:end])) in spelled), None)
        if whole is not None:
            found.append(spelled[_tidy(",".join(pieces[place:whole]))])
        elif not _NONE.fullmatch(pieces[place]):
            raise _no_label(sample, pieces[place].strip(), classes)
        place = whole or place + 1
    return found


@lru_cache(maxsize=256)
def _spelled(classes: tuple[str, ...]) -> dict[str, str]:
    return {_tidy(label): label for label in classes}


def _tidy(text: str) -> str:
    return ", ".join(" ".join(part.split()) for part in text.split(","))


def _no_label(sample: Sample, truth: str, labels: tuple[str, ...]) -> UsageError:
    more = ", …" if len(labels) > _SHOWN else ""
    return UsageError(
        f"sample {sample.id!r}: its truth {truth!r} is none of the task's labels ({', '.join(labels[:_SHOWN])}{more}); "
        "correct the data set or the labels"
    )
