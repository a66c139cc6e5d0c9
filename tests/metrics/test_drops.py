"""Every metric is compared by its own form, and a sample that became worse is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.metrics.definitions import answers
from pytest_audiobench.metrics.definitions.agreement import WORDING_FIGURES
from pytest_audiobench.metrics.definitions.human_labels import METRICS as BY_PEOPLE
from pytest_audiobench.metrics.definitions.translations import BLEU_NAMES, bleu_statistics
from pytest_audiobench.metrics.definitions.understanding import Counts
from pytest_audiobench.metrics.estimates import not_of_samples, summed_kind, sums_of, value_of
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.metric_drops import drop_of, moved
from pytest_audiobench.metrics.registry import metric_kind, names
from pytest_audiobench.stats.bootstrap import Resampling
from pytest_audiobench.stats.drops import Question

NO_DROP = Question(0.0)
NOT_COMPARED = {kind.name for kind in answers.KINDS if kind.estimate is not_of_samples} | {
    *("beans_map", "empty_references", "components_understood", "token_delta"),
    *WORDING_FIGURES,
    *BY_PEOPLE,
}
"""What is not a number of samples; what the order of rows decides; what only the references do; a count, whose share is
recall; what the wordings of one question come to; a difference of which neither way is better; how a judge is held to
people, who labelled the answers of one run."""


def answers(*correct):
    return [{"correct": float(one)} for one in correct]


def labels(*pairs, of=("a", "b", "c")):
    return [label_statistics(of, [true], [said] if said else []) for true, said in pairs]


def test_every_metric_of_samples_has_a_form_to_be_compared_by():
    kinds = [metric_kind(name) for name in names()]
    without = {kind.name for kind in kinds if kind.parts is None and kind.summed is None and kind.whole is None}
    assert without & {kind.name for kind in kinds} - NOT_COMPARED == set()


@pytest.mark.parametrize("name", [name for name in names() if metric_kind(name).summed is not None])
def test_what_is_a_function_of_sums_tells_a_sample_its_own_score(name):
    assert metric_kind(name).sample_score is not None


@pytest.mark.parametrize("name", sorted(NOT_COMPARED))
def test_what_cannot_be_compared_says_so(name):
    found = drop_of(metric_kind(name), answers(1, 0), answers(1, 1), None, NO_DROP)
    assert math.isnan(found.value)
    assert found.method == f"no test: {name} is not made of samples that can be compared"


def test_right_answers_are_compared_by_mcnemars_test():
    found = drop_of(metric_kind("accuracy"), answers(*[1] * 40), answers(*[0] * 6, *[1] * 34), None, NO_DROP)
    assert found.value == pytest.approx(0.15)
    assert found.p == pytest.approx(2.0**-6)
    assert found.method == "McNemar exact, 6 worse and 0 better of 40 pairs"


def test_more_refusals_are_a_drop():
    before = [{"parsed": 1.0}] * 30
    after = [{"refused": 1.0}] * 7 + [{"parsed": 1.0}] * 23
    for name in ("refused", "coverage"):
        found = drop_of(metric_kind(name), before, after, None, NO_DROP)
        assert found.value == pytest.approx(7 / 30)
        assert found.p == pytest.approx(2.0**-7)


def test_scores_that_only_some_samples_have_are_averaged_over_these():
    before = [{"beans_f1": 1.0}, {}, {"beans_f1": 0.5}]
    after = [{"beans_f1": 0.5}, {}, {"beans_f1": 0.0}]
    assert drop_of(metric_kind("beans_f1"), before, after, None, NO_DROP).value == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["macro_f1", "micro_f1", "balanced_accuracy", "cohen_kappa", "decision_map"])
def test_the_drop_of_labels_is_the_difference_of_what_is_reported(name):
    rng = np.random.default_rng(3)
    true = rng.choice(list("abc"), 90)
    sides = [labels(*zip(true, rng.choice([*"abc", ""], 90), strict=True)) for _ in range(2)]
    found = drop_of(metric_kind(name), *sides, None, NO_DROP)
    values = [metric_kind(name).estimate(side, None).value for side in sides]
    assert found.value == pytest.approx(values[0] - values[1])
    assert found.lower < found.value < found.upper


def test_labels_of_different_lists_are_not_compared():
    other = labels(*[("a", "a")] * 30, of=("a", "b"))
    found = drop_of(metric_kind("macro_f1"), [*other[:1], *labels(*[("a", "a")] * 29)], other, None, NO_DROP)
    assert found.method == "no test: the samples have 2 different lists of labels"


def test_translations_are_compared_as_a_corpus():
    texts = [f"the cat number {n} sat on the mat" for n in range(30)]
    before = [bleu_statistics(text, [text], "13a") for text in texts]
    after = [
        bleu_statistics(text.replace("cat", "dog") if n % 2 else text, [text], "13a") for n, text in enumerate(texts)
    ]
    found = drop_of(metric_kind("bleu"), before, after, None, NO_DROP)
    assert found.value == pytest.approx(100.0 - metric_kind("bleu").estimate(after, None).value)
    assert found.p < 0.01
    assert found.method.startswith("paired bootstrap, 1000 resamples, 30 samples, ")


def test_trials_are_compared_as_a_whole_set():
    rng = np.random.default_rng(0)
    before = [
        {"target": float(n % 2), "has_score": 1.0, "trial_score": 2.0 * (n % 2) + rng.normal()} for n in range(80)
    ]
    after = [{**one, "trial_score": rng.normal()} for one in before]
    found = drop_of(metric_kind("eer_interpolated"), before, after, None, NO_DROP)
    assert found.value > 0.1
    assert found.p < 0.05
    for name in ("min_dcf_p01", "min_dcf_p05_raw"):
        least = drop_of(metric_kind(name), before, after, None, NO_DROP)
        assert least.value > 0.0
        assert least.method == "no test: a least cost over thresholds is too low in resamples"
    assert drop_of(metric_kind("eer_interpolated"), before[::2], after[::2], None, NO_DROP).method == (
        "no test: the trials have no targets"
    )


def test_ranks_have_a_drop_and_no_test():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    true = [{"label_list": 1.0, "labels": 2.0, f"true_{rng.integers(2)}": 1.0} for _ in range(40)]
    before = [{**one, "score_0": float("true_0" in one) + rng.random()} for one in true]
    after = [{**one, "score_0": rng.random()} for one in true]
    found = drop_of(metric_kind("roc_auc"), before, after, None, NO_DROP)
    assert found.value > 0.0
    assert found.p is None


def test_statistics_of_another_protocol_are_named_and_not_compared():
    found = drop_of(metric_kind("accuracy"), [{"S": 1.0}], answers(1), None, NO_DROP)
    assert found.method == "no test: a sample lacks the statistic 'correct'"
    assert "needs the statistic" in drop_of(metric_kind("bleu"), [{"S": 1.0}], [{"S": 1.0}], None, NO_DROP).method
    assert moved(metric_kind("accuracy"), {"S": 1.0}, {"correct": 1.0}) == 0


def test_no_pairs_have_no_drop():
    assert drop_of(metric_kind("bleu"), [], [], None, NO_DROP).method == "no test: no pairs"


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("accuracy", {"correct": 1.0}, {"correct": 0.0}, 1),
        ("accuracy", {"correct": 0.5}, {"correct": 1.0}, -1),
        ("accuracy", {"correct": 0.5}, {"correct": 0.5}, 0),
        ("wer", {"S": 1.0, "D": 0.0, "I": 0.0, "N": 9.0}, {"S": 2.0, "D": 0.0, "I": 0.0, "N": 9.0}, 1),
        ("wer", {"S": 0.0, "D": 0.0, "I": 2.0, "N": 0.0}, {"S": 0.0, "D": 0.0, "I": 1.0, "N": 0.0}, -1),
        ("macro_f1", *labels(("a", "a"), ("a", "b")), 1),
        ("cohen_kappa", *labels(("a", "b"), ("a", "a")), -1),
        ("micro_f1", *labels(("a", "b"), ("a", "")), 0),
        ("bleu", *(bleu_statistics(text, ["the cat sat on it"], "13a") for text in ("the cat sat on it", "a dog")), 1),
        (
            "slu_f1_macro",
            {f"slu_{c}": 1.0 for c in Counts._fields},
            {"slu_hits": 1.0, "slu_alarms": 0, "slu_misses": 0},
            -1,
        ),
        ("eer_interpolated", {"target": 1.0, "trial_score": 1.0}, {"target": 1.0, "trial_score": 0.0}, 0),
        ("rtfx", {}, {"x": 1.0}, 0),
    ],
)
def test_a_sample_moves_by_its_own_score(name, before, after, expected):
    assert moved(metric_kind(name), before, after) == expected


numbers = st.sampled_from([0.0, 1.0, 2.0, 0.5, -1.0, 1e300, math.inf, math.nan]) | st.integers(0, 5).map(float)
plain = st.integers(0, 3).map(float)


def statistics_of(name, values):
    if name in ("macro_f1", "mcc", "roc_auc"):
        held = {"label_list": st.just(1.0), "labels": st.sampled_from([3.0, 3.0, 3.0, 1e12, math.nan, -1.0])}
        places = ("true_0", "true_1", "said_0", "said_7", "said_other", "said_x", "score_1", "score_9")
        return st.fixed_dictionaries(held, optional=dict.fromkeys(places, values))
    keys = {
        "accuracy": ["correct"],
        "eer_interpolated": ["target", "has_score", "trial_score"],
        "bleu": BLEU_NAMES,
        "slu_f1_macro": [f"slu_of_{n}_{count}" for n in range(2) for count in Counts._fields],
    }.get(name, ["S", "D", "I", "N"])
    return st.fixed_dictionaries(dict.fromkeys(keys, values)) | st.fixed_dictionaries({}, optional={"S": values})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["accuracy", "wer", "mer", "wil", "macro_f1", "mcc", "eer_interpolated", "bleu", "slu_f1_macro"]
)
@given(st.data())
@settings(deadline=None, max_examples=15)
def test_no_statistics_crash_it(name, data):
    one = statistics_of(name, data.draw(st.sampled_from([numbers, plain])))
    rows = data.draw(st.lists(st.tuples(one, one, st.integers(0, 30)), max_size=25))
    before, after = [one for one, _, _ in rows], [one for _, one, _ in rows]
    clusters = [group for *_, group in rows] if data.draw(st.booleans()) else None
    found = drop_of(metric_kind(name), before, after, clusters, Question(0.01))
    assert found.method
    if found.p is not None:
        assert 0.0 <= found.p <= 1.0
        assert found.lower <= found.value <= found.bound <= found.upper
    for one, other in zip(before, after, strict=True):
        assert moved(metric_kind(name), one, other) in (-1, 0, 1)


def test_an_error_in_a_metrics_own_code_is_not_taken_for_odd_statistics():
    def broken(sums):
        raise ValueError("a slip")

    kind = summed_kind("slipped", "higher", "share", sums_of("slipped", ["correct"], broken), "")
    with pytest.raises(ValueError, match="a slip"):
        drop_of(kind, answers(1, 0), answers(1, 1), None, NO_DROP)


@pytest.mark.parametrize("name", ["macro_f1", "bleu", "eer_interpolated", "accuracy", "wer"])
def test_a_value_without_its_interval_is_the_same(name, monkeypatch):
    rng = np.random.default_rng(1)
    words = [" ".join(rng.choice(list("abcde"), 6)) for _ in range(60)]
    rows = {
        "macro_f1": labels(*zip(rng.choice(list("abc"), 60), rng.choice(list("abc"), 60), strict=True)),
        "bleu": [bleu_statistics(said, [true], "13a") for said, true in zip(words, words[1:] + words[:1], strict=True)],
        "eer_interpolated": [
            {"target": float(n % 2), "has_score": 1.0, "trial_score": rng.normal() + n % 2} for n in range(60)
        ],
        "accuracy": answers(*rng.integers(0, 2, 60)),
        "wer": [{"S": float(rng.integers(3)), "D": 0.0, "I": 1.0, "N": float(rng.integers(3, 9))} for _ in range(60)],
    }[name]
    expected = metric_kind(name).estimate(rows, None).value
    monkeypatch.setattr(Resampling, "resampled", None)
    monkeypatch.setattr(Resampling, "reaching", None)
    assert value_of(metric_kind(name), rows) == expected


def test_a_metric_of_a_conftest_may_have_any_unit():
    kind = MetricKind("cost", "lower", "dollars", metric_kind("accuracy").estimate, lambda one: (one["cost"], 1.0))
    same = [{"cost": 3.0}] * 20
    assert drop_of(kind, same, same, None, NO_DROP).method == "no test: none of 20 samples differs"
