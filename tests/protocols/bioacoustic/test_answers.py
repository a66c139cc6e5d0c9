"""What our strict scorer takes for a label, or for several, and what it does not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.protocols.bioacoustic.answers import one_label, several_labels, spoken
from pytest_audiobench.protocols.bioacoustic.naming import names_of
from pytest_audiobench.protocols.protocol import Answer

ANIMALS = ("dog", "cat", "crow", "hot dog")
WHALES = ("Beluga, White Whale", "Minke whale", "Fin, Finback Whale", "crow")
SPECIES = ("Turdus merula", "Turdus philomelos", "Erithacus rubecula")
CALLS = ("call", "alarm call", "flight call", "song")
LETTERS = ("A", "B", "C", "D")
HERTZ = ("100 Hz", "300 Hz", "1600 Hz", "4010 Hz")

NAMED = [
    ("dog", ANIMALS, "dog"),
    ("  DOG. ", ANIMALS, "dog"),
    ("I hear a dog", ANIMALS, "dog"),
    ("Two crows.", ANIMALS, "crow"),
    ("a hot dog vendor", ANIMALS, "hot dog"),
    ("It is not a dog, it is a cat.", ANIMALS, "cat"),
    ("It isn't a dog but a cat", ANIMALS, "cat"),
    ("This is a cat rather than a dog.", ANIMALS, "cat"),
    ("No doubt this is a dog", ANIMALS, "dog"),
    ("I hear a dog and not a cat", ANIMALS, "dog"),
    ("dog: no\ncat: no\ncrow: present", ANIMALS, "crow"),
    ("There is neither a dog nor a cat; I hear a crow.", ANIMALS, "crow"),
    ("Dogs bark and cats meow, so the answer is: crow", ANIMALS, "crow"),
    ("It could be a dog or a cat.\n\ncrow", ANIMALS, "crow"),
    ("The species is Turdus merula, unlike Turdus philomelos.", SPECIES, "Turdus merula"),
    ("#0.00s - 5.00s#: turdus philomelos", SPECIES, "Turdus philomelos"),
    ("**Turdus** *merula*", SPECIES, "Turdus merula"),
    ("merula Turdus", SPECIES, "Turdus merula"),
    ("Turdus merulla", SPECIES, "Turdus merula"),
    ("Beluga, White Whale", WHALES, "Beluga, White Whale"),
    ("I think: beluga white whale", WHALES, "Beluga, White Whale"),
    ("alarm calls", CALLS, "alarm call"),
    ("No, there is nothing.", ("Yes", "No"), "No"),
    ("There is no bird.", ("Yes", "No"), "No"),
    ("dog<|end_of_text|> cat", ANIMALS, "dog"),
    ("b", LETTERS, "B"),
    ("(B) a cat", LETTERS, "B"),
    ("A: dog, B: cat, C: crow. Final answer: C", LETTERS, "C"),
    ("Option A is wrong. Option D is right.", LETTERS, "D"),
    ("4 kHz", HERTZ, "4010 Hz"),
    ("about 1,654.75", HERTZ, "1600 Hz"),
    ("1.6 to 1.7 kHz", HERTZ, "1600 Hz"),
    ("In 5 s of sound the pitch is 310 Hz", HERTZ, "300 Hz"),
    ("At first 300 Hz, then 4 kHz. The answer is 300 Hz.", HERTZ, "300 Hz"),
    ("200 Hz", HERTZ, "100 Hz"),
    ("<think>a dog? or a crow</think>cat", ANIMALS, "cat"),
    ("It sounds like a dog. <answer>cat</answer>", ANIMALS, "cat"),
    ("Yes, but no call", ("Yes", "No"), "Yes"),
    ("No, I do not hear any frog in this recording.", ("Yes", "No"), "No"),
    ("Yes. There is no other sound.", ("Yes", "No"), "Yes"),
    ("A is short. This matches description B: a long whine", LETTERS, "B"),
    ("C is noisy. It perfectly aligns with the description in choice B.", LETTERS, "B"),
    ("Between A and C, the best matching description is B.", LETTERS, "B"),
]

NOT_NAMED = [
    ("", ANIMALS, "empty"),
    (" \n…", ANIMALS, "empty"),
    ("<|end_of_text|>dog", ANIMALS, "empty"),
    ("crowd", ANIMALS, "unparsed"),
    ("a crowded place", ANIMALS, "unparsed"),
    ("concatenate", ANIMALS, "unparsed"),
    ("zebra", ANIMALS, "unparsed"),
    ("a crow-like sound", ANIMALS, "unparsed"),
    ("a dog or a cat", ANIMALS, "unparsed"),
    ("not a dog or a cat", ANIMALS, "unparsed"),
    ("Answer: dog or cat", ANIMALS, "unparsed"),
    ("Turdus", SPECIES, "unparsed"),
    ("I'm sorry, I can't tell a dog from a cat.", ANIMALS, "refused"),
    ("I cannot identify the dog.", ANIMALS, "refused"),
    ("I do not know", ("Yes", "No"), "refused"),
    ("No, I cannot tell. Yes.", ("Yes", "No"), "refused"),
    ("Yes, no", ("Yes", "No"), "unparsed"),
    ("It does not match the description in option A", LETTERS, "unparsed"),
    ("eyes closed", ("Yes", "No"), "unparsed"),
    ("I think it is a dog", LETTERS, "unparsed"),
    ("A cat is heard", LETTERS, "unparsed"),
    ("Either A or B", LETTERS, "unparsed"),
    ("E", LETTERS, "out_of_range"),
    ("E", ("A", "F"), "out_of_range"),
    ("no idea", HERTZ, "unparsed"),
    ("300 Hz or 4 kHz", HERTZ, "unparsed"),
    ("for 3 seconds", HERTZ, "unparsed"),
]


@pytest.mark.parametrize(("text", "labels", "label"), NAMED)
def test_a_label_that_is_said_is_read(text, labels, label):
    assert one_label(text, labels) == Answer("parsed", label)


@pytest.mark.parametrize(("text", "labels", "status"), NOT_NAMED)
def test_nothing_else_is_taken_for_a_label(text, labels, status):
    assert one_label(text, labels) == Answer(status)


@pytest.mark.parametrize(
    ("text", "labels", "answer"),
    [
        ("alarm", CALLS, Answer("truncated")),
        ("call", CALLS, Answer("parsed", "call")),
        ("It could be a dog. Its", ANIMALS, Answer("truncated")),
        ("The answer is dog. Its", ANIMALS, Answer("parsed", "dog")),
        ("The answer is dog", ANIMALS, Answer("truncated")),
        ("300 Hz to", HERTZ, Answer("truncated")),
    ],
)
def test_what_the_limit_of_tokens_cut_must_be_complete(text, labels, answer):
    assert one_label(text, labels, "length") == answer


SEVERAL = [
    ("crow, Minke whale", WHALES, ["Minke whale", "crow"]),
    ("Beluga, White Whale, crow", WHALES, ["Beluga, White Whale", "crow"]),
    ("Fin, Finback Whale", WHALES, ["Fin, Finback Whale"]),
    ("- crow\n- Mink whale", WHALES, ["Minke whale", "crow"]),
    ("crow, crow", WHALES, ["crow"]),
    ("crow and Mink whale", WHALES, ["Minke whale", "crow"]),
    ("crow, Mink whale and Beluga, White Whale", WHALES, ["Beluga, White Whale", "Minke whale", "crow"]),
    ("Labels: None.", WHALES, []),
    ("'None'", WHALES, []),
    ("crow, zebra", WHALES, ["crow"]),
    ("There is no crow, but a Minke whale.", WHALES, ["Minke whale"]),
    ("None", WHALES, []),
    ("None of the labels.", WHALES, []),
    ("There is no animal.", WHALES, []),
    ("I hear nothing", WHALES, []),
    ("[]", WHALES, []),
    ("no whales, crowd noise", WHALES, []),
    ("I don't hear any animals in this recording.", WHALES, []),
    ('{"crow": true, "Minke whale": false}', WHALES, ["crow"]),
]


@pytest.mark.parametrize(("text", "labels", "found"), SEVERAL)
def test_all_labels_that_are_said_are_read(text, labels, found):
    assert several_labels(text, labels) == Answer("parsed", json.dumps(found))


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        ("zebra", "unparsed"),
        ("crowd noise", "unparsed"),
        ("No idea.", "unparsed"),
        ("I'm sorry, I cannot hear a crow.", "refused"),
    ],
)
def test_what_says_neither_a_label_nor_none_is_counted(text, status):
    assert several_labels(text, WHALES).status == status


def test_a_list_that_was_cut_keeps_what_stands_before_the_last_word():
    assert several_labels("Minke whale, crow", WHALES, "length") == Answer("truncated", '["Minke whale"]')


def test_a_plural_is_no_singular_where_the_list_has_both():
    assert one_label("calls", ("call", "calls")) == Answer("parsed", "calls")


PHRASES = st.lists(st.sampled_from([*ANIMALS, "not", "or", ",", ".", "a", "the answer is"])).map(" ".join)


@settings(deadline=None)
@given(st.text(max_size=80) | PHRASES)
def test_no_label_is_read_that_was_not_offered(text):
    for labels in (ANIMALS, WHALES, LETTERS, HERTZ, ("Yes", "No")):
        answer = one_label(text, labels)
        assert (answer.value in labels) == (answer.status == "parsed")
        assert set(json.loads(several_labels(text, labels).value or "[]")) <= set(labels)


@settings(deadline=None)
@given(st.sampled_from(ANIMALS + WHALES + SPECIES))
def test_scorer_a_label_gives_it_again(label):
    labels = tuple(dict.fromkeys(ANIMALS + WHALES + SPECIES))
    assert one_label(label, labels).value == label
    assert several_labels(label, labels).value == json.dumps([label])


LISTS = st.lists(st.text(max_size=12), min_size=1, max_size=6, unique=True)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=200), LISTS)
def test_no_text_and_no_labels_break_the_scorer(text, labels):
    odd = text + "\ud800\x00"
    assert one_label(odd, tuple(labels)).value in (None, *labels)
    assert set(json.loads(several_labels(odd, tuple(labels)).value or "[]")) <= set(labels)


HOSTILE = [
    "a " * 50_000,
    "dog or " * 20_000,
    "not " * 50_000,
    "1 - " * 50_000,
    "between 1 " * 20_000,
    "," * 200_000,
    "answer is " * 20_000,
    "(" * 200_000,
    "\n" * 200_000,
    "dog, not " * 20_000,
    "#1-" * 60_000,
    "9" * 200_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_a_hostile_text_comes_to_an_end(text):
    """A pattern that is quadratic in one of these runs for minutes."""
    for labels in (ANIMALS, LETTERS, HERTZ):
        assert one_label(text, labels).value in (None, *labels)
    assert several_labels(text, WHALES).value != ""


def test_only_the_ends_of_a_long_text_are_looked_at():
    assert one_label("x " * 20_000 + "\ndog", ANIMALS).value == "dog"
    assert len(spoken("word " * 100_000)) < 25_000


def test_names_are_made_once_for_a_list():
    assert names_of(ANIMALS) is names_of(ANIMALS)
