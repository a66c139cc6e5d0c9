"""The mean, the ends and the range of several values of the same samples, with intervals that hold for all at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.stats.bootstrap import Rows, Sums
from pytest_audiobench.stats.extremes import Extremes, extremes
from pytest_audiobench.stats.intervals import Floats, Interval


def share(sums: Floats) -> Floats:
    values: Floats = sums[:, 0] / sums[:, 1]
    return values


def shares(marks: list[list[float]]) -> list[Sums]:
    """A share of ones of each column."""
    return [Sums(np.array([[mark, 1.0] for mark in column]), share) for column in zip(*marks, strict=True)]


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.lower is not None
    assert interval.upper is not None
    return interval.lower, interval.upper


MARKS = st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3), min_size=20, max_size=40)


@settings(max_examples=20, deadline=None)
@given(MARKS)
def test_each_interval_holds_what_was_measured(marks: list[list[float]]) -> None:
    known, values = extremes(shares(marks), None, 1.0, (0.0, 1.0)), np.mean(marks, axis=0)
    measured = (values.mean(), values.min(), values.max(), np.ptp(values))
    for interval, value in zip(known, measured, strict=True):
        lower, upper = bounds(interval)
        assert 0.0 <= lower <= value + 1e-9
        assert value - 1e-9 <= upper <= 1.0


@settings(max_examples=10, deadline=None)
@given(MARKS, st.permutations([0, 1, 2]))
def test_the_order_of_the_values_is_nothing_to_the_intervals_but_for_the_draw(
    marks: list[list[float]], order: list[int]
) -> None:
    known = extremes(shares(marks), None)
    turned = extremes(shares([[row[place] for place in order] for row in marks]), None)
    for interval, other in zip(known, turned, strict=True):
        assert bounds(interval) == pytest.approx(bounds(other), abs=0.1)


def test_of_two_values_the_range_is_their_paired_difference() -> None:
    marks = [[1.0, 0.0 if number % 5 == 0 else 1.0] for number in range(200)]
    lower, upper = bounds(extremes(shares(marks), None).range)
    # Of 40 in 200 that differ the normal approximation has 20 points, 5.5 to both sides.
    assert (lower, upper) == pytest.approx((0.145, 0.255), abs=0.02)


def test_samples_of_a_cluster_are_drawn_together() -> None:
    marks = [[1.0, float(number // 10 % 2)] for number in range(400)]
    alone, together = (extremes(shares(marks), clusters) for clusters in (None, [n // 10 for n in range(400)]))
    widths = [upper - lower for lower, upper in (bounds(alone.range), bounds(together.range))]
    assert widths[1] > 2 * widths[0]
    assert "40 clusters" in together.range.method


def test_what_never_differs_is_bounded_by_the_rule_of_three_or_not_at_all() -> None:
    marks = [[1.0, 1.0]] * 50
    assert bounds(extremes(shares(marks), None).range) == (0.0, pytest.approx(1 - 0.025 ** (1 / 50)))
    assert bounds(extremes(shares(marks), None, 1.0, (0.0, 1.0)).least) == (pytest.approx(0.025 ** (1 / 50)), 1.0)
    open_ended = extremes(shares(marks), None, math.inf)
    assert open_ended.range.lower is None
    assert open_ended.range.method == "no interval: two of them never differ, and a sample's value has no end"


def test_too_few_samples_and_resamples_without_a_value_have_no_interval() -> None:
    few = extremes(shares([[1.0, 0.0]] * 19), None)
    assert few == Extremes.unknown("19 samples, 20 needed")
    rare = np.array([[0.0, 0.0]] * 30 + [[1.0, 1.0]])
    with np.errstate(invalid="ignore"):
        assert extremes([Sums(rare, share)] * 2, None) == Extremes.unknown("some resamples have no value")
    lacking = Sums(np.ones((30, 2)), share, lacking=lambda units: "a label is rare")
    assert extremes([lacking, lacking], None) == Extremes.unknown("a label is rare")


def test_sparse_statistics_are_resampled_as_full_ones_are() -> None:
    marks = [[1.0, float(number % 4 > 0)] for number in range(80)]
    full = extremes(shares(marks), None)
    sparse = extremes(
        [Sums(Rows([((0, mark), (1, 1.0)) for mark in column], 2), share) for column in zip(*marks, strict=True)], None
    )
    for interval, other in zip(full, sparse, strict=True):
        assert bounds(interval) == pytest.approx(bounds(other), abs=0.05)
