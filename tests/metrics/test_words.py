"""Rates drawn from error counts: pooled, averaged, capped, and without any reference."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.words import trimmed
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.report.formatting import value_text
from pytest_audiobench.stats.bootstrap import Ends, Sums, interval_of, resampling

NAMES = ("wer", "wer_mean", "wer_capped", "wer_trimmed", "wer_over_one", "mer", "wil", "wip")


@st.composite
def counts(draw):
    """S, D, I and N that an alignment could have."""
    words = draw(st.integers(0, 8))
    replaced = draw(st.integers(0, words))
    deleted = draw(st.integers(0, words - replaced))
    return {"S": replaced, "D": deleted, "I": draw(st.integers(0, 12)), "N": words}


def utterance(s=0, d=0, i=0, n=10):
    return {"S": s, "D": d, "I": i, "N": n, "CS": s, "CD": d, "CI": i, "CN": n}


def value(name, statistics):
    return metric_kind(name).estimate(statistics, None).value


def test_a_runaway_answer_moves_the_pooled_rate_and_the_mean_but_not_the_capped_one():
    set_ = [utterance() for _ in range(9)] + [utterance(i=200, n=2)]
    assert value("wer", set_) == pytest.approx(200 / 92)
    assert value("wer_mean", set_) == pytest.approx(10.0)
    assert value("wer_capped", set_) == pytest.approx(0.1)
    assert value("wer_over_one", set_) == 0.1
    assert value("cer_mean", set_) == pytest.approx(10.0)


def test_the_trimmed_rate_counts_no_answer_for_more_than_an_empty_one():
    set_ = [utterance(s=1) for _ in range(9)] + [utterance(i=200, n=2)]
    assert value("wer_trimmed", set_) == pytest.approx(11 / 92)
    assert value("cer_trimmed", set_) == pytest.approx(11 / 92)
    assert value("wer_trimmed", [utterance(s=1), utterance(i=3, n=0)]) == pytest.approx(0.1)
    assert metric_kind("wer_trimmed").estimate(set_, None).upper <= 1.0
    assert trimmed("wer", set_) == "wer_trimmed"
    assert trimmed("wer", set_[:9]) == trimmed("mer", set_) == trimmed("wer", []) == ""


@given(st.lists(counts(), min_size=1, max_size=30), st.randoms())
def test_the_trimmed_rate_is_the_rate_where_no_answer_exceeds_its_words(statistics, random):
    within = [{**one, "I": 0} for one in statistics]
    assert value("wer_trimmed", within) == pytest.approx(value("wer", within), nan_ok=True)
    assert value("wer_trimmed", random.sample(statistics, len(statistics))) == pytest.approx(
        value("wer_trimmed", statistics), nan_ok=True
    )
    if any(one["N"] for one in statistics):
        assert value("wer_trimmed", statistics) <= min(1.0, value("wer", statistics)) + 1e-12


def test_an_utterance_without_reference_words_adds_insertions_and_counts_as_one_word_of_its_own():
    set_ = [utterance(n=10), utterance(i=3, n=0), utterance(n=0)]
    assert value("wer", set_) == 0.3
    assert value("wer_mean", set_) == 1.0
    assert value("wer_capped", set_) == pytest.approx(1 / 3)
    assert value("wer_over_one", set_) == pytest.approx(1 / 3)
    assert value("mer", set_) == pytest.approx(3 / 13)
    assert value("empty_references", set_) == 2.0


def test_no_reference_words_at_all_are_no_pooled_rate():
    silence = [utterance(i=3, n=0), utterance(n=0)]
    assert math.isnan(value("wer", silence))
    assert "hold no words" in metric_kind("wer").estimate(silence, None).method
    assert value("mer", silence) == value("wil", silence) == 1.0
    nothing = [utterance(n=0)]
    assert math.isnan(value("mer", nothing))
    assert math.isnan(value("wil", nothing))
    assert math.isnan(value("wip", nothing))
    assert value("wip", silence) == 0.0
    assert value("wer_mean", nothing) == 0.0


@pytest.mark.parametrize("name", [*NAMES, "empty_references"])
def test_no_samples_are_no_value_and_a_missing_count_is_named(name):
    assert math.isnan(value(name, []))
    with pytest.raises(UsageError, match=f"{name} needs the statistic"):
        value(name, [{"correct": 1.0}])


@settings(deadline=None)
@given(st.lists(counts(), min_size=1, max_size=12))
def test_bounds_and_order(statistics):
    found = {name: value(name, statistics) for name in NAMES}
    assert all(0.0 <= found[name] <= 1.0 or math.isnan(found[name]) for name in ("wer_capped", "mer", "wil"))
    assert found["wer_capped"] <= found["wer_mean"] + 1e-12
    assert math.isnan(found["wer"]) or found["wer"] >= found["mer"] - 1e-12
    for name in NAMES:
        assert value(name, statistics[::-1]) == pytest.approx(found[name], nan_ok=True)
    for name in ("wer_mean", "wer_capped"):
        tops, bottoms = zip(*(metric_kind(name).parts(one) for one in statistics), strict=True)
        assert sum(tops) / sum(bottoms) == pytest.approx(found[name])


def test_the_interval_of_information_lost_is_the_bootstraps():
    draws = np.random.default_rng(0)
    words = draws.integers(5, 20, size=400)
    replaced, deleted, inserted = (draws.binomial(words, share) for share in (0.1, 0.05, 0.05))
    statistics = [
        {"S": s, "D": d, "I": i, "N": n} for s, d, i, n in zip(replaced, deleted, inserted, words, strict=True)
    ]

    def lost(sums):
        s, d, i, n = sums.T
        return 1.0 - (n - s - d) ** 2 / (n * (n - d + i))

    found = metric_kind("wil").estimate(statistics, None)

    def ends(own):
        n = own[3]
        return Ends(np.array([[0.0, 0.0, 0.0, n]]), np.array([[n, 0.0, 0.0, n]]))

    sums = Sums(np.array([list(sample.values()) for sample in statistics], dtype=float), lost, ends)
    drawn = interval_of(resampling(sums.units), sums)
    assert found.lower == pytest.approx(drawn.lower, abs=0.005)
    assert found.upper == pytest.approx(drawn.upper, abs=0.005)
    preserved = metric_kind("wip").estimate(statistics, None)
    assert preserved[:3] == pytest.approx((1.0 - found.value, 1.0 - found.upper, 1.0 - found.lower))


def test_rates_of_words_and_characters_read_as_percentages():
    assert [value_text(0.125, metric_kind(name).unit) for name in ("wer", "cer_mean", "mer")] == ["12.5 %"] * 3
    assert value_text(2.0, metric_kind("empty_references").unit) == "2 utterances"


@pytest.mark.parametrize("metric", ["mer", "other_tokens", "question_precision", "question_recall", "keyword_hits"])
def test_the_interval_of_a_ratio_that_is_a_share_stays_within_one(metric):
    kinds = [{"S": 4, "D": 0, "I": 1, "N": 5}, {"S": 0, "D": 0, "I": 0, "N": 1}, {"S": 3, "D": 0, "I": 9, "N": 3}]
    shares = [("other", "said"), ("right", "answered"), ("right", "answerable"), ("keyword_hits", "keywords")]
    counts = [
        {**one, **{top: part for top, _ in shares}, **dict.fromkeys([of for _, of in shares], whole)}
        for one, (part, whole) in zip(kinds, [(9, 9), (0, 1), (7, 8)], strict=True)
    ]
    found = metric_kind(metric).estimate(counts, None)
    assert found.value < found.upper <= 1.0
