"""Numbers of answers that are labels, held to scikit-learn."""

from __future__ import annotations

import math
import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn.metrics as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.bootstrap import Rows, Sums, interval_of, resampling

LABELS = ("angry", "happy", "neutral", "sad")
REFUSAL = "refusal"
NAMES = ("macro_f1", "micro_f1", "weighted_f1", "balanced_accuracy", "cohen_kappa", "mcc")

pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from((*LABELS, REFUSAL))), min_size=1, max_size=30)
sets = st.lists(
    st.tuples(st.frozensets(st.sampled_from(LABELS)), st.frozensets(st.sampled_from(LABELS))), min_size=1, max_size=20
)


def value(name, statistics, clusters=None):
    return metric_kind(name).estimate(statistics, clusters).value


def single(answers):
    return [label_statistics(LABELS, [true], [] if said == REFUSAL else [said]) for true, said in answers]


def several(answers):
    return [label_statistics(LABELS, true, said) for true, said in answers]


def same(found, expected):
    return found == pytest.approx(expected, abs=1e-12) or (math.isnan(found) and math.isnan(expected))


@settings(deadline=None)
@given(pairs)
def test_one_label_a_sample_is_scored_as_scikit_learn_does(answers) -> None:
    true, said = zip(*answers, strict=True)
    there = sorted(set(true))
    options = {"zero_division": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = {
            "macro_f1": reference.f1_score(true, said, labels=there, average="macro", **options),
            "micro_f1": reference.f1_score(true, said, labels=LABELS, average="micro", **options),
            "weighted_f1": reference.f1_score(true, said, labels=LABELS, average="weighted", **options),
            "balanced_accuracy": reference.balanced_accuracy_score(true, said),
            "cohen_kappa": reference.cohen_kappa_score(true, said),
            "mcc": reference.matthews_corrcoef(true, said),
        }
    for name, number in expected.items():
        assert same(value(name, single(answers)), number), name


@settings(deadline=None)
@given(sets)
def test_several_labels_a_sample_are_scored_as_scikit_learn_does(answers) -> None:
    truth, said = (np.array([[label in one[side] for label in LABELS] for one in answers]) for side in (0, 1))
    there = [place for place in range(len(LABELS)) if truth[:, place].any()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = reference.f1_score(truth, said, average=None, zero_division=0)
        micro = reference.f1_score(truth, said, average="micro", zero_division=0)
    assert same(value("macro_f1", several(answers)), float(np.mean(each[there])) if there else math.nan)
    found = value("micro_f1", several(answers))
    assert same(found, micro) or (math.isnan(found) and not truth.any() and not said.any())


@settings(deadline=None)
@given(pairs, st.randoms())
def test_neither_the_order_of_samples_nor_a_shard_moves_a_number_or_its_interval(answers, random) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)
    for name in NAMES:
        one, other = (metric_kind(name).estimate(single(some), None) for some in (answers, shuffled))
        assert repr(one) == repr(other)


@settings(deadline=None)
@given(pairs)
def test_every_number_keeps_its_bounds(answers) -> None:
    for name in NAMES:
        found = value(name, single(answers))
        least = -1.0 if name in ("cohen_kappa", "mcc") else 0.0
        assert math.isnan(found) or least - 1e-12 <= found <= 1.0 + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_right_answers_score_1(name) -> None:
    assert value(name, single([("happy", "happy"), ("sad", "sad")])) == 1.0


def test_a_refusal_adds_no_class() -> None:
    answers = [("happy", "happy"), ("sad", "sad"), ("sad", REFUSAL)]
    assert value("macro_f1", single(answers)) == pytest.approx((1 + 2 / 3) / 2)


def test_a_label_beyond_the_list_is_a_wrong_one_and_no_class() -> None:
    invented = [label_statistics(LABELS, ["happy"], ["happy"], others=1)]
    assert value("micro_precision", invented) == 0.5
    assert value("micro_f1", invented) == pytest.approx(2 / 3)
    assert value("macro_f1", invented) == 1.0


def test_a_constant_answer_has_a_balanced_accuracy_of_chance() -> None:
    assert value("balanced_accuracy", single([("happy", "happy")] * 9 + [("sad", "happy")])) == 0.5


def test_the_order_of_choices_is_no_other_list() -> None:
    one, other = label_statistics(LABELS, ["sad"], []), label_statistics(LABELS[::-1], ["sad"], [])
    assert one == other


@pytest.mark.parametrize("name", NAMES)
def test_samples_of_different_lists_have_no_number_and_say_why(name) -> None:
    mixed = [label_statistics(("cat", "dog"), ["cat"], ["cat"]), *single([("happy", "happy")])]
    found = metric_kind(name).estimate(mixed, None)
    assert math.isnan(found.value)
    assert found.method == "no interval: the samples have 2 different lists of labels"


def test_agreement_is_for_one_label_a_sample() -> None:
    found = metric_kind("mcc").estimate([label_statistics(LABELS, ["sad", "happy"], ["sad"])], None)
    assert math.isnan(found.value)
    assert "several labels" in found.method


@pytest.mark.parametrize("name", NAMES)
def test_nothing_and_samples_without_labels_have_no_number(name) -> None:
    assert metric_kind(name).estimate([], None).method == "no interval: no samples"
    assert "no list of labels" in metric_kind(name).estimate([{"correct": 1.0}], None).method


def test_a_label_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(ValueError, match="'calm' is not among"):
        label_statistics(LABELS, ["calm"], [])


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=5, unique=True))
def test_labels_may_be_any_text(labels) -> None:
    assert value("micro_f1", [label_statistics(labels, [label], [label]) for label in labels]) == 1.0


