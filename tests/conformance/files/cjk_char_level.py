"""Characters and tokens of Chinese, Japanese and Korean."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.metrics.tokenizers import tokenized
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser

from ..table import Scorer
from ..transcripts import pooled


def _squeezed(text: str) -> str:
    return "".join(text.split())


SCORERS: Mapping[str, Scorer] = {
    "cer_raw": pooled("cer", Normaliser(str.strip, tokens=str, characters=True)),
    "cer_nospace": pooled("cer", Normaliser(_squeezed, tokens=str, characters=True)),
    "cer_whisper_basic_nospace": pooled(
        "cer", Normaliser(lambda text: _squeezed(whisper.basic(text)), tokens=str, characters=True)
    ),
    "mer_mixed_zh_en": pooled("wer", Normaliser(lambda text: tokenized("zh", text))),
    "tokenize_zh": lambda params, inputs: tokenized("zh", inputs["text"]),
    "tokenize_ja_mecab": lambda params, inputs: tokenized("ja-mecab", inputs["text"]),
}
OUT: Mapping[str, str] = {}
DIFFERS: Mapping[str, str] = {}
