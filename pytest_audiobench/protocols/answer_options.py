"""Where a text names one of a choice question's options."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

from pytest_audiobench.datasets.sample import LETTERS, tidy_caseless

_NO_LETTERS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = ("a", "an", "the")
_LEAD_IN = re.compile(r"[\s\"'“‘(:,–—-]{0,6}")
ARTICLE = re.compile(r"(?:an?|the)\s+(?=\w)", re.I)


class OptionMention(NamedTuple):
    """An option found in a text, and the position behind it."""

    letter: str
    end: int


def plain(text: str) -> str:
    """Letters and digits only, without case."""
    if text.isascii():
        return text.lower() if text.isalnum() else _NO_LETTERS.sub("", text.lower())
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def same_text(choices: tuple[str, ...], letter: str, other: str) -> bool:
    """:meth:`Options.same` at a tenth of the cost of making the options."""
    first, second = LETTERS.index(letter), LETTERS.index(other)
    if first == second or max(first, second) >= len(choices):
        return first == second
    return tidy_caseless(choices[first]) == tidy_caseless(choices[second])


@lru_cache(maxsize=4096)
def options_of(choices: tuple[str, ...]) -> Options:
    return Options(choices)


class Options:
    """What finding the options in a text needs, made once for a list of choices.

    Options with equal texts are one option: the first one's letter is that of all.
    """

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.letters = LETTERS[: len(choices)]
        self.longest = min(max((len(choice) for choice in choices), default=0), 1_000)
        spelled = [tidy_caseless(choice) for choice in choices]
        self._first = {letter: LETTERS[spelled.index(own)] for letter, own in zip(self.letters, spelled, strict=False)}
        self._exact = unique((text, self._first[letter]) for letter, text in zip(self.letters, spelled, strict=False))
        self._plain = unique((plain(text), letter) for text, letter in self._exact.items())

    @cached_property
    def _words(self) -> list[tuple[str | None, list[str]]]:
        return [(self._plain.get(plain(text)), _WORD.findall(text)) for text in self._exact]

    def same(self, letter: str, other: str) -> bool:
        """Whether two letters stand for equal texts."""
        return self._first.get(letter, letter) == self._first.get(other, other)

    def letter_of(self, text: str) -> str | None:
        """The letter of the option that is the whole of ``text``: punctuation, case, space, an article ignored."""
        if len(text) > self.longest + 100:
            return None
        tidy = tidy_caseless(text)
        letter = self._exact.get(tidy) or self._plain.get(plain(tidy))
        if letter is None and (article := ARTICLE.match(tidy)):
            rest = tidy[article.end() :]
            letter = self._exact.get(rest) or self._plain.get(plain(rest))
        return letter

    def at(self, text: str, position: int) -> OptionMention | None:
        """The longest option whose words ``text`` has at ``position``, behind punctuation and an article."""
        lead = _LEAD_IN.match(text, position)
        start = lead.end() if lead else position
        if not text[start : start + 1].isalnum():
            return None
        spoken = self._words_from(text, start)
        articles = bool(spoken) and spoken[0][0] in _ARTICLES
        options = [
            OptionMention(letter, spoken[skipped + len(words) - 1][1])
            for letter, words in self._words
            if letter and words
            for skipped in range(articles + 1)
            if [word for word, _ in spoken[skipped : skipped + len(words)]] == words
        ]
        return max(options, key=lambda named: named.end, default=None)

    def _words_from(self, text: str, start: int) -> list[tuple[str, int]]:
        """The words from ``start`` on and the positions behind them, as many as the longest option could use."""
        most = 1 + max((len(words) for _, words in self._words), default=0)
        spoken: list[tuple[str, int]] = []
        for word in _WORD.finditer(text, start, start + self.longest + 40):
            if len(spoken) == most or (spoken and word.start() - spoken[-1][1] > 4):
                break
            spoken.append((word[0].casefold(), word.end()))
        return spoken

    def continues(self, text: str) -> bool:
        """Whether ``text`` could be the beginning of a longer option."""
        start = plain(text)
        return any(text.startswith(start) and text != start for text in self._plain)


def unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Texts that stand for one letter or label only; empty ones name nothing."""
    letters: dict[str, str] = {}
    ambiguous = {""}
    for text, letter in pairs:
        if letters.setdefault(text, letter) != letter:
            ambiguous.add(text)
    return {text: letter for text, letter in letters.items() if text not in ambiguous}
