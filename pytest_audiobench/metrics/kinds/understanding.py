"""SLU-F1: how well entities of a spoken request were understood (Bastianelli et al. 2020, "SLURP").

Rules as in github pswietojanski/slurp, scripts/evaluation: every said entity meets the true one of its type whose
filler is nearest, in the order in which they are said, and each true one is met once. A pair counts as one hit and
adds the distance of its fillers to both false alarms and misses; what meets nothing is a false alarm or a miss. The
word distance is the word error rate of the fillers, which can exceed 1; the character distance is the Levenshtein
distance over the longer filler's length. SLU-F1 adds both counts up.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.estimates import (
    average,
    mean_kind,
    nothing,
    ratio_kind,
    summed_kind,
    sums_of,
)
from pytest_audiobench.metrics.labels import SetScores, set_scores
from pytest_audiobench.metrics.metric import SHARE, Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Row, Rows, Sparse, Sums
from pytest_audiobench.stats.intervals import Floats, mean

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


CUTS = ("1", "3", "5", "m")
"""How many phrases are kept; "m" is all that were said."""


def lacks_stemmer() -> str:
    """What must be installed to stem words, in a sentence; nothing where it is there."""
    if importlib.util.find_spec("nltk") is not None:
        return ""
    return "stems of keyphrases need nltk: pip install 'pytest-audiobench[captions]'"


def stemmed(phrases: Iterable[str]) -> list[str]:
    """The phrases as they are compared, in their order. Raises UsageError without nltk."""
    kept = (" ".join(_stem(word) for word in phrase.lower().split()) for phrase in phrases)
    return list(dict.fromkeys(phrase for phrase in kept if phrase))


def keyphrase_statistics(true: Iterable[str], said: Iterable[str]) -> dict[str, float]:
    """A sample's statistics: ``keyphrases`` that are true, and for each cut those ``kept`` and the ``hits`` among them.

    Raises UsageError without nltk.
    """
    wanted, phrases = set(stemmed(true)), stemmed(said)
    found = {"keyphrases": float(len(wanted))}
    for cut in CUTS:
        kept = phrases if cut == "m" else phrases[: int(cut)]
        found |= {f"kept_{cut}": float(len(kept)), f"hits_{cut}": float(len(wanted.intersection(kept)))}
    return found


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    stem: str = _stemmer().stem(word)
    return stem


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    if reason := lacks_stemmer():
        raise UsageError(reason)
    from nltk.stem import PorterStemmer

    return PorterStemmer()


def _f1(sums: Floats) -> Floats:
    """2 hits / (2 hits + alarms + misses), of sums (r, 3)."""
    below = 2.0 * sums[:, 0] + sums[:, 1] + sums[:, 2]
    found: Floats = np.divide(2.0 * sums[:, 0], below, out=np.zeros(len(sums)), where=below > 0.0)
    return found


def _ends(own: Floats) -> Ends:
    """One more sample of which nothing is hit, and one of which all is, as large as the mean one."""
    hits, alarms, misses = own
    return Ends(np.array([[0.0, hits + alarms, hits + misses]]), np.array([[hits + misses, 0.0, 0.0]]))


def _ends_at(own: Floats) -> Ends:
    """The same of hits, kept and true phrases."""
    _, kept, true = own
    return Ends(np.array([[0.0, kept, true]]), np.array([[true, true, true]]))


def _macro_f1(sums: Floats, invented: int) -> Floats:
    """The mean of F1 over the types that occur, of sums (r, 3 × true types), and ``invented`` ones, whose F1 is 0."""
    each = sums.reshape(len(sums), -1, 3)
    there = each.sum(axis=2) > 0.0
    count = there.sum(axis=1) + float(invented)
    values = np.where(there, _f1(each.reshape(-1, 3)).reshape(there.shape), 0.0).sum(axis=1)
    found: Floats = np.divide(values, count, out=np.full(len(sums), np.nan), where=count > 0.0)
    return found


def _by_type(statistics: Sequence[Statistics]) -> Sums | str:
    names = {name for one in statistics for name, value in one.items() if name.startswith(TYPED) and value}
    types = {name.rsplit("_", 1)[0] for name in names}
    if not types:
        return "there are no entities"
    true = sorted(type_ for type_ in types if names & {f"{type_}_hits", f"{type_}_misses"})
    # A resample without an invented type would be better for it: their number is held.
    invented = len(types) - len(true)
    places = {f"{type_}_{count}": 3 * n + m for n, type_ in enumerate(true) for m, count in enumerate(Counts._fields)}
    units: list[Row] = [
        tuple(sorted((places[name], value) for name, value in one.items() if name in places and value))
        for one in statistics
    ]
    return Sums(Rows(units, len(places)), partial(_macro_f1, invented=invented), lacking=_rare_type)


def _rare_type(found: Resampling) -> str | None:
    assert isinstance(found.distinct, Sparse)
    kinds = found.distinct
    rarest = found.units
    for first in range(0, kinds.shape[1], 3):
        rows = kinds.rows[(kinds.columns == first) | (kinds.columns == first + 2)]
        rarest = min(rarest, int(found.counts[np.unique(rows)].sum()))
    return f"a type is true of {rarest} {found.what}, {FEWEST_OF_LABEL} needed" if rarest < FEWEST_OF_LABEL else None


def _own_f1(measure: str, one: Statistics) -> float:
    """F1 of one sample's entities, all types together; 1 where there are none."""
    counts = [one[f"{measure}_{count}"] for count in Counts._fields]
    return float(_f1(np.array([counts]))[0]) if any(counts) else 1.0


