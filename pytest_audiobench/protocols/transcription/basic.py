"""Our own rule: words of letters and digits in any script, case and punctuation aside.

What makes it differ from the published ones: it leaves numbers and spellings alone, and it keeps combining marks, so
that Hindi, Thai and Arabic keep their vowel signs.
"""

from __future__ import annotations

import re
import unicodedata

from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.protocols.transcription.transcript_scorer import WORD_METRICS, Normaliser, transcript_scorer
from pytest_audiobench.protocols.transcription.word_memory import remembered

# An apostrophe belongs to its word only between letters: "don't" is one word, "'tis'" is tis.
_CURLY = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})
_LONE_APOSTROPHE = re.compile(r"(?<![^\s'])'|'(?![^\s'])")
_NO_WORD = re.compile(r"[^a-z0-9'\s]")
_ZERO_WIDTH_SPACE = "\u200b"


@remembered
def basic_text(text: str) -> str:
    """``text`` as words with single spaces between them: NFKC, lower case, no punctuation or symbols.

    Words are runs of letters, digits and the marks upon them, with apostrophes inside only. Invisible characters
    (joiners, soft hyphens) vanish within a word; whatever else is no letter ends it.
    """
    shown = unicodedata.normalize("NFKC", text).lower().translate(_CURLY)
    kept = _NO_WORD.sub(" ", shown) if shown.isascii() else _words_only(shown)
    return " ".join(_LONE_APOSTROPHE.sub(" ", kept).split())


def basic_characters(text: str) -> str:
    """The same without spaces: the characters of languages that write none between words."""
    return basic_text(text).replace(" ", "")


def _words_only(text: str) -> str:
    kept: list[str] = []
    within = False
    for character in text:
        if character.isalnum():
            within = True
            kept.append(character)
            continue
        category = unicodedata.category(character)
        if category == "Cf" and character != _ZERO_WIDTH_SPACE:
            continue
        # A mark belongs to the letter before it; upon anything else, such as an emoji, it is a symbol's.
        if category[0] == "M" and within:
            kept.append(character)
            continue
        within = False
        kept.append("'" if character == "'" else " ")
    return "".join(kept)


def scorers() -> tuple[Scorer, ...]:
    """``wer-basic`` and ``cer-basic``."""
    return (
        transcript_scorer(
            "wer-basic",
            "v:2|norm:nfkc+lower+nopunct+marks|empty:deletions|align:levenshtein",
            Normaliser(basic_text),
            metrics=(*WORD_METRICS, "mer", "wil", "empty_references"),
        ),
        transcript_scorer(
            "cer-basic",
            "v:1|norm:nfkc+lower+nopunct+marks+nospace|unit:character|empty:deletions|align:levenshtein",
            Normaliser(basic_characters, tokens=str, characters=True),
        ),
    )
