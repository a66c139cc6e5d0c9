"""What the wordings of a question make of a score: how far it moves, its mean, its worst, and what is known of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.evaluation.wording_figures import WordedScore, wording_figures, wording_number
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import MetricRecord


def metric(scorer: str, value: float | None, **changes: Any) -> MetricRecord:
    base, _, number = scorer.partition("@")
    signature = f"{base}|wording:{number}/3" if number else f"{base}|vote:3"
    values: dict[str, Any] = {"name": "accuracy", "unit": "share", "direction": "higher", "method": "m", "n": 9}
    return MetricRecord(
        **{
            **values,
            "value": value,
            "lower": None,
            "upper": None,
            "scorer": scorer,
            "signature": signature,
            **changes,
        }
    )


def nothing(scorer: str, signature: str, group: Mapping[str, str]) -> list[WordedScore]:
    return []


def figures(metrics: Sequence[MetricRecord], **wanted: str) -> dict[str, MetricRecord]:
    return {record.name: record for record in wording_figures(metrics, nothing) if dict(record.group) == wanted}


THREE = [metric("letters", 0.5), metric("letters@1", 0.3), metric("letters@2", 0.7), metric("letters@3", 0.4)]


def test_the_figures_are_of_the_values_and_stand_at_the_headline() -> None:
    found = figures(THREE)
    assert {name: record.value for name, record in found.items()} == {
        "wording_spread": pytest.approx(0.4),
        "wording_sd": pytest.approx(statistics.stdev([0.3, 0.7, 0.4])),
        "wording_mean": pytest.approx(1.4 / 3),
        "wording_worst": 0.3,
    }
    for record in found.values():
        assert (record.scorer, record.signature, record.n) == ("letters", "letters|vote:3", 9)
        assert "over 3 wordings" in record.method
    assert {name: (record.unit, record.direction) for name, record in found.items()} == {
        "wording_spread": ("points", "lower"),
        "wording_sd": ("points", "lower"),
        "wording_mean": ("share", "higher"),
        "wording_worst": ("share", "higher"),
    }


def test_answers_that_no_wording_can_be_read_of_have_no_spread() -> None:
    unread = [WordedScore({"correct": 0.0}, number, is_read=False) for number in range(30)]
    wordings = [metric(f"letters@{number}", 0.0) for number in (1, 2, 3)]
    records = {
        record.name: record for record in wording_figures([metric("letters", 0.0), *wordings], lambda *_: unread)
    }
    for name in ("wording_spread", "wording_sd"):
        assert records[name].value is None
        assert records[name].method == "no answer could be read in any wording; accuracy over 3 wordings"
    assert records["wording_worst"].value == 0.0
    read = [*unread[1:], WordedScore({"correct": 0.0}, 30)]
    records = {record.name: record for record in wording_figures([metric("letters", 0.0), *wordings], lambda *_: read)}
    assert records["wording_spread"].value == 0.0


def test_wordings_agree_on_nothing_where_none_could_be_read() -> None:
    kind = metric_kind("wording_agreement")
    unread = {"wordings_agreeing": 1.0, "wordings_same": 0.0}
    estimate = kind.estimate([unread] * 3, None)
    assert math.isnan(estimate.value)
    assert "no answer could be read in any wording" in estimate.method
    assert kind.estimate([unread, {"wordings_agreeing": 1.0, "wordings_same": 1.0}], None).value == 1.0


def test_the_worst_of_error_rates_is_the_largest() -> None:
    rates = [
        metric(record.scorer or "", record.value, name="wer", unit="errors per word", direction="lower")
        for record in THREE
    ]
    worst = figures(rates)["wording_worst"]
    assert (worst.value, worst.unit, worst.direction) == (0.7, "errors per word", "lower")


def test_a_wording_that_is_missing_leaves_no_figure_and_one_without_a_value_no_number() -> None:
    assert figures(THREE[:3]) == {}
    found = figures([*THREE[:3], metric("letters@3", None)])
    assert {(record.value, record.lower, record.upper, record.method) for record in found.values()} == {
        (None, None, None, "accuracy over 3 wordings, one of which has no value")
    }


def test_each_group_has_its_own_figures() -> None:
    group = [metric(record.scorer or "", (record.value or 0.0) / 2, group={"hop": "multi"}) for record in THREE]
    assert figures([*THREE, *group])["wording_spread"].value == pytest.approx(0.4)
    of_group = figures([*THREE, *group], hop="multi")
    assert of_group["wording_spread"].value == pytest.approx(0.2)
    assert of_group["wording_worst"].value == pytest.approx(0.15)


def test_only_a_scorers_first_metric_has_figures_and_each_scorer_for_itself() -> None:
    further = [metric(record.scorer or "", 1.0, name="coverage") for record in THREE]
    other = [metric(f"mmar{tail}", value) for tail, value in (("", 0.1), ("@1", 0.1), ("@2", 0.1), ("@3", 0.2))]
    spreads = [
        record for record in wording_figures([*THREE, *further, *other], nothing) if record.name == "wording_spread"
    ]
    assert [(record.scorer, record.value) for record in spreads] == [
        ("letters", pytest.approx(0.4)),
        ("mmar", pytest.approx(0.1)),
    ]


def test_an_error_rates_spread_keeps_its_unit() -> None:
    rates = [metric(record.scorer or "", record.value, unit="seconds") for record in THREE]
    assert {record.unit for record in wording_figures(rates, nothing)} == {"seconds"}


def test_a_scorers_signature_says_of_which_wording_it_is() -> None:
    assert wording_number("mcq:letters|v:1|wording:2/3") == 2
    assert wording_number("mcq:letters|v:1|vote:3|tie:unanswered") == 0
    assert figures([metric("letters", 0.5)]) == {}


def worded(marks: Sequence[Sequence[bool | None]]) -> list[MetricRecord]:
    """The figures over what each sample's wordings are: right, wrong or left out."""
    kind, count = metric_kind("accuracy"), len(marks[0])
    scores = {
        f"letters@{place + 1}": [
            WordedScore(None if sample[place] is None else {"correct": float(bool(sample[place]))}, number)
            for number, sample in enumerate(marks)
        ]
        for place in range(count)
    }
    values = {
        name: kind.estimate([row.statistics for row in rows if row.statistics is not None], None).value
        for name, rows in scores.items()
    }
    records = [metric("letters", 0.5)]
    records += [metric(name, value, signature=f"l|wording:{name[-1]}/{count}") for name, value in values.items()]
    return list(wording_figures(records, lambda scorer, signature, group: scores[scorer]))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 3), min_size=20, max_size=40), st.randoms(use_true_random=False))
