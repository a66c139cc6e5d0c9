"""AU-Harness's texts (github ServiceNow/AU-Harness, metrics/word_error_rate_metrics.py)."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable

from pytest_audiobench.protocols.asr import whisper
from pytest_audiobench.protocols.asr.punctuation import without_punctuation
from pytest_audiobench.protocols.asr.remembered import remembered

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
    except Exception:  # AU-Harness's own rule: a language or a number that num2words cannot say leaves the text as it is
        return text
