"""Phrases that stand for a text: precision, recall and F1 of the first k that were said.

Phrases are compared in small letters, each word cut to its stem (Porter's, as nltk has it), equal ones counted once
and empty ones not at all; then the first k are kept. Precision is over those kept, not over k.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pytest_audiobench.errors import UsageError

CUTS = ("1", "3", "5", "m")
"""How many phrases are kept; "m" is all that were said."""


def lacking() -> str:
    """What must be installed to stem words, in a sentence; nothing where it is there."""
    if importlib.util.find_spec("nltk") is not None:
        return ""
    return "stems of keyphrases need nltk: pip install 'pytest-audiobench[captions]'"


def stemmed(phrases: Iterable[str]) -> list[str]:
    """The phrases as they are compared, in their order. Raises UsageError without nltk."""
    kept = (" ".join(_stem(word) for word in phrase.lower().split()) for phrase in phrases)
    return list(dict.fromkeys(phrase for phrase in kept if phrase))


def keyphrase_statistics(true: Iterable[str], said: Iterable[str]) -> dict[str, float]:
    """A sample's statistics: ``keyphrases`` that are true, and for each cut those ``kept`` and the ``hits`` among them.

    Raises UsageError without nltk.
    """
    wanted, phrases = set(stemmed(true)), stemmed(said)
    found = {"keyphrases": float(len(wanted))}
    for cut in CUTS:
        kept = phrases if cut == "m" else phrases[: int(cut)]
        found |= {f"kept_{cut}": float(len(kept)), f"hits_{cut}": float(len(wanted.intersection(kept)))}
    return found


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    stem: str = _stemmer().stem(word)
    return stem


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    if reason := lacking():
        raise UsageError(reason)
    from nltk.stem import PorterStemmer

    return PorterStemmer()
