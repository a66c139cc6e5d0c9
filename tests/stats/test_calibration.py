"""What is claimed of false alarms, intervals and power holds where the truth is known.

A small part of ``benchmarks/calibration.py`` and ``power_of_ratios.py``, whose tables are in ``docs/statistics``:
limits are the nominal level and two standard errors of the simulation, or the nominal coverage less two points.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest


def benchmark(name):
    file = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


calibration, ratios = benchmark("calibration"), benchmark("power_of_ratios")

MEANS = {(setting.name, setting.margin): setting for setting in calibration.means()}
RESAMPLED = {(setting.metric, setting.name): setting for setting in calibration.bootstrapped()}


def slow(*values):
    """Values of a parameter that only the long run tries."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow) for value in values
    ]


@pytest.mark.parametrize("pairs", [20, 101, *slow(50, 300)])
@pytest.mark.parametrize("margin", [0.0, 0.01, *slow(0.03)])
@pytest.mark.parametrize("rate", [0.0, 0.01, *slow(0.0025, 0.04)])
def test_over_all_outcomes_right_answers_alarm_no_more_often_than_their_level(pairs, margin, rate):
    if rate + margin > 0.0:
        assert calibration.enumerated(pairs, rate, margin).faults() == []


@pytest.mark.parametrize("margin", [0.0, *slow(0.01)])
@pytest.mark.parametrize(
    ("name", "repetitions"),
    [
        ("10 clusters, equal; 30% flip, correlation 0.3", 600),
        ("50 clusters, unequal; 2% flip, correlation 0.5", 200),
        ("300 utterances; 100% redone, 1.0% runaway", 200),
        *slow(
            ("50 clusters, unequal; 30% flip, correlation 0.3", 1800),
            ("50 clusters, one large; 30% flip, correlation 0.3", 1200),
            ("30 utterances; 100% redone, 0.0% runaway", 2000),
            ("300 utterances; 2% redone, 0.0% runaway", 200),
            ("300 utterances; 100% redone, 0.0% runaway, 20 speakers", 900),
        ),
    ],
)
def test_means_and_ratios_at_the_edge_of_the_margin_alarm_no_more_often_than_their_level(name, repetitions, margin):
    assert calibration.simulated(MEANS[name, margin], repetitions).faults() == []


@pytest.mark.parametrize("name", ["100 utterances; 20% redone", "300 utterances; 20% redone"])
def test_a_drop_of_a_few_empty_answers_is_not_passed_more_often_than_the_level(name):
    rates = calibration.simulated(MEANS[f"{name}, 1.1% newly empty", 0.01], 300)
    assert rates.faults() == []


@pytest.mark.parametrize(
    ("name", "repetitions"),
    [("10 points; 100% drawn anew", 2000), ("300 points; 2% drawn anew", 200), ("300 points; 20% drawn anew", 300)],
)
def test_scores_between_0_and_1_alarm_no_more_often_than_their_level(name, repetitions):
    assert calibration.simulated(MEANS[name, 0.0], repetitions).faults() == []


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("macro_f1", "100 samples, rare labels; 10% anew"),
        *slow(("bleu", "50 samples; 30% anew"), ("eer_interpolated", "100 trials; 100% anew")),
    ],
)
def test_bootstraps_of_pairs_alarm_no_more_often_than_their_level(metric, name):
    assert calibration.simulated(RESAMPLED[metric, name], 80).faults() == []


def test_a_drop_of_3_points_at_300_samples_is_seen_three_times_in_five():
    # 2 % of the samples flip at random, half of them each way.
    assert calibration.power(300, 0.01, 0.03) >= 0.60


def test_a_rule_of_one_point_alarms_on_an_unchanged_model_and_the_test_does_not():
    rule, tested = calibration.naive_alarms(300, 0.02, 4000, np.random.default_rng(0))
    assert rule > 0.15
    assert tested <= 0.05 + 2.0 * (0.05 * 0.95 / 4000) ** 0.5


@pytest.mark.parametrize("margin", [0.0, 0.01])
@pytest.mark.parametrize(
    ("data", "count", "least"),
    [
        (ratios.SHAPES[0], 50, 0.05),
        (ratios.SHAPES[0], 200, 0.31),
        (ratios.SHAPES[2], 200, 0.31),
        (ratios.SHAPES[4], 200, 0.31),
        (ratios.SHAPES[5], 200, 0.0),
        *slow((ratios.SHAPES[1], 50, 0.12), (ratios.SHAPES[6], 200, 0.0), (ratios.SHAPES[7], 200, 0.0)),
    ],
)
def test_word_errors_among_20_lines_alarm_no_more_often_than_their_level_and_show_three_points(
    data, count, least, margin
):
    repetitions, rng = 400, np.random.default_rng([count, int(1000 * margin)])
    null = (ratios.tested(*data.draw(rng, count, margin), margin) for _ in range(repetitions))
    drops = (ratios.tested(*data.draw(rng, count, ratios.SEEN), margin) for _ in range(100))
    gate, before, _ = ratios.rates(null, drops)
    assert gate.lines <= ratios.most(repetitions)[0]
    assert gate.runs <= ratios.most(repetitions)[1]
    assert gate.power >= max(100.0 * least, before.power)
