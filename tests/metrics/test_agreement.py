from __future__ import annotations

import json
import math

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.agreement import across_epochs


def test_mean_spread_and_agreement_over_epochs():
    found = across_epochs([0.5, 0.75, 1.0], [["A", "B"], ["A", "C"], ["A", "B"]])
    assert found == {
        "epochs": 3,
        "mean": 0.75,
        "spread": 0.25,
        "min": 0.5,
        "max": 1.0,
        "n": 2,
        "agreement": 0.5,
    }


def test_an_unparsed_answer_agrees_with_nothing():
    assert across_epochs([0.0, 0.0], [[None, "A"], [None, "A"]])["agreement"] == 0.5


def test_one_epoch_has_no_spread_and_no_agreement():
    found = across_epochs([0.5], [["A", "B"]])
    assert (found["mean"], found["spread"], found["agreement"]) == (0.5, None, None)


@pytest.mark.parametrize("hole", [None, math.nan, math.inf])
def test_an_epoch_without_a_number_leaves_no_mean(hole):
    found = across_epochs([0.5, hole], [["A"], ["A"]])
    assert [found[key] for key in ("mean", "spread", "min", "max")] == [None] * 4
    assert found["agreement"] == 1.0
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_no_samples_have_no_agreement():
    assert across_epochs([None, None], [[], []])["agreement"] is None


@pytest.mark.parametrize(("values", "answers"), [([0.5, 0.5], [["A"], ["A", "B"]]), ([0.5], [["A"], ["A"]])])
def test_epochs_over_other_samples_cannot_be_compared(values, answers):
    with pytest.raises(UsageError, match="epochs cannot be compared"):
        across_epochs(values, answers)
