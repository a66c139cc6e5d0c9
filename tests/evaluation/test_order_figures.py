"""The figures over the orders of options: shares over whole samples, the worst order, places that are preferred."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audiobench.evaluation.order_figures import OrderedAnswer, figures_of

OWL = ("owl", "wren", "robin", "crane")


def turned(choices, by):
    return (*choices[by:], *choices[:by])


def answers(said, choices=OWL, true="owl", number=0):
    """One sample's in the order in which ``by`` of its options moved behind the last."""
    return lambda by: OrderedAnswer(
        (f"s{number}", 0), f"s{number}", turned(choices, by), true, said(turned(choices, by))
    )


def figures(*samples):
    by_order = {("clean" if not by else f"order-{by}"): [sample(by) for sample in samples] for by in range(4)}
    return list(figures_of(("birds", "", "letters", "mcq:letters"), by_order))


def test_who_says_a_place_is_biased_and_who_says_a_text_is_not():
    (place,) = figures(answers(lambda choices: choices[2]))
    assert (place.bias, place.mean.value, place.same.value, place.every.value) == (0.75, 0.25, 0.0, 0.0)
    (text,) = figures(answers(lambda choices: "wren"))
    assert (text.bias, text.mean.value, text.same.value, text.every.value) == (0.0, 0.0, 1.0, 0.0)


def test_two_options_have_two_orders_and_each_counts_once():
    (pair,) = figures(answers(lambda choices: choices[0], ("owl", "wren")))
    assert (pair.mean.value, pair.bias, pair.n) == (0.5, 0.5, 1)


def test_the_worst_order_is_that_in_which_the_fewest_are_right():
    sure = answers(lambda choices: "owl")
    unsure = answers(lambda choices: "owl" if choices[0] != "robin" else "wren", number=1)
    (both,) = figures(sure, unsure)
    assert (both.worst.order, both.worst.value, both.every.value) == ("order-2", 0.5, 0.5)


def test_the_interval_of_the_worst_order_holds_the_worst_of_orders_that_are_all_alike():
    draws = np.random.default_rng(2).random((100, 100, 4)) < 0.5
    holding = 0
    for draw in draws:
        by_order = {
            str(by): [
                OrderedAnswer((f"s{number}", 0), f"s{number}", turned(OWL, by), "owl", "owl" if right else "wren")
                for number, right in enumerate(draw[:, by])
            ]
            for by in range(4)
        }
        (orders,) = figures_of(("birds", "", "letters", "mcq:letters"), by_order)
        holding += orders.worst.lower <= 0.5 <= orders.worst.upper
    assert holding >= 95


def test_an_answer_that_is_no_option_is_the_same_as_nothing_and_has_no_place():
    (silent,) = figures(answers(lambda choices: "(no answer)"))
    assert (silent.same.value, silent.bias, silent.mean.value) == (0.0, None, 0.0)


def test_a_sample_that_lacks_an_order_and_one_of_a_single_order_are_in_no_figure():
    whole, lone = answers(lambda choices: "owl"), answers(lambda choices: "owl", ("owl",), number=1)
    by_order = {f"order-{by}": [whole(by), lone(by)] for by in range(3)}
    by_order["order-3"] = []
    assert list(figures_of(("birds", "", "letters", "mcq:letters"), by_order)) == []
    (orders,) = figures(whole, lone)
    assert orders.n == 1


@pytest.mark.parametrize("count", [26, 40])
def test_places_behind_the_last_letter_have_numbers(count):
    labels = tuple(f"bird {number:02}" for number in range(count))
    (orders,) = figures(answers(lambda choices: choices[-1], labels, "bird 00"))
    said = {place.letter: place.said for place in orders.places if place.said}
    assert said == {"Z" if count == 26 else "40": 1.0}
