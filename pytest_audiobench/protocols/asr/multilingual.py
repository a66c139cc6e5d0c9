"""The rules of Qwen2-Audio, Kimi-Audio-Evalkit and UltraEval-Audio: one skeleton, three ways to fill it in.

Qwen2-Audio: github QwenLM/Qwen2-Audio, eval_audio/evaluate_asr.py. Kimi: github MoonshotAI/Kimi-Audio-Evalkit,
almeval/datasets/ds_asr.py and metrics/wer.py. UltraEval: github OpenBMB/UltraEval-Audio, audio_evals/lib/wer.py and
agg/base.py (PracticeWER). All tokenise with fairseq's EvaluationTokenizer over sacrebleu's tokenizers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from pytest_audiobench.protocols.asr import whisper
from pytest_audiobench.protocols.asr.brackets import without_special_tokens
from pytest_audiobench.protocols.asr.chinese import text_norm
from pytest_audiobench.protocols.asr.punctuation import without_punctuation_words
from pytest_audiobench.protocols.asr.remembered import remembered

_SPACES = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r" ?([!,.?;:])")


@functools.cache
def qwen2_audio(language: str) -> Callable[[str], str]:
    """No special tokens; yue in simplified characters; English, then basic; Chinese by TextNorm; no punctuation."""
    return _joined(_qwen_words(language, "none"))


@functools.cache
def kimi(language: str) -> Callable[[str], str]:
    """Qwen2-Audio's, tokenised by sacrebleu's zh: Chinese characters one by one, Latin words whole."""
    return _joined(_qwen_words(language, "zh"))


@functools.cache
def ultraeval(language: str) -> Callable[[str], str]:
    """Lower case and Whisper's English normaliser in every language, then TextNorm or simplified characters."""
    tokens = tokenizer({"zh": "zh", "yue": "zh", "ja": "ja-mecab"}.get(language, "13a"))

    def words(text: str) -> str:
        shown = whisper.english(text.lower())
        if language == "zh":
            shown = text_norm(shown)
        elif language == "yue":
            shown = simplified(shown)
        return tokens(shown).lower()

    return _joined(words)


def nota(text: str) -> str:
    """Whisper's English normaliser, sacrebleu's 13a, no words of punctuation only, lower case."""
    return " ".join(without_punctuation_words(tokenizer("13a")(whisper.english(text))).lower().split())


def simplified(text: str) -> str:
    """``text`` in the simplified characters of the mainland. Needs zhconv."""
    import zhconv

    found: str = zhconv.convert(text, "zh-cn")
    return found


@functools.cache
def tokenizer(name: str) -> Callable[[str], str]:
    """A tokenizer of sacrebleu's by its name there: none, 13a, zh, ja-mecab (which needs the extra ja)."""
    made: Any
    if name == "13a":
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a as made
    elif name == "zh":
        from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh as made
    elif name == "ja-mecab":
        from sacrebleu.tokenizers.tokenizer_ja_mecab import TokenizerJaMecab as made
    else:
        from sacrebleu.tokenizers.tokenizer_none import NoneTokenizer as made
    tokenize: Callable[[str], str] = made()
    return tokenize


def _qwen_words(language: str, tokenize: str) -> Callable[[str], str]:
    tokens = tokenizer(tokenize)

    def words(text: str) -> str:
        shown = _SPACES.sub(" ", without_special_tokens(text))
        shown = _BEFORE_STOP.sub(r"\1", shown).lstrip(" ")
        if language == "zh":
            shown = text_norm(_SPACES.sub("", shown))
        else:
            if language == "yue":
                shown = simplified(shown)
            shown = whisper.basic(whisper.english(shown) if language == "en" else shown)
        return without_punctuation_words(tokens(shown)).lower()

    return words


def _joined(words: Callable[[str], str]) -> Callable[[str], str]:
    return remembered(lambda text: " ".join(words(text).split()))
