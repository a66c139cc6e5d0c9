"""How near an answer in free words comes to the accepted ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_audiobench.protocols.spoken_questions.words import content_words


def matches(said: str, accepted: Sequence[str]) -> dict[str, float]:
    """Whether and how far ``said`` gives one of the ``accepted`` texts, the best of them counting for each number.

    - ``correct``: 1 where all words of an accepted text stand in ``said``, one after another;
    - ``em``: 1 where they are all its words (exact match);
    - ``f1``: the harmonic mean of the shares of words in common, repeats counted (token F1);

    the last two as SQuAD defines them (Rajpurkar et al. 2016). Words are :func:`content_words`. An accepted text
    without words matches only an answer without words.
    """
    words = content_words(said)
    found = [_one(words, content_words(text)) for text in accepted] or [(0.0, 0.0, 0.0)]
    contained, exact, overlap = (max(column) for column in zip(*found, strict=True))
    return {"correct": contained, "em": exact, "f1": overlap}


def _one(said: list[str], wanted: list[str]) -> tuple[float, float, float]:
    if not wanted or not said:
        both = float(wanted == said)
        return both, both, both
    shared = (Counter(said) & Counter(wanted)).total()
    contained = any(said[start : start + len(wanted)] == wanted for start in range(len(said) - len(wanted) + 1))
    return float(contained), float(said == wanted), 2.0 * shared / (len(said) + len(wanted))
