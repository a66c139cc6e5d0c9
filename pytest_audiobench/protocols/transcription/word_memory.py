"""Normalised texts kept, since many scorers normalise the same ones."""

from __future__ import annotations

import functools
from collections.abc import Callable

ENTRIES = 65_536
"""Texts kept for each normaliser: the references and answers of a set of 32,768, some 30 MB where they are short."""

LONGEST = 1_000
"""Characters of a text that is kept; longer ones are rare, and would make the memory that this takes unbounded."""


def remembered(normalise: Callable[[str], str]) -> Callable[[str], str]:
    """``normalise``, which must depend on its text only, doing its work once for each short text."""
    known = functools.lru_cache(maxsize=ENTRIES)(normalise)

    @functools.wraps(normalise)
    def looked_up(text: str) -> str:
        return known(text) if len(text) <= LONGEST else normalise(text)

    return looked_up
