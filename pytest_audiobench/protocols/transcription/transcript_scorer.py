"""A scorer of transcripts made of a normaliser: what all of them share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import install_command
from pytest_audiobench.metrics.token_errors import character_errors, token_errors
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer, no_missing_parts
from pytest_audiobench.protocols.transcription.texts import basic_characters, basic_text

WORD_METRICS = ("wer", "wer_mean", "wer_capped", "wer_over_one", "cer")
CHARACTER_METRICS = ("cer", "cer_mean", "cer_capped", "cer_over_one")


class Normaliser(NamedTuple):
    """What is done to both texts before they are compared; ``answer`` where answers are treated differently.

    ``tokens`` splits a normalised text into what errors are counted in. With ``characters`` those are characters or
    graphemes, and the scorer yields the counts CS, CD, CI and CN; else words: S, D, I, N and the characters' too.
    """

    reference: Callable[[str], str]
    answer: Callable[[str], str] | None = None
    tokens: Callable[[str], Sequence[str]] = str.split
    characters: bool = False
    spelling: Callable[[str], str] | None = None
    """Of words, the text whose characters are counted; None for the words with single spaces between them."""


def transcript_scorer(
    name: str,
    signature: str,
    normaliser: Normaliser,
    *,
    metrics: tuple[str, ...] = (),
    parse: Callable[[Sample, Earlier], Answer] = read_text,
    skips: Callable[[Sample, Answer], bool] | None = None,
    companions: tuple[str, ...] = (),
    missing_parts: Callable[[], str] = no_missing_parts,
    end: str = "",
) -> Scorer:
    """The scorer ``name``; ``signature`` is what stands behind "asr:name|" in its own.

    ``end`` is what its normaliser is shown behind an answer that came to its end.
    """

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if skips is not None and skips(sample, answer):
            return None
        behind = "" if answer.status == "truncated" else end
        return errors(normaliser, sample.reference, (answer.value or "") + behind)

    return Scorer(
        name,
        f"asr:{name}|{signature}",
        parse,
        score,
        metrics or (CHARACTER_METRICS if normaliser.characters else WORD_METRICS),
        companions=companions,
        missing_parts=missing_parts,
        words=partial(compared, normaliser),
    )


def compared(normaliser: Normaliser, reference: str, answer: str) -> tuple[Sequence[str], Sequence[str]]:
    """What is aligned and counted of both texts."""
    treated = normaliser.answer or normaliser.reference
    return normaliser.tokens(normaliser.reference(reference)), normaliser.tokens(treated(answer))


def errors(normaliser: Normaliser, reference: str, answer: str) -> dict[str, float]:
    """The counts of one utterance, and "correct": 1 where there is no error."""
    wanted, hypothesis = compared(normaliser, reference, answer)
    if normaliser.characters:
        counts = character_errors(wanted, hypothesis)
    else:
        spell = normaliser.spelling
        spelled = (" ".join(wanted), " ".join(hypothesis)) if spell is None else (spell(reference), spell(answer))
        counts = {**token_errors(wanted, hypothesis), **character_errors(*spelled)}
    return {**counts, "correct": float(wanted == hypothesis)}


def needs(module: str, what: str, extra: str) -> Callable[[], str]:
    """A ``missing_parts`` for a scorer that uses ``module``, which ``extra`` brings."""

    def lacking() -> str:
        if importlib.util.find_spec(module) is not None:
            return ""
        return f"{what} needs {module}: {install_command(extra)}"

    return lacking


def basic_scorers() -> tuple[Scorer, ...]:
    """``wer-basic`` and ``cer-basic``."""
    return (
        transcript_scorer(
            "wer-basic",
            "v:2|norm:nfkc+lower+nopunct+marks|empty:deletions|align:levenshtein",
            Normaliser(basic_text),
            metrics=(*WORD_METRICS, "mer", "wil", "empty_references"),
        ),
        transcript_scorer(
            "cer-basic",
            "v:1|norm:nfkc+lower+nopunct+marks+nospace|unit:character|empty:deletions|align:levenshtein",
            Normaliser(basic_characters, tokens=str, characters=True),
        ),
    )
