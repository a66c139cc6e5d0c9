"""How far two ways of scoring agree, against a second implementation."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.metrics.registry import metric_kind

VERDICTS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def statistics(pairs):
    return [{"agree": float(a == b), "first": float(a), "second": float(b), "n": 1.0} for a, b in pairs]


def value(name, pairs):
    return metric_kind(name).estimate(statistics(pairs), None).value


def cohen(pairs):
    """Cohen 1960, by the two-by-two table."""
    n = len(pairs)
    table = {cell: sum(pair == cell for pair in pairs) for cell in [(a, b) for a in (0, 1) for b in (0, 1)]}
    observed = (table[0, 0] + table[1, 1]) / n
    chance = sum((table[one, 0] + table[one, 1]) * (table[0, one] + table[1, one]) for one in (0, 1)) / n**2
    return math.nan if chance == 1 else (observed - chance) / (1 - chance)


@given(VERDICTS)
def test_kappa_is_cohens(pairs):
    assert value("judge_kappa", pairs) == pytest.approx(cohen([(int(a), int(b)) for a, b in pairs]), nan_ok=True)


def test_kappa_agrees_with_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    pairs = [(n % 3 > 0, n % 5 > 1) for n in range(100)]
    assert value("judge_kappa", pairs) == pytest.approx(sklearn.cohen_kappa_score(*zip(*pairs, strict=True)))


@given(VERDICTS)
def test_agreement_and_kappa_are_bounded_symmetric_and_indifferent_to_order(pairs):
    swapped = [(b, a) for a, b in pairs]
    for name, low in (("judge_agreement", 0), ("judge_kappa", -1)):
        found = value(name, pairs)
        assert math.isnan(found) or low <= found <= 1
        for other in (swapped, pairs[::-1]):
            assert value(name, other) == pytest.approx(found, nan_ok=True)


@given(VERDICTS)
def test_whoever_agrees_with_itself_agrees_wholly(pairs):
    same = [(a, a) for a, _ in pairs]
    assert value("judge_agreement", same) == 1
    assert value("judge_kappa", same) == (
        pytest.approx(1) if len(set(same)) == 2 else pytest.approx(math.nan, nan_ok=True)
    )


def test_no_certainty_is_claimed_where_one_of_the_two_says_one_thing_only():
    found = metric_kind("judge_kappa").estimate(statistics([(True, n % 2 > 0) for n in range(40)]), None)
    assert (found.value, found.lower, found.upper) == (0.0, None, None)
    assert found.method == "no interval: a verdict was given 0 times, 5 needed"


def test_nothing_judged_is_no_number():
    for name in ("judge_score", "judge_agreement", "judge_kappa"):
        found = metric_kind(name).estimate([], None)
        assert math.isnan(found.value)
        assert found.n == 0
