"""What the families with labels share: their prompts, what is true of a sample, and the published comparisons."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Collection

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.protocols.classification.mentions import Labels
from pytest_audiobench.protocols.free_text import filled_template, question_of, template_pieces


def true_label(sample: Sample, labels: Labels) -> str:
    """The label that is the sample's reference. Raises UsageError where it is not one of them."""
    if (label := labels.label(sample.reference)) is None:
        raise UsageError(
            f"sample {sample.id!r}: its reference {sample.reference!r} is not one of its choices "
            f"{list(sample.choices)}; "
            "correct the data set"
        )
    return label


def choices_of(sample: Sample) -> tuple[str, ...]:
    """The sample's choices. Raises UsageError where it has none."""
    if not sample.choices:
        raise UsageError(
            f"sample {sample.id!r} has no choices; give it the task's list of labels as its choices, or its manifest "
            "choices=… for all rows, or ask another way"
        )
    return sample.choices


def statistics_of(
    labels: Labels, true: Collection[str], predicted: Collection[str], others: int = 0
) -> dict[str, float]:
    """``metrics.labels.label_statistics``, blind to case and punctuation, and whether all is right."""
    listed, wanted, named = ([tidy_caseless(label) for label in some] for some in (labels.texts, true, predicted))
    right = set(wanted) == set(named) and not others
    return {"correct": float(right), **label_statistics(listed, wanted, named, others)}


_PLACEHOLDERS = ("question", "labels")


def words_of(prompt: str) -> Callable[[Sample], str]:
    """What fills ``prompt`` for a sample: ``{question}`` and ``{labels}`` (its choices, commas between them).

    ``{{`` and ``}}`` are braces. Raises UsageError for another placeholder.
    """
    template = template_pieces(prompt, _PLACEHOLDERS)
    asks = any(name == "question" for _, name in template)

    def words(sample: Sample) -> str:
        values = {"labels": ", ".join(sample.choices)}
        if asks:
            values["question"] = question_of(sample)
        return filled_template(template, values).strip()

    return words


EMOTIONS = {
    "neu": "Neutral",
    "neutral": "Neutral",
    "hap": "Happy",
    "happy": "Happy",
    "exc": "Happy",
    "excited": "Happy",
    "sad": "Sad",
    "ang": "Angry",
    "angry": "Angry",
}
"""IEMOCAP's codes and words, and the four classes that SALMONN's emotion task is scored on; all others are left out."""

EMOTION_CLASSES = ("Angry", "Happy", "Neutral", "Sad")


def starts_with(answer: str, label: str) -> bool:
    """UltraEval-Audio's PrefixMatch: the answer's beginning is the label, case and outer space ignored.

    To an answer without a blank the label's blanks do not count either: "throatclearing".
    """
    answer, label = answer.lower().strip(), label.lower().strip()
    return answer.startswith(label) or (" " not in answer and answer.startswith(label.replace(" ", "")))


def without_ascii_punctuation(text: str) -> str:
    """XARES-LLM's ``preprocess_string``: NFKC, small letters, blanks for hyphens, no ASCII punctuation."""
    text = unicodedata.normalize("NFKC", text).lower().replace("-", " ")
    return " ".join(text.translate(str.maketrans("", "", string.punctuation)).split())


def without_marks(text: str) -> str:
    """CMI-Bench's ``normalise``: no space, ``_``, ``-``, ``'`` or full stop, ``#`` as a sharp sign, small letters."""
    for mark in ("_", "-", "'", " ", "."):
        text = text.replace(mark, "")
    return text.replace("#", "♯").lower()


def only_label_within(answer: str, label: str, labels: tuple[str, ...]) -> bool:
    """CMI-Bench's rule for one label: its letters stand within the answer's, and no other label's do."""
    predicted, wanted = without_marks(answer), without_marks(label)
    return wanted in predicted and not any(name in predicted for name in map(without_marks, labels) if name != wanted)
