"""Right and wrong answers of independent samples: McNemar's test, and its inversion for a margin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.mcnemar import Flips, flips_drop

counts = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 300)).filter(lambda flips: sum(flips) > 0)


@pytest.mark.parametrize(("worse", "better"), [(0, 0), (1, 0), (0, 3), (5, 0), (7, 2), (9, 9), (4, 12)])
def test_without_a_margin_it_is_the_exact_binomial_test(worse, better):
    expected = stats.binomtest(worse, worse + better, alternative="greater").pvalue if worse + better else 1.0
    assert Flips(100, worse, better).p(0.0) == pytest.approx(expected, abs=1e-12)


def test_beyond_100_pairs_and_10_that_differ_the_outcome_counts_half():
    found = Flips(300, 14, 6)
    assert not found.exact
    assert found.p(0.0) == pytest.approx(stats.binom.sf(14, 20, 0.5) + 0.5 * stats.binom.pmf(14, 20, 0.5), abs=1e-12)


def test_small_probabilities_keep_their_digits():
    assert Flips(1000, 200, 20).p(0.0) == pytest.approx(
        stats.binom.sf(200, 220, 0.5) + 0.5 * stats.binom.pmf(200, 220, 0.5), rel=1e-6
    )


@pytest.mark.parametrize("pairs", [1, 12, 300, 5000])
def test_where_no_pair_differs_the_bound_is_that_of_none_in_so_many(pairs):
    found = flips_drop(pairs, 0, 0, Question(0.01))
    assert found.bound == pytest.approx(1.0 - 0.05 ** (1.0 / pairs), abs=1e-9)
    assert found.p == 1.0


def test_a_margin_is_what_a_drop_must_exceed():
    assert Flips(300, 12, 2).p(0.0) < 0.01
    assert 0.05 < Flips(300, 12, 2).p(0.02) < 0.5


@given(counts, st.floats(-0.9, 0.9), st.floats(-0.9, 0.9))
def test_p_grows_with_the_margin(flips, one, other):
    worse, better, ties = flips
    found = Flips(worse + better + ties, worse, better)
    small, large = sorted((one, other))
    assert found.p(small) <= found.p(large) + 1e-12


@given(counts)
def test_the_drop_lies_in_its_interval_and_exchanged_runs_turn_it_round(flips):
    worse, better, ties = flips
    pairs = worse + better + ties
    there, back = (flips_drop(pairs, *both, Question(0.0)) for both in ((worse, better), (better, worse)))
    assert -1.0 <= there.lower <= there.value <= there.bound <= there.upper <= 1.0
    assert (back.value, back.lower, back.upper) == pytest.approx((-there.value, -there.upper, -there.lower), abs=1e-9)


@given(counts, st.floats(-0.3, 0.3))
def test_p_is_at_most_a_level_just_where_the_bound_at_that_level_reaches_the_margin(flips, margin):
    worse, better, ties = flips
    found = Flips(worse + better + ties, worse, better)
    lower = found.lower(0.05)
    assert (found.p(margin) <= 0.05) == (lower >= margin) or lower == pytest.approx(margin, abs=1e-9)


@pytest.mark.parametrize(("pairs", "better"), [(300, 3), (1000, 10), (5000, 60)])
def test_the_detectable_drop_is_found_four_times_in_five(pairs, better):
    question = Question(0.01, level=0.05 / 24)
    drop = flips_drop(pairs, better, better, question).detectable
    worse = better / pairs + drop
    found = 0.0
    for w in range(pairs):
        chance = stats.binom.pmf(w, pairs, worse)
        found += chance if chance > 1e-9 and Flips(pairs, w, better).p(0.01) <= question.level else 0.0
    # The better ones are held here, so that less varies than in truth.
    assert 0.75 < found < 0.97


def test_too_few_pairs_can_call_nothing_a_regression():
    assert flips_drop(3, 0, 0, Question(0.0)).detectable == 1.0
