from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_audiobench.stats.intervals import Interval, mean, proportion, ratio, standard_error, wilson

ones = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=60)


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 30), (23, 30), (30, 30), (767, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_is_scipys(successes, trials, confidence):
    expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert wilson(successes, trials, confidence)[:2] == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_mean_of_independent_scores_is_scipys_t_interval():
    scores = np.random.default_rng(5).uniform(size=40)
    expected = stats.t.interval(0.95, 39, loc=scores.mean(), scale=stats.sem(scores))
    found = mean(scores)
    assert found[:2] == pytest.approx(expected, abs=1e-12)
    assert found.method == "t 95 %, 40 samples"


@given(ones)
def test_clusters_that_never_repeat_change_nothing(values):
    names = list(range(len(values)))
    assert proportion(values, names) == proportion(values)
    assert mean(values, names) == mean(values)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 5)), min_size=1, max_size=60))
def test_a_share_lies_in_its_interval_and_the_interval_in_0_to_1(rows):
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    found = proportion(values, clusters)
    if found.lower is None or found.upper is None:
        assert len(set(clusters)) < 2
        assert found == Interval(None, None, "no interval: fewer than 2 clusters")
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
    assert again.upper - again.lower >= once.upper - once.lower - 1e-12


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
        proportion(values[order], list(clusters[order]))[:2], abs=1e-12
    )


def test_equal_scores_claim_no_more_than_as_many_trials_as_clusters():
    found = proportion([1.0] * 40, ["a", "b", "c", "d"] * 10)
    assert found[:2] == wilson(4, 4)[:2]
    assert found.method == "Wilson 95 % on 4 clusters, all of one score"
    assert mean([1.0] * 12)[:2] == wilson(12, 12)[:2]


def test_a_transcription_without_error_is_not_certainty():
    found = ratio([0] * 30, [8] * 30)
    assert found[:2] == wilson(0, 30)[:2]
    assert found.lower == 0.0
    assert found.upper is not None
    assert found.upper > 0.1


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (wilson(0, 0), "no samples"),
        (proportion([]), "no samples"),
        (proportion([1, 0, 1], ["a", "a", "a"]), "fewer than 2 clusters"),
        (mean([]), "no samples"),
        (mean([0.4]), "fewer than 2 samples"),
        (mean([0.4, 0.5], ["a", "a"]), "fewer than 2 clusters"),
        (mean([0.4, math.nan, 0.5]), "a value is not finite"),
        (mean([3.0, 3.0, 3.0]), "all samples have the same score"),
        (ratio([], []), "the denominators add up to nothing"),
        (ratio([2, 1], [0, 0]), "the denominators add up to nothing"),
        (ratio([1], [9]), "fewer than 2 samples"),
        (ratio([1, math.inf], [9, 4]), "a value is not finite"),
        (ratio([1, 2], [9, math.nan]), "a value is not finite"),
        (ratio([6, 4], [3, 2]), "all samples have the same score"),
    ],
)
def test_where_there_is_no_interval_the_method_says_why(found, reason):
    assert found == Interval(None, None, f"no interval: {reason}")


def test_one_sample_has_a_wilson_interval():
    assert proportion([1]).lower == pytest.approx(0.2065, abs=1e-4)


def test_a_mean_is_cut_to_its_bounds():
    assert mean([1.0, 1.0, 1.0, 0.0], bounds=(0.0, 1.0)).upper == 1.0


def test_as_many_cluster_names_as_samples_are_asked_for():
    with pytest.raises(ValueError, match="3 samples have 2 cluster names"):
        proportion([1, 0, 1], ["a", "b"])


def test_the_standard_error_of_one_cluster_is_unknown():
    assert math.isnan(standard_error([1, 0], ["a", "a"]))
