"""Whether an answer says yes or no."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.protocols.classification.asserted_label import read_agreement


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes", "yes"),
        ("yes</s>", "yes"),
        ("Yes, it is the same person.", "yes"),
        ("**No.** Two people.", "no"),
        ("No it is not", "no"),
        ("No, I do not hear the same person.", "no"),
        ("The answer is yes", "yes"),
        ("First a man speaks, then a woman.\nNo", "no"),
    ],
)
def test_yes_and_no_are_read(text, said) -> None:
    assert read_agreement(text) == ("parsed", said)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Yes and no", "unparsed"),
        ("No, yes", "unparsed"),
        ("No difference", "unparsed"),
        ("No idea", "unparsed"),
        ("Yes-man", "unparsed"),
        ("Yesterday", "unparsed"),
        ("Nobody", "unparsed"),
        ("There is no music", "unparsed"),
        ("Yes\nNo", "unparsed"),
        ("I'm sorry, I cannot tell.", "refused"),
        ("No, I can't tell who speaks.", "refused"),
        ("I'm not sure.", "refused"),
        ("", "empty"),
        ("?!", "empty"),
    ],
)
def test_all_else_is_a_third_value(text, status) -> None:
    assert read_agreement(text) == (status, None)


def test_a_cut_answer_without_either_is_truncated() -> None:
    assert read_agreement("The first speaker", "length").status == "truncated"
    assert read_agreement("Yes, the first speaker", "length") == ("parsed", "yes")


@settings(deadline=None)
@given(st.text())
def test_any_text_is_yes_no_or_neither(text) -> None:
    assert read_agreement(text).value in (None, "yes", "no")


@pytest.mark.parametrize("text", ["yes " * 50_000, "\ud800", "\0", "no " * 50_000, "can't " * 20_000])
def test_hostile_text_is_read_or_not_and_nothing_worse(text) -> None:
    assert read_agreement(text).value in (None, "yes", "no")
