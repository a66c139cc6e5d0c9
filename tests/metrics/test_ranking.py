"""Average precision and ROC-AUC."""

from __future__ import annotations

import importlib.util
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions import ranking
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind

trials = st.lists(st.tuples(st.booleans(), st.sampled_from((0.0, 0.25, 0.5, 1.0))), min_size=1, max_size=20)


def by_hand(truth, scores):
    """Average precision from its definition: thresholds at distinct scores."""
    positives, before, total = sum(truth), 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        kept = [one for one, score in zip(truth, scores, strict=True) if score >= threshold]
        recall = sum(kept) / positives
        total += (recall - before) * sum(kept) / len(kept)
        before = recall
    return total


@settings(deadline=None)
@given(trials, st.randoms())
def test_average_precision_is_its_definition_in_any_order(answers, random) -> None:
    truth, scores = (np.array(column, dtype=float) for column in zip(*answers, strict=True))
    found = ranking.average_precision(truth, scores)
    if not truth.any():
        assert math.isnan(found)
        return
    assert found == pytest.approx(by_hand(truth.tolist(), scores.tolist()), abs=1e-12)
    random.shuffle(answers)
    truth, scores = (np.array(column, dtype=float) for column in zip(*answers, strict=True))
    assert ranking.average_precision(truth, scores) == pytest.approx(found, abs=1e-12)


@settings(deadline=None)
@given(trials)
def test_roc_auc_is_the_share_of_pairs_in_their_order(answers) -> None:
    yes, no = ([score for true, score in answers if true is side] for side in (True, False))
    found = ranking.roc_auc(*(np.array(column, dtype=float) for column in zip(*answers, strict=True)))
    if not yes or not no:
        assert math.isnan(found)
        return
    won = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
    assert found == pytest.approx(won / len(yes) / len(no), abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 6), min_size=2, max_size=8))
def test_roc_auc_of_all_labels_is_scikit_learns_also_where_a_label_has_one_class(cells) -> None:
    truth, scores = np.hsplit(np.array(cells, dtype=float), 2)
    truth = (truth > 1).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = roc_auc_score(truth, scores, average="macro")
    found = ranking.roc_auc_all_labels(truth, scores)
    assert found == pytest.approx(theirs, abs=1e-12, nan_ok=True)
    assert math.isnan(found) or found == pytest.approx(ranking.macro_roc_auc(truth, scores))


def test_one_label_without_two_classes_leaves_scikit_learn_without_a_number_and_ours_with_one() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert math.isnan(ranking.roc_auc_all_labels(truth, truth))
    assert ranking.macro_roc_auc(truth, truth) == 1.0


def test_a_perfect_answer_scores_1_whatever_labels_are_absent() -> None:
    truth = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert ranking.mean_average_precision(truth, truth) == 1.0
    assert ranking.average_precision_all_labels(truth, truth) == pytest.approx(2 / 3)
    assert ranking.macro_roc_auc(truth, truth) == 1.0


def test_scores_come_from_the_samples_statistics() -> None:
    labels = ("dog", "rain")
    samples = [
        {**label_statistics(labels, ["dog"], []), "score_0": 0.9, "score_1": 0.2},
        {**label_statistics(labels, ["rain"], []), "score_1": 0.7},
        label_statistics(labels, [], []),
    ]
    found = metric_kind("mean_average_precision").estimate(samples, None)
    assert found.value == 1.0
    assert found.n == 3
    assert found.lower is None


def test_nothing_true_has_no_number() -> None:
    samples = [label_statistics(("dog", "rain"), [], [])] * 2
    assert math.isnan(metric_kind("mean_average_precision").estimate(samples, None).value)
    assert math.isnan(metric_kind("roc_auc").estimate(samples, None).value)


def test_samples_of_different_lists_say_so() -> None:
    mixed = [label_statistics(("dog",), ["dog"], []), label_statistics(("cat",), ["cat"], [])]
    found = metric_kind("roc_auc").estimate(mixed, None)
    assert math.isnan(found.value)
    assert "different lists" in found.method


def test_without_scikit_learn_one_sentence_names_the_extra(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"need scikit-learn: pip install 'pytest-audiobench\[classification\]'"):
        ranking.average_precision(np.ones(2), np.ones(2))


@pytest.mark.parametrize("name", ["mean_average_precision", "micro_average_precision", "roc_auc"])
@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_no_number_gives_none_and_says_so(name, score) -> None:
    samples = [{**label_statistics("ab", ["a"], []), "score_0": score}, label_statistics("ab", ["b"], [])]
    found = metric_kind(name).estimate(samples, None)
    assert math.isnan(found.value)
    assert found.method == "no interval: a score is not finite"
