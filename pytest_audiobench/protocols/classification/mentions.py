"""Where a text names labels of a list, and where it denies them.

A label is named by its own words, one after another, case ignored. A word is whole: "happiness" and "unhappy" do not
name "happy", and neither does a word that a hyphen binds to another. Of labels that begin at one word the longest
counts: "electric guitar" is no "guitar". A Chinese, Japanese or Korean character is its own word.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pytest_audiobench.datasets.sample import tidy, tidy_caseless
from pytest_audiobench.protocols.answer_options import ARTICLE, plain, unique

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_GAP = re.compile(r"[\s\-‐–_/'’()]{0,3}")
_BOUND_BEFORE = re.compile(r"\w[-‐'’]\Z")
_BOUND_AFTER = re.compile(r"[-‐]\w")
_LETTER = re.compile(r"\(?([A-Z])\)?\.?")

_CLAUSE_BREAK = re.compile(
    # "none of these labels: dog, rain" continues behind its colon.
    r"(?<!labels)(?<!sounds)(?<!events)(?<!following)(?<!these):"
    r"|[.;!?()\n—–。；：！？]|\b(?:(?<!anything\s)but|however|rather(?!\s+than)|instead(?!\s+of)|yet|though|although)\b",
    re.I,
)
_DENIAL = r"""(?:\b(?:not(?!\s+(?:only|just|merely))|no(?!\s+(?:doubt|question|less))|no(?:ne|thing)(?!\s+but)|never|non
           |neither|nor|without|cannot|hardly|rather\sthan|instead\sof|rul(?:e|es|ed|ing)\sout|lack(?:s|ing)?|absence\sof
           |unlike(?:ly)?|anything\sbut|far\sfrom|\w{1,8}n['’]t)\b
        (?:[\s-]+["'“‘]?[\w'’]{1,20}["'”’]?){0,6}"""
_LISTED = (
    r"""(?:\s?,\s?(?:(?:or|and|nor)\s)?["'“‘]?[\w'’]{1,20}(?:\s[\w'’]{1,20})?["'”’]?(?=\s?,|\s(?:or|and|nor)\b)){0,8}"""
)
_DENIED_BEFORE = re.compile(
    rf"""{_DENIAL}{_LISTED}(?:\s?,?\s(?:or|and|nor)(?:\s(?:an?|the|any))?)?[\s"'“‘-]*
      | [不没沒無无非未][是太很会會够夠能像]{{0,2}}[\s"'“‘「]*)\Z""",
    re.I | re.X,
)
_DENIED_IN_LIST = re.compile(rf"""{_DENIAL}{_LISTED}\s?,(?:\s(?:an?|the|any))?[\s"'“‘-]*)\Z""", re.I | re.X)
_DENIED_BEHIND_COLON = re.compile(rf"{_DENIAL}:[^:]*)\Z", re.I | re.X)
_LIST_GOES_ON = re.compile(r"""["'”’]?(?:\s[\w'’]{1,20})?(?:\s?,|\s(?:or|and|nor)\b)""", re.I)
_HEARD = r"(?:present|there|heard|audible|detected|evident|found)"
_DENIED_AFTER = re.compile(
    rf"""["'”’]?(?:
        \s+(?:is|was|does|would|seems|sounds|can)(?:\s+not\b|n['’]t\b)
      | (?:\s(?!but\b|and\b|or\b|while\b|yet\b|is\b|are\b)[\w'’]{{1,20}}){{0,2}}
        (?:\s(?:and|or)\s[\w'’]{{1,20}}(?=\s(?:are|were)))?
        \s(?:is|are|was|were)(?:(?:\snot|n['’]t|\snever)\s(?:\w{{1,12}}\s)?{_HEARD}|\s(?:absent|unlikely|ruled\sout))\b
      | \scan(?:not|\snot|['’]t)\sbe\s{_HEARD}\b
      | \s?[:=(–—-]\s?(?:no|none|absent|false|0|not(?:\s{_HEARD})?)(?=\s?(?:[,;.)|\n]|\Z)))""",
    re.I | re.X,
)
_REACH = 160
"""Characters before a label in which its denial is looked for."""


class Mention(NamedTuple):
    """A label that a text names between ``start`` and ``end``; ``denied`` where the text says that it is not so."""

    label: str
    start: int
    end: int
    denied: bool


class _Spelling(NamedTuple):
    words: tuple[str, ...]
    gaps: tuple[str, ...]
    label: str


@lru_cache(maxsize=4096)
def labels_of(choices: tuple[str, ...], also: tuple[tuple[str, str], ...] = ()) -> Labels:
    return Labels(choices, also)


class Labels:
    """What finding the labels in a text needs, made once for a list of choices.

    Choices that differ in case or punctuation alone are one label: the first one's text. ``also`` are further words,
    each with the choice that it stands for. Texts handed in are those that :func:`searchable_text` gives.
    """

    def __init__(self, choices: tuple[str, ...], also: Iterable[tuple[str, str]] = ()) -> None:
        self._by_text: dict[str, str] = {}
        for choice in choices:
            self._by_text.setdefault(tidy_caseless(choice), choice)
        self.texts = tuple(self._by_text.values())
        spelled = [
            *self._by_text.items(),
            *((tidy_caseless(word), self._by_text[tidy_caseless(c)]) for word, c in also),
        ]
        self._exact = dict(reversed(spelled))
        self._plain = unique((plain(text), label) for text, label in self._exact.items())
        self._begin: dict[str, list[_Spelling]] = {}
        for text, label in self._exact.items():
            if tokens := list(_TOKEN.finditer(text)):
                gaps = tuple(text[token.end() : next_token.start()].strip() for token, next_token in pairwise(tokens))
                spelling = _Spelling(tuple(token[0] for token in tokens), gaps, label)
                self._begin.setdefault(spelling.words[0], []).append(spelling)
        for spellings in self._begin.values():
            spellings.sort(key=lambda spelling: -len(spelling.words))
        self._longest = max((len(text) for text in self._exact), default=0)

    def label(self, text: str) -> str | None:
        """The label that ``text`` is, case and punctuation at its ends ignored."""
        return self._by_text.get(tidy_caseless(text))

    def label_of(self, text: str) -> str | None:
        """The label that is the whole of ``text``: case, punctuation, space and an article ignored."""
        if len(text) > self._longest + 60:
            return None
        spelled = tidy_caseless(text)
        for wording in (spelled, ARTICLE.sub("", spelled, count=1) if ARTICLE.match(spelled) else spelled):
            if label := self._exact.get(wording) or self._plain.get(plain(wording)):
                return label
        return None

    def continues(self, text: str) -> bool:
        """Whether ``text`` could be the beginning of a longer label."""
        start = plain(text)
        return any(other.startswith(start) and other != start for other in self._plain)

    def mentions(self, text: str) -> Iterator[Mention]:
        """The labels that ``text`` names, from left to right."""
        tokens = [(token[0].casefold(), token.start(), token.end()) for token in _TOKEN.finditer(text)]
        place = 0
        while place < len(tokens):
            length = 1
            for spelling in self._begin.get(tokens[place][0], ()):
                if _stands(text, tokens[place : place + len(spelling.words)], spelling):
                    length = len(spelling.words)
                    start, end = tokens[place][1], tokens[place + length - 1][2]
                    if not _within_compound(text, start, end):
                        yield Mention(spelling.label, start, end, denied(text, start, end))
                    break
            place += length


def searchable_text(text: str) -> str:
    """``text`` as it is searched: NFKC, without invisible characters and emphasis, line by line."""
    return "\n".join(tidy(line) for line in unicodedata.normalize("NFKC", text).split("\n"))


def by_letter(text: str, choices: tuple[str, ...]) -> str | None:
    """The choice at the place of the capital letter that is the whole of ``text``, as listeners without words answer.

    "" for a letter beyond the choices, None for any other text.
    """
    letter = _LETTER.fullmatch(text.strip()) if len(text) < 100 else None
    if letter is None:
        return None
    place = string.ascii_uppercase.index(letter[1])
    return choices[place] if place < len(choices) else ""


def asserted_labels(mentions: Iterable[Mention]) -> list[str]:
    """The different labels that are named and not denied, in their order."""
    return list(dict.fromkeys(mention.label for mention in mentions if not mention.denied))


def _stands(text: str, tokens: list[tuple[str, int, int]], spelling: _Spelling) -> bool:
    if [word for word, _, _ in tokens] != list(spelling.words):
        return False
    between = (text[token[2] : next_token[1]] for token, next_token in pairwise(tokens))
    return all(
        (_GAP.fullmatch(gap) is not None and "\n" not in gap) or gap.strip() == own
        for gap, own in zip(between, spelling.gaps, strict=True)
    )


def _within_compound(text: str, start: int, end: int) -> bool:
    return bool(_BOUND_BEFORE.search(text[max(0, start - 2) : start]) or _BOUND_AFTER.match(text[end : end + 2]))


def denied(text: str, start: int, end: int) -> bool:
    """Whether ``text`` denies what it names between ``start`` and ``end``."""
    before = text[max(0, start - _REACH) : start]
    breaks = list(_CLAUSE_BREAK.finditer(before))
    clause = before[breaks[-1].end() :] if breaks else before
    after = text[end : end + 80]
    if _DENIED_BEFORE.search(clause) or _DENIED_BEHIND_COLON.search(clause) or _DENIED_AFTER.match(after):
        return True
    # "no signs of fear, disgust or anger" denies all three, "not sad, happy" one.
    return bool(_LIST_GOES_ON.match(after) and _DENIED_IN_LIST.search(clause))
