"""AU-Harness's texts (github ServiceNow/AU-Harness, metrics/word_error_rate_metrics.py)."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.punctuation import without_punctuation
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, errors, needs, transcript_scorer
from pytest_audiobench.protocols.transcription.word_memory import remembered

_DIGITS = re.compile(r"\d+")


@functools.cache
def normaliser(language: str) -> Callable[[str], str]:
    """NFC, each run of digits in the language's words, Whisper's normaliser, lower case, no punctuation.

    Whisper's English normaliser turns English number words back into digits. Needs num2words.
    """
    finish = whisper.english if language == "en" else whisper.basic

    @remembered
    def normalise(text: str) -> str:
        spelled = _spelled(unicodedata.normalize("NFC", text), language)
        return without_punctuation(finish(spelled).lower()).strip()

    return normalise


def _spelled(text: str, language: str) -> str:
    from num2words import num2words

    try:
        return _DIGITS.sub(lambda number: num2words(int(number[0]), lang=language), text)
    except (
        Exception
    ):  # AU-Harness's own rule: a language or a number that num2words cannot say leaves the text as it is
        return text


def scorer(language: str) -> Scorer:
    """``au-harness``; Japanese, which it normalises by jaconv, is not covered."""
    normalise = Normaliser(normaliser(language))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        found = errors(normalise, sample.reference, answer.value or "")
        return found if found["N"] else {**found, "N": 1, "CN": max(found["CN"], 1)}

    def lacking() -> str:
        if language == "ja":
            return "au-harness normalises Japanese by jaconv, which this project does not lean on: use cer-basic"
        return needs("num2words", "au-harness", "asr")()

    made = transcript_scorer(
        "au-harness",
        f"v:1|lang:{language}|norm:nfc+num2words-{library_version('num2words')}+whisper-{library_version('whisper-normalizer')}|"
        "empty:one-word|align:levenshtein",
        normalise,
        metrics=("wer", "wer_capped", "wer_mean", "wer_over_one"),
        lacking=lacking,
    )
    return replace(made, score=score)
