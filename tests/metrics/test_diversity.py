"""The moving-average type-token ratio."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.metrics.definitions.answers import moving_average_ratio

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=40)


@given(WORDS, st.integers(1, 10))
def test_it_is_the_mean_over_all_windows(words, window) -> None:
    shares = [len(set(words[i : i + window])) / window for i in range(len(words) - window + 1)]
    expected = sum(shares) / len(shares) if shares else 0.0
    assert moving_average_ratio(words, window) == pytest.approx(expected, abs=1e-12)
    assert 0.0 <= moving_average_ratio(words, window) <= 1.0


def test_length_alone_earns_nothing() -> None:
    once = [str(number) for number in range(60)]
    assert moving_average_ratio(once, 50) == moving_average_ratio(once * 5, 50) == 1.0
    assert moving_average_ratio(["dog"] * 500, 50) == 1 / 50


def test_a_text_shorter_than_the_window_has_none() -> None:
    assert moving_average_ratio(["a"] * 49, 50) == 0.0
    assert moving_average_ratio([], 50) == 0.0
