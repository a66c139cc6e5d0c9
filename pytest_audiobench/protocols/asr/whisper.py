"""Whisper's normalisers (Radford et al. 2022, appendix C; github openai/whisper, whisper/normalizers), made safe.

They are whisper_normalizer's, which copies them. Runaway answers of thousands of characters break the originals: a run
of more than 4,300 digits is an AssertionError, and brackets that never close cost quadratic time. Such texts are
changed first in ways that the normalisers would make no difference of.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from pytest_audiobench.protocols.asr.brackets import without_asides, without_tags
from pytest_audiobench.protocols.asr.remembered import remembered

CHARACTER_LANGUAGES = frozenset({"zh", "yue", "ja", "th", "lo", "my"})
"""Languages that Whisper's paper scores by character: Chinese, Japanese, Thai, Lao and Burmese."""

_LONG = 4_000
_SPACES = re.compile(r"\s+")
_DIGITS = re.compile(r"\d{1000}")
_OPENING = str.maketrans("<[(", "   ")
_WORDS_AT_ONCE = 200


@remembered
def english(text: str) -> str:
    """EnglishTextNormalizer: numbers as digits, British spellings as American, contractions and titles written out."""
    return _safely(_english(), text)


@remembered
def basic(text: str) -> str:
    """BasicTextNormalizer: lower case, no brackets; every mark, symbol and punctuation becomes a space."""
    return _safely(_basic(), text)


@remembered
def graphemes(text: str) -> str:
    """The same with a space between all graphemes, for languages that are scored by character."""
    return _safely(_split(), text)


def _safely(normalise: Callable[[str], str], text: str) -> str:
    if len(text) < _LONG:
        return normalise(text)
    shown = without_tags(_SPACES.sub(" ", text))
    shown = without_asides(shown).translate(_OPENING)
    words = _DIGITS.sub(r"\g<0> ", shown).split(" ")
    try:
        return normalise(" ".join(words))
    except (AssertionError, ValueError):  # spoken digits add up to an integer that Python will not print
        pieces = (words[start : start + _WORDS_AT_ONCE] for start in range(0, len(words), _WORDS_AT_ONCE))
        return " ".join(normalise(" ".join(piece)).strip() for piece in pieces)


@functools.cache
def _english() -> Any:
    from whisper_normalizer.english import EnglishTextNormalizer

    return EnglishTextNormalizer()


@functools.cache
def _basic() -> Any:
    from whisper_normalizer.basic import BasicTextNormalizer

    return BasicTextNormalizer()


@functools.cache
def _split() -> Any:
    from whisper_normalizer.basic import BasicTextNormalizer

    return BasicTextNormalizer(split_letters=True)