def test_samples_that_are_alike_are_drawn_as_samples_are() -> None:
    answers = single([("happy", "happy")] * 30 + [("sad", "happy")] * 20 + [("sad", "sad")] * 25)
    once = metric_kind("micro_f1").estimate(answers, None)
    rows = np.array([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 45)
    share = lambda sums: sums[:, 0] / sums.sum(axis=1)  # noqa: E731
    sparse = Rows([((0, 1.0),)] * 30 + [((1, 1.0),)] * 45, 2)
    full_interval, sparse_interval = (interval_of(resampling(units), Sums(units, share)) for units in (rows, sparse))
    assert sparse_interval[:2] == pytest.approx(full_interval[:2], abs=0.02)
    assert once.lower < once.value < once.upper
    assert once.method == "bootstrap 95 %, 75 samples, 1000 resamples"


def test_clusters_are_drawn_whole() -> None:
    answers = single([("happy", "happy"), ("sad", "happy")] * 20)
    apart = metric_kind("micro_f1").estimate(answers, [number // 2 for number in range(40)])
    assert apart.method == "bootstrap 95 %, 20 clusters, 1000 resamples"
    few = metric_kind("micro_f1").estimate(answers, [number // 4 for number in range(40)])
    assert few.method == "no interval: 10 clusters, 20 needed"


def test_a_mean_over_labels_leaves_room_for_those_of_which_fewer_than_five_samples_are_true() -> None:
    common = [("happy", "happy")] * 60 + [("sad", "happy")] * 20
    kind, names = metric_kind("balanced_accuracy"), ("happy", "sad", "calm")
    widths = {}
    for rare in (0, 4, 5):
        answers = [label_statistics(names, [true], [said]) for true, said in [*common, *[("calm", "sad")] * rare]]
        found = kind.estimate(answers, None)
        few = ", one more of each of 1 with fewer than 5" if rare < 5 else ""
        assert found.method == f"bootstrap 95 %, {80 + rare} samples, 1000 resamples{few}"
        assert found.lower is not None
        assert found.upper is not None
        assert found.lower < found.value < found.upper
        widths[rare] = found.upper - found.lower
    # Of a label that no sample has anything may be true: a third of the mean.
    assert widths[0] > 1 / 3 > widths[4] > widths[5]
    assert kind.estimate(answers[:19], None).method == "no interval: 19 samples, 20 needed"


def test_kappa_needs_five_samples_beyond_the_most_common_label() -> None:
    answers = single([("happy", "happy")] * 60 + [("sad", "sad")] * 4)
    assert metric_kind("cohen_kappa").estimate(answers, None).method == (
        "no interval: 4 samples above the most common label, 5 needed"
    )


def test_nothing_but_right_answers_is_no_certainty() -> None:
    right = [("happy", "happy"), ("sad", "sad")] * 5
    for name in ("macro_f1", "micro_f1", "balanced_accuracy"):
        found = metric_kind(name).estimate(single(right), None)
        assert (found.value, found.lower, found.upper) == (1.0, None, None), name


def test_many_samples_of_many_labels_take_no_row_of_memory_each() -> None:
    listed = tuple(map(str, range(500)))
    several = [label_statistics(listed, [str(n % 500), str(n % 7)], [str(n * 7 % 500)]) for n in range(4_000)]
    tracemalloc.start()
    for clusters in (None, [n // 2 for n in range(4_000)]):
        assert metric_kind("micro_f1").estimate(several, clusters).lower is not None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A row of 1,502 numbers for each sample would be 48 MB, beside the resamples' own 2 × 32 MB.
    assert most < 90e6
