"""What is done to a text before BLEU, and which answers a protocol leaves out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.transcription import whisper as normalisers
from pytest_audiobench.protocols.transcription.texts import cached_text

Rewrite: TypeAlias = Callable[[str], str]

_NO_WORD = re.compile(r"[^\w\s']|_|(?<!\w)'|'(?!\w)")
_CURLY = str.maketrans("’‘ʼ", "'''")
_KANA = re.compile("[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d]")
_NULLS = frozenset({"null", "none"})


class Norm(NamedTuple):
    """A way to rewrite both sides before BLEU, and its name in a signature."""

    name: str
    rewrite: Rewrite


def as_it_is(text: str) -> str:
    return text


@cached_text
def lower_nopunct(text: str) -> str:
    """``text`` in lower case without punctuation and symbols; an apostrophe stays between letters."""
    return " ".join(_NO_WORD.sub(" ", text.translate(_CURLY).lower()).split())


def whisper(code: str | None) -> Rewrite:
    """Whisper's normaliser for a target language: the English one for English, else the basic one.

    The basic one takes vowel signs of Indic scripts and Thai for punctuation.
    """
    return normalisers.english if code == "en" else normalisers.basic


def whisper_name(code: str | None) -> str:
    """How a signature calls :func:`whisper`, with the library's version."""
    return f"whisper-{'en' if code == 'en' else 'basic'}-{library_version('whisper-normalizer')}"


RAW = Norm("raw", as_it_is)
NOPUNCT = Norm("lower+nopunct", lower_nopunct)


def says_nothing(text: str) -> bool:
    """Whether an answer is empty or the word null (or None), as clients write for a failed call."""
    return text.strip().lower() in _NULLS or not text.strip()


def lacks_kana(text: str, references: Sequence[str], code: str | None) -> bool:
    """Whether Japanese is wanted and ``text`` has no kana. Without a target it is wanted where a reference has kana."""
    wanted = code == "ja" if code is not None else any(map(_KANA.search, references))
    return wanted and _KANA.search(text) is None
