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
from pytest_audiobench.datasets.perturbations.catalogue import GROUPS, PERTURBATION_CATALOGUE, with_clean
from pytest_audiobench.datasets.perturbations.interventions import fragments, orders, windows
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample, letter_of
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice

RATE_HZ = 16_000
HERE = Places(Path("."))
RAMP = np.linspace(0.1, 0.9, 10 * RATE_HZ, dtype=np.float32)
texts = st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=2, max_size=10)


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


@pytest.mark.parametrize(("answer", "right"), [("C", True), ("wren", True), ("A", False), ("(B) robin", False)])
def test_an_answer_by_letter_or_by_text_is_read_against_the_order_that_was_asked(answer, right):
    from pytest_audiobench.models.messages import Response

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
    assert with_clean(["order", "clean", "text"]) == ("clean", "order-1", "order-2", "order-3", "text")
    with pytest.raises(UsageError, match=r"no perturbation is named 'ordre'.*order"):
        with_clean(["ordre"])
