"""AudioBench's texts (github AudioLLMs/AudioBench, src/dataset_src/text_normalizer/preprocess_text.py)."""

from __future__ import annotations

import re

from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.punctuation import single_spaces, without_punctuation
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, transcript_scorer
from pytest_audiobench.protocols.transcription.word_memory import remembered

EMPTY = "empty"
"""What AudioBench writes in place of a text that nothing is left of, reference or answer."""

_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPOKEN = {str(number): word for number, word in enumerate(_TO_NINETEEN.split())} | {
    str(10 * ten): word for ten, word in enumerate(_TENS.split(), start=2)
}
_NUMBER = re.compile(rf"\b(?:{'|'.join(_SPOKEN)})\b")
_FILLERS = re.compile(r"\b(?:uh|umm|um|er|ah)\b")
_HAN = re.compile(r"[\u4e00-\u9fff]+")


@remembered
def english(text: str) -> str:
    """preprocess_text_asr. Its contractions and brackets find nothing, since Whisper's normaliser ran before."""
    spoken = _NUMBER.sub(lambda number: _SPOKEN[number[0]], whisper.english(text.lower()))
    return _FILLERS.sub("", without_punctuation(single_spaces(spoken))).strip()


@remembered
def chinese(text: str) -> str:
    """preprocess_text_asr_code_switch_chinese: the same, with spaces between Chinese characters that touch."""
    return _HAN.sub(lambda run: " ".join(run[0]), english(text))


def normaliser(language: str) -> Normaliser:
    """The rule for zh, and for all other languages; nothing left becomes a word."""
    normalise = chinese if language == "zh" else english
    return Normaliser(lambda text: normalise(text) or EMPTY)


def scorer(language: str) -> Scorer:
    """``audiobench``: with spaces between Chinese characters for zh."""
    return transcript_scorer(
        "audiobench",
        f"v:1|norm:audiobench-{'zh' if language == 'zh' else 'en'}+whisper-{library_version('whisper-normalizer')}|"
        "empty:word|align:levenshtein",
        normaliser(language),
    )
