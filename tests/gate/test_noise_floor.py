"""The noise floor beside what is gated: which measurement counts, and what lies within it."""

from __future__ import annotations

import pytest

from pytest_audiobench.gate.noise_floor import nearness, noise_floor
from pytest_audiobench.gate.thresholds import Verdict, parse_threshold
from pytest_audiobench.records.run import NoiseMeasurement, NoiseRecord


def measurement(shift, dataset="tones", metric="accuracy", outcomes=0.98):
    return NoiseMeasurement(0.97, shift, outcomes, dataset=dataset, n=50, metric=metric, conditions={})


def noise(*measured):
    return NoiseRecord(0.97, max((each.score_shift for each in measured), default=0.0), measured=measured)


def test_the_worst_measurement_of_the_metric_on_the_data_set_counts():
    mild, worst, elsewhere = measurement(0.01), measurement(0.03), measurement(0.2, "calls")
    assert noise_floor("accuracy", "tones", noise(mild, elsewhere), noise(worst)) is worst
    assert noise_floor("accuracy", "tones", None, noise(mild)) is mild


def test_another_data_set_stands_in_where_none_was_measured_on_this_one():
    elsewhere = measurement(0.2, "calls")
    assert noise_floor("accuracy", "tones", noise(elsewhere)) is elsewhere


def test_the_floor_of_another_metric_says_nothing():
    assert noise_floor("wer", "tones", noise(measurement(0.2)), None) is None


@pytest.mark.parametrize(
    ("value", "status", "what"),
    [(0.81, "pass", "met"), (0.79, "fail", "missed"), (0.8, "pass", "met"), (0.825, "pass", "met")],
)
def test_a_threshold_met_or_missed_within_the_floor_says_so(value, status, what):
    verdict = Verdict(status, "accuracy >= 0.8", value, "")
    said = nearness(parse_threshold("accuracy >= 0.8"), verdict, "tones", noise(measurement(0.025)))
    assert said == (
        f"accuracy >= 0.8 is {what} within the noise floor: accuracy moves by up to 2.5 pp when the same model is "
        "asked again (tones, n=50, 2 % of outcomes change)"
    )


@pytest.mark.parametrize("value", [0.83, 0.77, None])
def test_a_threshold_farther_off_than_the_floor_says_nothing(value):
    verdict = Verdict("fail", "accuracy >= 0.8", value, "")
    assert nearness(parse_threshold("accuracy >= 0.8"), verdict, "tones", noise(measurement(0.025))) == ""


def test_a_model_that_repeats_itself_has_no_threshold_within_its_floor():
    verdict = Verdict("pass", "accuracy >= 0.8", 0.8, "")
    assert nearness(parse_threshold("accuracy >= 0.8"), verdict, "tones", noise(measurement(0.0))) == ""
