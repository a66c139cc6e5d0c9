"""nota's evaluator (github nota-github/audiolm-evaluator, metrics.py, compute_wer)."""

from __future__ import annotations

from pytest_audiobench.metrics.tokenizers import library_version, tokenized
from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.punctuation import without_punctuation_words
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, transcript_scorer
from pytest_audiobench.protocols.transcription.word_memory import remembered


@remembered
def words(text: str) -> str:
    """Whisper's English normaliser, sacrebleu's 13a, no words of punctuation only, lower case."""
    return " ".join(without_punctuation_words(tokenized("13a", whisper.english(text))).lower().split())


def scorer() -> Scorer:
    return transcript_scorer(
        "nota",
        f"v:1|norm:whisper-english-{library_version('whisper-normalizer')}+13a+nopunctwords|sacrebleu:{library_version('sacrebleu')}|"
        "empty:deletions|align:levenshtein",
        Normaliser(words),
    )
