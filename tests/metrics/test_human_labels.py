"""Agreement with people and corrected scores, against other implementations and against what must hold of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.metrics.definitions.human_labels import RANDOM, SEPARATE, UNSTATED, statistics_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.intervals import mean_interval
from pytest_audiobench.stats.prediction_powered import corrected_mean

RATINGS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=20, max_size=60)


def labelled(pairs, chosen=RANDOM, others=(), most=5):
    rows = [statistics_of(figure / most, chosen, (), label / most) for figure, label in pairs]
    return rows + [statistics_of(figure / most, chosen) for figure in others]


def estimate(name, rows, clusters=None):
    return metric_kind(name).estimate(rows, clusters)


@settings(max_examples=40)
@given(RATINGS)
def test_kappa_of_ratings_is_scikit_learns_with_quadratic_weights(pairs):
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    judge, people = zip(*pairs, strict=True)
    if len({*judge, *people}) == 1:
        assert math.isnan(estimate("human_kappa", labelled(pairs)).value)
        return
    expected = sklearn.cohen_kappa_score(judge, people, weights="quadratic", labels=range(6))
    assert estimate("human_kappa", labelled(pairs)).value == pytest.approx(expected, abs=1e-9)


def test_kappa_of_yes_and_no_is_cohens_plain_one():
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    pairs = [(int(n % 3 > 0), int(n % 5 > 1)) for n in range(60)]
    figure = estimate("human_kappa", labelled(pairs, most=1))
    assert figure.value == pytest.approx(sklearn.cohen_kappa_score(*zip(*pairs, strict=True)))
    assert figure.lower < figure.value < figure.upper


def test_correlation_is_scipys_spearman_with_ties():
    from scipy.stats import spearmanr

    pairs = [(n % 4, (n * n) % 6) for n in range(50)]
    assert estimate("human_correlation", labelled(pairs)).value == pytest.approx(spearmanr(pairs).statistic)


@settings(max_examples=30)
@given(RATINGS, st.randoms(use_true_random=False))
def test_the_order_of_answers_moves_no_figure(pairs, random):
    rows = labelled(pairs, others=[1, 3, 5] * 10)
    shuffled = random.sample(rows, len(rows))
    for name in ("human_kappa", "human_agreement", "corrected_score"):
        before, after = estimate(name, rows)[:3], estimate(name, shuffled)[:3]
        assert [math.nan if x is None else x for x in after] == pytest.approx(
            [math.nan if x is None else x for x in before], abs=1e-9, nan_ok=True
        )


def published(labels, figures, others):
    """The estimate of PPI++ for a mean, as the paper writes it: arXiv 2311.01453, equation 2 and section 6."""
    n, rest = len(labels), len(others)
    covariance = sum((y - np.mean(labels)) * (f - np.mean(figures)) for y, f in zip(labels, figures, strict=True)) / n
    variance = np.mean((figures - np.mean(figures)) ** 2) + n / rest * np.mean((others - np.mean(others)) ** 2)
    weight = min(max(covariance / variance, 0.0), 1.0)
    return weight, weight * np.mean(others) + np.mean(labels) - weight * np.mean(figures)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(20, 80), st.integers(50, 400))
def test_the_correction_is_the_published_one(seed, n, rest):
    generator = np.random.default_rng(seed)
    labels = (generator.random(n + rest) < 0.6).astype(float)
    figures = np.where(generator.random(n + rest) < 0.3, 1.0, labels)
    mask = np.arange(n + rest) < n
    figure = corrected_mean(figures, np.where(mask, labels, 0.0), mask.astype(float))
    weight, value = published(labels[mask], figures[mask], figures[~mask])
    assert figure.weight == pytest.approx(weight, abs=1e-9)
    assert figure.value == pytest.approx(min(max(value, 0.0), 1.0), abs=1e-9)


def judged(figures, labels, n):
    mask = (np.arange(len(figures)) < n).astype(float)
    return corrected_mean(figures, labels * mask, mask)


def test_a_judge_that_is_always_right_gives_the_mean_of_all_its_figures():
    figures = np.tile([1.0, 1.0, 0.0, 1.0], 500)
    figure = judged(figures, figures, 200)
    assert figure.value == pytest.approx(0.75)
    plain = mean_interval(figures)
    assert figure.interval.lower <= plain.lower < plain.upper <= figure.interval.upper
    # What no label shows, a mistake that it may make all the same, is worth no more than a label of each kind.
    alone = mean_interval(figures[:200])
    assert figure.interval.upper - figure.interval.lower < 0.5 * (alone.upper - alone.lower)


def test_a_judge_that_says_one_thing_only_leaves_the_labels_alone():
    labels = np.tile([1.0, 0.0, 1.0], 100)
    figure = judged(np.ones(300), labels, 90)
    assert figure.weight == 0.0
    alone = mean_interval(labels[:90])
    assert (figure.value, *figure.interval[:2]) == pytest.approx((2 / 3, *alone[:2]))


def test_a_bias_that_is_the_same_everywhere_is_taken_out():
    truth = np.tile([0.2, 0.4, 0.6], 200)
    figure = judged(truth + 0.3, truth, 60)
    assert figure.value == pytest.approx(0.4)
    assert figure.interval.lower < 0.4 < figure.interval.upper < 0.7


def test_labels_that_are_all_the_same_claim_no_certainty():
    figures = np.tile([1.0, 0.0], 200)
    figure = judged(figures, np.ones(400), 50)
    assert figure.value == 1.0
    assert figure.interval.lower < 0.96
    assert figure.interval.upper == 1.0


def test_answers_of_one_speaker_count_as_one():
    pairs = [(n // 8 % 2, n // 24 % 2) for n in range(240)]
    rows = labelled(pairs, others=[n // 8 % 2 for n in range(400)], most=1)
    speakers = [n // 8 for n in range(640)]
    apart, together = estimate("corrected_score", rows), estimate("corrected_score", rows, speakers)
    assert together.value == pytest.approx(apart.value, abs=0.05)
    assert together.upper - together.lower > 1.3 * (apart.upper - apart.lower)
    kappas = estimate("human_kappa", rows), estimate("human_kappa", rows, speakers)
    assert kappas[1].value == pytest.approx(kappas[0].value)


def test_few_labels_or_few_labelled_speakers_are_no_figure():
    few = estimate("human_kappa", labelled([(1, 1), (0, 1)] * 9, others=[1] * 50))
    assert math.isnan(few.value)
    assert few.method == "not measured: labelled answers: 18, 20 needed"
    rows = labelled([(1, 1), (0, 1)] * 30, others=[1] * 60)
    speakers = estimate("corrected_score", rows, [n % 10 for n in range(120)])
    assert speakers.method == "not measured: clusters with labels: 10, 20 needed"


def test_a_correction_wants_to_know_how_answers_were_chosen_unless_all_are_labelled():
    pairs = [(5, 4), (1, 2)] * 20
    unstated = estimate("corrected_score", labelled(pairs, UNSTATED, others=[5, 1]))
    assert math.isnan(unstated.value)
    assert "say how the labelled answers were chosen" in unstated.method
    assert estimate("corrected_score", labelled(pairs, UNSTATED)).value == pytest.approx(0.6)


def test_of_a_separate_set_only_the_judges_mean_error_is_carried_over():
    rows = labelled([(4, 3), (2, 1)] * 20, SEPARATE, others=[5, 4] * 30)
    figure = estimate("corrected_score", rows)
    assert figure.value == pytest.approx(0.9 - 0.2)
    assert "lambda 1;" in figure.method


def test_annotators_agreement_is_krippendorffs():
    # The example of 12 units by up to 4 observers in Krippendorff 2011, "Computing Krippendorff's alpha-reliability",
    # twice over, without its one unit of a single label; interval data.
    units = [
        (1, 1, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4),
        (4, 4, 4, 4), (1, 1, 2, 1), (2, 2, 2, 2), (5, 5, 5), (1, 1),
    ]  # fmt: skip
    rows = [statistics_of(0.5, RANDOM, unit, 0.5) for unit in units * 2]
    values = [value for unit in units * 2 for value in unit]
    within = [((a - b) ** 2, len(unit) - 1) for unit in units * 2 for a in unit for b in unit]
    observed = sum(square / others for square, others in within) / len(values)
    expected = sum((a - b) ** 2 for a in values for b in values) / (len(values) * (len(values) - 1))
    figure = estimate("annotator_alpha", rows)
    assert figure.value == pytest.approx(1 - observed / expected)
    assert figure.value == pytest.approx(0.85, abs=0.01)
