"""Punctuation taken out of texts as jiwer and fairseq do it."""

from __future__ import annotations

import re
import unicodedata

_SPACES = re.compile(r"\s\s+")
_ASCII = {code: None for code in range(128) if unicodedata.category(chr(code))[0] == "P"}


def without_punctuation(text: str) -> str:
    """``text`` without the characters of Unicode's categories P (not $+<=>^`|~), as jiwer's RemovePunctuation."""
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(character for character in text if unicodedata.category(character)[0] != "P")


def without_punctuation_words(text: str) -> str:
    """``text`` without the words that are nothing but such characters, as fairseq's EvaluationTokenizer."""
    return " ".join(
        word for word in text.split(" ") if any(unicodedata.category(character)[0] != "P" for character in word)
    )


def single_spaces(text: str) -> str:
    """Runs of two white spaces or more as one space, as jiwer's RemoveMultipleSpaces; a lone tab stays."""
    return _SPACES.sub(" ", text)


def jiwer_words(text: str) -> list[str]:
    """The words that jiwer counts where it is told nothing else: what lies between spaces, no-break ones aside."""
    return [word for word in single_spaces(text).strip().split(" ") if word]
