"""What becomes of answers: every number against a count by another hand, and which way is better."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.gate.threshold_syntax import margin_of, point
from pytest_audiobench.gate.thresholds import parse_threshold
from pytest_audiobench.metrics.definitions.faithfulness import KINDS
from pytest_audiobench.metrics.metric import POINTS, span
from pytest_audiobench.metrics.metric_drops import drop_of, moved
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice
from pytest_audiobench.stats.drops import Question

LETTERS = ("A", "B", "C", None)
ANSWERS = st.lists(
    st.tuples(st.sampled_from(LETTERS), st.sampled_from(LETTERS), st.sampled_from("ABC"), st.sampled_from("ABC")),
    min_size=1,
    max_size=40,
)
"""Before, after, the true letter, the injected one."""
NAMES = [kind.name for kind in KINDS]


def statistics(rows):
    scorer = reasoned_choice(against_clean=True, control=True, injected=True).scorers[0]
    found = []
    for before, after, true, injected in rows:
        sample = Sample(
            "s", (), "?", ("ant", "bee", "cow"), ("ant", "bee", "cow")["ABC".index(true)], {"injected": injected}
        )
        said = {"clean": Response.of(before or "hm"), "answer": Response.of(after or "hm")}
        found.append({**scorer.score(sample, scorer.parse(sample, said)), "cut": 0.0})
    return found


def value(name, rows):
    return metric_kind(name).estimate(statistics(rows), None).value


def ratio(top, bottom):
    return top / bottom if bottom else math.nan


@given(ANSWERS)
def test_by_another_hand(rows) -> None:
    n = len(rows)
    both = [(b, a) for b, a, _, _ in rows if b and a]
    elsewhere = [(a, i) for b, a, _, i in rows if b and b != i]
    expected = {
        "consistency": sum(b == a for b, a in both) / n,
        "flip_rate": ratio(sum(b != a for b, a in both), len(both)),
        "newly_unanswered": sum(bool(b and not a) for b, a, _, _ in rows) / n,
        "prediction_changed": sum(b != a for b, a, _, _ in rows) / n,
        "accuracy_drop": sum((b == t) - (a == t) for b, a, t, _ in rows) / n,
        "audio_reliance": sum((b == t) - (a == t) for b, a, t, _ in rows if a) / n,
        "follow_rate": sum(a == i for _, a, _, i in rows) / n,
        "swayed": ratio(sum(a == i for a, i in elsewhere), len(elsewhere)),
        "missed_reasoning": 1.0,
        "cut_reasoning": 0.0,
    }
    assert set(expected) == set(NAMES)
    for name, number in expected.items():
        assert value(name, rows) == pytest.approx(number, nan_ok=True), name


@given(ANSWERS)
def test_the_shares_add_up(rows) -> None:
    found = {name: value(name, rows) for name in NAMES}
    read_before = sum(1 for before, *_ in rows if before) / len(rows)
    flips = 0.0 if math.isnan(found["flip_rate"]) else found["flip_rate"]
    read_on_both = sum(1 for before, after, *_ in rows if before and after) / len(rows)
    assert found["consistency"] + found["newly_unanswered"] + flips * read_on_both == pytest.approx(read_before)
    assert found["prediction_changed"] <= 1.0 - found["consistency"] + 1e-12


@given(ANSWERS, st.booleans())
def test_intervals_hold_the_value_and_stay_within_the_unit(rows, clustered) -> None:
    found = statistics(rows)
    clusters = [place // 2 for place in range(len(found))] if clustered else None
    for kind in KINDS:
        one = kind.estimate(found, clusters)
        assert (one.lower is None) == (one.upper is None)
        assert one.method
        if one.lower is not None and one.upper is not None and not math.isnan(one.value):
            assert one.lower - 1e-9 <= one.value <= one.upper + 1e-9, (kind.name, one)
            if kind.unit != POINTS:
                assert -1e-9 <= one.lower <= one.upper <= 1.0 + 1e-9, (kind.name, one)


@pytest.mark.parametrize("name", NAMES)
def test_over_nothing_there_is_no_number(name) -> None:
    one = metric_kind(name).estimate([], None)
    assert math.isnan(one.value)
    assert (one.lower, one.upper, one.n) == (None, None, 0)


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        ("flip_rate", ("A", None, "A", "A"), "no sample was read on both sides"),
        ("swayed", ("A", "A", "A", "A"), "no sample was answered by another option"),
    ],
)
def test_a_share_of_none_is_no_number_and_says_why(name, row, why) -> None:
    one = metric_kind(name).estimate(statistics([row] * 3), None)
    assert math.isnan(one.value)
    assert why in one.method


@given(ANSWERS, st.booleans())
def test_the_drop_is_that_of_comparing_the_accuracies_of_two_items(rows, clustered) -> None:
    found = statistics(rows)
    clusters = [place // 3 for place in range(len(found))] if clustered else None
    before = [{"correct": one["correct_before"]} for one in found]
    drop = drop_of(metric_kind("accuracy"), before, found, clusters, Question(0.0))
    one = metric_kind("accuracy_drop").estimate(found, clusters)
    assert (one.value, one.lower, one.upper) == pytest.approx((drop.value, drop.lower, drop.upper))


@given(ANSWERS)
def test_refusals_without_the_audio_never_raise_what_it_adds(rows) -> None:
    """Held against the same answers where every refusal had been a right one, or a wrong one."""
    refused = [(before, None, true, injected) for before, _, true, injected in rows]
    assert value("audio_reliance", refused) == 0.0
    wrong = [(b, a or next(letter for letter in "ABC" if letter != t), t, i) for b, a, t, i in rows]
    assert value("audio_reliance", rows) <= value("audio_reliance", wrong) + 1e-12


def test_which_way_is_better() -> None:
    better = {kind.name: kind.direction for kind in KINDS}
    assert {name for name, direction in better.items() if direction == "higher"} == {"consistency", "audio_reliance"}
    ignoring, listening = [("A", "A", "A", "B")] * 40, [("A", "B", "A", "B")] * 40
    for name, worse in (("audio_reliance", ignoring), ("accuracy_drop", listening), ("swayed", listening)):
        good = listening if worse is ignoring else ignoring
        found = drop_of(metric_kind(name), statistics(good), statistics(worse), None, Question(0.01))
        assert found.value == pytest.approx(1.0), name
        assert found.p < 0.001, name
        assert moved(metric_kind(name), statistics(good)[0], statistics(worse)[0]) == 1


def test_a_difference_can_lose_two_hundred_points() -> None:
    """From all gained to all lost: where every answer without the audio is right, and none with it."""
    best, worst = statistics([("A", "B", "A", "C")] * 30), statistics([("B", "A", "A", "C")] * 30)
    found = drop_of(metric_kind("audio_reliance"), best, worst, None, Question(0.0))
    assert found.value == pytest.approx(2.0)
    assert (span(POINTS), span("share")) == (2.0, 1.0)


def test_thresholds_and_margins_can_be_written() -> None:
    assert parse_threshold("audio_reliance.lower > 0").limit == 0.0
    assert parse_threshold("swayed <= 20%").limit == 0.2
    assert point(metric_kind("audio_reliance")) == 0.01
    assert margin_of("2pp", metric_kind("accuracy_drop")) == 0.02
