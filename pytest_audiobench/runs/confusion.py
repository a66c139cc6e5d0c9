"""What was said for what was true, label by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.options import LETTERS, tidy_caseless

NO_ANSWER = "(no answer)"
OTHER = "(other)"
"""What was read but is no label of the sample's list."""

_MOST_LABELS = 1_000


def confusion(samples: Iterable[Mapping[str, Any]], is_letter: bool) -> Any:
    """A pandas frame of counts: a row for each true label, a column for each answer, and one for none.

    ``samples`` are mappings with "choices", "reference", "references", "value" and "error"; those whose asking failed
    are left out.
    ``is_letter`` says that values are letters of the options and not labels themselves. Labels are those of all
    samples' lists, sorted. Raises UsageError where a sample has no list of labels or several true ones, where
    there are more than 1,000 labels (questions with options of their own), and when pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise UsageError("frames need pandas: pip install 'pytest-audiobench[frames]'") from error
    counts: Counter[tuple[str, str]] = Counter()
    labels: set[str] = set()
    for sample in samples:
        if not sample["choices"]:
            raise UsageError(f"sample {sample['sample_id']!r} has no choices, so there is no table of labels")
        if len(sample["references"]) > 1:
            raise UsageError(
                f"sample {sample['sample_id']!r} has several true labels, so none stands for it in a table"
            )
        labels.update(sample["choices"])
        if len(labels) > _MOST_LABELS:
            raise UsageError(f"there are more than {_MOST_LABELS} labels: each question has options of its own")
        if sample["error"] is None:
            counts[sample["reference"], _said(sample["value"], sample["choices"], is_letter)] += 1
    beyond = [what for what in (OTHER, NO_ANSWER) if any(said == what for _, said in counts)]
    columns = [*sorted(labels), *beyond]
    table = [[counts[true, said] for said in columns] for true in sorted(labels)]
    return pandas.DataFrame(table, index=pandas.Index(sorted(labels), name="true"), columns=columns)


def gives_letters(signature: str) -> bool:
    """Whether a reading with this signature gives an option's letter in place of its text."""
    return signature.startswith("mcq:")


def _said(value: str | None, choices: Sequence[str], is_letter: bool) -> str:
    if value is None:
        return NO_ANSWER
    if is_letter:
        place = LETTERS.find(value)
        return choices[place] if 0 <= place < len(choices) else OTHER
    return next((choice for choice in choices if tidy_caseless(choice) == tidy_caseless(value)), OTHER)
