"""GigaSpeech's texts (github SpeechColab/GigaSpeech, utils/gigaspeech_scoring.py)."""

from __future__ import annotations

from pytest_audiobench.protocols.protocol import About, Example, Scorer
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
        About(
            "Capitals; a space for each hyphen; then the words UH, UHH, UM, EH, MM, HM, AH, HUH, HA, ER, OOF, HEE, "
            "ACH, EEE and EW are left out, and the tags <UNK>, <COMMA>, <PERIOD>, <QUESTIONMARK>, <EXCLAMATIONPOINT>, "
            "<SIL>, <NOISE>, <MUSIC> and <OTHER>, from both texts. Word errors pooled over all utterances.",
            "github SpeechColab/GigaSpeech, utils/gigaspeech_scoring.py",
            (
                Example("uh well-known facts", "WELL KNOWN <COMMA> FACTS <PERIOD>"),
                Example("Well known facts.", "WELL KNOWN FACTS"),
            ),
            "Punctuation of an answer stays upon its words, and makes them wrong: the rule is for recognisers that "
            "write none. Errors there are sclite's, whose alignment weighs a substitution 4, a deletion or insertion "
            "3, and can count more errors than the shortest one, which is counted here. wer-basic takes punctuation "
            "away and leaves fillers in.",
        ),
    )
