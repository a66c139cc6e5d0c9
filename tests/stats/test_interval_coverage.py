"""Simulated coverage: where an interval is printed it holds the truth in 93 % of repetitions or more.

Nominal is 95 %; two points are allowed, and two standard errors of the simulation. The full study, over many more
shapes, is ``benchmarks/coverage.py``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.intervals import Interval, exact, mean_interval, proportion, ratio
from pytest_audiobench.stats.prediction_powered import corrected_mean

REPETITIONS = 400


def slow(*values):
    """Values of a parameter that only the long run tries."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def least(repetitions):
    return 0.93 - 2 * math.sqrt(0.93 * 0.07 / repetitions)


def holds(interval: Interval, truth: float) -> bool:
    return interval.lower is not None and interval.upper is not None and interval.lower <= truth <= interval.upper


@pytest.mark.parametrize("n", [1, 5, 30, 100, 400])
def test_every_share_is_covered_at_every_n(n):
    """Exactly, by the binomial distribution: never below 95 %, also for rare shares, where Wilson's covers 84 %."""
    intervals = [exact(successes, n) for successes in range(n + 1)]
    shares = np.concatenate([np.linspace(0.0001, 0.05, 250), np.linspace(0.05, 0.95, 181)])
    inside = np.array([[holds(interval, share) for interval in intervals] for share in shares])
    covered = (stats.binom.pmf(np.arange(n + 1), n, shares[:, None]) * inside).sum(axis=1)
    assert covered.min() > 0.9499


@pytest.mark.parametrize("clusters", [5, 100, *slow(30)])
@pytest.mark.parametrize("largest", [40, *slow(3)])
@pytest.mark.parametrize(("truth", "correlation"), [(0.6, 0.1), (0.8, 0.5), (0.95, 0.5), (0.99, 0.5)])
def test_a_clustered_share_is_covered_also_where_clusters_are_few_and_unequal_and_the_share_is_rare(
    clusters, largest, truth, correlation
):
    rng = np.random.default_rng([clusters, largest, int(100 * truth)])
    strength = 1 / correlation - 1
    hits = 0
    for _ in range(REPETITIONS):
        sizes = np.exp(rng.uniform(0, math.log(largest + 1), clusters)).astype(int)
        names = np.repeat(np.arange(clusters), sizes)
        rates = rng.beta(truth * strength, (1 - truth) * strength, clusters)
        hits += holds(proportion(rng.random(len(names)) < rates[names], names.tolist()), truth)
    assert hits / REPETITIONS >= least(REPETITIONS)


def test_taking_clustered_samples_for_independent_ones_would_not_cover():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(REPETITIONS):
        answers = np.repeat(rng.random(50) < 0.6, 8)
        hits += holds(proportion(answers), 0.6)
    assert hits / REPETITIONS < 0.7


