"""AudioBench's texts (github AudioLLMs/AudioBench, src/dataset_src/text_normalizer/preprocess_text.py)."""

from __future__ import annotations

import re

from pytest_audiobench.protocols.asr import whisper
from pytest_audiobench.protocols.asr.punctuation import single_spaces, without_punctuation

EMPTY = "empty"
"""What AudioBench writes in place of a text that nothing is left of, reference or answer."""

_SPOKEN = {
    str(number): word
    for number, word in (
        *enumerate(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen".split()
        ),
        *zip(range(20, 100, 10), "twenty thirty forty fifty sixty seventy eighty ninety".split(), strict=True),
    )
}
_NUMBER = re.compile(rf"\b(?:{'|'.join(_SPOKEN)})\b")
_FILLERS = re.compile(r"\b(?:uh|umm|um|er|ah)\b")
_HAN = re.compile(r"[\u4e00-\u9fff]+")


def english(text: str) -> str:
    """preprocess_text_asr. Its contractions and brackets find nothing, since Whisper's normaliser ran before."""
    spoken = _NUMBER.sub(lambda number: _SPOKEN[number[0]], whisper.english(text.lower()))
    return _FILLERS.sub("", without_punctuation(single_spaces(spoken))).strip()


def chinese(text: str) -> str:
    """preprocess_text_asr_code_switch_chinese: the same, with spaces between Chinese characters that touch."""
    return _HAN.sub(lambda run: " ".join(run[0]), english(text))
