"""Words too many, and answers that stop before the speaker does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.transcription.insertions import stops_early
from pytest_audiobench.protocols.transcription.task import transcription

TOKENS = st.lists(st.sampled_from("abc"), max_size=7)


def distance(reference, said):
    found = token_errors(reference, said)
    return found["S"] + found["D"] + found["I"]


@given(TOKENS, TOKENS)
def test_an_answer_stops_early_where_it_is_nearer_to_a_beginning_than_to_the_whole(reference, said):
    beginnings = [distance(reference[:length], said) for length in range(len(reference) + 1)]
    nearer = bool(reference) and min(beginnings[:-1]) < beginnings[-1]
    assert stops_early(reference, said) == (nearer and 0 < len(said) < 2 * len(reference))


@pytest.mark.parametrize(
    ("said", "early"),
    [
        ("open the", True),
        ("open the box", False),  # a word missed in the middle
        ("please open the blue", True),  # as many words as were spoken
        ("open the blue books", False),  # another last word
        ("open the blue box thank you", False),
        ("", False),  # it never began
    ],
)
def test_what_is_missing_is_the_end(said, early):
    assert stops_early(["open", "the", "blue", "box"], said.split()) is early


def scored(name, reference, text):
    scorer = transcription().available[name]
    sample = Sample("a", (), "", reference=reference)
    return scorer.score(sample, scorer.parse(sample, {"answer": Response.of(text)}))


def value(metric, *statistics):
    return metric_kind(metric).estimate(list(statistics), None).value


def test_insertions_are_per_word_and_the_published_rates_per_answer():
    pairs = [("open the door", "please do open the door"), ("close it", "close it"), ("one two three", "one")]
    ours = [scored("insertions", *pair) for pair in pairs]
    theirs = [scored("insertions-thenirock", *pair) for pair in pairs]
    assert value("insertion_rate", *ours) == pytest.approx(2 / 8)
    assert value("truncation_rate", *ours) == pytest.approx(1 / 3)
    assert value("longer_rate", *theirs) == value("shorter_rate", *theirs) == pytest.approx(1 / 3)
    assert value("token_delta", *ours) == value("token_delta", *theirs) == 0.0


def test_the_published_rule_never_compares_words():
    assert scored("insertions-thenirock", "open the door", "something else entirely")["shorter"] == 0.0
    assert scored("insertions", "open the door", "open door")["stopped_early"] == 0.0
    assert scored("insertions-thenirock", "open the door", "open door")["shorter"] == 1.0


def test_a_thousand_words_take_no_long_time():
    words = [f"w{number}" for number in range(1_000)]
    assert stops_early(words, words[:-1])
