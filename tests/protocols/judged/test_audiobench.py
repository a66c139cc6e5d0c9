"""AudioBench's judge: the last token of its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.protocols.judged.published_judgings import audiobench_rating


@pytest.mark.parametrize(
    ("words", "points"),
    [("Explanation: good.\nRating: 4", 4.0), ("Rating: 4.5", 4.5), ("Rating: 4.", 4.0), ("1", 1.0)],
)
def test_the_last_token_is_the_score(words, points):
    assert audiobench_rating(words) == points


@pytest.mark.parametrize("words", ["", " \n", "Rating: (4)", "I rate it four", "Rating: 4/5", "nan", "Rating: inf"])
def test_words_that_end_in_no_number_have_no_rating(words):
    assert audiobench_rating(words) is None


@given(st.text(max_size=40))
def test_any_words_are_taken(words):
    found = audiobench_rating(words)
    assert found is None or found == found
