"""Recall, false alarms, sensitivity and bias of yes/no probes, held against other implementations."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.metrics.definitions.presence import criterion, d_prime
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.metric_drops import drop_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.drops import Question

NAMES = ("recall", "precision", "f1", "fpr", "d_prime", "criterion")
PROBES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def probe(present, yes, condition="pair"):
    counts = {
        "hits": float(present and yes),
        "present": float(present),
        "alarms": float(yes and not present),
        "absent": float(not present),
    }
    for name in ("solo", "quad"):
        counts |= {f"{name}_{what}": counts[what] * (condition == name) for what in ("hits", "present")}
    return counts


def value(name, probes):
    return value_of(metric_kind(name), [probe(*one) for one in probes])


def estimate(name, probes, clusters=None):
    return metric_kind(name).estimate([probe(*one) for one in probes], clusters)


def nan_equal(found, expected):
    return found == pytest.approx(expected, abs=1e-12) or (math.isnan(found) and math.isnan(expected))


@given(PROBES)
def test_rates_are_those_of_scikit_learn(probes):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, said = zip(*probes, strict=True)
    for name, function in (
        ("recall", metrics.recall_score),
        ("precision", metrics.precision_score),
    ):
        assert nan_equal(value(name, probes), float(function(truth, said, zero_division=math.nan)))
    if any(truth):
        assert value("f1", probes) == pytest.approx(metrics.f1_score(truth, said, zero_division=0.0))
    else:
        assert math.isnan(value("f1", probes))
    absent = [yes for present, yes in probes if not present]
    assert nan_equal(value("fpr", probes), float(np.mean(absent)) if absent else math.nan)


@given(PROBES)
def test_sensitivity_and_bias_are_those_of_scipys_normal_distribution(probes):
    normal = pytest.importorskip("scipy.stats").norm
    yes = {kind: [said for present, said in probes if present is kind] for kind in (True, False)}
    if not (yes[True] and yes[False]):
        assert math.isnan(value("d_prime", probes))
        assert math.isnan(value("criterion", probes))
        return
    rates = [(np.mean(own) + 1 / len(probes)) / (1 + 2 / len(probes)) for own in (yes[True], yes[False])]
    hits, alarms = (float(normal.ppf(rate)) for rate in rates)
    assert value("d_prime", probes) == pytest.approx(hits - alarms, abs=1e-12)
    assert value("criterion", probes) == pytest.approx(-(hits + alarms) / 2, abs=1e-12)


def test_a_worked_example_of_stanislaw_and_todorov():
    """20 of 25 hits and 10 of 25 false alarms: d′ 1.095, c -0.294, without the correction that is made here."""
    # Counts that the correction brings to their rates of 0.8 and 0.4.
    corrected = np.array([[0.8 * 26 - 0.5, 25.0, 0.4 * 26 - 0.5, 25.0]])
    assert float(d_prime(corrected)[0]) == pytest.approx(1.095, abs=5e-4)
    assert float(criterion(corrected)[0]) == pytest.approx(-0.294, abs=5e-4)


@given(PROBES)
def test_sensitivity_turns_its_sign_with_yes_and_no_and_with_present_and_absent(probes):
    exchanged = [(present, not yes) for present, yes in probes]
    relabelled = [(not present, yes) for present, yes in probes]
    own = value("d_prime", probes)
    assert nan_equal(value("d_prime", exchanged), -own)
    assert nan_equal(value("d_prime", relabelled), -own)
    assert nan_equal(value("criterion", exchanged), -value("criterion", probes))
    assert nan_equal(value("criterion", relabelled), value("criterion", probes))


def test_who_always_says_yes_has_no_sensitivity_and_a_bias():
    probes = [(True, True)] * 40 + [(False, True)] * 40
    assert value("recall", probes) == 1.0
    assert value("d_prime", probes) == 0.0
    assert value("criterion", probes) < -2.0
    assert value("criterion", [(present, False) for present, _ in probes]) > 2.0


@pytest.mark.parametrize(("present", "absent"), [(20, 40), (40, 40), (60, 40), (80, 40), (1, 200)])
def test_who_cannot_tell_has_no_sensitivity_however_many_probes_there_are_of_either_kind(present, absent):
    for said in (True, False):
        probes = [(True, said)] * present + [(False, said)] * absent
        assert value("d_prime", probes) == 0.0
        assert (value("criterion", probes) < 0.0) is said
    right = [(True, True)] * present + [(False, False)] * absent
    assert value("criterion", right) == 0.0


@given(st.integers(1, 40), st.data())
def test_with_as_many_of_either_kind_the_correction_is_the_log_linear_one(count, data):
    hits, alarms = (data.draw(st.integers(0, count)) for _ in range(2))
    probes = [(True, n < hits) for n in range(count)] + [(False, n < alarms) for n in range(count)]
    z = NormalDist().inv_cdf
    wanted = z((hits + 0.5) / (count + 1)) - z((alarms + 0.5) / (count + 1))
    assert value("d_prime", probes) == pytest.approx(wanted, abs=1e-9)


def mixtures(count, miss=0):
    probes, clusters = [], []
    for number in range(count):
        probes += [(True, number >= miss), (True, True), (False, number % 7 == 0), (False, False)]
        clusters += [f"mixture-{number}"] * 4
    return probes, clusters


@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_the_value_and_know_clusters(name):
    probes, clusters = mixtures(30, miss=9)
    found, apart = estimate(name, probes, clusters), estimate(name, probes)
    assert found.lower < found.value < found.upper
    assert "30 clusters" in found.method
    assert "120 samples" in apart.method


@pytest.mark.parametrize("name", ["d_prime", "criterion"])
def test_few_mixtures_have_no_interval_and_say_so(name):
    probes, clusters = mixtures(19)
    assert estimate(name, probes, clusters).method == "no interval: 19 clusters, 20 needed"
    lonely = [(True, True)] * 40 + [(False, False)] * 4
    assert estimate(name, lonely).method == "no interval: 4 samples with distractors, 5 needed"


def test_all_right_is_no_certainty():
    probes, clusters = mixtures(30)
    probes = [(present, present) for present, _ in probes]
    for name in ("recall", "f1", "d_prime"):
        found = estimate(name, probes, clusters)
        assert found.lower < found.value


def test_what_cannot_be_said_says_why():
    nothing = {name: estimate(name, [(False, False)] * 30) for name in (*NAMES, "solo_quad_cliff")}
    assert nothing["recall"].method == "no interval: no probe asks for a sound that is there"
    assert nothing["precision"].method == "no interval: no probe was answered yes"
    assert nothing["d_prime"].method == "no interval: there are no present probes"
    assert nothing["solo_quad_cliff"].method == "no interval: there are no present probes of the condition solo"
    assert nothing["fpr"].value == 0.0
    assert all(math.isnan(one.value) for name, one in nothing.items() if name != "fpr")
    assert estimate("fpr", [(True, True)] * 3).method == "no interval: no probe asks for a sound that is not there"


def test_the_cliff_is_recall_among_four_less_recall_alone():
    probes = [(True, i < 9, "solo") for i in range(10)] + [(True, i < 16, "quad") for i in range(40)]
    probes += [(True, False, "pair")] * 7 + [(False, True, "quad"), (False, True, "solo")]
    found = estimate("solo_quad_cliff", probes)
    assert found.value == pytest.approx(16 / 40 - 9 / 10)
    assert found.lower < found.value < found.upper
    assert math.isnan(value("solo_quad_cliff", probes[:10]))
    assert math.isnan(value("solo_quad_cliff", probes[10:]))


def test_components_understood_are_counted():
    found = estimate("components_understood", [(True, True)] * 3 + [(True, False), (False, True)])
    assert (found.value, found.lower) == (3.0, None)
    assert found.method == "no interval: a count, of 4 components present: recall has the interval"


@pytest.mark.parametrize("name", [*NAMES, "solo_quad_cliff"])
def test_a_baseline_can_hold_them(name):
    before = [probe(i % 2 == 0, i % 2 == 0 and i % 5 > 0, ("solo", "quad")[i % 4 // 2]) for i in range(200)]
    for i, one in enumerate(before):
        if i % 20 == 1:
            one["alarms"] = 1.0
    clusters = [f"mixture-{i // 4}" for i in range(200)]
    unchanged = drop_of(metric_kind(name), before, before, clusters, Question(0.0))
    assert unchanged.value == 0.0
    after = [
        probe(one["present"] == 1.0, one["present"] == 0.0, "quad" if one["quad_present"] else "solo") for one in before
    ]
    if name in ("recall", "f1", "d_prime", "fpr", "precision"):
        worse = drop_of(metric_kind(name), before, after, clusters, Question(0.0))
        assert worse.value > 0.0
        assert worse.p is not None
        assert worse.p < 0.05


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=20, max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_probes_moves_nothing(probes, random):
    other = list(probes)
    random.shuffle(other)
    for name in ("recall", "d_prime", "f1"):
        first, second = estimate(name, probes), estimate(name, other)
        assert nan_equal(first.value, second.value)
        assert first.lower == pytest.approx(second.lower) if first.lower is not None else second.lower is None
