"""The confusion matrix of an eval: how often each label was answered for each true one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import LETTERS, tidy_caseless
from pytest_audiobench.errors import UsageError, install_command

NO_ANSWER = "(unparsed)"
OTHER = "(other)"
"""An answer that is not a label of the sample's list."""

_MOST_LABELS = 1_000


class LabelledAnswer(NamedTuple):
    """A sample with its list of labels and what was answered."""

    sample_id: str
    choices: Sequence[str]
    reference: str
    references: Sequence[str]
    """All true labels where there are several."""
    value: str | None
    """What the scorer parsed; None where nothing was."""
    error: str | None
    """Why its asking failed."""


def confusion(samples: Iterable[LabelledAnswer], is_letter: bool) -> Any:
    """A pandas frame of counts: a row for each true label, a column for each answer, and one for none.

    Failed askings are left out. ``is_letter`` says that values are letters of the options. Labels are those of all
    samples' lists, sorted. Raises UsageError where a sample has no list of labels or several true ones, for more than
    1,000 labels (questions with options of their own), and when pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise UsageError(f"frames need pandas: {install_command('frames')}") from error
    tally = Tally(is_letter)
    for sample in samples:
        tally.add(sample)
    labels, columns = sorted(tally.labels), tally.columns
    table = [[tally.counts[true, answer] for answer in columns] for true in labels]
    return pandas.DataFrame(table, index=pandas.Index(labels, name="true"), columns=columns)


@dataclass
class Tally:
    """The counts of (true label, answer); ``is_letter`` as for ``confusion``."""

    is_letter: bool
    labels: set[str] = field(default_factory=set)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, sample: LabelledAnswer) -> None:
        """Count a sample. Raises UsageError as ``confusion`` does."""
        which = f"sample {sample.sample_id!r}"
        if not sample.choices:
            raise UsageError(f"{which} has no choices, so there is no table of labels")
        if len(sample.references) > 1:
            raise UsageError(f"{which} has several true labels, so none stands for it in a table")
        self.labels.update(sample.choices)
        if len(self.labels) > _MOST_LABELS:
            raise UsageError(f"there are more than {_MOST_LABELS} labels: each question has options of its own")
        if sample.error is None:
            self.counts[self.true(sample), self.said(sample)] += 1

    def true(self, sample: LabelledAnswer) -> str:
        """The sample's label that is true, as its list writes it."""
        return _choice(sample.reference, sample.choices) or str(sample.reference)

    def said(self, sample: LabelledAnswer) -> str:
        """The sample's label that was said, or what stands for none."""
        value, choices = sample.value, sample.choices
        if value is None:
            return NO_ANSWER
        if self.is_letter:
            place = LETTERS.find(value)
            return str(choices[place]) if 0 <= place < len(choices) else OTHER
        return _choice(value, choices) or OTHER

    @property
    def columns(self) -> list[str]:
        """The labels, sorted, then what stands for an answer that is not one of them, where there was one."""
        answers = {answers for _, answers in self.counts}
        return [*sorted(self.labels), *(label for label in (OTHER, NO_ANSWER) if label in answers - self.labels)]


def _choice(text: str, choices: Sequence[str]) -> str | None:
    """The choice that ``text`` is, blind to case and punctuation unless one is the very same."""
    return text if text in choices else _by_tidy_text(tuple(choices)).get(tidy_caseless(text))


@lru_cache(maxsize=256)
def _by_tidy_text(choices: tuple[str, ...]) -> Mapping[str, str]:
    return {tidy_caseless(choice): choice for choice in reversed(choices)}
