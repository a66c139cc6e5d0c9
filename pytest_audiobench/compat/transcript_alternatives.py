"""References that allow several wordings: ``{ a / b / @ }`` and ``(word)`` in NIST's trn and STM files.

Every other system must have the same reference, so it is the hypothesis that is rewritten: a system that said an
alternative is given the first one, with as many wrong words as it had in the one that it came nearest to. Words in
parentheses may be left out, as with sclite's option -D. A reference is as long as its first alternatives, where sclite
counts the words of those that it chose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, product
from typing import NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein

NULL = "@"
"""The word that is none."""
_TOKENS = re.compile(r"[{}]|[^\s{}]+")
_OPTIONAL = re.compile(r"\((.+)\)")
_TAGS = re.compile(r"(?<!\\);.*")
"""Behind a word, what is said of it: ``WORD;tag``; its own semicolon has a backslash before it."""
_MOST_WORDINGS = 200
"""Of one place, and of one hypothesis; of more the first."""
_MOST_ALIGNED = 1_000_000
"""Places times words, some seconds. Longer texts are compared with the first alternatives."""
_MOST_BRACES = 1_000
_INSERTED = "ƻǂǁǀ"
"""Words of a letter each that stand for an error; signs would be lost to normalisation."""

Words: TypeAlias = tuple[str, ...]
Slot: TypeAlias = tuple[Words, ...]
"""What may are in one place; the first is what the reference says as a plain text."""


def slots_of(text: str) -> list[Slot]:
    """The places of a reference, most of which hold one word. All else is words as they are written."""
    tokens = _TOKENS.findall(text)
    return _slots(tokens) if tokens.count("{") <= _MOST_BRACES else [((token,),) for token in tokens]


def _slots(tokens: Sequence[str]) -> list[Slot]:
    slots: list[Slot] = []
    at = 0
    while at < len(tokens):
        end = _end(tokens, at) if tokens[at] == "{" else None
        if end is not None:
            alternatives = [_wordings(_slots(part)) for part in _parts(tokens[at + 1 : end])]
            listed = dict.fromkeys(words for wordings in alternatives for words in wordings)
            slots.append(tuple(islice(listed, _MOST_WORDINGS)))
            at = end + 1
            continue
        word = _TAGS.sub("", tokens[at]).replace("\\;", ";")
        if (optional := _OPTIONAL.fullmatch(word)) is not None:
            slots.append(((optional[1],), ()))
        elif word not in ("", NULL):
            slots.append(((word,),))
        at += 1
    return slots


def _end(tokens: Sequence[str], start: int) -> int | None:
    """The place of the brace that ends the alternation; None where none does, or the braces hold no choice."""
    depth, choice = 0, False
    for place in range(start, len(tokens)):
        depth += (tokens[place] == "{") - (tokens[place] == "}")
        choice = choice or (depth == 1 and "/" in tokens[place])
        if not depth:
            return place if choice else None
    return None


def _parts(tokens: Sequence[str]) -> list[list[str]]:
    """The tokens of each wording between the braces, where slashes need no blanks around them."""
    depth = 0
    parts: list[list[str]] = [[]]
    for token in tokens:
        depth += (token == "{") - (token == "}")
        if depth or "/" not in token:
            parts[-1].append(token)
            continue
        first, *others = token.split("/")
        parts[-1].append(first)
        parts += [[other] for other in others]
    return [[token for token in part if token] for part in parts]


def _wordings(slots: Sequence[Slot]) -> list[Words]:
    """All that may be said, the first alternatives first."""
    choices = islice(product(*slots), _MOST_WORDINGS)
    return [tuple(word for words in choice for word in words) for choice in choices]


def plain(slots: Sequence[Slot]) -> str:
    """The reference with its first alternatives."""
    return " ".join(word for slot in slots for word in slot[0])


def held_to(reference: str, hypothesis: str) -> tuple[str, str]:
    """The reference as a plain text, and the hypothesis as an answer to it; of its own alternatives the best."""
    slots = slots_of(reference)
    wordings = _wordings(slots_of(hypothesis))
    is_plain = all(len(slot) == 1 for slot in slots)
    if (is_plain and len(wordings) == 1) or len(slots) * len(wordings[0]) > _MOST_ALIGNED:
        return plain(slots), " ".join(wordings[0])
    # The more there is to align, the fewer of its own alternatives are tried.
    wordings = wordings[: max(1, _MOST_ALIGNED // (1 + len(slots) * len(wordings[0])))]
    aligned = [(*_rewritten(slots, words), " ".join(words)) for words in wordings]
    errors, text, said = min(aligned, key=lambda each: each[0])
    return plain(slots), said if is_plain else _with_at_least(errors, text, plain(slots))


class _Piece(NamedTuple):
    """What was said of a place, behind what was said before."""

    before: _Piece | None
    said: tuple[int, int]
    """The hypothesis' words, from one place to before another."""
    errors: int
    alternative: Words
    first: Words


