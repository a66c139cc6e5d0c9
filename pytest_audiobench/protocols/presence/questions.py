"""A probe's wording with the sound that it asks for, in plain English."""

from __future__ import annotations

import re

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import filled_template, template_pieces

FIELD = "label"
"""The metadata field that names the sound."""

_ARTICLE = re.compile(r"\b([Aa])n? \Z")
# Written with a vowel and spoken with a consonant, and the other way round.
_CONSONANT = re.compile(r"(?:eu|ewe|one\b|once\b|ukulele|uni(?!n|m)|us[ae]|uten|ut[oi]|ubiq)", re.I)
_VOWEL = re.compile(r"(?:[aeiou]|hour|hono[u]?r|honest|heir)", re.I)


def template_of(prompt: str) -> list[tuple[str, str]]:
    """A wording taken apart. Raises UsageError for one without ``{label}``, and with any other placeholder."""
    pieces = template_pieces(prompt, (FIELD,))
    if not any(name for _, name in pieces):
        raise UsageError(f"the wording {prompt!r} has no {{label}}; put it where the sound's name belongs")
    return pieces


def question(template: list[tuple[str, str]], label: str) -> str:
    """The wording with ``label`` for its sound; an article before it is "an" where the label begins with a vowel."""
    fitted = [(_fitted(literal, label) if name else literal, name) for literal, name in template]
    return filled_template(fitted, {FIELD: label})


def label_of(sample: Sample) -> str:
    """The sound that a sample asks for, as it is written in a question: without underscores.

    Raises UsageError for a sample that names none.
    """
    found = sample.metadata.get(FIELD)
    label = " ".join(str(found).replace("_", " ").split()) if isinstance(found, str) else ""
    if not label:
        raise UsageError(f"sample {sample.id!r} names no sound to ask for: give it the metadata {FIELD!r}")
    return label


def _fitted(literal: str, label: str) -> str:
    vowel = _VOWEL.match(label) is not None and _CONSONANT.match(label) is None
    return _ARTICLE.sub(lambda article: f"{article[1]}n " if vowel else f"{article[1]} ", literal)
