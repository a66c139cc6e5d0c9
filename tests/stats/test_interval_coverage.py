"""Simulated coverage: a 95 % interval holds the truth in 95 % of repetitions, or more, within two standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_audiobench.stats.intervals import Interval, mean, proportion, ratio, wilson

REPETITIONS = 500
# Two standard errors of a share of 0.95 over the repetitions.
LEAST = 0.95 - 2 * math.sqrt(0.95 * 0.05 / REPETITIONS)


def holds(interval: Interval, truth: float) -> bool:
    return interval.lower is not None and interval.upper is not None and interval.lower <= truth <= interval.upper


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize(("low", "high"), [(0.05, 0.35), (0.35, 0.65), (0.65, 0.95)])
def test_wilson_covers_a_share(n, low, high):
    # At one n and one share the coverage of any interval for whole counts swings about its mean
    # (Brown, Cai and DasGupta 2001), so the truth is drawn anew each time.
    rng = np.random.default_rng([n, int(100 * low)])
    truths = rng.uniform(low, high, REPETITIONS)
    hits = sum(holds(proportion(rng.random(n) < truth), truth) for truth in truths)
    assert hits / REPETITIONS >= LEAST


@pytest.mark.parametrize("n", [30, 100, 400])
def test_wilson_covers_every_share_from_5_to_95_percent_nearly(n):
    """Exactly, by the binomial distribution: never below 91 %, and 95 % on average."""
    intervals = [wilson(successes, n) for successes in range(n + 1)]
    shares = np.linspace(0.05, 0.95, 181)
    inside = np.array([[holds(interval, share) for interval in intervals] for share in shares])
    covered = (stats.binom.pmf(np.arange(n + 1), n, shares[:, None]) * inside).sum(axis=1)
    assert covered.min() > 0.91
    assert covered.mean() == pytest.approx(0.95, abs=0.006)


@pytest.mark.parametrize(("clusters", "largest"), [(30, 3), (60, 4), (100, 3), (200, 2)])
@pytest.mark.parametrize("truth", [0.25, 0.55, 0.8])
@pytest.mark.parametrize("correlation", [0.1, 0.5])
def test_the_clustered_interval_covers_a_share(clusters, largest, truth, correlation):
    rng = np.random.default_rng([clusters, int(100 * truth), int(10 * correlation)])
    strength = 1 / correlation - 1
    hits = 0
    for _ in range(REPETITIONS):
        sizes = rng.integers(1, largest + 1, clusters)
        names = np.repeat(np.arange(clusters), sizes)
        rates = rng.beta(truth * strength, (1 - truth) * strength, clusters)
        hits += holds(proportion(rng.random(len(names)) < rates[names], names.tolist()), truth)
    assert hits / REPETITIONS >= LEAST


def test_taking_clustered_samples_for_independent_ones_would_not_cover():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(REPETITIONS):
        answers = np.repeat(rng.random(50) < 0.6, 8)
        hits += holds(proportion(answers), 0.6)
    assert hits / REPETITIONS < 0.7


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_t_interval_covers_a_mean_of_bounded_scores(n, clustered):
    rng = np.random.default_rng([n, clustered])
    names = list(range(n)) if not clustered else [i // 2 for i in range(2 * n)]
    hits = 0
    for _ in range(REPETITIONS):
        own = rng.beta(3, 2, n)
        scores = own if not clustered else np.clip(np.repeat(own, 2) + rng.normal(0, 1e-3, 2 * n), 0, 1)
        hits += holds(mean(scores, names, bounds=(0, 1)), 0.6)
    assert hits / REPETITIONS >= LEAST


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3])
def test_the_ratio_interval_covers_a_word_error_rate(n, rate):
    rng = np.random.default_rng([n, int(1000 * rate)])
    hits = 0
    for _ in range(REPETITIONS):
        words = rng.integers(3, 25, n)
        hits += holds(ratio(rng.binomial(words, rate), words), rate)
    assert hits / REPETITIONS >= LEAST


@pytest.mark.parametrize("speakers", [30, 100, 400])
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3])
def test_the_ratio_interval_nearly_covers_the_rate_of_speakers_who_differ(speakers, rate):
    rng = np.random.default_rng([speakers, int(1000 * rate), 1])
    hits = 0
    for _ in range(REPETITIONS):
        names = np.repeat(np.arange(speakers), rng.integers(1, 4, speakers))
        words = rng.integers(3, 25, len(names))
        rates = rng.beta(20 * rate, 20 * (1 - rate), speakers)[names]
        hits += holds(ratio(rng.binomial(words, rates), words, names.tolist()), rate)
    # 4000 repetitions give 93.8 to 95.6 %.
    assert hits / REPETITIONS >= LEAST - 0.012