def test_intervals_hold_their_value_and_hang_on_no_order_of_the_samples(
    marks: list[tuple[bool, ...]], random: Any
) -> None:
    found = worded(marks)
    for record in found:
        if record.name != "wording_sd":
            assert record.value is not None
            assert record.lower is not None
            assert record.upper is not None
            assert 0.0 <= record.lower <= record.value + 1e-9
            assert record.value - 1e-9 <= record.upper <= 1.0
    shuffled = list(marks)
    random.shuffle(shuffled)
    for record, again in zip(found, worded(shuffled), strict=True):
        assert (again.value, again.lower, again.upper) == pytest.approx((record.value, record.lower, record.upper))


def test_wordings_that_never_differ_have_no_spread_but_are_not_known_to_have_none() -> None:
    alike = {record.name: record for record in worded([(True,) * 3, (False,) * 3] * 20)}["wording_spread"]
    assert (alike.value, alike.lower) == (0.0, 0.0)
    # The rule of three: a share of 1 - 0.025^(1/40) that differ would not show in 40 samples.
    assert alike.upper == pytest.approx(1 - 0.025 ** (1 / 40))


def test_a_spread_is_paired_by_sample() -> None:
    """One sample in ten is lost by the second wording: how hard the others are is not part of that."""
    marks = [(True, number % 10 > 0) for number in range(50)] + [(False, False)] * 50
    spread = {record.name: record for record in worded(marks)}["wording_spread"]
    assert spread.value == pytest.approx(0.05)
    assert spread.upper is not None
    assert spread.upper < 0.11
    independent = 1.96 * (2 * 0.25 / 100) ** 0.5
    assert spread.upper - spread.value < independent / 2


def test_few_samples_have_a_mean_with_its_interval_and_no_worst() -> None:
    found = {record.name: record for record in worded([(True, False), (True, True)] * 5)}
    assert found["wording_mean"].lower is not None
    assert found["wording_worst"].lower is None
    assert "10 samples, 20 needed" in found["wording_worst"].method


def test_an_answer_that_one_wordings_scorer_leaves_out_counts_in_the_others() -> None:
    marks: list[tuple[bool | None, ...]] = [(True, None), (True, True), (False, True)] * 20
    mean = {record.name: record for record in worded(marks)}["wording_mean"]
    assert mean.value == pytest.approx((2 / 3 + 1.0) / 2)
    assert mean.lower is not None
    assert mean.upper is not None
    assert mean.lower < mean.value < mean.upper
