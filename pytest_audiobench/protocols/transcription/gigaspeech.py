"""GigaSpeech's texts (github SpeechColab/GigaSpeech, utils/gigaspeech_scoring.py)."""

from __future__ import annotations

from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, transcript_scorer
from pytest_audiobench.protocols.transcription.word_memory import remembered

_FILLERS = ["UH", "UHH", "UM", "EH", "MM", "HM", "AH", "HUH", "HA", "ER", "OOF", "HEE", "ACH", "EEE", "EW"]
_TAGS = (
    "<UNK>",
    "<COMMA>",
    "<PERIOD>",
    "<QUESTIONMARK>",
    "<EXCLAMATIONPOINT>",
    "<SIL>",
    "<NOISE>",
    "<MUSIC>",
    "<OTHER>",
)
_NOT_SCORED = frozenset((*_FILLERS, *_TAGS))


@remembered
def scored_words(text: str) -> str:
    """``text`` in capitals, a space for each hyphen, without fillers and tags."""
    words = text.upper().replace("-", " ").split()
    return " ".join(word for word in words if word not in _NOT_SCORED)


def scorer() -> Scorer:
    """``gigaspeech``."""
    return transcript_scorer(
        "gigaspeech",
        "v:1|norm:upper+nohyphen+nofillers+notags|empty:deletions|align:levenshtein",
        Normaliser(scored_words),
    )
