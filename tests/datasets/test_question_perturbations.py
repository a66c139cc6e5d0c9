"""The options in another order, a part of the clip, the clip in a longer window: what changes, and what never does."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.perturbations.catalogue import (
    GROUPS,
    PERTURBATION_CATALOGUE,
    named_perturbations,
    with_clean,
)
from pytest_audiobench.datasets.perturbations.interventions import fragments, orders, windows, without_options
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import LETTERS, Sample, letter_of, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import RULES, multiple_choice

RATE_HZ = 16_000
HERE = Places(Path("."))
RAMP = np.linspace(0.1, 0.9, 10 * RATE_HZ, dtype=np.float32)
words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1)
texts = st.lists(words.filter(lambda word: word.upper() not in [*LETTERS[:10]]), min_size=2, max_size=10)


def asked(sample, perturbation):
    (changed,) = perturb(Dataset("set", lambda places: [sample]), perturbation).read(HERE)
    return changed


def clip_of(samples):
    return Clip(ArraySource.of(samples, RATE_HZ))


def samples_of(clip):
    return decode(clip, RATE_HZ, None).samples


@given(texts, st.data())
def test_the_same_text_is_right_in_any_order_and_all_orders_together_put_it_in_every_place(choices, data):
    reference = data.draw(st.sampled_from(choices))
    sample = Sample("a", (clip_of(RAMP[:100]),), "Which?", tuple(choices), reference)
    rotated = [sample, *(asked(sample, order) for order in orders(len(choices) - 1))]
    for order in rotated:
        assert (order.reference, Counter(order.choices)) == (reference, Counter(choices))
        assert order.choices["ABCDEFGHIJ".index(letter_of(order))] == reference
    for place in range(len(choices)):
        assert Counter(order.choices[place] for order in rotated) == Counter(choices)


def test_two_options_are_asked_in_two_orders_and_a_question_without_any_stays():
    pair = Sample("a", (), "Which?", ("yes", "no"), "no")
    assert [asked(pair, order).choices for order in orders(3)] == [("no", "yes"), ("yes", "no"), ("no", "yes")]
    free = Sample("b", (), "What?", (), "no")
    kept = perturb(Dataset("set", lambda places: [pair, free]), orders(1)[0]).read(HERE)
    assert [sample.choices for sample in kept] == [("no", "yes"), ()]
    with pytest.raises(UsageError, match="no sample has options to put in another order"):
        asked(free, orders(1)[0])


spellings = st.sampled_from(["owl", "Owl", "OWL.", " owl", "wren", "Wren!", "robin"])


@given(st.lists(spellings, min_size=2, max_size=10), spellings, st.integers(1, 9))
def test_equal_and_nearly_equal_options_leave_the_same_text_right(choices, reference, by):
    sample = Sample("a", (), "Which?", tuple(choices), reference)
    if tidy_caseless(reference) not in map(tidy_caseless, choices):
        return
    right = choices[LETTERS.index(letter_of(sample))]
    turned = asked(sample, orders(9)[by - 1])
    assert turned.choices[LETTERS.index(letter_of(turned))] == right
    scorer = multiple_choice().scorers[0]
    for place, choice in enumerate(turned.choices):
        answer = scorer.parse(turned, {"answer": Response.of(LETTERS[place])})
        assert scorer.score(turned, answer)["correct"] == float(tidy_caseless(choice) == tidy_caseless(right))


def test_a_list_of_more_options_than_letters_is_put_in_order_too():
    labels = tuple(f"bird {number}" for number in range(40))
    turned = asked(Sample("a", (), "Which?", labels, "bird 1", {"faithfulness_letter": "B"}), orders(3)[2])
    assert (turned.choices[:2], turned.choices[-1], turned.reference) == (("bird 3", "bird 4"), "bird 2", "bird 1")


FORMS = ("{letter}", "({letter}) {text}", "{text}", "The answer is {letter}.", "[[{letter}]]")
READS_NO_LONE_A = {"faithfulness-recovered-mm", "faithfulness-recovered-mmau"}
"""The study takes an A at the end of a text for the article: these rules prefer places by themselves."""
BIRDS = ("wren", "tawny owl", "robin", "common crane")


@pytest.mark.parametrize("rule", RULES)
def test_a_published_rule_reads_each_order_as_if_the_question_had_come_in_it(rule):
    scorer = multiple_choice(rule).scorers[0]
    forms = [form for form in FORMS if rule not in READS_NO_LONE_A or form not in ("{letter}", "[[{letter}]]")]

    def points(sample, text, form):
        words = form.format(letter=LETTERS[sample.choices.index(text)], text=text)
        return scorer.score(sample, scorer.parse(sample, {"answer": Response.of(words)}))

    for true in BIRDS:
        plain = Sample("a", (), "Which?", BIRDS, true, {"faithfulness_letter": LETTERS[BIRDS.index(true)]})
        for order in orders(3):
            turned = asked(plain, order)
            assert turned.choices != BIRDS
            for text in BIRDS:
                by_form = [points(turned, text, form) for form in forms]
                assert by_form == [points(plain, text, form) for form in forms]
                read = {scores["correct"] for scores in by_form if scores is not None}
                assert (1.0 in read) == (text == true)


def test_options_that_the_question_lists_itself_or_that_bear_letters_are_refused():
    def refused(*choices):
        with pytest.raises(UsageError) as raised:
            asked(Sample("a", (), "Which? A: wren. B: owl.", choices, choices[0]), orders(1)[0])
        return str(raised.value)

    assert "letters of what the question itself lists" in refused("A", "B")
    assert "begin with letters of their own" in refused("(A) wren", "(B) owl")
    with pytest.raises(UsageError, match="nothing to leave out"):
        asked(Sample("a", (), "Which? A: wren. B: owl.", ("A", "B"), "A"), without_options())


@pytest.mark.parametrize(
    "choices",
    [
        ("wren", "owl", "Both A and B", "neither"),
        ("wren", "owl", "All of the above"),
        ("wren", "owl", "A & B", "only A"),
        ("A", "B", "C"),
        ("C", "C major", "A minor"),
    ],
    ids=["letters", "above", "signs", "of the question's own list", "a note"],
)
def test_options_that_mean_others_by_their_places_stay_in_their_order(choices):
    placed, plain = Sample("a", (), "Which?", choices, choices[0]), Sample("b", (), "Which?", BIRDS, BIRDS[0])
    for order in orders(3):
        changed = perturb(Dataset("set", lambda places: [placed, plain]), order).read(HERE)
        assert changed[0].choices == choices
        assert changed[1].choices != BIRDS


@pytest.mark.parametrize("option", ["C major", "A minor or C major", "bass and drums", "None of these"])
def test_options_that_only_look_so_are_put_in_another_order(option):
    assert asked(Sample("a", (), "Which?", ("wren", option), "wren"), orders(1)[0]).choices == (option, "wren")


def test_without_options_the_question_its_clips_and_its_answer_stay():
    sample = Sample("a", (clip_of(RAMP),), "Which?", ("wren", "owl"), "owl", {"kind": "bird"})
    free = asked(sample, without_options())
    assert (free.choices, free.question, free.reference, free.clips) == ((), "Which?", "owl", sample.clips)
    assert free.metadata == sample.metadata


@pytest.mark.parametrize(("answer", "right"), [("C", True), ("wren", True), ("A", False), ("(B) robin", False)])
def test_an_answer_by_letter_or_by_text_is_read_against_the_order_that_was_asked(answer, right):
    sample = asked(Sample("a", (), "Which?", ("wren", "owl", "robin"), "wren"), orders(1)[0])
    assert sample.choices == ("owl", "robin", "wren")
    scorer = multiple_choice().scorers[0]
    parsed = scorer.parse(sample, {"answer": Response.of(answer)})
    assert scorer.score(sample, parsed)["correct"] == float(right)


def test_fragments_are_the_parts_they_are_called():
    sample = Sample("a", (clip_of(RAMP),), "Which?")
    first, middle, last = (samples_of(asked(sample, fragment).clips[0]) for fragment in fragments())
    seconds = 3 * RATE_HZ
    assert np.array_equal(first, RAMP[:seconds])
    assert np.array_equal(last, RAMP[-seconds:])
    begin = (len(RAMP) - seconds) // 2
    assert np.array_equal(middle, RAMP[begin : begin + seconds])
    short = Sample("a", (clip_of(RAMP[:100]),), "Which?")
    assert all(np.array_equal(samples_of(asked(short, each).clips[0]), RAMP[:100]) for each in fragments())


@pytest.mark.parametrize("fill", ["silence", "noise"])
def test_a_clip_lies_untouched_in_its_window_where_the_name_says(fill):
    sample = Sample("a", (clip_of(RAMP),), "Which?")
    rest = 5 * RATE_HZ
    for window, begin in zip(windows(15, fill), (0, rest // 2, rest), strict=True):
        samples = samples_of(asked(sample, window).clips[0])
        assert len(samples) == 15 * RATE_HZ
        assert np.array_equal(samples[begin : begin + len(RAMP)], RAMP)
        around = np.concatenate([samples[:begin], samples[begin + len(RAMP) :]])
        assert around.any() == (fill == "noise")
    longer = samples_of(asked(sample, windows(5, fill)[0]).clips[0])
    assert np.array_equal(longer, RAMP)


def test_groups_are_names_of_the_catalogue_and_clean_comes_first_and_once():
    assert {name for group in GROUPS.values() for name in group} <= set(PERTURBATION_CATALOGUE)
    assert [str(each) for each in named_perturbations("order", "text")] == ["order-1", "order-2", "order-3", "text"]
    assert with_clean(["order", "clean", "text"]) == ("clean", "order-1", "order-2", "order-3", "text")
    with pytest.raises(UsageError, match=r"no perturbation is named 'ordre'.*order"):
        with_clean(["ordre"])
