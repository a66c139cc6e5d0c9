from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_audiobench.stats.intervals import (
    Interval,
    beta_bound,
    exact,
    gamma_bound,
    mean_interval,
    proportion,
    ratio,
    standard_error,
)

ones = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=60)


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 30), (1, 30), (23, 30), (30, 30), (9767, 10000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_exact_interval_of_a_share_is_scipys(successes, trials, confidence):
    expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    assert exact(successes, trials, confidence)[:2] == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_scipy_takes_no_room_from_the_patterns_that_normalisers_keep_compiled():
    code = (
        "import re; before = re._MAXCACHE; import sys; from pytest_audiobench.stats.intervals import exact; "
        "assert 'scipy' not in sys.modules; exact(1, 2); assert 'scipy.special' in sys.modules; "
        "assert re._MAXCACHE >= before, re._MAXCACHE"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SHAPES = [0.05, 0.3, 1.0, 1.7, 12.0, 350.0, 20_000.0]
TAILS = np.array([0.005, 0.025, 0.5, 0.975])


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_a_bound_between_two_ends_is_the_quantile_of_the_beta_distribution_of_its_mean_and_variance(a, b):
    beta = stats.beta(a, b)
    bounds = [beta_bound(a / (a + b), a * b / (a + b) ** 2 / (a + b + 1.0), tail) for tail in TAILS]
    assert bounds == pytest.approx(beta.ppf(TAILS), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_bound_without_an_upper_end_is_the_quantile_of_the_gamma_distribution_of_its_mean_and_variance(shape):
    gamma = stats.gamma(shape, scale=3.0)
    bounds = [gamma_bound(3.0 * shape, 9.0 * shape, tail) for tail in TAILS]
    assert bounds == pytest.approx(gamma.ppf(TAILS), rel=1e-7, abs=1e-12)


@given(ones)
def test_a_mean_of_ones_and_zeros_is_a_share(values):
    assert mean_interval(values)[:2] == pytest.approx(proportion(values)[:2], abs=1e-9)


def test_a_mean_of_bounded_scores_holds_what_random_weights_and_one_more_score_give():
    rng = np.random.default_rng(5)
    scores = rng.beta(2, 1, 40)
    weights = rng.dirichlet(np.ones(41), 200_000)
    lower = np.quantile(weights @ [*scores, 0.0], 0.025)
    upper = np.quantile(weights @ [*scores, 1.0], 0.975)
    assert mean_interval(scores)[:2] == pytest.approx((lower, upper), abs=0.003)


def test_a_mean_is_moved_and_scaled_with_its_bounds():
    scores = np.array([0.2, 0.4, 0.9, 1.0])
    there, here = mean_interval(scores), mean_interval(2 * scores - 1, bounds=(-1.0, 1.0))
    assert here[:2] == pytest.approx((2 * there.lower - 1, 2 * there.upper - 1))


@given(ones)
def test_clusters_that_never_repeat_change_nothing(values):
    names = list(range(len(values)))
    assert proportion(values, names) == proportion(values)
    assert mean_interval(values, names) == mean_interval(values)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 5)), min_size=1, max_size=60))
def test_a_share_lies_in_its_interval_and_the_interval_in_0_to_1(rows):
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    found = proportion(values, clusters)
    if found.lower is None or found.upper is None:
        assert len(set(clusters)) < 2
        assert found == Interval(None, None, "no interval: 1 cluster, 2 needed")
    else:
        assert 0.0 <= found.lower <= np.mean(values) + 1e-12
        assert np.mean(values) - 1e-12 <= found.upper <= 1.0
        assert found.lower < found.upper


