"""Whisper's normalisers as whisper_normalizer has them."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.protocols.transcription import whisper

from ..table import Scorer

SCORERS: Mapping[str, Scorer] = {
    "whisper_english": lambda params, inputs: whisper.english(inputs["text"]),
    "whisper_basic": lambda params, inputs: whisper.basic(inputs["text"]),
    "whisper_basic_split": lambda params, inputs: whisper.graphemes(inputs["text"]),
}
OUT: Mapping[str, str] = {
    "whisper_basic_rmdia": "no published rule here removes diacritics by the basic normaliser, and ours keeps them"
}
DIFFERS: Mapping[str, str] = {}
