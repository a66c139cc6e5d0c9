from __future__ import annotations

import json
import math
from pathlib import Path

import jiwer
import numpy as np
import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import registry
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pytest_audiobench.metrics.registry import metric_kind, names, register
from pytest_audiobench.stats.intervals import exact, proportion

CASES = Path(__file__).parents[2].parent / "shared" / "conformance" / "wer_jiwer.json"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))


def estimate(name, statistics, clusters=None):
    return metric_kind(name).estimate(statistics, clusters)


def nothing(statistics, clusters):
    return Estimate(math.nan, None, None, 0, "")


def test_the_built_in_metrics_are_there():
    counting = {"coverage", "unparsed", "refused", "empty", "out_of_range", "truncated", "errors"}
    assert {"accuracy", "wer"} | counting <= set(names())
    assert {name for name in names() if metric_kind(name).direction == "higher"} >= {"accuracy", "coverage"}
    assert all(metric_kind(name).direction == "lower" for name in counting - {"coverage"})


def test_an_unknown_metric_is_a_usage_error_that_names_the_nearest():
    with pytest.raises(UsageError, match="no metric is called 'acuracy'; did you mean 'accuracy'"):
        metric_kind("acuracy")
    with pytest.raises(UsageError, match="there are absolute_error, "):
        metric_kind("zzz")


def test_a_metric_can_be_registered_again_but_not_with_another_meaning():
    register(MetricKind("registry-test-score", "higher", "points", nothing, about="A metric that a test registers."))
    register(MetricKind("registry-test-score", "higher", "points", nothing, about="A metric that a test registers."))
    with pytest.raises(UsageError, match="two metrics are registered as 'registry-test-score'"):
        register(MetricKind("registry-test-score", "lower", "points", nothing))
    assert metric_kind("registry-test-score").direction == "higher"


@pytest.mark.parametrize("name", ["", "Accuracy", "word error", "accuracy.lower", "a[b]", "1st", "é"])
def test_a_name_that_no_threshold_could_write_is_refused(name):
    with pytest.raises(UsageError, match="cannot name a metric"):
        register(MetricKind(name, "higher", "", nothing))


def test_accuracy_is_the_share_of_right_answers_with_clopper_and_pearsons_interval():
    found = estimate("accuracy", [{"correct": 1}] * 23 + [{"correct": 0}] * 7)
    assert found == Estimate(23 / 30, *exact(23, 30)[:2], 30, "Clopper-Pearson 95 %")


