"""Where a text names labels of a list, and whether it denies them; a frequency in words assigned to a bucket. Ours.

Words are compared without case, and "crows" is "crow" where the list does not tell them apart. A label of several
words must are in order with at most three characters between two words, so that "Beluga, White Whale" is one label;
of labels that begin at one word the longest counts, and a part of a compound ("crow-like") does not. What a text denies
is told as for labels anywhere (``classification/mentions.py``), which know neither plurals nor slips of spelling.

Of frequencies Hz and kHz are understood, thousands may be grouped ("1,654.75"), a range ("1000 to 3000 Hz", "between
280 Hz and 320 Hz") stands for its middle. Numbers with a unit go before those without; seconds, decibels and shares are
no frequencies. Several frequencies count only where they fall into one bucket, or where the last statement ("the answer
is …") gives one. Of two buckets as near the lower is taken.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from pytest_audiobench.protocols.classification.mentions import Mention, denied

_WORD = re.compile(r"[^\W_]+")
_MOST_BETWEEN = 3
_COMPOUND_BEHIND, _COMPOUND_BEFORE = re.compile(r"[-_‐‑]\w"), re.compile(r"\w[-_‐‑]\Z")
_LEAD_IN_WORDS = (
    "a an the i we can hear heard hearing detect detected it this that there is are sounds sound like likely probably "
    "maybe possibly definitely clearly one two three"
)
_LEAD_IN = frozenset(_LEAD_IN_WORDS.split())
# Slips of spelling: a letter missing, added or changed, or two neighbours swapped.
_LETTERS_FOR_ONE_SLIP, _LETTERS_FOR_TWO = 4, 8


Synonyms: TypeAlias = tuple[tuple[str, str], ...]
"""Further names, each with the label that it means."""


@lru_cache(maxsize=256)
def names_of(labels: tuple[str, ...], synonyms: Synonyms = ()) -> Names:
    return Names(labels, synonyms)


class Names:
    """What finding the labels of a list needs, made once for the list; ``synonyms`` of other labels do not count."""

    def __init__(self, labels: Sequence[str], synonyms: Synonyms = ()) -> None:
        meant = {**{name: label for name, label in synonyms if label in labels}, **{label: label for label in labels}}
        spelled = {name: _words(name) for name in (*labels, *meant)}
        ones = {tuple(map(_one, words)) for words in spelled.values()}
        # "call" and "calls" in one list are two labels: then no plural is taken for its singular.
        self._form = _one if len(ones) == len(set(spelled.values())) else str
        self._by_words: dict[tuple[str, ...], str] = {}
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        self._by_set: dict[tuple[str, ...], str | None] = {}
        for name, words in spelled.items():
            words, label = tuple(map(self._form, words)), meant[name]
            if not words or words in self._by_words:
                continue
            self._by_words[words] = label
            same = tuple(sorted(words))
            self._by_set[same] = label if self._by_set.get(same, label) == label else None
            if len("".join(words)) > 1:
                self._by_first.setdefault(words[0], []).append(words)
        for beginnings in self._by_first.values():
            beginnings.sort(key=len, reverse=True)
        self._joined: dict[str, list[tuple[str, str]]] = {}
        for words, label in self._by_words.items():
            self._joined.setdefault(words[0][0], []).append((" ".join(words), label))
        self._longest = max((len(" ".join(words)) for words in self._by_words), default=0)

    def are(self, labels: set[str]) -> bool:
        """Whether the names are these single words and no others."""
        return self._by_words.keys() == {(label,) for label in labels}

    def mentions(self, text: str) -> list[Mention]:
        """Every mention in the order of the text, in time linear in its length. A label of one letter is not sought."""
        words = [(self._form(_plain(match[0])), *match.span()) for match in _WORD.finditer(text)]
        mentions: list[Mention] = []
        place = 0
        while place < len(words):
            if length := self._length_at(words, place):
                label = self._by_words[tuple(word for word, _, _ in words[place : place + length])]
                start, end = words[place][1], words[place + length - 1][2]
                if not _in_compound(text, start, end):
                    mentions.append(Mention(label, start, end, denied(text, start, end)))
            place += length or 1
        return mentions

    def _length_at(self, words: Sequence[tuple[str, int, int]], place: int) -> int:
        for wanted in self._by_first.get(words[place][0], ()):
            there = words[place : place + len(wanted)]
            close = all(after[1] - before[2] <= _MOST_BETWEEN for before, after in pairwise(there))
            if close and tuple(word for word, _, _ in there) == wanted:
                return len(wanted)
        return 0

    def whole(self, text: str) -> str | None:
        """The label that is all of ``text`` but a lead-in ("I hear a"): its words in any order, or with a slip.

        One slip of spelling is allowed from 4 letters on, two from 8 on, never in the first letter or by an end that
        is longer or shorter, and only where one label is that near.
        """
        if len(text) > 4 * self._longest + 200:
            return None
        words = [self._form(word) for word in _words(text)]
        first = next((place for place, word in enumerate(words) if word not in _LEAD_IN), len(words))
        for kept in (tuple(words), tuple(words[first:])):
            if label := self._by_words.get(kept) or self._by_set.get(tuple(sorted(kept))):
                return label
        return self._near(" ".join(words[first:]))

    def continues(self, text: str) -> bool:
        """Whether ``text``, a label, could be the beginning of a longer one."""
        start = " ".join(map(self._form, _words(text)))
        return any(joined.startswith(start) and joined != start for joined, _ in self._joined.get(start[:1], ()))

    def _near(self, text: str) -> str | None:
        from rapidfuzz.distance import OSA

        if not _LETTERS_FOR_ONE_SLIP - 1 <= len(text) <= self._longest + 2:
            return None
        by_distance: dict[int, set[str]] = {}
        for joined, label in self._joined.get(text[0], ()):
            if joined.startswith(text) or text.startswith(joined):
                continue  # "crowd" is no "crow"
            slips = (len(joined) >= _LETTERS_FOR_ONE_SLIP) + (len(joined) >= _LETTERS_FOR_TWO)
            if slips and (distance := OSA.distance(text, joined, score_cutoff=slips)) <= slips:
                by_distance.setdefault(distance, set()).add(label)
        nearest = by_distance[min(by_distance)] if by_distance else set()
        return nearest.pop() if len(nearest) == 1 else None


def _in_compound(text: str, start: int, end: int) -> bool:
    """Whether the words continue with a hyphen: "crow-like" is not a crow."""
    return bool(_COMPOUND_BEHIND.match(text, end) or _COMPOUND_BEFORE.search(text[max(0, start - 2) : start]))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_plain(word) for word in _WORD.findall(text))


def _plain(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _one(word: str) -> str:
    """A plural's singular, by its "s" alone."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


