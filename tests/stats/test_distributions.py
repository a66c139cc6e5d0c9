"""Quantiles and tails against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_audiobench.stats.distributions import (
    beta_cdf,
    beta_quantile,
    gamma_cdf,
    gamma_quantile,
    normal_quantile,
    t_quantile,
    t_tail,
)

SHAPES = [0.05, 0.3, 1.0, 1.7, 12.0, 350.0, 20_000.0]


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_beta_quantiles_are_scipys(a, b):
    for probability in (0.005, 0.025, 0.5, 0.975):
        found, expected = beta_quantile(probability, a, b), stats.beta.ppf(probability, a, b)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
        assert beta_cdf(float(expected), a, b) == pytest.approx(stats.beta.cdf(expected, a, b), abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_quantiles_are_scipys(shape):
    for probability in (0.005, 0.025, 0.5, 0.975):
        found, expected = gamma_quantile(probability, shape), stats.gamma.ppf(probability, shape)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
        assert gamma_cdf(float(expected), shape) == pytest.approx(stats.gamma.cdf(expected, shape), abs=1e-9)


def test_a_cdf_is_0_below_its_range_and_1_above():
    assert [beta_cdf(x, 2.0, 3.0) for x in (-1.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]
    assert gamma_cdf(-1.0, 2.0) == 0.0
    assert np.isfinite(gamma_cdf(1e6, 2.0))


PROBABILITIES = [0.0005, 0.005, 0.025, 0.2, 0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9995]


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_t_quantile_is_scipys_for_every_number_of_degrees_up_to_1000(probability):
    degrees = [*range(1, 301), 500, 1000, 9_999, 1_000_000]
    expected = stats.t.ppf(probability, degrees)
    assert [t_quantile(probability, d) for d in degrees] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_normal_quantile_is_scipys(probability):
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), rel=1e-9, abs=1e-12)


@given(st.floats(0.51, 0.9995), st.integers(1, 2000))
def test_t_quantile_lies_above_the_normal_and_falls_with_degrees(probability, degrees):
    here, further = t_quantile(probability, degrees), t_quantile(probability, degrees + 1)
    assert here > further > normal_quantile(probability)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_probability_outside_0_to_1_is_refused(probability):
    with pytest.raises(ValueError, match="between 0 and 1"):
        normal_quantile(probability)
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(probability, 5)


def test_t_quantile_needs_a_degree_of_freedom():
    with pytest.raises(ValueError, match="at least 1 degree"):
        t_quantile(0.975, 0)


@pytest.mark.parametrize("degrees", [1, 2, 7, 30, 199, 200, 909, 100_000])
def test_t_tail_is_scipys_and_the_inverse_of_its_quantile(degrees):
    for t in (-4.0, -0.5, 0.0, 0.3, 1.6, 2.9, 6.0):
        assert t_tail(t, degrees) == pytest.approx(stats.t.sf(t, degrees), rel=1e-6, abs=1e-12)
    for probability in (0.9, 0.95, 0.99792):
        assert t_tail(t_quantile(probability, degrees), degrees) == pytest.approx(1.0 - probability, rel=1e-8)


def test_a_tail_needs_a_degree_of_freedom_and_ends_at_nothing():
    with pytest.raises(ValueError, match="at least 1 degree"):
        t_tail(1.0, 0)
    assert t_tail(1e9, 50) == pytest.approx(0.0, abs=1e-12)
    assert t_tail(1e9, 5000) == pytest.approx(0.0, abs=1e-12)
