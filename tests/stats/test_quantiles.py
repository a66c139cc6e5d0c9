from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_audiobench.stats.quantiles import normal_quantile, t_quantile

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
