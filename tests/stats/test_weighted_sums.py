"""Slopes, areas and means over conditions that share their samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.intervals import ratio
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.weighted_sums import Points, area_weights, contrast, mean_interval, slope_weights, trend_p

COUNTS = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=5, max_size=40)


def utterances(seed: int, n: int, doses: int) -> Points:
    """Word errors of ``n`` utterances that grow from dose to dose; long ones are the harder ones."""
    rng = np.random.default_rng(seed)
    words = rng.integers(3, 20, n)
    rates = np.clip(rng.beta(1, 8, n)[:, None] + np.linspace(0.0, 0.6, doses)[None, :], 0.0, 1.0)
    tops = rng.binomial(words[:, None], rates).astype(float)
    return Points(tops, np.repeat(words[:, None], doses, axis=1).astype(float))


@given(COUNTS, st.booleans())
def test_the_mean_of_one_condition_is_the_interval_of_its_ratio(counts: list[tuple[int, int]], is_share: bool) -> None:
    tops = np.array([[min(top, whole) if is_share else top] for top, whole in counts], dtype=float)
    wholes = np.array([[whole] for _, whole in counts], dtype=float)
    most = 1.0 if is_share else math.inf
    found = mean_interval(Points(tops, wholes), [1.0], most)
    alone = ratio(tops[:, 0], wholes[:, 0], most=most)
    assert (found.lower, found.upper) == pytest.approx((alone.lower, alone.upper), abs=1e-9)


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0])] * 4), min_size=2, max_size=30))
def test_differences_of_answers_have_the_interval_of_their_range_and_turn_with_their_sign(rows: list[tuple]) -> None:
    found = np.array(rows)
    differences, ones = found[:, :2] - found[:, 2:], np.ones((len(rows), 2))
    plus = mean_interval(Points(differences, ones), [0.5, 0.5], 1.0, least=-1.0)
    minus = mean_interval(Points(-differences, ones), [0.5, 0.5], 1.0, least=-1.0)
    assert -1.0 <= plus.lower <= differences.mean() + 1e-9
    assert differences.mean() - 1e-9 <= plus.upper <= 1.0
    assert (minus.lower, minus.upper) == pytest.approx((-plus.upper, -plus.lower), abs=1e-9)
    raised = mean_interval(Points(differences + 1.0, ones), [0.5, 0.5], 2.0)
    assert (raised.lower, raised.upper) == pytest.approx((plus.lower + 1.0, plus.upper + 1.0), abs=1e-9)
    assert mean_interval(Points(-2.0 * ones, ones), [0.5, 0.5], 1.0, least=-1.0).method == (
        "no interval: a value is beyond -1 to 1"
    )


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_the_same_utterances_twice_tell_no_more_than_once(seed: int, doses: int) -> None:
    one = utterances(seed, 15, 1)
    again = Points(np.repeat(one.tops, doses, axis=1), np.repeat(one.wholes, doses, axis=1))
    alone, together = mean_interval(one, [1.0]), mean_interval(again, [1.0 / doses] * doses)
    assert (together.lower, together.upper) == pytest.approx((alone.lower, alone.upper), abs=1e-9)


@given(st.integers(0, 10_000))
def test_the_contrast_of_two_conditions_is_their_drop(seed: int) -> None:
    points = utterances(seed, 25, 2)
    sides = [np.stack([points.tops[:, at], points.wholes[:, at]], axis=1) for at in (0, 1)]
    drop = ratio_drop(sides[0], sides[1], None, Question(0.0), higher_is_better=False)
    found = contrast(points, [-1.0, 1.0])
    assert (found.value, found.upper) == pytest.approx((drop.value, drop.upper), abs=1e-9)
    # A difference that gates nothing reckons with what was not seen on both sides.
    assert found.lower <= drop.lower + 1e-9


@given(st.integers(0, 10_000), st.randoms())
def test_no_order_of_samples_matters_and_clusters_of_one_are_none(seed: int, random: object) -> None:
    points = utterances(seed, 20, 4)
    order = np.random.default_rng(seed).permutation(20)
    turned = Points(points.tops[order], points.wholes[order], [f"speaker {n}" for n in range(20)])
    weights = slope_weights([20.0, 10.0, 0.0, -10.0])
    assert contrast(points, weights)[:3] == pytest.approx(contrast(turned, weights)[:3], abs=1e-12)


@given(st.lists(st.integers(-400, 400), min_size=2, max_size=9, unique=True), st.floats(-3, 3), st.floats(-3, 3))
def test_a_slope_is_that_of_a_straight_line_and_an_area_its_middle(
    tenths: list[int], start: float, rise: float
) -> None:
    doses = [one / 10.0 for one in tenths]
    values = np.array([start + rise * dose for dose in doses])
    assert values @ np.array(slope_weights(doses)) == pytest.approx(rise, abs=1e-6)
    middle = start + rise * (min(doses) + max(doses)) / 2.0
    assert values @ np.array(area_weights(doses)) == pytest.approx(middle, abs=1e-6)
    assert sum(area_weights(doses)) == pytest.approx(1.0)
    assert min(area_weights(doses)) >= 0.0


def test_least_squares_agrees_with_numpy_and_the_trapezoid_rule_too() -> None:
    doses, values = [20.0, 5.0, 0.0, -10.0], np.array([0.1, 0.2, 0.5, 0.9])
    assert values @ np.array(slope_weights(doses)) == pytest.approx(np.polyfit(doses, values, 1)[0])
    area = (10.0 * (0.9 + 0.5) / 2 + 5.0 * (0.5 + 0.2) / 2 + 15.0 * (0.2 + 0.1) / 2) / 30.0
    assert values @ np.array(area_weights(doses)) == pytest.approx(area)


def test_points_at_one_dose_share_its_weight() -> None:
    assert area_weights([0.0, 10.0, 10.0]) == [0.5, 0.25, 0.25]
    with pytest.raises(ValueError, match="two doses that differ"):
        slope_weights([5.0, 5.0])
    with pytest.raises(ValueError, match="two doses that differ"):
        area_weights([5.0])


def test_what_is_the_same_under_all_conditions_has_no_slope_but_a_bound() -> None:
    tops = np.repeat((np.arange(40) % 3 == 0).astype(float)[:, None], 5, axis=1)
    found = contrast(Points(tops, np.ones_like(tops)), slope_weights([0.0, -10.0, -20.0, -25.0, -30.0]))
    assert found.value == 0.0
    assert found.method.startswith("none of 40 samples differs")
    assert found.lower is not None
    assert found.lower == pytest.approx(-(found.upper or 0.0))


def test_no_interval_below_the_numbers_at_which_it_is_known_to_hold() -> None:
    slope = contrast(utterances(1, 9, 3), slope_weights([0.0, 1.0, 2.0]))
    assert slope.lower is None
    assert "9 samples, below the 10" in slope.method
    assert mean_interval(utterances(1, 4, 3), [1 / 3] * 3).method == "no interval: 4 samples, 5 needed"
    assert mean_interval(utterances(1, 19, 3), [1 / 3] * 3, likely=None).method == "no interval: 19 samples, 20 needed"
    clustered = utterances(1, 9, 3)._replace(clusters=["one"] * 9)
    assert mean_interval(clustered, [1 / 3] * 3, 1.0).method == "no interval: 1 cluster, 2 needed"


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (Points(np.zeros((0, 2)), np.zeros((0, 2))), "no samples"),
        (Points(np.ones((12, 2)), np.array([[1.0, 0.0]] * 12)), "a condition has no value"),
        (Points(np.full((12, 2), math.nan), np.ones((12, 2))), "a value is not finite"),
        (Points(np.ones((12, 2)), -np.ones((12, 2))), "a denominator is negative"),
    ],
)
def test_points_without_a_value_give_the_reason(points: Points, reason: str) -> None:
    assert math.isnan(points.value([0.5, 0.5]))
    assert mean_interval(points, [0.5, 0.5]).method == f"no interval: {reason}"
    assert contrast(points, [-1.0, 1.0]).method == f"no test: {reason}"


def test_weights_that_are_no_mean_or_no_contrast_are_refused() -> None:
    points = utterances(1, 12, 2)
    with pytest.raises(ValueError, match="shares of one"):
        mean_interval(points, [0.5, 0.6])
    with pytest.raises(ValueError, match="add up to nothing"):
        contrast(points, [0.5, 0.5])


def test_samples_that_were_not_scored_under_a_condition_take_no_part_in_it() -> None:
    points = utterances(5, 30, 2)
    kept = np.ones_like(points.tops)
    kept[:10, 1] = 0.0
    some = Points(points.tops * kept, points.wholes * kept)
    ratios = (
        points.tops[:, 0].sum() / points.wholes[:, 0].sum(),
        points.tops[10:, 1].sum() / points.wholes[10:, 1].sum(),
    )
    assert some.value([-1.0, 1.0]) == pytest.approx(ratios[1] - ratios[0])
    assert contrast(some, [-1.0, 1.0]).lower is not None


def test_intervals_hold_in_nine_of_ten_repetitions_where_conditions_taken_for_independent_do_not() -> None:
    rng, doses = np.random.default_rng(11), np.array([6.0, 3.0, 0.0, -3.0])
    slope, equal = [10.0 * one for one in slope_weights(doses.tolist())], [0.25] * 4

    def rates(n: int) -> np.ndarray:
        return 1.0 / (1.0 + np.exp((doses[None, :] - rng.normal(0.0, 8.0, n)[:, None]) / 4.0))

    truth = rates(200_000).mean(axis=0)
    held = np.zeros(3)
    for _ in range(200):
        tops = (rng.random(60)[:, None] < rates(60)).astype(float)
        points = Points(tops, np.ones_like(tops))
        drop, mean = contrast(points, slope), mean_interval(points, equal, 1.0)
        alone = tops.var(axis=0) / 60.0
        naive = 1.96 * math.sqrt(float(alone @ np.square(equal)))
        value = points.value(equal)
        held += (
            (drop.lower or 0.0) <= truth @ np.array(slope) <= (drop.upper or 0.0),
            (mean.lower or 0.0) <= truth @ np.array(equal) <= (mean.upper or 0.0),
            abs(value - truth @ np.array(equal)) <= naive,
        )
    assert held[0] >= 180
    assert held[1] >= 180
    assert held[2] <= 160


def clustered_answers(rng: np.random.Generator, units: int, fall: float) -> Points:
    """Right and wrong answers under five doses, of recordings with one to four questions, that fall by ``fall``."""
    names = np.repeat(np.arange(units), rng.integers(1, 5, units))
    easy = rng.beta(3.0, 2.0, units)[:, None] + rng.normal(0.0, 0.25, (units, 5))
    tops = (rng.random((len(names), 5)) < easy[names] - fall * np.linspace(0.0, 1.0, 5)).astype(float)
    return Points(tops, np.ones_like(tops), names.tolist())


def test_a_flat_curve_of_clusters_has_a_trend_in_one_of_twenty_repetitions_and_a_falling_one_in_most() -> None:
    weights = slope_weights([0.0, 0.25, 0.5, 0.75, 1.0])
    found = {}
    for fall in (0.0, 0.4):
        rng = np.random.default_rng(5)
        tests = [clustered_answers(rng, 40, fall) for _ in range(400)]
        found[fall] = [
            sum((trend_p(one, weights, worse=worse) or 0.0) <= 0.05 for one in tests) / 400 for worse in (-1, 0, 1)
        ]
    # Three standard errors of a share of 5 % in 400 repetitions are 3.3 points.
    assert max(found[0.0]) <= 0.05 + 0.033
    assert min(found[0.0]) >= 0.01
    falling, either, rising = found[0.4]
    assert falling >= either >= 0.9
    assert rising == 0.0


@given(st.integers(0, 10_000))
def test_a_trend_is_found_just_where_the_interval_of_its_slope_leaves_out_nought(seed: int) -> None:
    points, weights = utterances(seed, 15, 3), slope_weights([0.0, 1.0, 2.0])
    slope, p = contrast(points, weights), trend_p(points, weights)
    assert slope.lower is not None
    assert slope.upper is not None
    assert p is not None
    assert (p < 0.05) == (slope.lower > 0.0 or slope.upper < 0.0)
    assert p == pytest.approx(2.0 * min(trend_p(points, weights, worse=worse) or 0.0 for worse in (1, -1)))


def test_without_a_test_there_is_no_p() -> None:
    assert trend_p(utterances(1, 9, 3), slope_weights([0.0, 1.0, 2.0])) is None
    flat = np.repeat((np.arange(40) % 3 == 0).astype(float)[:, None], 3, axis=1)
    assert trend_p(Points(flat, np.ones_like(flat)), slope_weights([0.0, 1.0, 2.0])) == 1.0
