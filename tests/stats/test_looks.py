"""Looks at pairs while they come: what a capital is, and that the level holds over all looks together."""

import math
import statistics
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.looks import by_bets, by_test, level_of_look, log_capital, p_at_any_time
from pytest_audiobench.stats.paired import ratio_drop

MARGINS = st.sampled_from([0.0, 0.005, 0.01, 0.1, 0.5])
DROPS = st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0]), min_size=1, max_size=60)
SIDES = st.sampled_from([1.0, -1.0])


@given(DROPS, MARGINS, SIDES, st.randoms())
def test_a_capital_is_what_each_bet_wins_pair_by_pair_in_any_order(drops, margin, side, random):
    capitals = []
    for half in range(6):
        bet = 0.9 * 0.5**half / (1.0 + side * margin)
        capitals.append(math.prod(1.0 + bet * side * (drop - margin) for drop in drops))
    found = log_capital(np.array(drops), margin, side)
    assert found == pytest.approx(math.log(sum(capitals) / 6.0), abs=1e-9)
    random.shuffle(drops)
    assert log_capital(np.array(drops), margin, side) == pytest.approx(found, abs=1e-9)


@given(DROPS, SIDES)
def test_a_capital_that_bets_on_more_than_a_margin_falls_with_the_margin(drops, side):
    capitals = [log_capital(np.array(drops), margin, side) for margin in (0.0, 0.01, 0.2, 0.6)]
    assert all(side * (first - second) >= -1e-12 for first, second in pairwise(capitals))


@given(DROPS, MARGINS, st.integers(0, 59))
def test_a_worse_pair_raises_the_capital_on_a_regression_and_lowers_that_on_a_pass(drops, margin, place):
    worse = list(drops)
    worse[place % len(drops)] = 1.0
    assert log_capital(np.array(worse), margin, 1.0) >= log_capital(np.array(drops), margin, 1.0) - 1e-12
    assert log_capital(np.array(worse), margin, -1.0) <= log_capital(np.array(drops), margin, -1.0) + 1e-12


def outcomes(pairs, worse, better):
    """All counts of worse and better ones of ``pairs``, each with its probability."""
    for lost in range(pairs + 1):
        for won in range(pairs - lost + 1):
            same = pairs - lost - won
            ways = math.comb(pairs, lost) * math.comb(pairs - lost, won)
            yield lost, won, ways * worse**lost * better**won * (1.0 - worse - better) ** same


def drops_of(pairs, lost, won):
    return np.repeat([1.0, -1.0, 0.0], [lost, won, pairs - lost - won])


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2])
def test_where_the_drop_is_the_margin_a_capital_is_one_on_average(margin, side):
    expected = sum(
        chance * math.exp(log_capital(drops_of(12, lost, won), margin, side))
        for lost, won, chance in outcomes(12, 0.1 + margin, 0.1)
    )
    assert expected == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("shown", ["regressed", "passes"])
@pytest.mark.parametrize(("margin", "flips"), [(0.05, 0.02), (0.05, 0.2), (0.3, 0.01)])
def test_where_the_drop_is_the_margin_all_looks_together_err_at_most_at_the_level(margin, flips, shown):
    # Exactly: the probabilities of all counts that no look before has decided, look by look.
    level, step, wrong, open_ = 0.2, 10, 0.0, {(0, 0): 1.0}
    steps = list(outcomes(step, flips + margin, flips))
    for pairs in range(step, 5 * step, step):
        further = {}
        for (lost, won), chance in open_.items():
            for more_lost, more_won, more in steps:
                key = (lost + more_lost, won + more_won)
                further[key] = further.get(key, 0.0) + chance * more
        open_ = {}
        for key, chance in further.items():
            look = by_bets(drops_of(pairs, *key), margin, level)
            if look.p <= level if shown == "regressed" else look.bound is not None:
                wrong += chance
            else:
                open_[key] = chance
    assert 0.0 <= wrong <= level
    assert wrong > 0.01 or margin < 0.3
    assert sum(open_.values()) + wrong == pytest.approx(1.0)


def test_what_no_pair_shows_is_passed_once_enough_pairs_have_not_shown_it():
    bounds = [by_bets(np.zeros(pairs), 0.01, 0.025).bound for pairs in (100, 500, 650)]
    assert bounds[:2] == [None, None]
    assert 0.009 < bounds[2] < 0.01


@given(st.lists(st.sampled_from([0.0, 0.0, 0.0, -1.0, 1.0, 0.5]), min_size=30, max_size=80))
def test_a_bound_is_the_least_margin_that_is_passed(drops):
    drops = np.array(drops)
    bound = by_bets(drops, 0.9, 0.05).bound
    if bound is not None:
        assert by_bets(drops, min(0.9, bound + 1e-6), 0.05).bound == pytest.approx(bound, abs=1e-6)
        assert by_bets(drops, bound - 1e-6, 0.05).bound is None


def test_scores_with_other_ends_are_looked_at_in_their_own_unit():
    shares, points = (by_bets(np.repeat([0.1, 0.0], 50) * span, 0.02 * span, 0.05, span) for span in (1.0, 100.0))
    assert points.p == pytest.approx(shares.p)


@given(st.floats(0.0005, 0.2), st.floats(0.02, 1.0))
def test_a_p_at_the_level_of_a_look_is_worth_the_level_over_all(level, seen):
    here = level_of_look(level, seen)
    assert 0.0 < here < level
    assert p_at_any_time(here, seen) == pytest.approx(level, rel=1e-6)
    assert p_at_any_time(here / 2.0, seen) < level < p_at_any_time(here * 1.5, seen)


@pytest.mark.parametrize("level", [0.025, 0.003])
def test_means_that_are_looked_at_again_and_again_cross_the_looks_levels_at_most_as_often_as_the_level(level):
    seen = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.45, 0.6, 0.75, 0.9])
    steps = np.random.default_rng(1).normal(size=(40_000, len(seen))) * np.sqrt(np.diff(seen, prepend=0.0))
    scores = np.cumsum(steps, axis=1) / np.sqrt(seen)
    levels = [level_of_look(level, each) for each in seen]
    limits = [-statistics.NormalDist().inv_cdf(each) for each in levels]
    wrong = float((scores >= limits).any(axis=1).mean())
    assert level / 20.0 < wrong <= level + 2.0 * math.sqrt(level / 40_000)


def test_a_look_at_a_ratio_is_the_test_of_all_pairs_at_that_looks_level():
    rng = np.random.default_rng(7)
    words = rng.integers(3, 30, 400).astype(float)
    before, after = (np.stack([rng.binomial(words.astype(int), rate), words], axis=1) for rate in (0.1, 0.16))
    speakers = [number % 40 for number in range(400)]
    here = level_of_look(0.025, 0.4)
    plain = ratio_drop(before, after, speakers, Question(0.01, here, here), False)
    look = by_test(before, after, speakers, 0.01, 0.025, 0.4, higher_is_better=False)
    assert (look.p, look.bound) == (p_at_any_time(plain.p, 0.4), plain.bound)
    assert look.p <= 0.025
    assert by_test(before[:5], after[:5], None, 0.01, 0.025, 0.4).p is None