@given(ones.filter(lambda values: len(values) >= 2), st.integers(2, 4))
def test_asking_each_sample_again_does_not_narrow_the_interval(values, times):
    clusters = list(range(len(values)))
    once, again = proportion(values), proportion(values * times, clusters * times)
    assert again.lower is not None
    assert again.upper is not None
    assert again.upper - again.lower >= once.upper - once.lower - 1e-9


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.integers(0, 8)), min_size=2, max_size=60))
def test_a_ratio_lies_in_its_interval(rows):
    errors, words, clusters = zip(*rows, strict=True)
    found = ratio(errors, words, clusters)
    if found.lower is not None and found.upper is not None:
        assert 0.0 <= found.lower <= sum(errors) / sum(words) * (1 + 1e-9)
        assert sum(errors) / sum(words) * (1 - 1e-9) <= found.upper


def test_the_order_of_samples_does_not_matter():
    rng = np.random.default_rng(11)
    values, clusters = rng.integers(0, 2, 50), rng.integers(0, 9, 50)
    order = rng.permutation(50)
    assert proportion(values, list(clusters))[:2] == pytest.approx(
        proportion(values[order], list(clusters[order]))[:2], abs=1e-9
    )


def test_equal_scores_claim_no_more_than_as_many_trials_as_clusters():
    found = proportion([1.0] * 40, ["a", "b", "c", "d"] * 10)
    assert found[:2] == pytest.approx(exact(4, 4)[:2])
    assert found.method == "beta 95 %, 4 clusters"
    assert mean_interval([1.0] * 12)[:2] == pytest.approx(exact(12, 12)[:2])


def test_a_transcription_without_error_is_not_certainty():
    found = ratio([0] * 30, [8] * 30)
    assert found.lower == 0.0
    assert found.upper == pytest.approx(exact(0, 30).upper, abs=0.02)
    assert found.method == "gamma 95 %, 30 samples, none unseen beyond 1"


def test_an_error_rate_reckons_with_one_more_answer_as_bad_as_the_worst_seen_and_twice_as_long_as_a_runaway():
    clean, bad, runaway = [1] * 29, [1] * 28 + [18], [1] * 28 + [90]
    assert ratio(bad, [9] * 29).method == "gamma 95 %, 29 samples, none unseen beyond 2"
    assert ratio(runaway, [9] * 29).method == "gamma 95 %, 29 samples, 1 runaway, none unseen beyond 20"
    assert ratio(runaway, [9] * 29).upper > 3 * ratio(clean, [9] * 29).upper


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (exact(0, 0), "no samples"),
        (proportion([]), "no samples"),
        (proportion([1, 0, 1], ["a", "a", "a"]), "1 cluster, 2 needed"),
        (mean_interval([]), "no samples"),
        (mean_interval([0.4, 0.5], ["a", "a"]), "1 cluster, 2 needed"),
        (mean_interval([0.4, 1.5]), "a value is beyond 0 to 1"),
        (mean_interval([0.4, math.nan, 0.5]), "a value is not finite"),
        (mean_interval([3.0] * 19, bounds=(0.0, math.inf)), "19 samples, 20 needed"),
        (mean_interval([0.0] * 20, bounds=(0.0, math.inf)), "all samples have the same score"),
        (ratio([], []), "the denominators add up to nothing"),
        (ratio([2, 1], [0, 0]), "the denominators add up to nothing"),
        (ratio([1, 2, 3, 4], [9, 9, 9, 9]), "4 samples, 5 needed"),
        (ratio([1, math.inf], [9, 4]), "a value is not finite"),
        (ratio([1, 2], [9, math.nan]), "a value is not finite"),
    ],
)
def test_where_there_is_no_interval_the_method_says_why(found, reason):
    assert found == Interval(None, None, f"no interval: {reason}")


def test_one_sample_has_an_interval():
    assert proportion([1])[:2] == pytest.approx((0.025, 1.0))


def test_as_many_cluster_names_as_samples_are_asked_for():
    with pytest.raises(ValueError, match="3 samples have 2 cluster names"):
        proportion([1, 0, 1], ["a", "b"])


def test_the_standard_error_of_one_cluster_is_unknown():
    assert math.isnan(standard_error([1, 0], ["a", "a"]))
