"""Which labels an answer lists."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.protocols.classification.mentions import labels_of
from pytest_audiobench.protocols.classification.tagging import (
    LabelList,
    listed_labels,
    means_nothing,
    read_label_list,
)

LABELS = labels_of(("dog", "rain", "Beluga, White Whale", "car horn"))


@pytest.mark.parametrize(
    ("text", "labels", "others"),
    [
        ("dog, rain", ("dog", "rain"), ()),
        ("Rain and car horn.", ("rain", "car horn"), ()),
        ("I hear a dog barking and some rain.", ("dog", "rain"), ()),
        ("1. Dog\n2. Car horn\n3. Unicorn", ("dog", "car horn"), ("Unicorn",)),
        ("The sounds are: dog, dog, rain", ("dog", "rain"), ()),
        ("beluga, white whale", ("Beluga, White Whale",), ()),
        ("There is no dog, only rain.", ("rain",), ()),
        ("dog: no, rain: yes", ("rain",), ()),
        ("Dog (no)\nRain (yes)", ("rain",), ()),
        ("Rain: present; dog: absent", ("rain",), ()),
        ("There is rain. A dog bark is not heard.", ("rain",), ()),
        ("Rain. Dogs are heard but a car horn is absent", ("rain",), ()),
        ("I hear rain. It has none of the other labels: dog, car horn", ("rain",), ()),
        ("rain, anything but dog", ("rain",), ()),
        ("Labels: None", (), ()),
        ("No labels apply", (), ()),
        ("dog, a very long remark about what else there is to hear", ("dog",), ()),
        ("None", (), ()),
        ("No sounds are present.", (), ()),
        ("none of these", (), ()),
    ],
)
def test_labels_and_what_else_is_listed(text, labels, others) -> None:
    found = read_label_list(text, LABELS)
    assert found.status == "parsed"
    assert listed_labels(found) == LabelList(labels, others)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        ("…", "empty"),
        ("I'm sorry, I cannot hear a dog.", "refused"),
        ("A quiet recording of a street at night with people", "unparsed"),
    ],
)
def test_an_answer_without_a_list_says_nothing(text, status) -> None:
    assert read_label_list(text, LABELS).status == status
    assert listed_labels(read_label_list(text, LABELS)) == ((), ())


def test_a_cut_answer_keeps_what_came_before_its_last_separator() -> None:
    found = read_label_list("dog, rain, car", LABELS, "length")
    assert found.status == "truncated"
    assert listed_labels(found).labels == ("dog", "rain")


@pytest.mark.parametrize("text", ["nothing", "None.", "no events", "There is nothing", "no animal sounds"])
def test_nothing_is_said_in_several_ways(text) -> None:
    assert means_nothing(text)


@pytest.mark.parametrize("text", ["nonesuch", "no dog", "", "none but the rain falling"])
def test_what_only_begins_so_is_not_nothing(text) -> None:
    assert not means_nothing(text)


@settings(deadline=None)
@given(st.text())
def test_no_label_is_read_that_was_not_offered(text) -> None:
    assert set(listed_labels(read_label_list(text, LABELS)).labels) <= set(LABELS.texts)


@pytest.mark.parametrize("text", ["\ud800dog\0", "," * 100_000, "a," * 50_000, ":" * 50_000])
def test_hostile_text_is_read_or_not_and_nothing_worse(text) -> None:
    assert read_label_list(text, LABELS).status in ("parsed", "unparsed", "empty")