Buckets: TypeAlias = tuple[tuple[float, str], ...]

_BUCKET = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(k?)hz\s*\Z", re.I)
_NUMBER = r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,12})?"
_UNIT = r"(?:kilohertz|khz|hertz|hz)"
_QUANTITY = re.compile(
    rf"""(?P<between>\bbetween\s{{1,3}})?
         (?P<low>{_NUMBER})\s?(?P<low_unit>{_UNIT}\b)?\s{{0,2}}(?(between)and\b|(?:-|–|—|to\b))\s{{0,2}}
         (?P<high>{_NUMBER})\s?(?P<high_unit>{_UNIT}\b)?(?![\w%])
       | (?P<one>{_NUMBER})\s?(?P<unit>{_UNIT}\b)?(?![\w%]|\.\d)""",
    re.I | re.X,
)
_OTHER_UNIT = re.compile(r"\s?(?:%|(?:m?s|secs?|seconds?|minutes?|min|db|decibels?|percent|times)\b)", re.I)
_STATED = re.compile(r"\b(?:answer|frequency|pitch|f0|bucket)\b[^.\d\n]{0,40}?(?:\bis\b|[:=])", re.I)


@lru_cache(maxsize=256)
def buckets_of(labels: tuple[str, ...]) -> Buckets:
    """The labels by their frequency in Hz; nothing where a label is none."""
    matches = [(_BUCKET.match(label), label) for label in labels]
    if not all(match for match, _ in matches):
        return ()
    return tuple(sorted((float(match[1]) * (1000.0 if match[2] else 1.0), label) for match, label in matches if match))


def bucket_in(text: str, buckets: Buckets) -> str | None:
    """The one bucket that the frequencies of ``text`` fall into; None for none, and for several."""
    stated = list(_STATED.finditer(text))
    for part in (text, *((text[stated[-1].end() :],) if stated else ())):
        near = {min(buckets, key=lambda bucket: abs(hz - bucket[0]))[1] for hz in _frequencies(part)}
        if len(near) == 1:
            return near.pop()
    return None


def _frequencies(text: str) -> list[float]:
    with_unit: list[float] = []
    without: list[float] = []
    for quantity in _QUANTITY.finditer(text):
        unit = quantity["unit"] or quantity["high_unit"]
        if unit is None and _OTHER_UNIT.match(text, quantity.end()):
            continue
        times = 1000.0 if (unit or "").lower().startswith("k") else 1.0
        if quantity["one"]:
            hz = _frequency(quantity["one"]) * times
        else:
            low_unit = quantity["low_unit"]
            low_times = (1000.0 if low_unit.lower().startswith("k") else 1.0) if low_unit else times
            low = _frequency(quantity["low"]) * low_times
            hz = (low + _frequency(quantity["high"]) * times) / 2
        (without if unit is None else with_unit).append(hz)
    return with_unit or without


def _frequency(text: str) -> float:
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else 0.0
