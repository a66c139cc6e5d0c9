"""p values adjusted for the number of tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.stats.multiple_testing import holm

p_values = st.lists(st.floats(0.0, 1.0), max_size=30)


@given(p_values, st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_finds_something_just_where_bonferroni_does(found, alpha):
    adjusted = holm(found)
    assert bool((adjusted <= alpha).any()) == any(p * len(found) <= alpha for p in found)
    assert (adjusted >= np.asarray(found)).all()
    assert (adjusted <= 1.0).all()


def test_holm_steps_down():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, wrong])
