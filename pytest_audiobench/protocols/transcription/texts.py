"""What the scorers of transcripts do to texts: our words, brackets and punctuation removed, and a cache of that.

Brackets are removed in linear time. The usual patterns look through the whole rest of a text at each bracket that is
never closed, and a model in a loop can write a hundred thousand of those.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable

ENTRIES = 65_536
"""Texts kept for each normaliser: the references and answers of a set of 32,768, some 30 MB where they are short."""

LONGEST = 1_000
"""Characters of a text that is kept; longer ones are rare, and would make the memory that this takes unbounded."""


_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = dict(zip(f"{_UNITS} {_TENS}".split(), [*range(20), *range(20, 100, 10)], strict=True))
"""The words of English numbers up to twenty, and of the tens."""


def cached_text(normalise: Callable[[str], str]) -> Callable[[str], str]:
    """``normalise``, which must depend on its text only, doing its work once for each short text."""
    known = functools.lru_cache(maxsize=ENTRIES)(normalise)

    @functools.wraps(normalise)
    def looked_up(text: str) -> str:
        return known(text) if len(text) <= LONGEST else normalise(text)

    return looked_up


_TAGS = re.compile(r"[<\[][^>\]]*[>\]]")
_ASIDES = re.compile(r"\([^)]+\)")
_SPECIAL = re.compile(r"<\|.*?\|>")


def without_tags(text: str) -> str:
    """``text`` without ``<…>`` and ``[…]``, as jiwer's RemoveKaldiNonWords: from a bracket to the next that closes."""
    return _replaced_within(_TAGS, text, max(text.rfind(">"), text.rfind("]")) + 1, "")


def without_asides(text: str) -> str:
    """``text`` without ``(…)`` that hold anything."""
    return _replaced_within(_ASIDES, text, text.rfind(")") + 1, "")


def without_special_tokens(text: str) -> str:
    """``text`` with a space in place of each ``<|…|>`` on one line, as models write their special tokens."""
    return "\n".join(_replaced_within(_SPECIAL, line, line.rfind("|>") + 2, " ") for line in text.split("\n"))


def _replaced_within(pattern: re.Pattern[str], text: str, end: int, put: str) -> str:
    """No match reaches beyond ``end``, behind the last bracket that closes; before it every search succeeds."""
    return pattern.sub(put, text[:end]) + text[end:]


_SPACE_RUNS = re.compile(r"\s\s+")
_ASCII = {code: None for code in range(128) if unicodedata.category(chr(code))[0] == "P"}


def without_punctuation(text: str) -> str:
    """``text`` without the characters of Unicode's categories P (not $+<=>^`|~), as jiwer's RemovePunctuation."""
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(character for character in text if unicodedata.category(character)[0] != "P")


def without_punctuation_words(text: str) -> str:
    """``text`` without the words that are nothing but such characters, as fairseq's EvaluationTokenizer."""
    return " ".join(word for word in text.split(" ") if any(unicodedata.category(sign)[0] != "P" for sign in word))


def single_spaces(text: str) -> str:
    """Runs of two white spaces or more as one space, as jiwer's RemoveMultipleSpaces; a lone tab stays."""
    return _SPACE_RUNS.sub(" ", text)


def jiwer_words(text: str) -> list[str]:
    """The words that jiwer counts by default: what lies between spaces, no-break ones aside."""
    return [word for word in single_spaces(text).strip().split(" ") if word]


# An apostrophe belongs to its word only between letters: "don't" is one word, "'tis'" is tis.
_CURLY = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})
_LONE_APOSTROPHE = re.compile(r"(?<![^\s'])'|'(?![^\s'])")
_NO_WORD = re.compile(r"[^a-z0-9'\s]")
_ZERO_WIDTH_SPACE = "\u200b"


@cached_text
def basic_text(text: str) -> str:
    """``text`` as words with single spaces between them: NFKC, lower case, no punctuation or symbols.

    Words are runs of letters, digits and the marks upon them, with apostrophes inside only. Invisible characters
    (joiners, soft hyphens) vanish within a word; whatever else is not a letter ends it.
    """
    shown = unicodedata.normalize("NFKC", text).lower().translate(_CURLY)
    words = _NO_WORD.sub(" ", shown) if shown.isascii() else _words_only(shown)
    return " ".join(_LONE_APOSTROPHE.sub(" ", words).split())


def basic_characters(text: str) -> str:
    """The same without spaces: the characters of languages that write none between words."""
    return basic_text(text).replace(" ", "")


def _words_only(text: str) -> str:
    words: list[str] = []
    within = False
    for character in text:
        if character.isalnum():
            within = True
            words.append(character)
            continue
        if (category := unicodedata.category(character)) == "Cf" and character != _ZERO_WIDTH_SPACE:
            continue
        # A mark belongs to the letter before it; upon anything else, such as an emoji, it is a symbol's.
        if category[0] == "M" and within:
            words.append(character)
            continue
        within = False
        words.append("'" if character == "'" else " ")
    return "".join(words)
