from __future__ import annotations

import copy
import json
import math
import pickle

import pytest

from pytest_audiobench.metrics.value import Metric, interval_text, value_text

ACCURACY = Metric(
    0.7671,
    name="accuracy",
    lower=0.7399,
    upper=0.7922,
    n=1000,
    unit="share",
    coverage={"n": 1000, "parsed": 990, "refused": 7, "truncated": 3, "errors": 0},
    signature="mcq:letters|v:1",
    method="Wilson 95 %",
)


def test_a_metric_is_the_plain_float_it_is_in_comparisons_and_sums():
    assert ACCURACY > 0.7
    assert ACCURACY == 0.7671
    assert hash(ACCURACY) == hash(0.7671)
    assert type(ACCURACY + 1) is float
    assert f"{ACCURACY:.2f}" == "0.77"
    assert json.dumps(ACCURACY) == "0.7671"


def test_its_repr_says_its_conditions():
    assert repr(ACCURACY) == "accuracy 0.767 [0.740, 0.792] n=1000 coverage 99.0 % mcq:letters|v:1"


def test_its_repr_says_how_many_answers_the_protocol_left_out():
    skipping = Metric(0.8, name="accuracy", n=90, coverage={"n": 100, "parsed": 88, "unparsed": 12, "skipped": 10})
    assert repr(skipping) == "accuracy 0.800 n=90 coverage 88.0 % skipped=10"


def test_a_recorded_number_has_its_unit_and_no_coverage():
    assert repr(Metric(1.25, name="latency", unit="s", n=1, direction="lower")) == "latency 1.250 s n=1"


def test_it_explains_itself_in_lines():
    assert ACCURACY.explain() == [
        "accuracy 0.767 [0.740, 0.792] n=1000",
        "coverage 99.0 %: 990 parsed, 7 refused, 3 truncated",
        "interval: Wilson 95 %",
        "signature: mcq:letters|v:1",
    ]


def test_a_number_that_is_none_says_why():
    found = Metric(math.nan, name="wer", method="no interval: the references hold no words")
    assert found.explain() == ["wer nan n=0", "interval: no interval: the references hold no words"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_keeps_the_conditions(copied):
    found = copied(ACCURACY)
    assert type(found) is Metric
    assert vars(found) == vars(ACCURACY)
    assert found == ACCURACY


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.500"), (0.0, "0.000"), (12.3456, "12.346"), (1e-5, "1e-05"), (1.5e6, "1.5e+06"), (None, "–")],
)
def test_numbers_are_written_for_people(value, text):
    assert value_text(value) == text


def test_half_an_interval_is_none():
    assert interval_text(0.1, None) == ""
