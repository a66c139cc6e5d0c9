"""What is true of a sample whose truth is a label, and the statistics of an answer to it."""

from __future__ import annotations

from collections.abc import Collection

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.labels import label_statistics
from pytest_audiobench.protocols.classification.mentions import Labels


def true_label(sample: Sample, labels: Labels) -> str:
    """The label that is the sample's reference. Raises UsageError where it is none of them."""
    label = labels.label(sample.reference)
    if label is None:
        raise UsageError(
            f"sample {sample.id!r}: its reference {sample.reference!r} is none of its choices {list(sample.choices)}; "
            "correct the data set"
        )
    return label


def choices_of(sample: Sample) -> tuple[str, ...]:
    """The sample's choices. Raises UsageError where it has none."""
    if not sample.choices:
        raise UsageError(
            f"sample {sample.id!r} has no choices; give it the task's list of labels as its choices, or ask another way"
        )
    return sample.choices


def statistics_of(labels: Labels, true: Collection[str], said: Collection[str], others: int = 0) -> dict[str, float]:
    """``metrics.labels.label_statistics``, blind to case and punctuation, and whether all is right."""
    listed, wanted, named = ([tidy_caseless(label) for label in some] for some in (labels.texts, true, said))
    right = set(wanted) == set(named) and not others
    return {"correct": float(right), **label_statistics(listed, wanted, named, others)}