@pytest.mark.parametrize("n", [3, 100, *slow(30)])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(
    ("shape", "truth"),
    [
        (lambda rng, n: rng.beta(3, 2, n), 0.6),
        (lambda rng, n: np.where(rng.random(n) < 0.8, 1.0, rng.random(n)), 0.9),
        (lambda rng, n: np.where(rng.random(n) < 0.02, 0.0, rng.beta(95, 5, n)), 0.931),
        (lambda rng, n: rng.beta(0.1, 1.9, n), 0.05),
    ],
    ids=["even", "mostly 1", "rarely 0", "skewed"],
)
def test_a_mean_of_bounded_scores_is_covered_also_where_they_are_skewed(n, clustered, shape, truth):
    rng = np.random.default_rng([n, clustered])
    names = [i // 2 for i in range(2 * n)] if clustered else None
    hits = 0
    for _ in range(REPETITIONS):
        own = shape(rng, n)
        hits += holds(mean_interval(np.repeat(own, 2) if clustered else own, names), truth)
    assert hits / REPETITIONS >= least(REPETITIONS)


@pytest.mark.parametrize("n", [5, 100, *slow(30, 400)])
@pytest.mark.parametrize(
    ("rates", "truth"),
    [
        (lambda rng, n: np.full(n, 0.01), 0.01),
        (lambda rng, n: np.full(n, 0.3), 0.3),
        (lambda rng, n: rng.beta(0.3, 5.7, n), 0.05),
        (lambda rng, n: np.where(rng.random(n) < 0.02, 1.0, 0.02), 0.0396),
    ],
    ids=["1 %", "30 %", "differing", "1 in 50 empty"],
)
def test_a_word_error_rate_is_covered_also_where_a_few_answers_are_empty(n, rates, truth):
    rng = np.random.default_rng([n, int(1000 * truth)])
    hits = 0
    for _ in range(REPETITIONS):
        words = np.ceil(np.exp(rng.normal(2.2, 0.7, n))).astype(int)
        hits += holds(ratio(rng.binomial(words, rates(rng, n)), words), truth)
    assert hits / REPETITIONS >= least(REPETITIONS)


@pytest.mark.parametrize("speakers", [5, 100, *slow(10, 30)])
def test_a_word_error_rate_of_speakers_who_differ_is_covered(speakers):
    rng = np.random.default_rng([speakers, 1])
    hits = 0
    for _ in range(REPETITIONS):
        names = np.repeat(np.arange(speakers), rng.integers(1, 13, speakers))
        words = rng.integers(3, 25, len(names))
        hits += holds(ratio(rng.binomial(words, rng.beta(1, 9, speakers)[names]), words, names.tolist()), 0.1)
    assert hits / REPETITIONS >= least(REPETITIONS)


def test_no_interval_knows_of_runaways_that_are_not_among_the_samples_and_it_says_so():
    rng = np.random.default_rng(4)
    words = np.full(30, 10)
    found = ratio(rng.binomial(words, 0.05), words)
    assert found.method == "gamma 95 %, 30 samples, none unseen beyond 1"


@pytest.mark.parametrize("longest", [60, 400])
def test_a_word_error_rate_is_covered_where_a_runaway_is_among_the_answers_and_always_without_their_tails(longest):
    def drawn(count):
        words = rng.integers(5, 41, count)
        loops = np.exp(rng.uniform(math.log(20.0), math.log(longest), count))
        return rng.binomial(words, rng.beta(1, 9, count)) + np.where(rng.random(count) < 0.01, loops, 0.0), words

    rng = np.random.default_rng(longest)
    many, words = drawn(500_000)
    whole, without = many.sum() / words.sum(), np.minimum(many, words).sum() / words.sum()
    hits, trimmed = [], 0
    for _ in range(REPETITIONS):
        errors, words = drawn(200)
        trimmed += holds(ratio(np.minimum(errors, words), words, most=1.0), without)
        found = ratio(errors, words)
        if "runaway" in found.method:
            hits.append(holds(found, whole))
    assert len(hits) > REPETITIONS / 3
    assert sum(hits) / len(hits) >= least(len(hits))
    assert trimmed / REPETITIONS >= least(REPETITIONS)


@pytest.mark.parametrize("name", ["macro_f1", *slow("balanced_accuracy", "cohen_kappa")])
@pytest.mark.parametrize(
    ("n", "shares"), [(20, (9, 1)), (50, (1, 1)), (50, (6, 3, 1, 1)), (100, (9, 1)), (100, (2, 1, 1))]
)
def test_numbers_of_labels_are_covered_where_they_are_printed_also_with_rare_labels(name, n, shares):
    repetitions, rng = 60, np.random.default_rng([n, *shares])
    k, prior = len(shares), np.array(shares) / sum(shares)
    held = printed = 0
    big = metric_kind(name).estimate(_answers(rng, 60_000, k, prior), None).value
    for _ in range(repetitions):
        found = metric_kind(name).estimate(_answers(rng, n, k, prior), None)
        if found.lower is not None:
            printed += 1
            held += holds(Interval(found.lower, found.upper, ""), big)
    assert printed > repetitions / 2
    assert held / printed >= least(printed)


def _answers(rng, n, k, prior):
    true = rng.choice(k, n, p=prior)
    said = np.where(rng.random(n) < 0.9, true, (true + 1) % k)
    names = [str(label) for label in range(k)]
    return [label_statistics(names, [names[t]], [names[s]]) for t, s in zip(true, said, strict=True)]


@pytest.mark.parametrize("others", [500, *slow(5000)])
@pytest.mark.parametrize("labels", [30, 200, *slow(60)])
@pytest.mark.parametrize(
    ("truth", "of_right", "of_wrong"), [(0.8, 0.0, 0.0), (0.8, 0.03, 0.03), (0.7, 0.05, 0.4), (0.7, 0.2, 0.8)]
)
def test_a_corrected_score_is_covered_whatever_the_judge_is_worth_and_never_wider_than_by_labels_alone(
    labels, others, truth, of_right, of_wrong
):
    rng = np.random.default_rng([labels, others, int(100 * of_wrong)])
    mask = (np.arange(labels + others) < labels).astype(float)
    hits, widths, repetitions = 0, np.zeros(2), 5 * REPETITIONS
    for _ in range(repetitions):
        right = (rng.random(labels + others) < truth).astype(float)
        wrong_verdict = rng.random(labels + others) < np.where(right > 0, of_right, of_wrong)
        interval = corrected_mean(np.where(wrong_verdict, 1.0 - right, right), right * mask, mask).interval
        alone = mean_interval(right[:labels])
        hits += holds(interval, truth)
        widths += interval.upper - interval.lower, alone.upper - alone.lower
    assert hits / repetitions >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / repetitions)
    assert widths[0] <= 1.01 * widths[1]


@pytest.mark.parametrize("speakers", [40, *slow(20, 200)])
def test_a_corrected_score_is_covered_where_answers_of_a_speaker_are_alike(speakers):
    rng = np.random.default_rng(speakers)
    names = np.repeat(np.arange(8 * speakers), 5)
    mask = (names < speakers).astype(float)
    hits = 0
    for _ in range(REPETITIONS):
        right = (rng.random(len(names)) < rng.beta(2.1, 0.9, 8 * speakers)[names]).astype(float)
        figures = np.where(rng.random(len(names)) < np.where(right > 0, 0.05, 0.4), 1.0 - right, right)
        hits += holds(corrected_mean(figures, right * mask, mask, names.tolist()).interval, 0.7)
    assert hits / REPETITIONS >= least(REPETITIONS)