def test_accuracy_is_clustered_where_clips_repeat():
    statistics = [{"correct": float(i % 3 == 0)} for i in range(60)]
    clusters = [i // 2 for i in range(60)]
    values = [one["correct"] for one in statistics]
    found = estimate("accuracy", statistics, clusters)
    assert (found.lower, found.upper, found.method) == proportion(values, clusters)
    assert "30 clusters" in found.method


def test_accuracy_with_points_between_0_and_1_has_an_interval_within_them():
    found = estimate("accuracy", [{"correct": v} for v in (1.0, 1.0, 0.5, 1.0)])
    assert found.value == 0.875
    assert 0.0 < found.lower < 0.875 < found.upper <= 1.0
    assert found.method == "beta 95 %, 4 samples"


@pytest.mark.parametrize("name", ["accuracy", "wer", "coverage", "errors"])
def test_no_samples_are_no_number(name):
    found = estimate(name, [])
    assert math.isnan(found.value)
    assert found[1:] == (None, None, 0, "no interval: no samples")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_sample_without_a_finite_score_leaves_no_interval_and_no_finite_value(bad):
    found = estimate("accuracy", [{"correct": 1.0}, {"correct": bad}])
    assert not math.isfinite(found.value)
    assert found.method == "no interval: a value is not finite"


def test_opposite_infinities_are_no_number():
    assert math.isnan(estimate("accuracy", [{"correct": math.inf}, {"correct": -math.inf}]).value)


@pytest.mark.parametrize(("name", "lacking"), [("accuracy", "correct"), ("wer", "N")])
def test_a_missing_statistic_names_itself_and_the_remedy(name, lacking):
    with pytest.raises(UsageError, match=f"{name} needs the statistic '{lacking}' of every sample, .* S, D, I"):
        estimate(name, [{"S": 1, "D": 0, "I": 0, "N": 4, "correct": 1}, {"S": 0, "D": 0, "I": 0}])


def test_wer_pools_errors_and_words_over_the_corpus():
    long, short = {"S": 0, "D": 0, "I": 0, "N": 99}, {"S": 1, "D": 0, "I": 0, "N": 1}
    found = estimate("wer", [long, short])
    assert found.value == 0.01
    assert found.n == 2


def test_wer_counts_insertions_against_an_empty_reference():
    assert estimate("wer", [{"S": 0, "D": 0, "I": 2, "N": 0}, {"S": 0, "D": 0, "I": 0, "N": 8}]).value == 0.25


def test_wer_without_a_single_word_in_the_references_is_no_number():
    found = estimate("wer", [{"S": 0, "D": 0, "I": 3, "N": 0}] * 5)
    assert math.isnan(found.value)
    assert found[1:] == (None, None, 5, "no interval: the references hold no words")


@pytest.mark.parametrize("name", ["unparsed", "refused", "empty", "out_of_range", "truncated", "errors"])
def test_each_way_of_not_answering_is_a_share_of_all_samples(name):
    found = estimate(name, [{"parsed": 1.0}] * 18 + [{name: 1.0}] * 2)
    assert found == Estimate(0.1, *exact(2, 20)[:2], 20, "Clopper-Pearson 95 %")
    assert estimate("coverage", [{"parsed": 1.0}] * 18 + [{name: 1.0, "parsed": 0.0}] * 2).value == 0.9


@pytest.mark.parametrize("name", ["accuracy", "wer", "coverage"])
def test_the_order_of_samples_changes_nothing(name):
    rng = np.random.default_rng(4)
    rows = [
        {"correct": float(c), "parsed": float(p), "S": float(s), "D": 0.0, "I": 1.0, "N": 7.0}
        for c, p, s in rng.integers(0, 2, (200, 3))
    ]
    order = rng.permutation(200)
    found, shuffled = estimate(name, rows), estimate(name, [rows[i] for i in order])
    assert shuffled.value == found.value
    assert shuffled[1:3] == pytest.approx(found[1:3], abs=1e-12)


def wer_cases():
    cases = json.loads(CASES.read_text()) if CASES.exists() else []
    return [pytest.param(case, id=case["id"].split("/")[1]) for case in cases if case["metric"] == "wer"]


@pytest.mark.skipif(not CASES.exists(), reason=f"the reference cases are not here: {CASES}")
@pytest.mark.parametrize("case", wer_cases())
def test_wer_from_the_counts_of_each_sentence_is_jiwers_wer_of_the_corpus(case):
    inputs = case["inputs"]
    references = inputs.get("references") or [inputs["reference"]]
    hypotheses = inputs.get("hypotheses") or [inputs["hypothesis"]]
    statistics = []
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        words = jiwer.process_words(reference, hypothesis)
        n = words.hits + words.substitutions + words.deletions
        statistics.append({"S": words.substitutions, "D": words.deletions, "I": words.insertions, "N": n})
    found = estimate("wer", statistics).value
    if all(one["N"] == 0 for one in statistics):
        # jiwer divides the insertions by one word that is not there; we return no number.
        assert math.isnan(found)
    else:
        assert found == pytest.approx(case["expected"], abs=case["tolerance"])


def test_two_metrics_of_one_name_that_are_estimated_alike_are_told_apart_by_what_they_say():
    register(MetricKind("registry-test-alike", "higher", "", nothing, about="One thing."))
    with pytest.raises(UsageError, match="two metrics are registered as 'registry-test-alike'"):
        register(MetricKind("registry-test-alike", "higher", "", nothing, about="Another."))
