"""SLU-F1: how well entities of a spoken request were understood (Bastianelli et al. 2020, "SLURP").

Rules as in github pswietojanski/slurp, scripts/evaluation: every said entity meets the true one of its type whose
filler is nearest, in the order in which they are said, and each true one is met once. A pair counts as one hit and
adds the distance of its fillers to both false alarms and misses; what meets nothing is a false alarm or a miss. The
word distance is the word error rate of the fillers, which can exceed 1; the character distance is the Levenshtein
distance over the longer filler's length. SLU-F1 adds both counts up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.metrics.sets import SetScores

Measure: TypeAlias = Literal["span", "word", "char", "slu"]


TYPED = "slu_of_"
"""The statistics of one type of entity are ``slu_of_<number of the type>_hits``, ``_alarms`` and ``_misses``."""


class Entity(NamedTuple):
    """A slot and what fills it."""

    type: str
    filler: str


class Counts(NamedTuple):
    """Hits, false alarms and misses; the latter two may be fractions."""

    hits: float
    alarms: float
    misses: float


def entity_counts(true: Sequence[Entity], said: Sequence[Entity], measure: Measure) -> dict[str, Counts]:
    """The counts of one sample by type of entity."""
    if measure == "slu":
        both = [entity_counts(true, said, part) for part in ("word", "char")]
        return {type_: added(one.get(type_, _NONE) for one in both) for type_ in sorted({*both[0], *both[1]})}
    distance = _DISTANCES[measure]
    left, found = list(true), dict[str, list[float]]()
    for entity in said:
        near = [
            (distance(one.filler, entity.filler), place) for place, one in enumerate(left) if one.type == entity.type
        ]
        counts = found.setdefault(entity.type, [0.0, 0.0, 0.0])
        if not near or (measure == "span" and min(near)[0]):
            counts[1] += 1.0
            continue
        apart, place = min(near)
        counts[0] += 1.0
        counts[1] += apart
        counts[2] += apart
        del left[place]
    for entity in left:
        found.setdefault(entity.type, [0.0, 0.0, 0.0])[2] += 1.0
    return {type_: Counts(*counts) for type_, counts in found.items()}


def added(counts: Iterable[Counts]) -> Counts:
    """All counts in one."""
    return Counts(*(sum(column) for column in zip(_NONE, *counts, strict=True)))


def micro(counts: Mapping[str, Counts]) -> SetScores:
    """Precision, recall and F1 of all types together; 0 where there is nothing to divide by."""
    return _scores(added(counts.values()))


def macro(counts: Mapping[str, Counts]) -> SetScores:
    """The mean of each over the types that were true or said, an invented type among them.

    Raises ValueError where there is none.
    """
    if not counts:
        raise ValueError("there are no entities to average over")
    each = [_scores(one) for one in counts.values()]
    return SetScores(*(sum(column) / len(each) for column in zip(*each, strict=True)))


def word_distance(true: str, said: str) -> float:
    """The word error rate of ``said``; the number of its words where ``true`` has none (jiwer's rule)."""
    from rapidfuzz.distance import Levenshtein

    wanted = true.split()
    errors = Levenshtein.distance(wanted, said.split())
    return errors / len(wanted) if wanted else float(errors)


def char_distance(true: str, said: str) -> float:
    """The Levenshtein distance over the longer text's length; 0 for two empty ones."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_distance(true, said))


def _unequal(true: str, said: str) -> float:
    return float(true != said)


_NONE = Counts(0.0, 0.0, 0.0)
_DISTANCES: dict[str, Callable[[str, str], float]] = {"span": _unequal, "word": word_distance, "char": char_distance}


def _scores(counts: Counts) -> SetScores:
    hits, alarms, misses = counts
    precision = hits / (hits + alarms) if hits + alarms else 0.0
    recall = hits / (hits + misses) if hits + misses else 0.0
    f1 = 2.0 * precision * recall / (precision + recall) if precision + recall else 0.0
    return SetScores(precision, recall, f1)
