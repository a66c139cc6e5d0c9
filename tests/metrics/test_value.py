from __future__ import annotations

import copy
import json
import math
import pickle
from datetime import datetime
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.value import Metric, interval_text, number, value_text

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
    [
        (0.5, "0.500"),
        (0.0, "0.000"),
        (12.3456, "12.346"),
        (1e-5, "1e-05"),
        (12345.6, "12346"),
        (1.5e6, "1500000"),
        (1e16, "1e+16"),
        (None, "–"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert value_text(value) == text


def test_half_an_interval_is_none():
    assert interval_text(0.1, None) == ""


class Grade(IntEnum):
    GOOD = 2


class Level(Enum):
    HALF = 0.5
    NAME = "half"
    NUMPY = np.float32(0.25)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0),
        (0.5, 0.5),
        (True, 1.0),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.uint8(3), 3.0),
        (np.bool_(True), 1.0),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (Grade.GOOD, 2.0),
        (Level.HALF, 0.5),
        (Level.NUMPY, 0.25),
    ],
)
def test_every_kind_of_number_becomes_a_float(value, expected):
    found = number(value, "score")
    assert type(found) is float
    assert found == expected


@pytest.mark.parametrize("value", [math.nan, np.float64("nan"), Decimal("NaN")])
def test_nan_stays_nan_for_the_caller_to_flag(value):
    assert math.isnan(number(value, "score"))


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float32("inf")])
def test_infinities_stay(value):
    assert number(value, "score") == float(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("0.5", "the str '0.5': convert it with float"),
        (b"1", "the bytes"),
        (None, "None: record it only where there is a value"),
        (1 + 2j, "the complex"),
        (np.complex64(1), "numpy.complex64"),
        (Path("/tmp/x"), "PosixPath"),
        (Level.NAME, "Level"),
        (np.array([0.5]), r"a numpy.ndarray of shape \(1,\): reduce it"),
        (np.array(0.5), r"a numpy.ndarray of shape \(\)"),
        (np.timedelta64(3, "s"), "numpy.timedelta64"),
        (np.str_("0.5"), "numpy.str_"),
        ([0.5], "the list"),
        ({}, "the dict"),
        (datetime(2024, 1, 1), "datetime"),
    ],
)
def test_what_is_no_number_is_refused_by_name_and_type(value, kind):
    with pytest.raises(UsageError, match=f"the metric 'score' must be one number, not .*{kind}"):
        number(value, "score")


@pytest.mark.parametrize(
    "value", [10**400, 10**5000, Fraction(10**400), Decimal("sNaN")], ids=["int", "digits", "fraction", "signal"]
)
def test_a_number_beyond_a_floats_range_is_refused(value):
    with pytest.raises(UsageError, match="beyond the range of a float"):
        number(value, "score")
