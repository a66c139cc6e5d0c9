"""Paired differences of shares and of ratios of sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.stats.paired import paired_difference


def test_it_is_the_paired_t_interval_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(0)
    left, right = generator.normal(0.6, 1, 40), generator.normal(0.2, 1, 40)
    found = paired_difference(left - right, np.ones(40))
    expected = stats.ttest_rel(left, right).confidence_interval(0.95)
    assert found.value == pytest.approx(float((left - right).mean()))
    assert (found.interval.lower, found.interval.upper) == pytest.approx((expected.low, expected.high))


def test_a_difference_of_word_error_rates_weighs_samples_by_their_words():
    found = paired_difference([2.0, 0.0, -1.0], [10.0, 5.0, 5.0])
    assert found.value == pytest.approx(1 / 20)


@pytest.mark.parametrize("every", [-1.0, 0.0, 1.0])
def test_pairs_that_all_agree_do_not_claim_certainty(every):
    found = paired_difference([every] * 50, [1.0] * 50)
    assert found.value == every
    assert found.interval.lower < found.interval.upper
    assert found.interval.lower <= every <= found.interval.upper
    assert found.interval.lower >= -1.0
    assert found.interval.upper <= 1.0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_pairs_that_all_improved_prove_nothing(count):
    assert paired_difference([1.0] * count, [1.0] * count).interval.lower <= 0.0


def test_word_errors_without_any_spread_have_no_interval():
    found = paired_difference([0.0] * 9, [7.0] * 9)
    assert (found.value, found.interval.lower) == (0.0, None)
    assert "no pair differs" in found.interval.method


def test_nothing_to_compare_is_no_number():
    assert math.isnan(paired_difference([], []).value)
    assert math.isnan(paired_difference([0.0], [0.0]).value)


def test_clusters_widen_the_interval():
    differences = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    alone = paired_difference(differences, [1.0] * 12).interval
    together = paired_difference(differences, [1.0] * 12, list("aaaabbbbccdd")).interval
    assert together.upper - together.lower > alone.upper - alone.lower


@given(st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.just(1.0)), min_size=2, max_size=60))
def test_the_interval_holds_its_value_and_turns_with_the_sign(pairs):
    tops, bottoms = [d for d, _ in pairs], [b for _, b in pairs]
    there, back = paired_difference(tops, bottoms), paired_difference([-d for d in tops], bottoms)
    assert there.interval.lower <= there.value <= there.interval.upper
    assert (back.interval.lower, back.interval.upper) == pytest.approx((-there.interval.upper, -there.interval.lower))


def test_an_unchanged_model_is_rarely_found_to_have_gained():
    generator = np.random.default_rng(1)
    flips = [generator.choice([-1.0, 0.0, 1.0], size=120, p=[0.05, 0.9, 0.05]) for _ in range(2000)]
    wrong = sum(paired_difference(one, np.ones(120)).interval.lower > 0 for one in flips)
    # 2.5 % a side, with two standard errors of this simulation.
    assert wrong / 2000 <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / 2000)
