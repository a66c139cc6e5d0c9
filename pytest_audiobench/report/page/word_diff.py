"""Where a transcript and its reference part: runs of equal, replaced, missing and inserted words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.metrics.tokens import token_errors

MOST_WORDS = 2_000
"""Of either text; a longer pair (a runaway answer) is shown without a diff."""

Words: TypeAlias = Callable[[str, str], tuple[Sequence[str], Sequence[str]]]
"""Reference and answer as the rows of words that a scorer compares."""

LONGEST_WORD = 40
"""Characters; texts longer than so many words of this length are not taken apart at all."""

_TAGS = {"equal": "=", "replace": "S", "delete": "D", "insert": "I"}


class Diff(NamedTuple):
    """``runs`` are (sign, words of the reference, words of the answer), signs ``=``, ``S``, ``D``, ``I``.

    ``by`` names the scorer whose words these are; "" where they are the texts' plain words. ``joint`` stands between
    two of them: nothing where they are characters.
    """

    by: str
    joint: str
    runs: list[tuple[str, str, str]]


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
    counts that it recorded in ``scores``; else of what white space separates. The alignment is rapidfuzz's, one of the
    shortest, as for the scores (``metrics/tokens.py``).
    """
    unit = unit_of(scores)
    if unit is None or max(len(reference), len(answer)) > LONGEST_WORD * MOST_WORDS:
        return None
    if words is not None:
        wanted, said = words(reference, answer)
        if max(len(wanted), len(said)) <= MOST_WORDS:
            found = token_errors(wanted, said)
            if all(found[name] == scores[f"{unit}{name}"] for name in "SDI"):
                joint = "" if unit else " "
                return Diff(scorer, joint, _runs(wanted, said, joint))
    wanted, said = reference.split(), answer.split()
    return Diff("", " ", _runs(wanted, said, " ")) if max(len(wanted), len(said)) <= MOST_WORDS else None


def words_of(item: Mapping[str, Any]) -> Words | None:
    """How the headline scorer of a recorded item takes texts apart, where this installation knows it."""
    if item["protocol"] != "transcription" or not item["scorers"]:
        return None
    return _words(item["scorers"][0]["name"], str(item["options"].get("language", "en")))


@lru_cache(maxsize=64)
def _words(scorer: str, language: str) -> Words | None:
    from pytest_audiobench.protocols.transcription.family import transcription

    try:
        own = transcription(scorer, language=language).scorers[0]
        return None if own.lacking() else own.words
    except (UsageError, FatalError):
        return None


def _runs(wanted: Sequence[str], said: Sequence[str], joint: str) -> list[tuple[str, str, str]]:
    from rapidfuzz.distance import Levenshtein  # costs some ms, which a page without transcripts need not pay

    return [
        (_TAGS[op.tag], joint.join(wanted[op.src_start : op.src_end]), joint.join(said[op.dest_start : op.dest_end]))
        for op in Levenshtein.opcodes(wanted, said)
    ]
