"""SLU-F1: how well entities of a spoken request were understood (Bastianelli et al. 2020, "SLURP").

Rules as in github pswietojanski/slurp, scripts/evaluation: every said entity meets the true one of its type whose
filler is nearest, in the order in which they are said, and each true one is met once. A pair counts as one hit and
adds the distance of its fillers to both false alarms and misses; what meets nothing is a false alarm or a miss. The
word distance is the word error rate of the fillers, which can exceed 1; the character distance is the Levenshtein
distance over the longer filler's length. SLU-F1 adds both counts up.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.metrics import estimates
from pytest_audiobench.metrics.label_statistics import SetScores, set_scores
from pytest_audiobench.metrics.metric import SHARE, Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.token_errors import rate, token_errors
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Row, Rows, Sparse, Sums
from pytest_audiobench.stats.intervals import Floats, mean_interval

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
        return {type_: added(counts.get(type_, _NONE) for counts in both) for type_ in sorted({*both[0], *both[1]})}
    distance = _DISTANCES[measure]
    left, counts_of = list(true), dict[str, list[float]]()
    for entity in said:
        near = [
            (distance(candidate.filler, entity.filler), place)
            for place, candidate in enumerate(left)
            if candidate.type == entity.type
        ]
        counts = counts_of.setdefault(entity.type, [0.0, 0.0, 0.0])
        if not near or (measure == "span" and min(near)[0]):
            counts[1] += 1.0
            continue
        apart, place = min(near)
        counts[0] += 1.0
        counts[1] += apart
        counts[2] += apart
        del left[place]
    for entity in left:
        counts_of.setdefault(entity.type, [0.0, 0.0, 0.0])[2] += 1.0
    return {type_: Counts(*counts) for type_, counts in counts_of.items()}


def added(counts: Iterable[Counts]) -> Counts:
    """All counts in one."""
    return Counts(*(sum(column) for column in zip(_NONE, *counts, strict=True)))


def word_distance(true: str, said: str) -> float:
    """The word error rate of ``said``; the number of its words where ``true`` has none (jiwer's rule)."""
    return rate(token_errors(true.split(), said.split()))


def char_distance(true: str, said: str) -> float:
    """The Levenshtein distance over the longer text's length; 0 for two empty ones."""
    errors = token_errors(true, said)
    return (errors["S"] + errors["D"] + errors["I"]) / max(len(true), len(said), 1)


_NONE = Counts(0.0, 0.0, 0.0)
_DISTANCES: dict[str, Callable[[str, str], float]] = {
    "span": lambda true, said: float(true != said),
    "word": word_distance,
    "char": char_distance,
}


CUTS = ("1", "3", "5", "m")
"""How many phrases are kept; "m" is all that were said."""


def lacks_stemmer() -> str:
    """What must be installed to stem words, in a sentence; nothing where it is there."""
    if importlib.util.find_spec("nltk") is not None:
        return ""
    return f"stems of keyphrases need nltk: {install_command('captions')}"


def stemmed(phrases: Iterable[str]) -> list[str]:
    """The phrases as they are compared, in their order. Raises UsageError without nltk."""
    stems = (" ".join(_stem(word) for word in phrase.lower().split()) for phrase in phrases)
    return list(dict.fromkeys(phrase for phrase in stems if phrase))


def keyphrase_statistics(true: Iterable[str], said: Iterable[str]) -> dict[str, float]:
    """A sample's statistics: ``keyphrases`` that are true, and for each cut those ``kept`` and the ``hits`` among them.

    Raises UsageError without nltk.
    """
    true_phrases, phrases = set(stemmed(true)), stemmed(said)
    values = {"keyphrases": float(len(true_phrases))}
    for cut in CUTS:
        first = phrases if cut == "m" else phrases[: int(cut)]
        values |= {f"kept_{cut}": float(len(first)), f"hits_{cut}": float(len(true_phrases.intersection(first)))}
    return values


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
    return np.nan_to_num(estimates.quotient(2.0 * sums[:, 0], 2.0 * sums[:, 0] + sums[:, 1] + sums[:, 2]))


def _ends(mean_sample: Floats) -> Ends:
    """One more sample of which nothing is hit, and one of which all is, as large as the mean one."""
    hits, alarms, misses = mean_sample
    return Ends(np.array([[0.0, hits + alarms, hits + misses]]), np.array([[hits + misses, 0.0, 0.0]]))


def _ends_at(mean_sample: Floats) -> Ends:
    """The same of hits, kept and true phrases."""
    _, phrases, true = mean_sample
    return Ends(np.array([[0.0, phrases, true]]), np.array([[true, true, true]]))


def _macro_f1(sums: Floats, invented: int) -> Floats:
    """The mean of F1 over the types that occur, of sums (r, 3 × true types), and ``invented`` ones, whose F1 is 0."""
    counts = sums.reshape(len(sums), -1, 3)
    occurs = counts.sum(axis=2) > 0.0
    count = occurs.sum(axis=1) + float(invented)
    return estimates.quotient(
        np.where(occurs, _f1(counts.reshape(-1, 3)).reshape(occurs.shape), 0.0).sum(axis=1), count
    )


def _by_type(statistics: Sequence[Statistics]) -> Sums | str:
    names = {name for sample in statistics for name, value in sample.items() if name.startswith(TYPED) and value}
    if not (types := {name.rsplit("_", 1)[0] for name in names}):
        return "there are no entities"
    true = sorted(type_ for type_ in types if names & {f"{type_}_hits", f"{type_}_misses"})
    # A resample without an invented type would be better for it: their number is fixed.
    invented = len(types) - len(true)
    places = {f"{type_}_{count}": 3 * n + m for n, type_ in enumerate(true) for m, count in enumerate(Counts._fields)}
    units: list[Row] = [
        tuple(sorted((places[name], value) for name, value in sample.items() if name in places and value))
        for sample in statistics
    ]
    return Sums(Rows(units, len(places)), partial(_macro_f1, invented=invented), lacking=_rare_type)


def _rare_type(resampling: Resampling) -> str | None:
    assert isinstance(resampling.distinct, Sparse)
    kinds = resampling.distinct
    rarest = resampling.units
    for first in range(0, kinds.shape[1], 3):
        rows = kinds.rows[(kinds.columns == first) | (kinds.columns == first + 2)]
        rarest = min(rarest, int(resampling.counts[np.unique(rows)].sum()))
    return (
        f"a type is true of {rarest} {resampling.what}, {FEWEST_OF_LABEL} needed" if rarest < FEWEST_OF_LABEL else None
    )


def _sample_f1(measure: str, sample: Statistics) -> float:
    """F1 of one sample's entities, all types together; 1 where there are none."""
    counts = [sample[f"{measure}_{count}"] for count in Counts._fields]
    return float(_f1(np.array([counts]))[0]) if any(counts) else 1.0


def _at(cut: str, which: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean over samples of precision, recall or F1 at a cut."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return estimates.nothing()
        values = [_score_at(cut, which, sample) for sample in statistics]
        interval = mean_interval(values, clusters, bounds=(0.0, 1.0))
        return Estimate(estimates.average(values), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def _score_at(cut: str, which: str, sample: Statistics) -> float:
    return float(getattr(set_scores(sample[f"hits_{cut}"], sample[f"kept_{cut}"], sample["keyphrases"]), which))


def _part_at(cut: str, which: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda sample: (_score_at(cut, which, sample), 1.0)


def _micro_at(sums: Floats) -> Floats:
    """2 hits / (kept + true), of sums (r, 3) of hits, kept and true phrases."""
    return np.nan_to_num(estimates.quotient(2.0 * sums[:, 0], sums[:, 1] + sums[:, 2]))


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
        estimates.summed_kind(
            name,
            "higher",
            SHARE,
            estimates.sums_of(name, [f"{measure}_{count}" for count in Counts._fields], _f1, _ends),
            f"{about} {_SLURP}",
            partial(_sample_f1, measure),
        )
        for name, measure, about in (
            ("slu_f1", "slu", "SLU-F1: the F1 of word and character counts added up"),
            ("slu_word_f1", "word", "F1 of entities by word distance"),
            ("slu_char_f1", "char", "F1 of entities by character distance"),
            ("entity_f1", "span", "F1 of entities whose type and filler are equal, all else being wrong"),
        )
    ),
    estimates.summed_kind(
        "slu_f1_macro",
        "higher",
        SHARE,
        _by_type,
        "SLU-F1 averaged over the types of entities that were true or said, an invented type among them "
        "(SLURP's macro). NaN where there are no entities.",
        partial(_sample_f1, "slu"),
    ),
    *(
        estimates.mean_kind(
            f"{part}_accuracy",
            "higher",
            SHARE,
            part,
            f"The share of samples whose {part} was said; no answer is a wrong one.{further}",
        )
        for part, further in (
            ("intent", ""),
            ("scenario", " The intent's part before its first underscore (SLURP's micro F1 of scenarios)."),
            ("action", " The intent's part behind its first underscore (SLURP's micro F1 of actions)."),
        )
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
        estimates.summed_kind(
            f"keyphrase_micro_f1_at_{cut}",
            "higher",
            SHARE,
            estimates.sums_of(
                f"keyphrase_micro_f1_at_{cut}", (f"hits_{cut}", f"kept_{cut}", "keyphrases"), _micro_at, _ends_at
            ),
            f"2 hits / (phrases kept + true phrases) over all samples. {_PHRASES}",
        )
        for cut in CUTS
    ),
    estimates.ratio_kind(
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
