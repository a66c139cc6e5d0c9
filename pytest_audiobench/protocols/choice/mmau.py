r"""MMAU's and MMAR's string match, as published (github Sakshi113/MMAU, evaluation.py; ddlBoJack/MMAR).

Tokens are the set of ``\b\w+\b``, lower-cased. An answer is right when it holds every token of the true choice
and no token that only other choices have; an empty answer is wrong. Long reasoning almost always fails.

The rule is a test of one choice, not a parse. It gives one all the same: two choices can pass for the same text
only when their token sets are equal, so the first choice that passes stands for all that do, and the answer is
right exactly when its tokens are those of the true choice.
"""

from __future__ import annotations

import re

from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.options import LETTERS
from pytest_audiobench.protocols.protocol import Answer

_TOKEN = re.compile(r"\b\w+\b")


def tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))


def matches(text: str, choice: str, choices: tuple[str, ...]) -> bool:
    """The published rule: whether ``text`` says ``choice`` and none of the other ``choices``."""
    said, wanted = tokens(text), tokens(choice)
    if not said:
        return False
    unwanted = frozenset[str]().union(*map(tokens, choices)) - wanted
    return wanted <= said and said.isdisjoint(unwanted)


def read(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The first choice that passes; "empty" without any token, else "truncated", "refused" or "unparsed"."""
    for letter, choice in zip(LETTERS, choices, strict=False):
        if matches(text, choice, choices):
            return Answer("parsed", letter)
    if not text.strip():
        return Answer("empty")
    return Answer("truncated" if finish == "length" else "refused" if finish == "refusal" else "unparsed")


def is_correct(letter: str, reference: str, choices: tuple[str, ...]) -> bool:
    """Whether the choice read is the reference, as the rule sees them: by their tokens."""
    return tokens(choices[LETTERS.index(letter)]) == tokens(reference)
