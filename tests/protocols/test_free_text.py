"""Where the clips of a question stand: at its placeholders, or before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import PLACEHOLDER, Sample, with_last_clip
from pytest_audiobench.errors import SampleError
from pytest_audiobench.models.messages import AudioSlot
from pytest_audiobench.protocols.free_text import with_slots


def test_clips_stand_before_a_question_without_places_for_them():
    assert with_slots("What is heard?", 2) == (AudioSlot(0), AudioSlot(1), "What is heard?")
    assert with_slots("", 1) == (AudioSlot(0),)


def test_clips_stand_where_the_question_has_their_places():
    text = f"A: {PLACEHOLDER}\nB: {PLACEHOLDER}\nWhich is {PLACEHOLDER}?"
    assert with_slots(text, 3) == ("A: ", AudioSlot(0), "\nB: ", AudioSlot(1), "\nWhich is ", AudioSlot(2), "?")


def test_a_place_that_opens_a_question_is_the_same_as_none():
    assert with_slots(f"{PLACEHOLDER} What is heard?", 1) == with_slots("What is heard?", 1)


@pytest.mark.parametrize("clips", [1, 3])
def test_places_for_another_number_of_clips_are_refused(clips):
    with pytest.raises(SampleError, match=f"has places for 2 clips, and the sample has {clips}"):
        with_slots(f"{PLACEHOLDER}{PLACEHOLDER} Which?", clips)


@given(st.lists(st.text(alphabet="ab \n:?", max_size=10), min_size=2, max_size=6))
def test_nothing_of_a_question_is_lost_but_the_space_behind_an_opening_place(texts):
    parts = with_slots(PLACEHOLDER.join(texts), len(texts) - 1)
    assert [part.clip for part in parts if isinstance(part, AudioSlot)] == list(range(len(texts) - 1))
    text = "".join(PLACEHOLDER if isinstance(part, AudioSlot) else part for part in parts)
    assert text.replace(" ", "") == PLACEHOLDER.join(texts).replace(" ", "")


def test_the_last_clip_alone_has_its_place_and_the_others_are_named():
    text = f"A: {PLACEHOLDER}\nB: {PLACEHOLDER}\nWhich is {PLACEHOLDER}?"
    alone = with_last_clip(Sample("a", ("first", "second", "query"), text, (), "A"))
    assert alone.clips == ("query",)
    assert alone.question == f"A: [audio]\nB: [audio]\nWhich is {PLACEHOLDER}?"
