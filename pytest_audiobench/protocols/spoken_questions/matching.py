"""How near an answer in free words comes to the accepted ones, and whether it wrote down the speech instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.protocols.free_text import read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription.texts import basic_text

# Han and kana have no spaces between words: each character is one.
_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff]")
_INITIALS = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,}")
_ARTICLES = frozenset(("a", "an", "the"))

NORMALISED = "nfkc+lower+nopunct+marks+cjkchars"
"""What :func:`spoken_words` does, for a signature."""


def spoken_words(text: str) -> list[str]:
    """``text`` in words: NFKC, small letters, no punctuation; a Chinese or Japanese character is a word."""
    words = basic_text(text).split()
    if not _UNSPACED.search(text):
        return words
    return [piece for word in words for piece in _UNSPACED.sub(r" \g<0> ", word).split()]


def content_words(text: str) -> list[str]:
    """:func:`spoken_words` without a, an and the, as SQuAD compares answers (Rajpurkar et al. 2016).

    Initials are one word ("a.m." is am). A text of nothing but articles keeps them.
    """
    words = spoken_words(_INITIALS.sub(lambda initials: initials[0].replace(".", ""), text))
    return [word for word in words if word not in _ARTICLES] or words


def matches(answer: str, accepted: Sequence[str]) -> dict[str, float]:
    """Whether and how far ``answer`` gives one of the ``accepted`` texts, the best of them counting for each number.

    - ``correct``: 1 where all words of an accepted text are in ``answer``, one after another;
    - ``em``: 1 where they are all its words (exact match);
    - ``f1``: the harmonic mean of the shares of words in common, repeats counted (token F1);

    the last two as SQuAD defines them (Rajpurkar et al. 2016). Words are :func:`content_words`. An accepted text
    without words matches only an answer without words.
    """
    words = content_words(answer)
    rows = [_text_match(words, content_words(text)) for text in accepted] or [(0.0, 0.0, 0.0)]
    contained, exact, overlap = (max(column) for column in zip(*rows, strict=True))
    return {"correct": contained, "em": exact, "f1": overlap}


def _text_match(words: list[str], wanted: list[str]) -> tuple[float, float, float]:
    if not wanted or not words:
        both = float(wanted == words)
        return both, both, both
    shared = (Counter(words) & Counter(wanted)).total()
    contained = any(words[start : start + len(wanted)] == wanted for start in range(len(words) - len(wanted) + 1))
    return float(contained), float(words == wanted), 2.0 * shared / (len(words) + len(wanted))


TRANSCRIPT = "transcript"
"""The field of a sample's metadata that holds all that is said in its clips."""

NEAR = 0.3
"""A word error rate below this against the transcript is a transcription."""


def followed(answer: str, transcript: str) -> bool:
    """Whether ``answer`` has words, and a word error rate of 0.3 or more against ``transcript``."""
    errors = token_errors(spoken_words(transcript), words := spoken_words(answer))
    wrong = errors["S"] + errors["D"] + errors["I"]
    # Divided, since a product with 0.3 is not exact: 9 of 30 is three in ten.
    return bool(words) and wrong / max(errors["N"], 1) >= NEAR


def following_scorer(family: str) -> Scorer:
    """The scorer ``following`` of a family. Scoring raises UsageError for a sample without a transcript."""
    return Scorer(
        "following",
        f"{family}:following|v:1|norm:{NORMALISED}|wer>={NEAR}|empty:not followed",
        read_ended_text,
        _following_statistics,
        ("following",),
        sample_problem=_transcript_problem,
    )


def _transcript_problem(sample: Sample) -> str:
    """In a sentence, that the words of the speech are not given; nothing where they are."""
    transcript = sample.metadata.get(TRANSCRIPT)
    if isinstance(transcript, str) and spoken_words(transcript):
        return ""
    return (
        f'sample {sample.id!r} has no metadata "{TRANSCRIPT}", which the protocol "following" compares the answer '
        "with: add the words of the speech to the data set, or leave this protocol out"
    )


def _following_statistics(sample: Sample, answer: Answer) -> Mapping[str, float]:
    if why := _transcript_problem(sample):
        raise UsageError(why)
    return {"followed": float(followed(answer.value or "", str(sample.metadata[TRANSCRIPT])))}
