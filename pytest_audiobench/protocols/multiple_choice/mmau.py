r"""MMAU's and MMAR's string match, as published (github Sakshi113/MMAU, evaluation.py; ddlBoJack/MMAR).

Tokens are the set of ``\b\w+\b``, lower-cased. An answer is right when it holds every token of the true choice
and no token that only other choices have; an empty answer is wrong. Long reasoning almost always fails.

The rule is a test of one choice, not a parse. It gives one all the same: two choices can pass for the same text
only when their token sets are equal, so the first choice that passes stands for all that do, and the answer is
right exactly when its tokens are those of the true choice.

AudioBench applies the rule to choices that carry their letters, "(A) Man", and cuts these off first.
"""

from __future__ import annotations

import re

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.multiple_choice.unanswered import unanswered
from pytest_audiobench.protocols.protocol import Answer

_TOKEN = re.compile(r"\b\w+\b")
_LETTERED = re.compile(r"\([A-Z]\) ")


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
    return unanswered(text, finish)


def without_letters(choices: tuple[str, ...]) -> tuple[str, ...]:
    """The choices less "(A) " and its like, where all begin with one: AudioBench cuts these four characters off."""
    return tuple(choice[4:] for choice in choices) if all(map(_LETTERED.match, choices)) else choices


def read_lettered(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """AudioBench's scorer: as :func:`read`, among the choices without their letters; the text keeps its own."""
    return read(text, without_letters(choices), finish)


def is_correct_lettered(letter: str, reference: str, choices: tuple[str, ...]) -> bool:
    """As :func:`is_correct`, with choices and reference without their letters."""
    bare = without_letters(choices)
    return is_correct(letter, reference if bare is choices else reference[4:], bare)


def is_correct(letter: str, reference: str, choices: tuple[str, ...]) -> bool:
    """Whether the choice read is the reference, as the rule sees them: by their tokens."""
    return tokens(choices[LETTERS.index(letter)]) == tokens(reference)
