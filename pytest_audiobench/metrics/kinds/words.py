"""Errors per word and per character, from the counts of alignments: pooled, averaged, and how much runaways make of it.

One policy for utterances whose reference holds nothing (silence, or what a normaliser leaves of it): pooled rates take
their insertions and no words; rates of single utterances count them as one of one word, as jiwer 4 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pytest_audiobench.metrics.estimates import average, columns, nothing, of_sample, ratio_of, sums_of
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.token_errors import rate
from pytest_audiobench.metrics.units import CHARACTER_ERRORS, SHARE, WORD_ERRORS
from pytest_audiobench.stats.intervals import Floats, linearised, none, proportion, ratio

_COUNTS = ("S", "D", "I", "N")


def _of_rates(
    metric: str, prefix: str, value: Callable[[Floats], Floats], share: bool = False, most: float = math.inf
) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean over samples of ``value`` of a sample's rate, at most ``most``; a share of ones among zeros."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        counts = columns(statistics, metric, *(f"{prefix}{name}" for name in _COUNTS))
        values = value(counts[:, :3].sum(axis=1) / np.maximum(counts[:, 3], 1.0))
        interval = proportion(values, clusters) if share else ratio(values, np.ones(len(values)), clusters, most=most)
        return Estimate(average(values.tolist()), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def _rates(metric: str, prefix: str, unit: str, token: str) -> Iterator[MetricKind]:
    wrong, all_ = tuple(f"{prefix}{name}" for name in "SDI"), f"{prefix}N"
    yield MetricKind(
        metric,
        "lower",
        unit,
        ratio_of(metric, wrong, (all_,), f"the references hold no {token}s"),
        lambda one: (one[wrong[0]] + one[wrong[1]] + one[wrong[2]], one[all_]),
        f"Corpus {token} error rate: sum(S + D + I) / sum(N), not the mean of the samples' rates. No {token}s in all "
        "references is no rate: NaN.",
    )
    per_sample = f"(S + D + I) / max(N, 1); a reference without {token}s gives the number of insertions"
    yield MetricKind(
        f"{metric}_mean",
        "lower",
        unit,
        _of_rates(f"{metric}_mean", prefix, lambda rates: rates),
        lambda one: (rate(one, prefix), 1.0),
        f"The mean of the samples' own rates, {per_sample}. One runaway answer to a short reference can decide it.",
    )
    yield MetricKind(
        f"{metric}_capped",
        "lower",
        unit,
        _of_rates(f"{metric}_capped", prefix, lambda rates: np.minimum(rates, 1.0), most=1.0),
        lambda one: (min(rate(one, prefix), 1.0), 1.0),
        f"The mean of the samples' own rates, each at most 1: {per_sample}. No answer weighs more than an empty one.",
    )
    yield MetricKind(
        f"{metric}_over_one",
        "lower",
        SHARE,
        _of_rates(f"{metric}_over_one", prefix, lambda rates: (rates > 1.0).astype(np.float64), share=True),
        lambda one: (float(rate(one, prefix) > 1.0), 1.0),
        f"The share of samples whose own rate is above 1, that is with more errors than the reference has {token}s: "
        "runaway answers.",
    )


def _information_lost(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    """1 - H/N × H/P over sums of hits H, reference words N and words said P."""
    if not statistics:
        return nothing()
    replaced, deleted, inserted, words = columns(statistics, "wil", *_COUNTS).T
    counts = np.stack([words - replaced - deleted, words, words - deleted + inserted], axis=1)
    if counts.sum() == 0.0:
        return Estimate(math.nan, None, None, len(words), none("neither references nor answers hold words").method)
    long = max(float(words.mean()), 1.0)
    ends = np.array([long, long, long]), np.array([0.0, long, long])
    interval = linearised(counts, _lost_of, ends, clusters)
    return Estimate(_lost_of(counts.sum(axis=0))[0], interval.lower, interval.upper, len(words), interval.method)


def _lost_of(sums: Floats) -> tuple[float, Floats]:
    """1 - H/N × H/P of (H, N, P), and its slopes."""
    hits, words, said = map(float, sums)
    if hits == 0.0:
        return 1.0, np.zeros(3)
    kept = hits * hits / (words * said)
    return 1.0 - kept, -kept * np.array([2.0 / hits, -1.0 / words, -1.0 / said])


def _lost(sums: Floats) -> Floats:
    """1 - H/N × H/P of sums of S, D, I and N, shape (r, 4); NaN where neither side has words."""
    replaced, deleted, inserted, words = sums.T
    hits, said = words - replaced - deleted, words - deleted + inserted
    kept = np.divide(hits * hits, words * said, out=np.zeros(len(sums)), where=words * said > 0.0)
    return np.where(words + said > 0.0, 1.0 - kept, np.nan)


_LOST = sums_of("wil", _COUNTS, _lost)


def _without_reference(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    if not statistics:
        return nothing()
    found = columns(statistics, "empty_references", "N")[:, 0]
    return Estimate(float((found == 0.0).sum()), None, None, len(found), none("a count").method)


KINDS = (
    *_rates("wer", "", WORD_ERRORS, "word"),
    *_rates("cer", "C", CHARACTER_ERRORS, "character"),
    MetricKind(
        "mer",
        "lower",
        SHARE,
        ratio_of("mer", ("S", "D", "I"), ("N", "I"), "neither references nor answers hold words", most=1.0),
        lambda one: (one["S"] + one["D"] + one["I"], one["N"] + one["I"]),
        "Match error rate (Morris et al. 2004): sum(S + D + I) / sum(N + I), between 0 and 1. It needs the split of "
        "errors, which is rapidfuzz's as in jiwer 4. No words on either side is NaN.",
    ),
    MetricKind(
        "wil",
        "lower",
        SHARE,
        _information_lost,
        summed=_LOST,
        own=of_sample(_LOST),
        about="Word information lost (Morris et al. 2004): 1 - H/N × H/P over the sums of hits H = N - S - D, words of "
        "the references N and words said P = N - D + I. It needs the split of errors, which is rapidfuzz's as in jiwer "
        "4. Words on one side only is 1, on neither NaN.",
    ),
    MetricKind(
        "empty_references",
        "lower",
        "utterances",
        _without_reference,
        about="How many samples have a reference without words, once normalised. Pooled rates take their insertions "
        "and no words.",
    ),
)
