"""Which one label an answer asserts."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.protocols.classification.asserted_label import read_label
from pytest_audiobench.protocols.classification.mentions import labels_of

FEELINGS = ("angry", "happy", "neutral", "sad")


def asserted(text, choices=FEELINGS, finish="stop"):
    return read_label(text, choices, labels_of(choices), finish)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Happy.", "happy"),
        ("**HAPPY**", "happy"),
        ("  happy\n", "happy"),
        ("The speaker sounds happy.", "happy"),
        ("not sad but happy", "happy"),
        ("He isn't very happy, he is sad.", "sad"),
        ("The emotion is not happy but sad.", "sad"),
        ("Happy is not the emotion here; it is neutral.", "neutral"),
        ("No doubt happy", "happy"),
        ("Is it happy or sad? Happy.", "happy"),
        ("It could be sad or angry.\n\nAnswer: happy", "happy"),
        ("<think>happy? angry?</think>sad", "sad"),
        ("<Reasoning>There is no sign of fear or happy tones.</Reasoning>\n<Conclusion>\nD</Conclusion>", "sad"),
        ("<Reasoning>It may be angry.</Reasoning><C>Neutral</C>", "neutral"),
        ("There are no signs of anger, happy tones, or sad ones: it is neutral", "neutral"),
        ("not sad, happy", "happy"),
        ("I'm happy to help! The speaker sounds sad.", "sad"),
        ("The speaker is far from happy, rather angry", "angry"),
        ("happy: no, sad: yes", "sad"),
        ("A happy tone is not present, it is neutral", "neutral"),
        ("sad (not happy)", "sad"),
        ("Angry or sad: hard to say. <answer>sad</answer>", "sad"),
        ('She says "I am happy" in a sad voice.', "sad"),
        ('The emotion is "happy".', "happy"),
        ("I'm not sure, but the emotion is happy.", "happy"),
        ("B", "happy"),
        ("(C)", "neutral"),
    ],
)
def test_what_is_asserted_is_read(text, label) -> None:
    assert asserted(text) == ("parsed", label)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("not happy", "unparsed"),
        ("The speaker is not happy", "unparsed"),
        ("There are no signs of the speaker being happy", "unparsed"),
        ("neither happy nor sad", "unparsed"),
        ("happy or sad", "unparsed"),
        ("The answer is happy. Sad.", "unparsed"),
        ("Nothing suggests that it is neutral. There are no signs of anger, sad, or happy tones.", "unparsed"),
        ("A. Angry, B. Happy, C. Neutral, D. Sad. I need to hear it first.", "unparsed"),
        ("<Reasoning>It is happy.</Reasoning>\n<C> B </Conclusion>", "unparsed"),
        ("It is a long story that names happy once and says nothing of the answer. " * 6, "unparsed"),
        ("unhappy", "unparsed"),
        ("happiness", "unparsed"),
        ("happy-go-lucky", "unparsed"),
        ("I'm sorry, I can't tell if they are happy.", "refused"),
        ("As an AI model I cannot hear a sad voice", "refused"),
        ("A man is speaking.", "unparsed"),
        ("Z", "out_of_range"),
        ("", "empty"),
        (" … ", "empty"),
    ],
)
def test_what_is_not_asserted_is_not_guessed(text, status) -> None:
    assert asserted(text) == (status, None)


def test_a_refusal_is_what_the_server_says_it_is() -> None:
    assert asserted("The voice seems happy", finish="refusal").status == "refused"


@pytest.mark.parametrize(
    ("text", "choices", "found"),
    [
        ("happy", FEELINGS, "happy"),
        ("guitar", ("guitar", "guitar solo"), None),
        ("The emotion is happy. She", FEELINGS, "happy"),
        ("The emotion is happy", FEELINGS, None),
        ("The speaker sounds happy and", FEELINGS, None),
    ],
)
def test_a_cut_answer_counts_only_when_its_label_is_whole(text, choices, found) -> None:
    assert asserted(text, choices, "length") == (("parsed", found) if found else ("truncated", None))


def test_the_longest_of_labels_that_begin_together_counts() -> None:
    choices = ("guitar", "electric guitar", "Beluga, White Whale")
    assert asserted("It is an electric guitar.", choices).value == "electric guitar"
    assert asserted("I hear a guitar.", choices).value == "guitar"
    assert asserted("That is a beluga, white whale!", choices).value == "Beluga, White Whale"


def test_characters_without_spaces_between_words_are_words() -> None:
    choices = ("开心", "难过")
    assert asserted("说话者很开心", choices).value == "开心"
    assert asserted("说话者不开心", choices).status == "unparsed"


def test_many_labels_are_read_like_few() -> None:
    choices = tuple(f"bird {number}" for number in range(300))
    assert asserted("I believe this is bird 123, singing.", choices).value == "bird 123"


labels = st.lists(st.text(string.ascii_letters + " é犬-,'", min_size=1, max_size=8), min_size=1, max_size=5).map(tuple)


@settings(deadline=None)
@given(st.text(), labels)
def test_no_label_is_read_that_was_not_offered(text, choices) -> None:
    found = asserted(text, choices)
    assert found.value is None or found.value in choices
    assert (found.value is not None) == (found.status == "parsed")


@settings(deadline=None)
@given(labels, st.sampled_from(("The answer is {}.", "{}", "I hear {}", "not {}", "{} or {}")))
def test_an_answer_that_was_read_reads_the_same_again(choices, template) -> None:
    found = asserted(template.format(choices[0], choices[-1]), choices)
    if found.value is not None:
        assert asserted(found.value, choices) == found


@pytest.mark.parametrize("text", ["\ud800happy\0", "\x00", "\udfff", "happy" * 5_000, "not " * 50_000, "(" * 20_000])
def test_hostile_text_is_read_or_not_and_nothing_worse(text) -> None:
    assert asserted(text).value in (None, "happy")


@pytest.mark.parametrize(
    "text",
    ["I'm happy to help.", "Sure, happy to help!", "anything but happy", "unlikely happy", "happy tones are absent"],
)
def test_politeness_and_denials_are_no_label(text) -> None:
    assert asserted(text).status == "unparsed"
