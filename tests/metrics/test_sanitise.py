from __future__ import annotations

import json
import math
from collections import OrderedDict
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.sanitise import number, plain


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


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.decimals()
        | st.fractions()
        | st.dates(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=20,
    )
)
def test_metadata_become_strict_json(value):
    found = plain(value)
    assert json.loads(json.dumps(found.value, allow_nan=False).encode()) == found.value


def test_metadata_keep_their_meaning():
    value = {
        "snr_db": np.float32(0.5),
        "hop": Grade.GOOD,
        "label": Level.NAME,
        "file": PurePosixPath("a/b.wav"),
        "shape": np.arange(3),
        "day": date(2024, 5, 1),
        "exact": Decimal("0.10"),
        "seed": 2**53,
        1: (1, True, None),
        "inner": OrderedDict(a=np.bool_(True)),
    }
    assert plain(value).notes == ()
    assert plain(value).value == {
        "snr_db": 0.5,
        "hop": 2,
        "label": "half",
        "file": "a/b.wav",
        "shape": [0, 1, 2],
        "day": "2024-05-01",
        "exact": "0.10",
        "seed": "9007199254740992",
        "1": [1, True, None],
        "inner": {"a": True},
    }


def test_nan_becomes_null_with_a_note_of_its_place():
    found = plain({"levels": [0.5, math.nan, np.float64("-inf")]}, "metadata")
    assert found.value == {"levels": [0.5, None, None]}
    assert found.notes == (
        "metadata.levels[1] is nan, written as null",
        "metadata.levels[2] is -inf, written as null",
    )


def test_lone_surrogates_are_replaced_with_a_note():
    found = plain("bad \udc80 text")
    assert found.value == "bad ��� text"
    assert found.notes == ("metadata held invalid characters, replaced",)


def test_what_json_cannot_hold_is_refused_by_its_place():
    for value in (object(), b"x", {1, 2}, 1j, print, 10**5000):
        with pytest.raises(UsageError, match=r"metadata\.x cannot be recorded"):
            plain({"x": value})


def test_two_keys_that_read_the_same_are_refused():
    with pytest.raises(UsageError, match="two keys that read '1'"):
        plain({1: "a", "1": "b"})


def test_endless_metadata_are_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(UsageError, match="more than 20 levels"):
        plain(endless)
