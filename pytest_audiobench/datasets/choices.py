"""A choice question's options: their letters, which texts are the same option, and which one is true."""

from __future__ import annotations

import re
import string
import unicodedata

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

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
