"""Predictions for SLURP, held to what its own evaluation script prints."""

import json
import shutil

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore
from tests.compat.readers.scoring import OUTPUTS, needs_outputs, rows_of

PREDICTIONS = OUTPUTS / "slurp" / "gold_sfid_predictions.jsonl"
ITS_OWN = {
    "intent_accuracy": 0.8225,
    "entity_f1": 0.6987,
    "slu_word_f1": 0.7353,
    "slu_char_f1": 0.7567,
    "slu_f1": 0.7459,
}
"""Of scripts/evaluation/evaluate.py with --load-gold."""


@needs_outputs
def test_predictions_come_to_the_figures_of_slurps_own_script():
    (item,) = rescore(source_of(PREDICTIONS), ScoringOptions(scorers=("slurp",))).items
    figures = {
        metric.name: round(metric.value, 4) for metric in item.metrics if metric.scorer == "slurp" and not metric.group
    }

    assert {metric: figures[metric] for metric in ITS_OWN} == ITS_OWN


@needs_outputs
def test_predictions_without_the_true_frames_are_refused(tmp_path):
    file = shutil.copy(PREDICTIONS, tmp_path / "predictions.jsonl")

    with pytest.raises(UsageError, match=r"holds no true frames: name SLURP's test\.jsonl with --references"):
        rows_of(file)


def test_a_prediction_of_a_request_that_nobody_made_is_refused(tmp_path):
    request = {"slurp_id": 1, "sentence": "stop", "scenario": "play", "action": "stop", "tokens": [], "entities": []}
    (tmp_path / "test.jsonl").write_text(json.dumps(request) + "\n")
    file = tmp_path / "predictions.jsonl"
    file.write_text(json.dumps({"slurp_id": "2", "scenario": "play", "action": "stop", "entities": []}) + "\n")

    with pytest.raises(UsageError, match="has no request '2', so its true frame is unknown"):
        rows_of(file)


def test_requests_without_a_prediction_are_counted_in_a_note(tmp_path):
    request = {"slurp_id": 1, "sentence": "stop", "scenario": "play", "action": "stop", "tokens": [], "entities": []}
    lines = [
        json.dumps({**request, "slurp_id": number, "recordings": [{"file": f"{number}.flac"}]}) for number in "123"
    ]
    (tmp_path / "test.jsonl").write_text("\n".join(lines) + "\n")
    file = tmp_path / "predictions.jsonl"
    file.write_text(json.dumps({"file": "2.flac", "scenario": "play", "action": "stop", "entities": []}) + "\n")

    (row,) = rows_of(file)

    assert row.note == "2 of 3 references in test.jsonl have no answer: the figures are of the others"
