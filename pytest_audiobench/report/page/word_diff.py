"""Where a transcript and its reference part: runs of words, by the words that the scorer compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.metrics.token_errors import alignment, token_errors
from pytest_audiobench.records.run import ItemRecord

MOST_WORDS = 2_000
"""Of either text; a longer pair (a runaway answer) is shown without a diff."""

Words: TypeAlias = Callable[[str, str], tuple[Sequence[str], Sequence[str]]]
"""Reference and answer as the rows of words that a scorer compares."""

LONGEST_WORD = 40
"""Characters; texts longer than so many words of this length are not taken apart at all."""

_TAGS = {"equal": "=", "substitute": "S", "delete": "D", "insert": "I"}


class Diff(NamedTuple):
    """Where a transcript and its reference part: runs of equal, replaced, missing and inserted words."""

    by: str
    """The scorer whose words these are; "" where they are the texts' plain words."""
    joint: str
    """Stands between two of them: nothing where they are characters."""
    runs: list[tuple[str, str, str]]
    """(sign, words of the reference, words of the answer), signs ``=``, ``S``, ``D``, ``I``."""


def unit_of(scores: Mapping[str, float] | None) -> str | None:
    """What a scorer's statistics count errors in: "" for words, "C" for characters; None for neither."""
    return None if scores is None else _unit(tuple(scores))


@lru_cache(maxsize=256)
def _unit(names: tuple[str, ...]) -> str | None:
    return next((unit for unit in ("", "C") if all(f"{unit}{name}" in names for name in "SDIN")), None)


def word_diff(
    reference: str, answer: str, scorer: str, words: Words | None, scores: Mapping[str, float]
) -> Diff | None:
    """The diff of an answer to its reference; None without counts of errors, or beyond 2,000 words or characters.

    It is of the words (characters) that the ``scorer`` compared where ``words`` gives these, and they yield the very
    counts that it recorded in ``scores``; else of what white space separates. The alignment is jiwer's, one of the
    shortest, as for the scores (``metrics/token_errors.py``).
    """
    unit = unit_of(scores)
    if unit is None or max(len(reference), len(answer)) > LONGEST_WORD * MOST_WORDS:
        return None
    if words is not None:
        expected, actual = words(reference, answer)
        if max(len(expected), len(actual)) <= MOST_WORDS:
            errors = token_errors(expected, actual)
            if all(errors[name] == scores[f"{unit}{name}"] for name in "SDI"):
                joint = "" if unit else " "
                return Diff(scorer, joint, runs(expected, actual, joint))
    expected, actual = reference.split(), answer.split()
    return Diff("", " ", runs(expected, actual, " ")) if max(len(expected), len(actual)) <= MOST_WORDS else None


def words_of(item: ItemRecord) -> Words | None:
    """How the headline scorer of a recorded item takes texts apart, where this installation knows it."""
    if item.protocol != "transcription" or not item.scorers:
        return None
    return _words(item.scorers[0].name, str(item.options.get("language", "en")))


@lru_cache(maxsize=64)
def _words(scorer: str, language: str) -> Words | None:
    from pytest_audiobench.protocols.transcription.task import transcription

    try:
        headline = transcription(scorer, language=language).scorers[0]
        return None if headline.missing_parts() else headline.words
    except (UsageError, FatalError):
        return None


def runs(expected: Sequence[str], actual: Sequence[str], joint: str) -> list[tuple[str, str, str]]:
    """What two rows of words share and where they part, as :class:`Diff` holds it."""
    return [
        (
            _TAGS[chunk.type],
            joint.join(expected[chunk.ref_start_idx : chunk.ref_end_idx]),
            joint.join(actual[chunk.hyp_start_idx : chunk.hyp_end_idx]),
        )
        for chunk in alignment(expected, actual).alignments[0]
    ]
