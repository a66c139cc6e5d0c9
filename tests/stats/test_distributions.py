"""Beta and gamma quantiles against scipy's."""

import numpy as np
import pytest
from scipy import stats

from pytest_audiobench.stats.distributions import beta_cdf, beta_quantile, gamma_cdf, gamma_quantile

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
