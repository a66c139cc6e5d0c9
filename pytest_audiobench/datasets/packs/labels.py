"""Labels of sounds: the slug by which a pack knows one, and the words by which a model is asked about it."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_WORDS = {"baby_cry": "crying baby", "dishes": "dishes clattering", "frying": "frying food", "gun_shot": "gunshot"}
"""Slugs that are no words to ask with; the wordings are those of github THENIROCK/audiobench, labels.py."""


def slug(written: str) -> str:
    """``Dog bark`` as ``dog_bark``: lower case, words joined by underscores, no other marks; empty for marks alone."""
    text = unicodedata.normalize("NFKC", written).casefold()
    spaced = (" " if c.isspace() or c in "-_" else c for c in text)
    characters = (c for c in spaced if c.isalnum() or c == " " or unicodedata.category(c).startswith("M"))
    return "_".join("".join(characters).split())


def label_words(label: str) -> str:
    """The slug ``label`` in the words of a question: ``dog_bark`` is a dog bark."""
    return _WORDS.get(label, label.replace("_", " "))


def nearest(label: str, known: Iterable[str]) -> str:
    """For the end of a message: which of ``known`` may have been meant, else the first ten of them."""
    names = list(known)
    close = difflib.get_close_matches(label, names, n=3, cutoff=0.5)
    if close:
        return f"the nearest are {', '.join(close)}" if len(close) > 1 else f"the nearest is {close[0]}"
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:10]) or 'none'}{more}"
