"""One thing to ask about: clips, a question, perhaps choices, and a reference that no model sees."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed

Field: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a data set. ``reference`` is one option's text for a choice question, else the true text.

    ``references`` are all texts that are true, the first of them ``reference``, where there are several: captions of
    one clip, the labels of a clip, the talkers of a mixture, accepted answers. ``recordings`` are the clips as they
    were before any perturbation changed them (``datasets/perturbations/perturbation.py``), None where none did: samples of one recording
    belong together, whatever they were put under. ``before`` are those before the last perturbation, where one is put upon
    another. ``doubt`` says, where something is known, why its answer may mean
    less than the others'; samples are counted by it beside the numbers.
    """

    id: str
    clips: tuple[Clip, ...]
    question: str
    choices: tuple[str, ...] = ()
    reference: str = ""
    metadata: Mapping[str, Field] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    recordings: tuple[Clip, ...] | None = None
    doubt: str = ""
    before: tuple[Clip, ...] | None = None

    @property
    def truths(self) -> tuple[str, ...]:
        """All references, where there is one only that one."""
        return self.references or (self.reference,)


LETTERS = string.ascii_uppercase

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MARK = re.compile(r"[*`~_$]")
_EMPHASIS = re.compile(r"\*+|`+|~~+|\$+|(?<!\w)_+|_+(?!\w)")
_LINE_MARK = re.compile(r"(?:\s{0,9}(?:#{1,6}(?=\s)|>|[-•](?=\s)))+")
_EDGES = " \t\n\"'“”‘’.,;:!?。()[]{}"


def letter_of(sample: Sample) -> str:
    """The letter of the first option that is the sample's reference.

    Raises UsageError when there is none.
    """
    wanted = sample.reference
    for spelled in (lambda text: text, tidy_caseless):
        for letter, choice in zip(LETTERS, sample.choices, strict=False):
            if spelled(choice) == spelled(wanted):
                return letter
    raise UsageError(
        f"sample {sample.id!r}: its answer {wanted!r} is none of its choices {list(sample.choices)}; "
        "correct the data set"
    )


def tidy(text: str) -> str:
    """``text`` without invisible characters, emphasis and line marks, its spaces collapsed."""
    if text.isascii() and text.isalnum():
        return text
    shown = text if text.isascii() and text.isprintable() else _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    if _MARK.search(shown):
        shown = _EMPHASIS.sub("", shown)
    line_mark = _LINE_MARK.match(shown)
    return " ".join(shown[line_mark.end() if line_mark else 0 :].split())


def tidy_caseless(text: str) -> str:
    """:func:`tidy`, without case and without punctuation at either end."""
    shown = tidy(text).casefold()
    return shown.strip(_EDGES) or shown


def wrong(sample: Sample) -> str:
    """The letter of an option that is not blank and is not read as a true one, drawn from the sample's id alone.

    Raises UsageError where the reference is no option, or no other option is wrong.
    """
    letter_of(sample)
    known = {"", *(tidy_caseless(truth) for truth in sample.truths)}
    others = [
        letter for letter, choice in zip(LETTERS, sample.choices, strict=False) if tidy_caseless(choice) not in known
    ]
    if not others:
        raise UsageError(f"sample {sample.id!r} offers nothing but its answer {sample.reference!r}: no wrong option")
    return others[seed("injected", "wrong", sample.id) % len(others)]
