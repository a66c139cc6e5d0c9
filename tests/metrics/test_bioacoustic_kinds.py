"""BEANS-Next's numbers from per-sample statistics, held to its own functions, and the mAP that no order moves."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.metrics.definitions.labels import ROW
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.bioacoustic.data_set_scores import dataset_map, macro_f1

LABELS = ("a", "b", "c")
SETS = st.frozensets(st.sampled_from(LABELS))
PAIRS = st.lists(st.tuples(SETS, SETS), min_size=1, max_size=12)


def statistics(pairs, labels=LABELS):
    return [{**label_statistics(labels, true, said), ROW: float(row)} for row, (said, true) in enumerate(pairs)]


def value(name, rows, clusters=None):
    return metric_kind(name).estimate(rows, clusters).value


@settings(deadline=None)
@given(PAIRS)
def test_mean_average_precision_in_order_is_that_of_beans_next(pairs):
    expected = dataset_map([sorted(said) for said, _ in pairs], [sorted(true) for _, true in pairs])
    assert value("beans_map", statistics(pairs)) == pytest.approx(expected)


def test_the_recorded_order_counts_whatever_order_the_rows_come_in():
    rows = statistics([(frozenset(), {"a"}), (frozenset(), frozenset()), ({"b"}, frozenset())])
    first = value("beans_map", rows)
    assert {value("beans_map", random.Random(seed).sample(rows, 3)) for seed in range(9)} == {first}
    swapped = [{**row, ROW: -row[ROW]} for row in rows]
    assert value("beans_map", swapped) != first


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=12))
def test_macro_f1_over_all_texts_is_that_of_beans_next(pairs):
    rows = statistics([({said}, {true}) for said, true in pairs])
    expected = macro_f1([said for said, _ in pairs], [true for _, true in pairs])
    assert value("beans_macro_f1", rows) == pytest.approx(expected)


@settings(deadline=None)
@given(PAIRS)
def test_the_map_of_decisions_is_scikit_learns(pairs):
    sklearn = pytest.importorskip("sklearn.metrics")
    truth = np.array([[label in true for label in LABELS] for _, true in pairs], dtype=float)
    said = np.array([[label in one for label in LABELS] for one, _ in pairs], dtype=float)
    each = [sklearn.average_precision_score(truth[:, k], said[:, k]) for k in range(3) if truth[:, k].any()]
    found = value("decision_map", statistics(pairs))
    assert math.isnan(found) if not each else found == pytest.approx(np.mean(each))


@settings(deadline=None)
@given(PAIRS, st.randoms())
def test_no_order_moves_the_map_of_decisions(pairs, source):
    shuffled = source.sample(pairs, len(pairs))
    one, other = (metric_kind("decision_map").estimate(statistics(rows), None) for rows in (pairs, shuffled))
    assert repr(one) == repr(other)
    assert math.isnan(one.value) or 0.0 <= one.value <= 1.0


def test_perfect_answers_have_the_best_map():
    pairs = [(true, true) for true in ({"a"}, {"b", "c"}, frozenset())]
    assert value("decision_map", statistics(pairs)) == 1.0


def test_no_true_label_is_no_map_and_no_sample_no_value():
    assert math.isnan(value("decision_map", statistics([(frozenset(), frozenset())])))
    assert value("beans_map", statistics([(frozenset(), frozenset())])) == 0.0
    for name in ("decision_map", "beans_map", "beans_macro_f1", "beans_accuracy"):
        assert math.isnan(value(name, []))


def test_a_mean_is_over_the_samples_that_have_the_score():
    rows = [{"beans_f1": 1.0}, {}, {"beans_f1": 0.0}, {"beans_accuracy": 1.0}]
    found = metric_kind("beans_f1").estimate(rows, ["x", "x", "y", "z"])
    assert (found.value, found.n) == (0.5, 2)
    assert "no sample has the score beans_recall" in metric_kind("beans_recall").estimate(rows, None).method


def test_lists_of_labels_are_never_mixed():
    rows = [*statistics([({"a"}, {"a"})]), *statistics([({"a"}, {"a"})], ("a", "b"))]
    for name in ("decision_map", "beans_map", "beans_macro_f1"):
        assert math.isnan(value(name, rows))
