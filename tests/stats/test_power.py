"""Power, detectable drops and samples needed, against scipy, statsmodels and the very test that the gate makes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.mcnemar import flips_drop
from pytest_audiobench.stats.power import (
    fewest,
    flips_detectable,
    flips_needed,
    flips_power,
    t_detectable,
    t_power,
    two_shares_needed,
)

CASES = Path(__file__).parents[2].parent / "shared" / "conformance" / "statistics.json"


def test_the_power_of_34_pairs_half_a_standard_deviation_apart_is_that_of_the_textbooks():
    assert t_power(0.5, 34) == pytest.approx(0.8077775, abs=5e-8)
    assert t_power(0.0, 34) == pytest.approx(0.05)
    assert t_detectable(34, power=0.8077775) == pytest.approx(0.5, abs=1e-7)


@pytest.mark.parametrize("count", [2, 10, 1_000_000])
@pytest.mark.parametrize("level", [0.05, 0.05 / 500])
def test_the_detectable_difference_is_seen_with_the_asked_power(count, level):
    effect = t_detectable(count, level, 0.8, sides=1)
    assert t_power(effect, count, level, sides=1) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.skipif(not CASES.exists(), reason=f"the reference cases are not here: {CASES}")
@pytest.mark.parametrize("metric", ["power_paired_t", "mde_paired_t", "n_required_two_proportions"])
def test_power_is_statsmodels(metric):
    for case in json.loads(CASES.read_text()):
        if case["metric"] != metric:
            continue
        given = case["inputs"]
        if metric == "power_paired_t":
            found = t_power(given["effect_size_dz"], given["n"], given["alpha"])
        elif metric == "mde_paired_t":
            found = t_detectable(given["n"], given["alpha"], case["params"]["power"])
        else:
            found = two_shares_needed(given["p1"], given["p2"], given["alpha"], case["params"]["power"])
        assert found == pytest.approx(case["expected"], abs=case["tolerance"])


@pytest.mark.parametrize(
    ("pairs", "drop", "flips", "question"),
    [
        (300, 0.03, 0.02, Question(0.0)),
        (300, 0.04, 0.02, Question(0.01)),
        (80, 0.12, 0.05, Question(0.01, level=0.05 / 4)),
        (2000, 0.03, 0.1, Question(0.01, level=0.05 / 24)),
    ],
)
def test_the_power_of_the_gates_own_test_is_what_simulations_of_it_give(pairs, drop, flips, question):
    rng, repetitions = np.random.default_rng(pairs), 300
    shares = [flips / 2 + drop, flips / 2, 1 - flips - drop]
    called = sum(
        flips_drop(pairs, int(worse), int(better), question).p <= question.level
        for worse, better, _ in rng.multinomial(pairs, shares, repetitions)
    )
    expected = flips_power(pairs, drop, flips, question)
    assert called / repetitions == pytest.approx(expected, abs=3 * math.sqrt(0.25 / repetitions))


def test_three_points_at_300_samples_with_2_percent_flips_are_seen_more_often_than_6_times_in_10():
    assert flips_power(300, 0.03, 0.02, Question(0.0)) >= 0.60


@pytest.mark.parametrize(("pairs", "flips"), [(60, 0.0), (300, 0.02), (1000, 0.1)])
def test_the_detectable_drop_is_seen_with_the_asked_power_and_a_smaller_one_is_not(pairs, flips):
    question = Question(0.01, power=0.8)
    found = flips_detectable(pairs, flips, question)
    assert flips_power(pairs, found, flips, question) >= 0.8
    assert flips_power(pairs, found - 0.005, flips, question) < 0.8


def test_the_samples_that_are_needed_are_enough():
    question = Question(0.01, level=0.05 / 8)
    needed = flips_needed(0.03, 0.02, question)
    assert flips_power(needed, 0.03, 0.02, question) >= 0.8
    assert flips_power(int(0.9 * needed), 0.03, 0.02, question) < 0.8


def test_more_flips_need_more_samples():
    needed = [flips_needed(0.03, flips, Question(0.01)) for flips in (0.0, 0.02, 0.1)]
    assert needed == sorted(needed)
    assert needed[0] < needed[2]


def test_no_number_of_samples_shows_a_drop_within_the_margin():
    assert flips_needed(0.01, 0.02, Question(0.01)) is None


def test_two_samples_see_no_drop_at_all():
    assert flips_detectable(2, 0.02, Question(0.01)) is None


def test_equal_shares_are_never_told_apart():
    assert two_shares_needed(0.7, 0.7) == math.inf


def test_a_number_beyond_ten_million_is_not_sought():
    assert fewest(lambda count: count > 12_000_000) is not None
    assert fewest(lambda count: False) is None
    assert fewest(lambda count: count >= 57) == 57
