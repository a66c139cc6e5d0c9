"""Labels of sounds: the slug by which a pack knows one, and the words by which a model is asked about it."""

from __future__ import annotations

import unicodedata

_WORDS = {"baby_cry": "crying baby", "dishes": "dishes clattering", "frying": "frying food", "gun_shot": "gunshot"}
"""Slugs that are not words to ask with; the wordings are those of github THENIROCK/audiobench, labels.py."""


def slug(written: str) -> str:
    """``Dog bark`` as ``dog_bark``: lower case, words joined by underscores, no other marks; empty for marks alone."""
    text = unicodedata.normalize("NFKC", written).casefold()
    spaced = (" " if c.isspace() or c in "-_" else c for c in text)
    characters = (c for c in spaced if c.isalnum() or c == " " or unicodedata.category(c).startswith("M"))
    return "_".join("".join(characters).split())


def label_words(label: str) -> str:
    """The slug ``label`` in the words of a question: ``dog_bark`` is a dog bark."""
    return _WORDS.get(label, label.replace("_", " "))
