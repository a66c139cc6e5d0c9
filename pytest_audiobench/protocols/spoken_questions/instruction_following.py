"""Whether an answer did the task, or wrote down the speech instead."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.protocols.free_text import read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.spoken_questions.words import NORMALISED, spoken_words

TRANSCRIPT = "transcript"
"""The field of a sample's metadata that holds all that is said in its clips."""

NEAR = 0.3
"""A word error rate below this against the transcript is a transcription."""


def followed(said: str, transcript: str) -> bool:
    """Whether ``said`` has words, and a word error rate of 0.3 or more against ``transcript``."""
    errors = token_errors(spoken_words(transcript), words := spoken_words(said))
    wrong = errors["S"] + errors["D"] + errors["I"]
    # Divided, since a product with 0.3 is not exact: 9 of 30 is three in ten.
    return bool(words) and wrong / max(errors["N"], 1) >= NEAR


def following_scorer(family: str) -> Scorer:
    """The scorer ``following`` of a family. Scoring raises UsageError for a sample without a transcript."""
    return Scorer(
        "following",
        f"{family}:following|v:1|norm:{NORMALISED}|wer>={NEAR}|empty:not followed",
        read_ended_text,
        _score,
        ("following",),
        unfit=_untold,
    )


def _untold(sample: Sample) -> str:
    """In a sentence, that the words of the speech are not told; nothing where they are."""
    transcript = sample.metadata.get(TRANSCRIPT)
    if isinstance(transcript, str) and spoken_words(transcript):
        return ""
    return (
        f'sample {sample.id!r} has no metadata "{TRANSCRIPT}", which the protocol "following" compares the answer '
        "with: add the words of the speech to the data set, or leave this protocol out"
    )


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    if why := _untold(sample):
        raise UsageError(why)
    return {"followed": float(followed(answer.value or "", str(sample.metadata[TRANSCRIPT])))}
