"""How sets of labels are asked for and scored."""

from __future__ import annotations

import importlib.util
import math

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.classification.tagging import tagging

SOUNDS = ("dog", "rain", "siren", "car horn")


def scored(name, text, references, choices=SOUNDS, finish="stop"):
    scorer = tagging(name).scorers[0]
    asked = Sample("a", (), "What do you hear?", choices, references[0], references=tuple(references))
    return scorer.score(asked, scorer.parse(asked, {"answer": Response.of(text, finish)}))


def test_the_prompt_lists_the_labels_and_allows_none() -> None:
    (stage,) = tagging().stages
    assert stage.render(Sample("a", (), "What is heard?", SOUNDS, "dog"), {})[0].parts[0] == (
        "What is heard?\nName every label that applies, with commas between them, or None: dog, rain, siren, car horn."
    )


@pytest.mark.parametrize("references", [("dog", "rain"), ("dog, rain",), ("Rain", "DOG", "none")])
def test_true_labels_may_be_listed_in_several_ways(references) -> None:
    assert scored("tags", "rain and dog", references)["correct"] == 1.0


def test_precision_recall_and_f1_of_a_sample() -> None:
    found = scored("tags", "dog, siren, unicorn", ("dog", "rain"))
    assert (found["set_precision"], found["set_recall"], found["set_f1"]) == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert found["correct"] == 0.0


@pytest.mark.parametrize("reference", ["None", "none", ""])
@pytest.mark.parametrize(
    ("text", "right"), [("None", 1.0), ("No sounds.", 1.0), ("dog", 0.0), ("", 0.0), ("I'm sorry, I can't hear.", 0.0)]
)
def test_silence_is_not_the_answer_none(reference, text, right) -> None:
    found = scored("tags", text, (reference,))
    assert {found["correct"], found["set_precision"], found["set_recall"], found["set_f1"]} == {right}


def test_a_label_called_none_is_the_empty_set() -> None:
    found = scored("tags", "None", ("None",), ("None", "dog"))
    assert found["labels"] == 1.0
    assert found["correct"] == 1.0


def test_a_listener_without_words_answers_by_letter() -> None:
    assert scored("tags", "B", ("rain",))["correct"] == 1.0
    assert scored("tags", "C", ("None",), ("dog", "rain", "None"))["correct"] == 1.0


def test_labels_that_hold_commas_are_whole() -> None:
    whales = ("Beluga, White Whale", "White Whale")
    assert scored("tags", "Beluga, White Whale", ("Beluga, White Whale",), whales)["correct"] == 1.0
    assert scored("exact-set", "Beluga, White Whale", ("Beluga, White Whale",), whales)["correct"] == 1.0


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("rain, dog", 1.0),
        ("Dog,  RAIN.", 1.0),
        ("dog", 0.0),
        ("dog, rain, siren", 0.0),
        ("A dog and rain", 0.0),
        ("", 0.0),
    ],
)
def test_only_the_very_set_is_exact(text, right) -> None:
    assert scored("exact-set", text, ("dog", "rain")) == {"correct": right}


def test_a_set_that_was_cut_is_never_the_whole() -> None:
    found = scored("tags", "dog, rain, car", ("dog", "rain"), finish="length")
    assert (found["correct"], found["set_f1"]) == (0.0, 1.0)
    assert scored("exact-set", "dog, rain", ("dog", "rain"), finish="length") == {"correct": 0.0}


def test_corpus_numbers_count_invented_labels_and_missed_ones() -> None:
    samples = [
        scored("tags", "dog, unicorn", ("dog",)),
        scored("tags", "I'm sorry, I cannot hear.", ("rain",)),
        scored("tags", "None", ("None",)),
    ]
    value = {name: metric_kind(name).estimate(samples, None).value for name in tagging().scorers[0].metrics}
    assert value == pytest.approx(
        {
            "micro_f1": 2 / 4,
            "macro_f1": 1 / 2,
            "set_f1": (2 / 3 + 0 + 1) / 3,
            "micro_precision": 1 / 2,
            "micro_recall": 1 / 2,
            "accuracy": 1 / 3,
        }
    )


def test_letters_within_words_count_by_the_published_rule() -> None:
    genres = ("rock", "hardrock", "drums")
    samples = [
        scored("mtg-substring", "This is hardrock", ("hardrock",), genres),
        scored("mtg-substring", "No drums, just rock", ("rock",), genres),
    ]
    assert samples[0]["score_2"] == 1.0
    assert metric_kind("roc_auc").estimate(samples, None).value == pytest.approx((0.5 + 1.0) / 2)
    assert metric_kind("average_precision_all_labels").estimate(samples, None).value == pytest.approx(
        (0.5 + 1.0 + 0) / 3
    )


def test_the_published_rule_never_sees_a_label_in_two_words() -> None:
    found = scored("mtg-substring", "an acoustic guitar", ("acoustic guitar",), ("acousticguitar", "acoustic guitar"))
    assert "true_1" in found
    assert "true_0" not in found
    assert "score_1" not in found


def test_without_scikit_learn_the_published_rule_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"mtg-substring cannot be used here: .* scikit-learn: pip install"):
        tagging("mtg-substring")
    assert "mtg-substring" not in [scorer.name for scorer in tagging("all").scorers]


def test_a_mistake_in_the_data_is_named() -> None:
    with pytest.raises(UsageError, match="its label 'cat' is not one of its choices"):
        scored("tags", "dog", ("dog, cat",))
    with pytest.raises(UsageError, match="has no choices"):
        scored("tags", "dog", ("dog",), ())


def test_no_true_label_anywhere_has_no_macro_f1() -> None:
    assert math.isnan(metric_kind("macro_f1").estimate([scored("tags", "None", ("None",))], None).value)