class _Step(NamedTuple):
    """The cheapest way to have aligned the places so far with the hypothesis' first words."""

    cost: int
    last: _Piece | None


def _rewritten(slots: Sequence[Slot], said: Sequence[str]) -> tuple[int, str]:
    """The errors, and the hypothesis as if the first alternatives had been meant."""
    row = [_Step(count, _Piece(None, (0, count), count, (), ())) for count in range(len(said) + 1)]
    for slot in slots:
        rows = [_after(row, alternative, said, slot[0]) for alternative in slot]
        row = [min(steps, key=lambda step: step.cost) for steps in zip(*rows, strict=True)]
    pieces: list[Words] = []
    piece = row[-1].last
    while piece is not None:
        pieces.append(_with_errors(said[slice(*piece.said)], piece.errors, piece.alternative, piece.first))
        piece = piece.before
    return row[-1].cost, " ".join(word for words in reversed(pieces) for word in words)


def _after(row: Sequence[_Step], alternative: Words, said: Sequence[str], first: Words) -> list[_Step]:
    """The cheapest steps behind a place where ``alternative`` was meant and ``first`` is written."""
    steps: list[tuple[int, int]] = [(step.cost, start) for start, step in enumerate(row)]
    for word in alternative:
        following = [(steps[0][0] + 1, steps[0][1])]
        for at in range(1, len(row)):
            same = said[at - 1].casefold() == word.casefold()
            following.append(
                min(
                    (steps[at - 1][0] + (not same), steps[at - 1][1]),
                    (steps[at][0] + 1, steps[at][1]),
                    (following[-1][0] + 1, following[-1][1]),
                    key=lambda step: step[0],
                )
            )
        steps = following
    written: list[_Step] = []
    for end, (cost, start) in enumerate(steps):
        before = row[start]
        # A word that is said after the place, and is in no place, is an insertion.
        if written and written[-1].cost + 1 < cost:
            step = _Step(written[-1].cost + 1, _Piece(written[-1].last, (end - 1, end), 1, (), ()))
        else:
            step = _Step(cost, _Piece(before.last, (start, end), cost - before.cost, alternative, first))
        written.append(step)
    return written


def _with_errors(said: Sequence[str], errors: int, alternative: Words, first: Words) -> Words:
    """What a hypothesis is to say in a place so that it makes at most ``errors`` in ``first``."""
    if alternative == first:
        return tuple(said)
    wrong = [word for word in said if word.casefold() not in {known.casefold() for known in first}]
    inserted = errors - min(errors, len(first))
    missing = min(errors, len(first))
    kept = first[missing:]
    extra = (wrong + [_INSERTED[0]] * errors)[:inserted]
    return (*extra, *kept)


def _with_at_least(errors: int, text: str, reference: str) -> str:
    """The text, longer where words of one place can be aligned with those of another and save errors."""
    wanted, said = reference.casefold().split(), text.casefold().split()
    wrong = next((letter for letter in _INSERTED if letter.casefold() not in reference.casefold()), _INSERTED)
    added = 0
    while Levenshtein.distance(wanted, said + [wrong] * added) < errors:
        added += 1
    return " ".join([*text.split(), *[wrong] * added])
