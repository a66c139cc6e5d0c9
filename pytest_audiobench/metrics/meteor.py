"""METEOR by nltk, with and without WordNet's synonyms: two different metrics, and neither is the Java program's.

On the same captions the Java program's METEOR 1.5 was 10.8 and nltk's 21.6: it weighs words apart and knows
paraphrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pytest_audiobench.metrics.definitions.captions import lacks_captions


class NoSynonyms:
    """In place of WordNet: no word has a synonym, so that words match exactly or by their Porter stem."""

    def synsets(self, word: str) -> list[Any]:
        return []


def meteor_nosyn(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The best METEOR of ``candidate`` against any reference, 0 to 1, by exact words and stems; no words are 0."""
    return _meteor(candidate, references, NoSynonyms())


def meteor(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The same with WordNet's synonyms, whose data must be here (:func:`lacks_data`)."""
    from nltk.corpus import wordnet

    return _meteor(candidate, references, wordnet)


def lacks_data(*resources: str) -> str:
    """In a sentence, which of nltk's data ("corpora/wordnet", "tokenizers/punkt_tab") are missing on this machine."""
    if missing := lacks_captions("nltk"):
        return missing
    if not (missing_data := [resource.split("/")[1] for resource in resources if not _is_here(resource)]):
        return ""
    calls = "; ".join(f"nltk.download({name!r})" for name in missing_data)
    return f"METEOR with synonyms needs nltk's data {' and '.join(missing_data)}, never downloaded unasked: run {calls}"


@lru_cache(maxsize=8)
def _is_here(resource: str) -> bool:
    import nltk

    for path in (resource, f"{resource}.zip"):
        try:
            nltk.data.find(path)
        except LookupError:
            continue
        return True
    return False


def _meteor(candidate: Sequence[str], references: Sequence[Sequence[str]], synonyms: Any) -> float:
    from nltk.translate.meteor_score import single_meteor_score

    return max(
        (float(single_meteor_score(reference, candidate, wordnet=synonyms)) for reference in references), default=0.0
    )
