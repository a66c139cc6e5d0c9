"""Entities and keyphrases."""

from __future__ import annotations

import importlib.util
import tracemalloc

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions import understanding
from pytest_audiobench.metrics.definitions.understanding import (
    Entity,
    added,
    char_distance,
    entity_counts,
    word_distance,
)
from pytest_audiobench.metrics.label_statistics import set_scores
from pytest_audiobench.metrics.registry import metric_kind

words = st.lists(st.sampled_from(("seven", "am", "pm", "rome")), max_size=3).map(" ".join)
entities = st.lists(st.builds(Entity, st.sampled_from(("time", "place")), words), max_size=4)


def micro(counts):
    """Precision, recall and F1 of all types together."""
    hits, alarms, misses = added(counts.values())
    return set_scores(hits, hits + alarms, hits + misses)


def second(true, said, distance):
    """SLURP's counts, all types together, as another hand writes them."""
    free, hits, alarms, misses = list(true), 0.0, 0.0, 0.0
    for entity in said:
        own = [one for one in free if one.type == entity.type]
        if not own:
            alarms += 1
            continue
        nearest = own[0]
        for one in own[1:]:
            if distance(one.filler, entity.filler) < distance(nearest.filler, entity.filler):
                nearest = one
        free.remove(nearest)
        hits, far = hits + 1, distance(nearest.filler, entity.filler)
        alarms, misses = alarms + far, misses + far
    return hits, alarms, misses + len(free)


@settings(deadline=None)
@given(entities, entities)
def test_entities_meet_as_in_slurps_script(true, said) -> None:
    by_word, by_char = second(true, said, word_distance), second(true, said, char_distance)
    assert added(entity_counts(true, said, "word").values()) == pytest.approx(by_word)
    assert added(entity_counts(true, said, "char").values()) == pytest.approx(by_char)
    both = [a + b for a, b in zip(by_word, by_char, strict=True)]
    assert added(entity_counts(true, said, "slu").values()) == pytest.approx(both)


@settings(deadline=None)
@given(entities)
def test_right_entities_in_any_order_score_1(true) -> None:
    for measure in ("span", "word", "char", "slu"):
        counts = entity_counts(true, true[::-1], measure)
        assert micro(counts) == ((1.0, 1.0, 1.0) if true else (0.0, 0.0, 0.0))


@settings(deadline=None)
@given(entities, entities)
def test_scores_of_entities_lie_between_0_and_1(true, said) -> None:
    for measure in ("span", "word", "char", "slu"):
        assert all(0.0 <= one <= 1.0 for one in micro(entity_counts(true, said, measure)))


@settings(deadline=None)
@given(words, words)
def test_the_word_distance_is_jiwers_rate(true, said) -> None:
    assert word_distance(true, said) == pytest.approx(float(jiwer.wer(true, said)) if true else len(said.split()))


def test_a_runaway_filler_costs_more_than_an_entity() -> None:
    true, said = [Entity("time", "seven")], [Entity("time", "seven oh clock in the morning")]
    assert entity_counts(true, said, "word")["time"] == (1.0, 5.0, 5.0)


@settings(deadline=None)
@given(st.lists(st.text(), max_size=5), st.lists(st.text(), max_size=5))
def test_keyphrases_may_be_any_text(true, said) -> None:
    found = understanding.keyphrase_statistics(true, said)
    for cut in understanding.CUTS:
        assert found[f"hits_{cut}"] <= min(found[f"kept_{cut}"], found["keyphrases"])


@settings(deadline=None)
@given(st.lists(st.text("abc ", min_size=1), min_size=1, max_size=5))
def test_true_keyphrases_score_1(true) -> None:
    found = understanding.keyphrase_statistics(true, true)
    assert found["hits_m"] == found["kept_m"] == found["keyphrases"]
    expected = 1.0 if found["keyphrases"] else 0.0
    assert metric_kind("keyphrase_f1_at_m").estimate([found], None).value == expected


def test_stems_case_and_repetition_are_ignored_and_order_counts() -> None:
    found = understanding.keyphrase_statistics(["Neural Network"], ["audio", "neural networks", "NEURAL network"])
    assert (found["hits_1"], found["kept_1"], found["hits_3"], found["kept_3"]) == (0.0, 1.0, 1.0, 2.0)


def test_without_nltk_one_sentence_names_the_extra(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    understanding._stemmer.cache_clear()
    understanding._stem.cache_clear()
    with pytest.raises(UsageError, match=r"need nltk: pip install 'pytest-audiobench\[captions\]'"):
        understanding.stemmed(["word"])


@settings(deadline=None)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_f1_of_sets_is_the_harmonic_mean(hits, more_said, more_true) -> None:
    found = set_scores(hits, hits + more_said, hits + more_true)
    both = found.precision + found.recall
    assert found.f1 == pytest.approx(2 * found.precision * found.recall / both if both else 0.0)


def test_a_request_without_entities_says_why_there_is_no_mean_over_types() -> None:
    found = metric_kind("slu_f1_macro").estimate([{"slu_hits": 0.0}] * 3, None)
    assert (found.n, found.method) == (3, "no interval: there are no entities")


@pytest.mark.parametrize("clusters", [None, [n // 2 for n in range(2_000)]])
def test_types_invented_for_each_sample_are_no_columns_and_leave_the_value_in_its_interval(clusters) -> None:
    invented = [
        {f"slu_of_{n:08x}_hits": 0.0, f"slu_of_{n:08x}_alarms": 1.0, f"slu_of_{n:08x}_misses": 0.0}
        | {"slu_of_true_hits": 2.0, "slu_of_true_alarms": 0.0, "slu_of_true_misses": n % 3 * 1.0}
        for n in range(2_000)
    ]
    tracemalloc.start()
    found = metric_kind("slu_f1_macro").estimate(invented, clusters)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.value == pytest.approx(2 * 4000 / (2 * 4000 + 1999) / 2001)
    assert found.lower < found.value < found.upper
    # 2,000 samples of 6,003 columns would be 96 MB.
    assert most < 60e6


def test_nothing_but_invented_types_is_nothing_right() -> None:
    found = metric_kind("slu_f1_macro").estimate([{"slu_of_a_alarms": 1.0}] * 3, None)
    assert (found.value, found.lower) == (0.0, None)