def _at(cut: str, which: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean over samples of precision, recall or F1 at a cut."""
    part = _part_at(cut, which)

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        values = [part(one)[0] for one in statistics]
        interval = mean(values, clusters, bounds=(0.0, 1.0))
        return Estimate(average(values), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def _part_at(cut: str, which: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda one: (float(getattr(_scores_at(one, cut), which)), 1.0)


def _scores_at(one: Statistics, cut: str) -> SetScores:
    return set_scores(one[f"hits_{cut}"], one[f"kept_{cut}"], one["keyphrases"])


def _micro_at(sums: Floats) -> Floats:
    """2 hits / (kept + true), of sums (r, 3) of hits, kept and true phrases."""
    below = sums[:, 1] + sums[:, 2]
    found: Floats = np.divide(2.0 * sums[:, 0], below, out=np.zeros(len(sums)), where=below > 0.0)
    return found


_SLURP = (
    "(Bastianelli et al. 2020): said entities meet true ones of their type, nearest filler first; the distance of a "
    "pair's fillers is added to false alarms and misses. A sample without an answer misses all its entities. "
    "0 where there are no entities at all."
)
_PHRASES = (
    "Small letters, Porter's stems, equal phrases once, then the first k kept; precision over those kept. "
    "0 where a sample has nothing to divide by."
)

KINDS = (
    *(
        summed_kind(
            name,
            "higher",
            SHARE,
            sums_of(name, [f"{measure}_{count}" for count in Counts._fields], _f1, _ends),
            f"{about} {_SLURP}",
            partial(_own_f1, measure),
        )
        for name, measure, about in (
            ("slu_f1", "slu", "SLU-F1: the F1 of word and character counts added up"),
            ("slu_word_f1", "word", "F1 of entities by word distance"),
            ("slu_char_f1", "char", "F1 of entities by character distance"),
            ("entity_f1", "span", "F1 of entities whose type and filler are equal, all else being wrong"),
        )
    ),
    summed_kind(
        "slu_f1_macro",
        "higher",
        SHARE,
        _by_type,
        "SLU-F1 averaged over the types of entities that were true or said, an invented type among them "
        "(SLURP's macro). NaN where there are no entities.",
        partial(_own_f1, "slu"),
    ),
    mean_kind(
        "intent_accuracy",
        "higher",
        SHARE,
        "intent",
        "The share of samples whose intent was said; no answer is a wrong one.",
    ),
    *(
        MetricKind(
            f"keyphrase_{which}_at_{cut}",
            "higher",
            SHARE,
            _at(cut, which),
            _part_at(cut, which),
            f"Mean {which} over samples, {'all phrases' if cut == 'm' else f'the first {cut}'}. {_PHRASES}",
        )
        for cut in CUTS
        for which in SetScores._fields
    ),
    *(
        summed_kind(
            f"keyphrase_micro_f1_at_{cut}",
            "higher",
            SHARE,
            sums_of(f"keyphrase_micro_f1_at_{cut}", (f"hits_{cut}", f"kept_{cut}", "keyphrases"), _micro_at, _ends_at),
            f"2 hits / (phrases kept + true phrases) over all samples. {_PHRASES}",
        )
        for cut in CUTS
    ),
    ratio_kind(
        "keyword_hits",
        "higher",
        SHARE,
        ("keyword_hits",),
        ("keywords",),
        "there are no keywords",
        "Hits among at most three keywords over the keywords that could be hit, at most three a sample; "
        "NaN where there are none.",
    ),
)
