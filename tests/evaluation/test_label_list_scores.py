"""Tasks of labels, trials and requests from answers to numbers, by every protocol at once."""

from __future__ import annotations

import json

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.scoring import score_answers
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.catalogue import family

FEELINGS = ("angry", "happy", "neutral", "sad")
ALARM = json.dumps({"intent": "alarm_set", "entities": [{"type": "time", "filler": "seven am"}]})
NEAR = json.dumps({"intent": "alarm_set", "entities": [{"type": "time", "filler": "seven pm"}]})

ASKED = {
    "classification": [
        (Sample("a", (), "?", FEELINGS, "happy"), "Happy"),
        (Sample("b", (), "?", FEELINGS, "sad"), "I'm sorry, I cannot tell."),
        (Sample("c", (), "?", FEELINGS, "sad"), "sad"),
        (Sample("d", (), "?", FEELINGS, "neutral"), "neutral or sad"),
    ],
    "tagging": [
        (Sample("a", (), "?", ("dog", "rain"), "dog", references=("dog", "rain")), "dog, unicorn"),
        (Sample("b", (), "?", ("dog", "rain"), "None"), "None"),
    ],
    "verification": [
        (Sample("a", (), "", (), "same"), "Yes, 0.9"),
        (Sample("b", (), "", (), "different"), "Yes, 0.4"),
        (Sample("c", (), "", (), "same"), "I cannot tell."),
        (Sample("d", (), "", (), "different"), "No, 0.1"),
    ],
    "keyphrases": [
        (Sample("a", (), "", (), "neural network; audio"), "neural networks, speech"),
        (Sample("b", (), "", (), "audio"), ""),
    ],
    "understanding": [
        (Sample("a", (), "", (), ALARM), NEAR),
        (Sample("b", (), "", (), ALARM), "no JSON here"),
    ],
}


def numbers(name, *scorers, asked=None):
    """Value and n by scorer and metric."""
    rows = [
        SampleAnswers(SelectedSample(sample, 0, None, (), None), 0, {"answer": Response.of(text)}, {}, {}, None)
        for sample, text in (asked or ASKED[name])
    ]
    sheet = score_answers(family(name).with_scorers(*scorers), rows, None, (), 1)
    return {(metric.scorer, metric.name): (metric.value, metric.n) for metric in sheet.metrics if not metric.group}


@pytest.mark.parametrize("name", ASKED)
def test_every_protocol_scores_the_same_answers(name) -> None:
    found = numbers(name, "all")
    assert {scorer for scorer, _ in found} == set(family(name).available)
    assert numbers(name, "all", asked=ASKED[name][::-1]) == found


def test_one_set_of_answers_has_many_numbers() -> None:
    found = numbers("classification", "all")
    assert found["label", "accuracy"] == (0.5, 4)
    assert found["label", "macro_f1"] == (pytest.approx((1 + 2 / 3 + 0) / 3), 4)
    assert found["ultraeval-prefix", "accuracy"] == (0.75, 4)
    assert found["qwen2-audio-exact", "accuracy"] == (0.25, 4)
    assert found["salmonn-emotion", "accuracy"] == (0.25, 4)


def test_what_a_protocol_leaves_out_is_counted_and_shown_kept_beside() -> None:
    found = numbers("understanding", "slurp")
    assert found["slurp", "slu_f1"] == (pytest.approx(4 / (4 + 1.25)), 1)
    assert found["slurp-keep", "slu_f1"] == (pytest.approx(4 / (4 + 1.25 + 2)), 2)


def test_a_trial_without_an_answer_is_no_right_one() -> None:
    found = numbers("verification", "all")
    assert found["same-speaker", "balanced_accuracy"] == (0.5, 4)
    assert found["salmonn-sv", "accuracy"] == (0.5, 4)
    assert found["similarity", "eer_interpolated"][0] == pytest.approx(0.5)
