"""The words of free text, as answers in it are compared."""

from __future__ import annotations

import re

from pytest_audiobench.protocols.transcription.texts import basic_text

# Han and kana have no spaces between words: each character is one.
_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff]")
_INITIALS = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,}")
_ARTICLES = frozenset(("a", "an", "the"))

NORMALISED = "nfkc+lower+nopunct+marks+cjkchars"
"""What :func:`spoken_words` does, for a signature."""


def spoken_words(text: str) -> list[str]:
    """``text`` in words: NFKC, small letters, no punctuation; a Chinese or Japanese character is a word."""
    words = basic_text(text).split()
    if not _UNSPACED.search(text):
        return words
    return [piece for word in words for piece in _UNSPACED.sub(r" \g<0> ", word).split()]


def content_words(text: str) -> list[str]:
    """:func:`spoken_words` without a, an and the, as SQuAD compares answers (Rajpurkar et al. 2016).

    Initials are one word ("a.m." is am). A text of nothing but articles keeps them.
    """
    words = spoken_words(_INITIALS.sub(lambda initials: initials[0].replace(".", ""), text))
    return [word for word in words if word not in _ARTICLES] or words
