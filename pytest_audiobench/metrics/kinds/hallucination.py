"""Words where nothing is said, and words too many or too few where something is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_audiobench.metrics.estimates import average, columns, mean_of, nothing, of_summed, ratio_of, sums_of
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.units import SHARE, WORD_ERRORS
from pytest_audiobench.stats.intervals import mean

WORDS_PER_ANSWER = "words per answer"


def _share(name: str, statistic: str, about: str) -> MetricKind:
    return MetricKind(name, "lower", SHARE, mean_of(name, statistic), lambda one: (one[statistic], 1.0), about)


def _inserted(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    if not statistics:
        return nothing()
    values = columns(statistics, "inserted_tokens", "inserted")[:, 0]
    interval = mean(values, clusters, bounds=(0.0, math.inf))
    return Estimate(average(values.tolist()), interval.lower, interval.upper, len(values), interval.method)


_DELTA = of_summed(
    sums_of("token_delta", ("delta", "one"), lambda sums: np.divide(sums[:, 0], np.maximum(sums[:, 1], 1.0)))
)

KINDS = (
    _share(
        "hallucination_rate",
        "hallucinated",
        "The share of clips without speech that were answered with words. What counts as a word is the scorer's to "
        "say.",
    ),
    MetricKind(
        "inserted_tokens",
        "lower",
        WORDS_PER_ANSWER,
        _inserted,
        lambda one: (one["inserted"], 1.0),
        "The mean number of words with which clips without speech were answered; none counts as 0. One runaway answer "
        "can decide it.",
    ),
    MetricKind(
        "silent_rate",
        "higher",
        SHARE,
        mean_of("silent_rate", "silent"),
        lambda one: (one["silent"], 1.0),
        "The share of clips without speech whose answer holds no word: nothing at all, or a marker for nothing.",
    ),
    MetricKind(
        "declined_rate",
        "higher",
        SHARE,
        mean_of("declined_rate", "declined"),
        lambda one: (one["declined"], 1.0),
        "The share of clips without speech that were answered by a plain statement that nobody speaks. It is neither a "
        "hallucinated transcript nor an empty one: the three rates add up to 1.",
    ),
    MetricKind(
        "insertion_rate",
        "lower",
        WORD_ERRORS,
        ratio_of("insertion_rate", ("I",), ("N",), "the references hold no words"),
        lambda one: (one["I"], one["N"]),
        "Inserted words per word of the references: sum(I) / sum(N), of a shortest alignment. Corpus-wide, not the "
        "mean of the samples' rates.",
    ),
    _share(
        "truncation_rate",
        "stopped_early",
        "The share of answers that stop before the reference does: some words are said, and no way to match them with "
        "the reference by the fewest edits uses its last word.",
    ),
    _share("longer_rate", "longer", "The share of answers with more words than their reference, whatever the words."),
    _share("shorter_rate", "shorter", "The share of answers with fewer words than their reference, an empty one too."),
    MetricKind(
        "token_delta",
        "lower",
        WORDS_PER_ANSWER,
        _DELTA,
        about="The mean of the answers' words less their references': above 0 where more is said than was spoken, "
        "below where less is. Both cancel out, so it is no measure of quality.",
    ),
)
