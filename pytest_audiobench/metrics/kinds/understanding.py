"""Spoken requests: entities, intents and keyphrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from pytest_audiobench.metrics.entities import TYPED, Counts
from pytest_audiobench.metrics.estimates import average, mean_of, nothing, ratio_of, summed_kind, sums_of
from pytest_audiobench.metrics.keyphrases import CUTS
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.sets import SetScores, set_scores
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Row, Rows, Sparse, Sums
from pytest_audiobench.stats.intervals import Floats, mean


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
    MetricKind(
        "intent_accuracy",
        "higher",
        SHARE,
        mean_of("intent_accuracy", "intent"),
        lambda one: (one["intent"], 1.0),
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
    MetricKind(
        "keyword_hits",
        "higher",
        SHARE,
        ratio_of("keyword_hits", ("keyword_hits",), ("keywords",), "there are no keywords", most=1.0),
        lambda one: (one["keyword_hits"], one["keywords"]),
        "Hits among at most three keywords over the keywords that could be hit, at most three a sample; "
        "NaN where there are none.",
    ),
)
