"""A sample: clips, a question, perhaps choices, and a reference that no model sees."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed

Field: TypeAlias = str | int | float | bool | None
PLACEHOLDER = "<Audio><AudioHere></Audio>"
"""Marks a clip's place within a question, and within a message of predictions_v1."""
LETTERS = string.ascii_uppercase
TRUE_LETTER = "faithfulness_letter"
"""The metadata field with the letter that the faithfulness study took for true: it moves where options do."""
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MARK = re.compile(r"[*`~_$]")
_EMPHASIS = re.compile(r"\*+|`+|~~+|\$+|(?<!\w)_+|_+(?!\w)")
_LINE_MARK = re.compile(r"(?:\s{0,9}(?:#{1,6}(?=\s)|>|[-•](?=\s)))+")
_EDGES = " \t\n\"'“”‘’.,;:!?。()[]{}"


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a data set."""

    id: str
    """Unique in its data set; a perturbation keeps it, so that answers can be paired."""
    clips: tuple[Clip, ...]
    """In the order in which the prompt has their slots."""
    question: str
    """"" where the protocol asks in words of its own."""
    choices: tuple[str, ...] = ()
    """The texts of the options, all different; none for an open question."""
    reference: str = ""
    """One option's text for a choice question, else the true text."""
    metadata: Mapping[str, Field] = field(default_factory=dict)
    """What groups, clusters and scorers read; a prompt only where its stage names the field."""
    references: tuple[str, ...] = ()
    """All true texts, ``reference`` first, where there are several: captions, labels, talkers, accepted answers."""
    recordings: tuple[Clip, ...] | None = None
    """The clips before any perturbation, None where there was none: samples of one recording belong together."""
    doubt: str = ""
    """Why its answer may mean less than others', where something is known; samples are counted by it."""
    before: tuple[Clip, ...] | None = None
    """The clips before the last perturbation, where one is applied after another."""

    @property
    def truths(self) -> tuple[str, ...]:
        """All references, where there is one only that one."""
        return self.references or (self.reference,)


def with_last_clip(sample: Sample) -> Sample:
    """The sample with its last clip alone; in the question "[audio]" is in the others' places."""
    before, mark, behind = sample.question.rpartition(PLACEHOLDER)
    question = before.replace(PLACEHOLDER, "[audio]") + mark + behind
    return replace(sample, clips=sample.clips[-1:], question=question)


UNLISTED = "none of its choices is its answer, and whatever is said is wrong"
"""The doubt of a choice question whose publisher's answer is not offered, where its benchmark keeps such."""


def listed_letter(choices: Sequence[str], reference: str) -> str | None:
    """The letter of the first option that is the reference; None when there is none."""
    for spelled in (lambda text: text, tidy_caseless):
        for letter, choice in zip(LETTERS, choices, strict=False):
            if spelled(choice) == spelled(reference):
                return letter
    return None


def letter_of(sample: Sample) -> str:
    """The letter of the first option that is the sample's reference. Raises UsageError when there is none."""
    if (letter := listed_letter(sample.choices, sample.reference)) is not None:
        return letter
    raise UsageError(
        f"sample {sample.id!r}: its answer {sample.reference!r} is not one of its choices {list(sample.choices)}; "
        "correct the data set"
    )


def tidy(text: str) -> str:
    """``text`` without invisible characters, emphasis and line marks, its spaces collapsed."""
    if text.isascii() and text.isalnum():
        return text
    visible = text if text.isascii() and text.isprintable() else _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    if _MARK.search(visible):
        visible = _EMPHASIS.sub("", visible)
    line_mark = _LINE_MARK.match(visible)
    return " ".join(visible[line_mark.end() if line_mark else 0 :].split())


def tidy_caseless(text: str) -> str:
    """:func:`tidy`, without case and without punctuation at either end."""
    caseless = tidy(text).casefold()
    return caseless.strip(_EDGES) or caseless


def spelling_note(labels: Iterable[str]) -> str:
    """That different ``labels`` are one but for case and white space, with the first two; "" where none are."""
    spellings: dict[str, dict[str, None]] = {}
    for label in labels:
        spellings.setdefault(" ".join(label.casefold().split()), {})[label] = None
    several = [[*each] for each in spellings.values() if len(each) > 1]
    if not several:
        return ""
    more = f", and {len(several) - 1} more so" if len(several) > 1 else ""
    one, other = (repr(label[:80]) for label in several[0][:2])
    differ = "differ only in case or white space and are offered as two labels"
    return f"{one} and {other} {differ}{more}: write them in one way"


def wrong_option(sample: Sample) -> str:
    """The letter of an option that is not blank and is not read as a true one, drawn from the sample's id alone.

    Raises UsageError where the reference is not an option, or no other option is wrong.
    """
    letter_of(sample)
    excluded = {"", *(tidy_caseless(truth) for truth in sample.truths)}
    others = [
        letter for letter, choice in zip(LETTERS, sample.choices, strict=False) if tidy_caseless(choice) not in excluded
    ]
    if not others:
        raise UsageError(f"sample {sample.id!r} offers nothing but its answer {sample.reference!r}: no wrong option")
    return others[seed("injected", "wrong", sample.id) % len(others)]
