"""MMAU's string match: the published rule, and a parse that never disagrees with it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.protocols.multiple_choice.published_scorers import has_same_tokens, mmau_matches, read_mmau
from pytest_audiobench.protocols.protocol import Answer


def published(answer: str, prediction: str, choices: list[str]) -> bool:
    """The rule as MMAU's evaluation script describes it, written out once more."""

    def tokenize(text: str) -> set[str]:
        return set(re.findall(r"\b\w+\b", text.lower()))

    said, wanted = tokenize(prediction), tokenize(answer)
    if not said:
        return False
    unwanted: set[str] = set()
    for choice in choices:
        if tokenize(choice) != wanted:
            unwanted |= tokenize(choice) - wanted
    return wanted.issubset(said) and said.isdisjoint(unwanted)


@pytest.mark.parametrize(
    ("text", "choices", "expected"),
    [
        ("Man", ("Man", "Woman"), Answer("parsed", "A")),
        ("(B) a WOMAN!", ("Man", "Woman"), Answer("parsed", "B")),
        ("man, not woman", ("Man", "Woman"), Answer("unparsed")),
        ("both", ("Man", "Woman"), Answer("unparsed")),
        ("man and woman", ("Man", "Man and woman"), Answer("parsed", "B")),
        ("man", ("Man", "Man and woman"), Answer("parsed", "A")),
        ("A:maj", ("A#:maj", "A:maj"), Answer("parsed", "A")),
        ("thirteen", ("two", "thirteen", "thirteen"), Answer("parsed", "B")),
        ("", ("Man", "Woman"), Answer("empty")),
        ("?!", ("Man", "Woman"), Answer("unparsed")),
    ],
)
def test_an_answer_holds_all_of_one_choice_and_nothing_of_the_others(text, choices, expected) -> None:
    assert read_mmau(text, choices) == expected


WORDS = st.sampled_from(["man", "woman", "and", "a", "Two", "1.5", "15", "A#", "", "é", "?", "(B)", "don't", "\ud800"])
PHRASES = st.lists(WORDS, max_size=4).map(" ".join)


@given(PHRASES | st.text(max_size=20), st.lists(PHRASES, min_size=1, max_size=5), st.data())
def test_correctness_is_the_published_rule_for_every_choice_that_could_be_true(text, choices, data) -> None:
    reference = data.draw(st.sampled_from(choices))
    answer = read_mmau(text, tuple(choices))
    correct = answer.value is not None and has_same_tokens(answer.value, reference, tuple(choices))
    assert correct == published(reference, text, choices)


@given(PHRASES, st.lists(PHRASES, min_size=2, max_size=5).map(tuple))
def test_two_choices_pass_together_only_when_their_tokens_are_equal(text, choices) -> None:
    passing = [choice for choice in choices if mmau_matches(text, choice, choices)]
    assert len({frozenset(re.findall(r"\b\w+\b", choice.lower())) for choice in passing}) <= 1
