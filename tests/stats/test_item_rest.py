"""Item-rest correlations, held to their definition and to what must not change them."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_audiobench.stats.item_rest import distinct_abilities, item_rest, negative_by_chance

TABLES = st.tuples(st.integers(3, 12), st.integers(3, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
)


@given(TABLES)
def test_it_is_the_correlation_with_the_mean_of_all_other_items(table):
    for place, correlation in enumerate(item_rest(table)):
        rest = np.delete(table, place, axis=0).mean(axis=0)
        if np.ptp(table[place]) == 0 or np.ptp(rest) < 1e-9:
            assert math.isnan(correlation)
        else:
            assert correlation == pytest.approx(np.corrcoef(table[place], rest)[0, 1], abs=1e-6)


@given(TABLES, st.randoms(use_true_random=False))
def test_neither_the_order_of_examinees_nor_that_of_items_matters(table, random):
    items, examinees = list(range(len(table))), list(range(table.shape[1]))
    random.shuffle(items)
    random.shuffle(examinees)
    shuffled = item_rest(table[np.ix_(items, examinees)])
    np.testing.assert_allclose(shuffled, item_rest(table)[items], atol=1e-9)


@given(TABLES, st.integers(1, 5))
def test_another_unit_of_all_scores_changes_nothing(table, factor):
    np.testing.assert_allclose(item_rest(factor * table + 1.0), item_rest(table), atol=1e-9)


@given(TABLES)
def test_an_item_that_is_scored_the_other_way_round_has_the_other_sign(table):
    turned = table.copy()
    turned[0] = 1.0 - turned[0]
    np.testing.assert_allclose(item_rest(turned)[0], -item_rest(table)[0], atol=1e-9)


@given(TABLES)
def test_an_item_that_agrees_with_all_others_is_never_suspect(table):
    rest = table[1:].mean(axis=0)
    assume(np.ptp(rest) > 1e-6)
    table = np.vstack([rest, table[1:]])
    assert item_rest(table)[0] == pytest.approx(1.0)


@given(TABLES)
def test_what_is_expected_by_chance_is_a_number_of_items_and_the_same_every_time(table):
    expected = negative_by_chance(table)
    assert 0.0 <= expected <= len(table)
    assert expected == negative_by_chance(table)


def test_half_of_the_items_are_negative_by_chance_where_nothing_is_known():
    table = np.random.default_rng(1).permuted(np.tile([0.0, 0.0, 1.0, 1.0], (200, 1)), axis=1)
    assert 70 <= negative_by_chance(table) <= 130


def test_examinees_with_the_same_mean_count_once():
    assert distinct_abilities([[1, 0, 1], [0, 1, 1]]) == 2
    assert distinct_abilities([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3]]) == 2


def test_one_item_has_no_rest():
    with pytest.raises(ValueError, match="two items"):
        item_rest([[1.0, 0.0, 1.0]])
