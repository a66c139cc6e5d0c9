"""The cosine of vectors, and what it is where libraries disagree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.captions import cosines

VECTORS = st.lists(st.floats(-1e308, 1e308), min_size=3, max_size=3)


def test_a_vector_of_zeros_has_no_direction():
    assert cosines([[0, 0, 0], [0, 0, 0]], [[1, 2, 3], [0, 0, 0]]).tolist() == [0.0, 0.0]


def test_huge_and_tiny_components_neither_overflow_nor_vanish():
    assert cosines([[1e200, 1, 0], [1e308, 1e308, 0]], [[1e200, 0, 1], [1e-308, 1e-308, 0]]) == pytest.approx(
        [1.0, 1.0]
    )


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_cosine(odd):
    found = cosines([[1.0, odd], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]])
    assert math.isnan(found[0])
    assert found[1] == 1.0


@given(VECTORS, VECTORS)
def test_bounded_symmetric_and_one_with_itself(one, other):
    value = cosines([one], [other])[0]
    assert -1.0 <= value <= 1.0
    assert value == cosines([other], [one])[0]
    assert cosines([one], [one])[0] == (pytest.approx(1.0) if any(one) else 0.0)


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(UsageError, match=r"\(n, d\)"):
        cosines(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(UsageError, match=r"\(n, d\)"):
        cosines([1.0, 2.0], [1.0, 2.0])
    assert cosines(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0,)
