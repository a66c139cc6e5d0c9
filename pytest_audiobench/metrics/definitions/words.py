"""Errors per word and per character, from the counts of alignments: pooled, averaged, and how much runaways make of it.

One policy for utterances whose reference holds nothing (silence, or what a normaliser leaves of it): pooled rates take
their insertions and no words; rates of single utterances count them as one of one word, as jiwer 4 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import estimates
from pytest_audiobench.metrics.metric import (
    CHARACTER_ERRORS,
    PHONE_ERRORS,
    SHARE,
    WORD_ERRORS,
    Clusters,
    Estimate,
    MetricKind,
    Statistics,
)
from pytest_audiobench.metrics.token_errors import rate
from pytest_audiobench.stats.bootstrap import Row, Rows, Sums
from pytest_audiobench.stats.intervals import Floats, linearised, none, proportion, ratio, runaways

_COUNTS = ("S", "D", "I", "N")
TRIMMABLE = {"wer": "", "cer": "C"}
"""The rates that are also had trimmed, each with what stands before the names of its counts."""


def _of_rates(
    metric: str, prefix: str, value: Callable[[Floats], Floats], share: bool = False, most: float = math.inf
) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean over samples of ``value`` of a sample's rate, at most ``most``; a share of ones among zeros."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return estimates.nothing()
        counts = estimates.columns(statistics, metric, *(f"{prefix}{name}" for name in _COUNTS))
        values = value(counts[:, :3].sum(axis=1) / np.maximum(counts[:, 3], 1.0))
        interval = proportion(values, clusters) if share else ratio(values, np.ones(len(values)), clusters, most=most)
        return Estimate(
            estimates.average(values.tolist()), interval.lower, interval.upper, len(values), interval.method
        )

    return estimate


def _trimmed(metric: str, prefix: str, empty: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The pooled rate of errors, of each sample no more than its words."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return estimates.nothing()
        counts = estimates.columns(statistics, metric, *(f"{prefix}{name}" for name in _COUNTS))
        words = counts[:, 3]
        wrong = np.minimum(counts[:, :3].sum(axis=1), words)
        if (total := float(words.sum())) == 0.0:
            return Estimate(math.nan, None, None, len(words), none(empty).method)
        interval = ratio(wrong, words, clusters, most=1.0)
        return Estimate(float(wrong.sum()) / total, interval.lower, interval.upper, len(words), interval.method)

    return estimate


def trimmed_names(metrics: Iterable[str]) -> list[str]:
    """The trimmed rates that can be asked of what is measured by ``metrics``, whether or not an answer runs away."""
    return [f"{metric}_trimmed" for metric in metrics if metric in TRIMMABLE]


def trimmed(metric: str, statistics: Sequence[Statistics]) -> str:
    """The name of ``metric`` trimmed where some of its answers run away; "" for others, and where none does."""
    if (prefix := TRIMMABLE.get(metric)) is None or not statistics:
        return ""
    try:
        counts = estimates.columns(statistics, metric, *(f"{prefix}{name}" for name in _COUNTS))
    except UsageError:
        return ""
    return f"{metric}_trimmed" if runaways(counts[:, :3].sum(axis=1), counts[:, 3]) else ""


def _rates(metric: str, prefix: str, unit: str, token: str) -> Iterator[MetricKind]:
    wrong, all_ = tuple(f"{prefix}{name}" for name in "SDI"), f"{prefix}N"
    yield estimates.ratio_kind(
        metric,
        "lower",
        unit,
        wrong,
        (all_,),
        f"the references hold no {token}s",
        f"Corpus {token} error rate: sum(S + D + I) / sum(N), not the mean of the samples' rates. No {token}s in all "
        "references is no rate: NaN.",
    )
    per_sample = f"(S + D + I) / max(N, 1); a reference without {token}s gives the number of insertions"
    yield MetricKind(
        f"{metric}_mean",
        "lower",
        unit,
        _of_rates(f"{metric}_mean", prefix, lambda rates: rates),
        lambda sample: (rate(sample, prefix), 1.0),
        f"The mean of the samples' own rates, {per_sample}. One runaway answer to a short reference can decide it.",
    )
    yield MetricKind(
        f"{metric}_capped",
        "lower",
        unit,
        _of_rates(f"{metric}_capped", prefix, lambda rates: np.minimum(rates, 1.0), most=1.0),
        lambda sample: (min(rate(sample, prefix), 1.0), 1.0),
        f"The mean of the samples' own rates, each at most 1: {per_sample}. No answer weighs more than an empty one.",
    )
    yield MetricKind(
        f"{metric}_trimmed",
        "lower",
        unit,
        _trimmed(f"{metric}_trimmed", prefix, f"the references hold no {token}s"),
        lambda sample: (min(sum(sample[name] for name in wrong), sample[all_]), sample[all_]),
        f"The corpus {token} error rate with the errors of each answer trimmed to the {token}s of its reference: "
        f"sum(min(S + D + I, N)) / sum(N). No answer weighs more than an empty one; no {token}s in all references is "
        "NaN.",
    )
    yield MetricKind(
        f"{metric}_over_one",
        "lower",
        SHARE,
        _of_rates(f"{metric}_over_one", prefix, lambda rates: (rates > 1.0).astype(np.float64), share=True),
        lambda sample: (float(rate(sample, prefix) > 1.0), 1.0),
        f"The share of samples whose own rate is above 1, that is with more errors than the reference has {token}s: "
        "runaway answers.",
    )


def _information_lost(statistics: Sequence[Statistics], clusters: Clusters, metric: str = "wil") -> Estimate:
    """1 - H/N × H/P over sums of hits H, reference words N and words said P."""
    if not statistics:
        return estimates.nothing()
    replaced, deleted, inserted, words = estimates.columns(statistics, metric, *_COUNTS).T
    counts = np.stack([words - replaced - deleted, words, words - deleted + inserted], axis=1)
    if counts.sum() == 0.0:
        return Estimate(math.nan, None, None, len(words), none("neither references nor answers hold words").method)
    long = max(float(words.mean()), 1.0)
    ends = np.array([long, long, long]), np.array([0.0, long, long])
    interval = linearised(counts, _lost_of, ends, clusters)
    return Estimate(_lost_of(counts.sum(axis=0))[0], interval.lower, interval.upper, len(words), interval.method)


def _information_preserved(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    lost = _information_lost(statistics, clusters, "wip")
    ends = [None if end is None else 1.0 - end for end in (lost.upper, lost.lower)]
    return lost._replace(value=1.0 - lost.value, lower=ends[0], upper=ends[1])


def _lost_of(sums: Floats) -> tuple[float, Floats]:
    """1 - H/N × H/P of (H, N, P), and its slopes."""
    hits, words, said = map(float, sums)
    if hits == 0.0:
        return 1.0, np.zeros(3)
    preserved = hits * hits / (words * said)
    return 1.0 - preserved, -preserved * np.array([2.0 / hits, -1.0 / words, -1.0 / said])


def _share_lost(sums: Floats) -> Floats:
    """1 - H/N × H/P of sums of S, D, I and N, shape (r, 4); NaN where neither side has words."""
    replaced, deleted, inserted, words = sums.T
    hits, said = words - replaced - deleted, words - deleted + inserted
    preserved = np.divide(hits * hits, words * said, out=np.zeros(len(sums)), where=words * said > 0.0)
    return np.where(words + said > 0.0, 1.0 - preserved, np.nan)


_LOST = estimates.sums_of("wil", _COUNTS, _share_lost)
_PRESERVED = estimates.sums_of("wip", _COUNTS, lambda sums: 1.0 - _share_lost(sums))


def _without_reference(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    if not statistics:
        return estimates.nothing()
    words = estimates.columns(statistics, "empty_references", "N")[:, 0]
    return Estimate(float((words == 0.0).sum()), None, None, len(words), none("a count").method)


SET = "set "
"""Before the name of the set that a sample is of, in the name of a statistic that is 1."""


def _macro_rate(sums: Floats) -> Floats:
    """The mean of the word error rates of sets, of sums of errors and words in turn, shape (r, 2 × sets)."""
    rates = estimates.quotient(sums[:, 0::2], sums[:, 1::2])
    measured = ~np.isnan(rates)
    return estimates.quotient(np.where(measured, rates, 0.0).sum(axis=1), measured.sum(axis=1).astype(np.float64))


def _by_set(statistics: Sequence[Statistics]) -> Sums | str:
    sets = [next((name for name in sample if name.startswith(SET)), SET) for sample in statistics]
    places = {name: 2 * place for place, name in enumerate(sorted(set(sets)))}
    counts = estimates.columns(statistics, "wer_macro", *_COUNTS)
    wrong, words = counts[:, :3].sum(axis=1).tolist(), counts[:, 3].tolist()
    rows: list[Row] = [
        tuple((places[name] + part, value) for part, value in enumerate(pair) if value)
        for name, pair in zip(sets, zip(wrong, words, strict=True), strict=True)
    ]
    return Sums(Rows(rows, 2 * len(places)), _macro_rate)


WORDS_PER_ANSWER = "words per answer"


_DELTA = estimates.of_form(
    estimates.sums_of("token_delta", ("delta", "one"), lambda sums: np.divide(sums[:, 0], np.maximum(sums[:, 1], 1.0)))
)

KINDS = (
    *_rates("wer", TRIMMABLE["wer"], WORD_ERRORS, "word"),
    *_rates("cer", TRIMMABLE["cer"], CHARACTER_ERRORS, "character"),
    *estimates.ratio_kinds(
        {
            ("mer", "lower", SHARE, ("S", "D", "I"), ("N", "I"), "neither references nor answers hold words"): (
                "Match error rate (Morris et al. 2004): sum(S + D + I) / sum(N + I), between 0 and 1. It needs the "
                "split of errors, which is jiwer's. No words on either side is NaN."
            ),
            ("per", "lower", PHONE_ERRORS, ("S", "D", "I"), ("N",), "the references hold no phones"): (
                "Corpus phone error rate: sum(S + D + I) / sum(N) over phone tokens; the scorer says which set they "
                "are folded to. An answer without phones is all deletions; no phones in all references is NaN."
            ),
            ("other_tokens", "lower", SHARE, ("other",), ("said",), "the answers hold no tokens"): (
                "The share of all answers' tokens that are no phones (words, letters of another alphabet): near 1 "
                "where another task was done. No tokens in all answers is NaN."
            ),
            ("cpwer", "lower", WORD_ERRORS, ("S", "D", "I"), ("N",), "the references hold no words"): (
                "Concatenated minimum-permutation word error rate: sum(S + D + I) / sum(N) over the best assignment of "
                "heard to true talkers in every sample; talkers left over are deleted or inserted whole (CHiME-6; "
                "meeteval). An answer without words is all deletions; no words in all references is NaN."
            ),
            ("osr_wer", "lower", WORD_ERRORS, ("S", "D", "I"), ("N",), "the references hold no words"): (
                "Word error rate of overlapped speech: sum(S + D + I) / sum(N) over the best permutation in every "
                "sample that the protocol scores. No words in all references is NaN."
            ),
            ("insertion_rate", "lower", WORD_ERRORS, ("I",), ("N",), "the references hold no words"): (
                "Inserted words per word of the references: sum(I) / sum(N), of a shortest alignment. Corpus-wide, "
                "not the mean of the samples' rates."
            ),
        }
    ),
    estimates.summed_kind(
        "wer_macro",
        "lower",
        WORD_ERRORS,
        _by_set,
        "The mean over sets of their corpus word error rates, where a short set weighs as much as a long one; a set "
        "is named by its samples' metadata. Samples of one set have its word error rate. No words at all is NaN.",
    ),
    MetricKind(
        "wil",
        "lower",
        SHARE,
        _information_lost,
        summed=_LOST,
        sample_score=estimates.of_sample(_LOST),
        about="Word information lost (Morris et al. 2004): 1 - H/N × H/P over the sums of hits H = N - S - D, words of "
        "the references N and words said P = N - D + I. It needs the split of errors, which is jiwer's. "
        "Words on one side only is 1, on neither NaN.",
    ),
    MetricKind(
        "wip",
        "higher",
        SHARE,
        _information_preserved,
        summed=_PRESERVED,
        sample_score=estimates.of_sample(_PRESERVED),
        about="Word information preserved (Morris et al. 2004): H/N × H/P, what word information lost leaves of 1. "
        "Words on one side only is 0, on neither NaN.",
    ),
    MetricKind(
        "empty_references",
        "lower",
        "utterances",
        _without_reference,
        about="How many samples have a reference without words, once normalised. Pooled rates take their insertions "
        "and no words.",
    ),
    *estimates.mean_kinds(
        {
            ("one_talker", "higher", SHARE, "one_talker"): "The share of scored answers that were split into one "
            "talker.",
            ("two_talkers", "higher", SHARE, "two_talkers"): "The share of scored answers that were split into two "
            "talkers.",
            ("more_talkers", "higher", SHARE, "more_talkers"): "The share of scored answers that were split into "
            "three talkers or more.",
            ("talkers_right", "higher", SHARE, "talkers_right"): "The share of scored answers with as many talkers as "
            "there are.",
            ("hallucination_rate", "lower", SHARE, "hallucinated"): "The share of clips without speech that were "
            "answered with words. What counts as a word is the scorer's to say.",
            ("inserted_tokens", "lower", WORDS_PER_ANSWER, "inserted"): "The mean number of words with which clips "
            "without speech were answered; none counts as 0. One runaway answer can decide it.",
            ("silent_rate", "higher", SHARE, "silent"): "The share of clips without speech whose answer holds no "
            "word: nothing at all, or a marker for nothing.",
            ("declined_rate", "higher", SHARE, "declined"): "The share of clips without speech that were answered by "
            "a plain statement that nobody speaks. It is neither a hallucinated transcript nor an empty one: the "
            "three rates add up to 1.",
            ("truncation_rate", "lower", SHARE, "stopped_early"): "The share of answers that stop before the "
            "reference does: some words are said, and no way to match them with the reference by the fewest edits "
            "uses its last word.",
            ("longer_rate", "lower", SHARE, "longer"): "The share of answers with more words than their reference, "
            "whatever the words.",
            ("shorter_rate", "lower", SHARE, "shorter"): "The share of answers with fewer words than their reference, "
            "an empty one too.",
        }
    ),
    MetricKind(
        "token_delta",
        "lower",
        WORDS_PER_ANSWER,
        _DELTA,
        about="The mean of the answers' words less their references': above 0 where more is said than was spoken, "
        "below where less is. Both cancel out, so it is no measure of quality.",
    ),
)
