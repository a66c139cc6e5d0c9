"""The drop of functions of sums and of whole sets, by resampling pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.stats.bootstrap import Rows, Sums, Table
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.paired_bootstrap import rows_drop, sums_drop

NO_DROP = Question(0.0)


def rate(sums):
    return np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0.0)


def half_of_top(rows):
    return float(np.median(rows[:, 0]))


def drawn(count, seed=0, differing=0.5):
    rng = np.random.default_rng(seed)
    before = np.stack([rng.integers(0, 9, count), np.full(count, 9)], axis=1).astype(float)
    after = np.where(rng.random((count, 1)) < differing, np.roll(before, 1, axis=0), before)
    return before, after


@pytest.mark.parametrize("grouped", [False, True])
def test_for_a_ratio_of_sums_it_agrees_with_the_test_for_that(grouped):
    before, after = drawn(400)
    clusters = [number // 4 for number in range(400)] if grouped else None
    resampled = sums_drop(Sums(before, rate), Sums(after, rate), clusters, NO_DROP)
    linear = ratio_drop(before, after, clusters, NO_DROP)
    assert resampled.value == pytest.approx(linear.value)
    assert resampled[1:5] == pytest.approx(linear[1:5], abs=0.003, rel=0.15)


@given(st.integers(0, 1000), st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_neither_the_order_of_samples_nor_names_of_clusters_matter(seed, random):
    before, after = drawn(40, seed)
    names = [int(n) for n in np.random.default_rng(seed).integers(0, 30, 40)]
    order = random.sample(range(40), 40)
    there = sums_drop(Sums(before, rate), Sums(after, rate), names, NO_DROP)
    here = sums_drop(Sums(before[order], rate), Sums(after[order], rate), [f"c{names[i]}" for i in order], NO_DROP)
    assert here[:6] == pytest.approx(there[:6], abs=1e-9, nan_ok=True)
    assert here.method == there.method
    whole, again = Table(before, half_of_top), Table(after, half_of_top)
    shuffled, anew = Table(before[order], half_of_top), Table(after[order], half_of_top)
    there = rows_drop(whole, again, names, NO_DROP)
    assert rows_drop(shuffled, anew, [names[i] for i in order], NO_DROP)[:6] == pytest.approx(there[:6], nan_ok=True)


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_exchanged_runs_have_the_opposite_drop(seed):
    before, after = drawn(40, seed)
    for there, back in (
        (
            sums_drop(Sums(before, rate), Sums(after, rate), None, NO_DROP),
            sums_drop(Sums(after, rate), Sums(before, rate), None, NO_DROP),
        ),
        (
            rows_drop(Table(before, half_of_top), Table(after, half_of_top), None, NO_DROP),
            rows_drop(Table(after, half_of_top), Table(before, half_of_top), None, NO_DROP),
        ),
    ):
        assert back.value == pytest.approx(-there.value)
        if there.lower is not None and before[:, 0].sum() != after[:, 0].sum():
            assert (back.p, back.p_better) == pytest.approx((there.p_better, there.p), abs=1e-9)
            assert back.lower >= -there.upper - 1e-9
            assert back.upper >= -there.lower - 1e-9


def test_sparse_statistics_give_what_full_ones_do():
    before, after = drawn(60)

    def sparse(side):
        return Rows([tuple((place, value) for place, value in enumerate(row) if value) for row in side.tolist()], 2)

    full = sums_drop(Sums(before, rate), Sums(after, rate), None, NO_DROP)
    few = sums_drop(Sums(sparse(before), rate), Sums(sparse(after), rate), None, NO_DROP)
    assert few.value == pytest.approx(full.value)
    assert few.bound == pytest.approx(full.bound, abs=0.01)


@pytest.mark.parametrize("clusters", [None, [number // 2 for number in range(60)]])
def test_runs_that_do_not_differ_claim_no_certainty(clusters):
    before, _ = drawn(60)
    for found in (
        sums_drop(Sums(before, rate), Sums(before, rate), clusters, NO_DROP),
        rows_drop(Table(before, half_of_top), Table(before, half_of_top), clusters, NO_DROP, span=9.0),
    ):
        assert found.value == 0.0
        assert found.bound > 0.0
        assert found.p == 1.0


def test_resamples_without_a_value_leave_no_test():
    units = np.array([[1.0, 1.0]] + [[0.0, 0.0]] * 9)
    other = np.array([[0.0, 1.0]] + [[0.0, 0.0]] * 9)
    assert sums_drop(Sums(units, rate), Sums(other, rate), None, NO_DROP).method == (
        "no test: some resamples have no value"
    )


def test_what_is_no_number_has_no_test():
    rows = np.array([[math.nan], [1.0]])
    assert rows_drop(Table(rows, half_of_top), Table(rows, half_of_top), None, NO_DROP).p is None
    empty = np.zeros((3, 2))
    assert sums_drop(Sums(empty, rate), Sums(empty, rate), None, NO_DROP).method == "no test: the value is not finite"


def test_few_samples_have_no_test_and_the_reason():
    before, after = drawn(12)
    found = sums_drop(Sums(before, rate), Sums(after, rate), None, NO_DROP)
    assert found.p is None
    assert found.method == "no test: 12 samples, below the 20 at which it is known to hold"
    assert rows_drop(Table(before[:1], half_of_top), Table(after[:1], half_of_top), None, NO_DROP).p is None
