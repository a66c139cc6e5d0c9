"""The drop of means and of ratios of sums, on pairs."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.mcnemar import flips_drop
from pytest_audiobench.stats.paired import RARE, ratio_drop

NO_DROP = Question(0.0)


def side(scores, wholes=None):
    tops = np.asarray(scores, dtype=float)
    return np.stack([tops, np.ones(len(tops)) if wholes is None else np.asarray(wholes, dtype=float)], axis=1)


def drop(before, after, clusters=None, question=NO_DROP, **further):
    return ratio_drop(side(before), side(after), clusters, question, **further)


def test_scores_of_even_spread_have_the_paired_t_interval_of_scipy():
    generator = np.random.default_rng(0)
    one, other = generator.uniform(0, 1, 20), generator.uniform(0, 1, 20)
    before, after = np.concatenate([one, other]) + 0.2, np.concatenate([other, one])
    found = drop(before, after, span=math.inf)
    expected = stats.ttest_rel(before, after, alternative="greater")
    assert found.value == pytest.approx(float((before - after).mean()))
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)
    interval = stats.ttest_rel(before, after).confidence_interval(0.95)
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high))
    assert found.method == "paired t, 40 samples, 39 degrees of freedom"


def test_a_drop_of_word_error_rates_weighs_samples_by_their_words():
    words = [10.0, 5.0, 5.0]
    found = ratio_drop(side([2, 0, 0], words), side([0, 0, 1], words), None, NO_DROP, higher_is_better=False)
    assert found.value == pytest.approx(-1 / 20)


def test_a_metric_that_is_better_when_lower_drops_when_it_rises():
    assert drop([0.2] * 20, [0.3] * 20, higher_is_better=False).value == pytest.approx(0.1)


@pytest.mark.parametrize("every", [-1.0, 0.0, 1.0])
def test_pairs_that_all_agree_do_not_claim_certainty(every):
    found = drop([float(every > 0)] * 50, [float(every < 0)] * 50)
    assert found.value == every
    assert found.lower < found.upper
    assert -1.0 <= found.lower <= every <= found.upper <= 1.0
    assert found.p > 0.0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_pairs_that_all_became_worse_prove_nothing(count):
    assert drop([1.0] * count, [0.0] * count).lower <= 0.0
    assert drop([1.0] * count, [0.0] * count).p > 0.05


def test_runs_that_do_not_differ_may_yet_differ_by_what_was_not_seen():
    found = ratio_drop(side([0] * 300, [7] * 300), side([0] * 300, [7] * 300), None, NO_DROP, higher_is_better=False)
    # The rule of three: 1 - 0.05 ** (1 / 300).
    assert found.bound == pytest.approx(0.00994, abs=1e-5)
    assert found.p == 1.0
    assert found.method == "none of 300 samples differs: the bound for none in 300"


def test_one_pair_that_differs_a_little_does_not_say_more_than_none_that_does():
    words = [10.0] * 100
    errors = np.zeros(100)
    same = ratio_drop(side(errors, words), side(errors, words), None, NO_DROP, higher_is_better=False)
    errors[:30] = np.tile([1.0, 0.0], 15)
    little = ratio_drop(side(errors, words), side(errors[::-1], words), None, NO_DROP, higher_is_better=False)
    assert little.value == 0.0
    # Three answers of 100 may yet be empty, of which none is among them.
    assert little.bound == pytest.approx(same.bound) == pytest.approx(1.0 - 0.05**0.01)
    assert little.method.endswith("; no bound below what 100 samples may not show")


def test_skewed_differences_reach_further_on_the_side_of_the_long_tail():
    after = np.full(500, 0.5)
    after[:25] = 0.0
    found = drop([0.5] * 500, after)
    assert found.method == "paired t, 500 samples, 58 degrees of freedom"
    assert found.bound > found.value + stats.t.ppf(0.95, 58) * found.error + 0.0005
    assert found.value - found.lower < found.upper - found.value


def test_where_a_score_has_no_bounds_runs_that_do_not_differ_have_none():
    found = drop([0.5] * 9, [0.5] * 9, span=math.inf)
    assert (found.value, found.lower, found.bound, found.p) == (0.0, None, None, None)
    assert found.method == "no test: none of 9 samples differs"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([], [], "no pairs"),
        ([0.5], [0.4], "fewer than 2 samples"),
        ([0.5, math.nan], [0.4, 0.2], "a value is not finite"),
        ([0.5, 0.1], [0.4, math.inf], "a value is not finite"),
        ([0.5] * 12, [0.6] * 12, "all 12 samples differ alike"),
    ],
)
def test_where_nothing_can_be_said_the_method_says_why(before, after, reason):
    found = drop(before, after)
    assert found[1:6] == (None,) * 5
    assert found.method == f"no test: {reason}"


def test_a_model_that_answers_nothing_any_more_has_dropped():
    found = drop([1.0] * 40, [0.0] * 40, [number // 2 for number in range(40)])
    assert found.method == "all 20 clusters differ alike"
    assert found.value == found.bound == 1.0
    assert found.p < 1e-5
    assert drop([1.0] * 40, [0.0] * 40).p < 1e-5


def test_no_words_at_all_are_no_drop():
    found = ratio_drop(side([2, 1], [0, 0]), side([0, 0], [0, 0]), None, NO_DROP)
    assert math.isnan(found.value)
    assert found.method == "no test: the denominators add up to nothing"


def test_one_cluster_tells_nothing_of_others():
    assert drop([1, 1, 0], [0, 1, 0], ["a"] * 3).method == "no test: fewer than 2 clusters"


def test_a_cluster_that_weighs_as_much_as_all_leaves_no_test():
    found = ratio_drop(side([3, 0], [9, 0]), side([1, 0], [9, 0]), None, NO_DROP)
    assert found.method == "no test: one of the 2 samples weighs as much as all"


def test_clusters_widen_the_interval():
    before, after = [1.0] * 48, [0.0] * 16 + [1.0] * 32
    alone, together = drop(before, after), drop(before, after, [i // 4 for i in range(48)])
    assert together.upper - together.lower > alone.upper - alone.lower


def test_clusters_that_never_repeat_change_nothing():
    assert drop([1, 0, 1, 1], [0, 0, 1, 0], list("abcd")) == drop([1, 0, 1, 1], [0, 0, 1, 0])


def test_a_few_clusters_that_differ_are_held_to_the_more_careful_of_two_tests():
    before, after = np.ones(200), np.ones(200)
    after[:3] = 0.0
    found = drop(before, after, [i // 2 for i in range(200)])
    assert found.method.endswith(", 2 differing")
    # Two clusters of 100, at McNemar's bound for two of 100 that become worse: more than t's.
    assert found.bound > 0.05


changes = st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.25, 0.5, 1.0]), min_size=1, max_size=9)


@given(changes, st.integers(1, 50), st.floats(-0.2, 0.2), st.sampled_from([0.05, 0.025, 0.01]))
def test_where_few_pairs_differ_nothing_is_less_careful_than_mcnemars_or_the_paired_t_test(
    losses, others, margin, level
):
    pairs = max(10, len(losses) + others)
    before = np.array([max(loss, 0.0) for loss in losses] + [0.5] * (pairs - len(losses)))
    after = np.array([max(-loss, 0.0) for loss in losses] + [0.5] * (pairs - len(losses)))
    worse, largest = sum(loss > 0.0 for loss in losses), max(map(abs, losses))
    question = Question(margin, alpha=level, level=level)
    found = drop(before, after, question=question)
    mcnemar = flips_drop(pairs, worse, len(losses) - worse, question, found.value, largest)
    assert found.lower <= mcnemar.lower + 1e-9
    assert found.upper >= mcnemar.upper - 1e-9
    assert found.bound >= mcnemar.bound - 1e-9
    assert found.p >= mcnemar.p - 1e-9
    assert found.detectable >= mcnemar.detectable - 1e-9

    error = float(np.std(before - after, ddof=1)) / math.sqrt(pairs)
    reach = {tail: float(stats.t.isf(tail, pairs - 1)) * error for tail in (0.025, level)}
    assert found.lower <= found.value - reach[0.025] + 1e-9
    assert found.upper >= found.value + reach[0.025] - 1e-9
    assert found.bound >= found.value + reach[level] - 1e-9
    assert found.detectable >= margin + reach[level] + float(stats.norm.isf(0.2)) * error - 1e-9
    # Heavier tails make a p above one half smaller.
    plain = float(stats.t.sf((found.value - margin) / error, pairs - 1))
    assert min(found.p, 0.5) >= min(plain, 0.5) - 1e-9


scores = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 9)),
    min_size=2,
    max_size=60,
)


CANCELS = [(0.0, 0.25, 3), (0.0, 0.25, 3), (0.0, 0.5, 3), (0.25, 0.25, 0), (1.0, 0.5, 3), (1.0, 0.5, 3)]


@given(scores, st.randoms(use_true_random=False))
@example(CANCELS, Random(0))
@example(CANCELS, Random(1))
@example(CANCELS, Random(2))
def test_neither_the_order_of_samples_nor_the_names_of_clusters_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    there = drop(*list(zip(*rows, strict=True))[:2], [name for *_, name in rows])
    here = drop(*list(zip(*shuffled, strict=True))[:2], [f"speaker {10 - name}" for *_, name in shuffled])
    assert here.method == there.method
    assert here[:6] == pytest.approx(there[:6], abs=1e-9, nan_ok=True)


@given(scores)
def test_swapping_the_runs_negates_the_drop(rows):
    before, after, clusters = zip(*rows, strict=True)
    there, back = drop(before, after, clusters), drop(after, before, clusters)
    assert back.value == pytest.approx(-there.value)
    if there.lower is not None:
        assert (back.p, back.p_better) == pytest.approx((there.p_better, there.p), abs=1e-9)
        # An interval reaches farther to the worse side, on which failures may not have been seen.
        assert back.lower >= -there.upper - 1e-9
        assert back.upper >= -there.lower - 1e-9


def utterances(seed: int, count: int, drop: float = 0.0):
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 30, count).astype(float)
    before = generator.binomial(words.astype(int), 0.1) + (words == 0.0) * generator.integers(0, 3, count)
    after = generator.binomial(before, 0.7) + generator.binomial(words.astype(int), 0.03 + drop)
    return side(before, words), side(after, words)


@given(st.integers(0, 10_000), st.sampled_from([2.0, 0.5, 1000.0]))
def test_a_drop_of_error_rates_is_the_same_whatever_words_are_counted_in(seed, factor):
    before, after = utterances(seed, 60)
    there = ratio_drop(before, after, None, NO_DROP, higher_is_better=False)
    here = ratio_drop(before * factor, after * factor, None, NO_DROP, higher_is_better=False)
    assert here[:6] == pytest.approx(there[:6], abs=1e-9)
    assert here.p_better == pytest.approx(there.p_better, abs=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([None, 7]))
def test_the_same_errors_on_both_sides_are_no_regression_and_no_improvement(seed, speakers):
    before, _ = utterances(seed, 60)
    names = None if speakers is None else [number % speakers for number in range(60)]
    found = ratio_drop(before, before.copy(), names, Question(0.0), higher_is_better=False)
    assert (found.value, found.p, found.p_better) == (0.0, 1.0, 1.0)


@given(st.integers(0, 10_000))
def test_no_line_is_found_both_worse_and_better(seed):
    found = ratio_drop(*utterances(seed, 60), None, NO_DROP, higher_is_better=False)
    assert found.p + found.p_better >= 1.0 - 1e-9


def test_insertions_where_the_reference_is_silent_count_as_errors_and_add_no_words():
    before, after = side([1.0] * 20, [10.0] * 20), side([1.0, 2.0] * 10, [10.0] * 20)
    silent, noisy = side([0.0], [0.0]), side([6.0], [0.0])
    there = ratio_drop(before, after, None, NO_DROP, higher_is_better=False)
    here = ratio_drop(np.vstack([before, silent]), np.vstack([after, noisy]), None, NO_DROP, higher_is_better=False)
    assert here.value == pytest.approx(there.value + 6.0 / 200.0)
    assert here.error > there.error


def test_three_points_more_word_errors_of_200_utterances_are_seen_at_the_level_of_20_lines():
    seen = [
        ratio_drop(*utterances(seed, 200, 0.03), None, Question(0.0), higher_is_better=False).p <= 0.05 / 20
        for seed in range(60)
    ]
    assert sum(seen) > 40


@pytest.mark.parametrize(("count", "alarms"), [(100, False), (2_000, True)])
def test_a_steady_loss_that_one_cured_answer_in_200_makes_up_for_is_a_regression_only_where_one_would_be_seen(
    count, alarms
):
    words = [20.0] * count
    before, after = side([2.0] * count, words), side([2.0, 2.0, 2.0, 2.0, 2.4] * (count // 5), words)
    found = ratio_drop(before, after, None, NO_DROP, higher_is_better=False)
    assert found.value == pytest.approx(0.004)
    assert (found.p <= 0.05 / 20) == alarms
    assert (found.lower > 0.0) == alarms


@given(scores, st.booleans())
def test_p_is_no_less_than_what_rare_cures_that_no_sample_shows_leave(rows, grouped):
    before, after, names = zip(*rows, strict=True)
    there, beyond = (drop(before, after, names if grouped else None, Question(margin)) for margin in (0.0, RARE))
    if there.method.startswith("paired t") and "differing" not in there.method:
        assert there.p >= (1.0 - RARE) ** len(rows) * beyond.p - 1e-9
        assert there.detectable >= beyond.detectable - RARE - 1e-9


@given(scores, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5), st.booleans())
def test_p_grows_with_the_margin_and_the_bound_is_at_least_the_value(rows, one, other, grouped):
    before, after, names = zip(*rows, strict=True)
    clusters = names if grouped else None
    small, large = (drop(before, after, clusters, Question(margin)) for margin in sorted((one, other)))
    if small.p is not None:
        assert 0.0 <= small.p <= large.p <= 1.0
        assert small.lower - 1e-9 <= small.value <= small.bound + 1e-9
        assert small.bound <= small.upper + 1e-9


@given(scores, st.floats(-0.5, 0.5), st.booleans())
def test_p_and_bounds_are_inversions_of_one_another(rows, margin, grouped):
    before, after, names = zip(*rows, strict=True)
    found = drop(before, after, names if grouped else None, Question(margin, alpha=0.025))
    if found.p is not None:
        assert (found.p <= 0.025) == (found.lower >= margin) or found.lower == pytest.approx(margin, abs=1e-9)
        if found.bound < margin:
            assert found.p > 0.9


@given(scores, st.floats(-0.4, 0.4))
def test_what_all_pairs_lose_moves_bounds_as_the_margin_does(rows, shift):
    before, after, names = zip(*rows, strict=True)
    there = drop(before, after, names, Question(0.0))
    here = drop(np.add(before, shift), after, names, Question(shift))
    if "differing" not in there.method + here.method and there.method == here.method and there.p is not None:
        # Against a margin above 0 fewer rare cures make up for a loss.
        assert here.p <= there.p + 1e-6 if shift > 0.0 else here.p == pytest.approx(there.p, abs=1e-6)
        assert here.bound == pytest.approx(there.bound + shift, abs=1e-6)


def test_an_unchanged_model_is_rarely_found_to_have_dropped():
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(500):
        flips = generator.choice([-1.0, 0.0, 1.0], size=120, p=[0.05, 0.9, 0.05])
        wrong += drop(flips > 0, flips < 0).p <= 0.05
    assert wrong / 500 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 500)
