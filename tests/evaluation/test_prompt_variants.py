"""How far a headline moves over the wordings of its question."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from pytest_audiobench.evaluation.scoring import is_of_wording, wording_spreads
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


THREE = [metric("letters", 0.5), metric("letters@1", 0.3), metric("letters@2", 0.7), metric("letters@3", 0.4)]


def test_the_spread_is_the_largest_less_the_smallest_and_stands_at_the_headline() -> None:
    spread, deviation = wording_spreads(THREE)
    assert (spread.name, spread.value, deviation.name) == ("wording_spread", pytest.approx(0.4), "wording_sd")
    assert deviation.value == pytest.approx(statistics.stdev([0.3, 0.7, 0.4]))
    for record in (spread, deviation):
        assert (record.scorer, record.signature, record.unit, record.direction) == (
            "letters",
            "letters|vote:3",
            "points",
            "lower",
        )
        assert (record.lower, record.upper, record.n) == (None, None, 9)
        assert "over 3 wordings" in record.method


def test_a_wording_that_is_missing_leaves_no_spread_and_one_without_a_value_no_number() -> None:
    assert list(wording_spreads(THREE[:3])) == []
    spread, _ = wording_spreads([*THREE[:3], metric("letters@3", None)])
    assert (spread.value, spread.method) == (None, "accuracy over 3 wordings, one of which has no value")


def test_each_group_has_its_own_and_what_leaves_failures_out_has_none() -> None:
    group = [metric(record.scorer or "", (record.value or 0.0) / 2, group={"hop": "multi"}) for record in THREE]
    without = [metric(record.scorer or "", record.value, group={"without": "loop"}) for record in THREE]
    found = {
        (record.name, tuple(record.group.items())): record.value
        for record in wording_spreads([*THREE, *group, *without])
    }
    assert found == {
        ("wording_spread", ()): pytest.approx(0.4),
        ("wording_sd", ()): pytest.approx(statistics.stdev([0.3, 0.7, 0.4])),
        ("wording_spread", (("hop", "multi"),)): pytest.approx(0.2),
        ("wording_sd", (("hop", "multi"),)): pytest.approx(statistics.stdev([0.15, 0.35, 0.2])),
    }


def test_only_a_scorers_first_metric_spreads_and_each_scorer_for_itself() -> None:
    further = [metric(record.scorer or "", 1.0, name="coverage") for record in THREE]
    other = [metric(f"mmar{tail}", value) for tail, value in (("", 0.1), ("@1", 0.1), ("@2", 0.1), ("@3", 0.2))]
    found = list(wording_spreads([*THREE, *further, *other]))
    assert [(record.name, record.scorer) for record in found] == [
        ("wording_spread", "letters"),
        ("wording_sd", "letters"),
        ("wording_spread", "mmar"),
        ("wording_sd", "mmar"),
    ]
    assert found[2].value == pytest.approx(0.1)


def test_an_error_rates_spread_keeps_its_unit() -> None:
    rates = [metric(record.scorer or "", record.value, unit="seconds") for record in THREE]
    assert {record.unit for record in wording_spreads(rates)} == {"seconds"}


def test_a_scorer_is_of_a_wording_where_its_signature_says_so() -> None:
    assert is_of_wording("mcq:letters|v:1|wording:2/3")
    assert not is_of_wording("mcq:letters|v:1|vote:3|tie:unanswered")
    assert list(wording_spreads([metric("letters", 0.5)])) == []
