"""evalscope 1.14.1's reviews and predictions of its own mock model, on five choices."""

import json
import shutil

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, mean_of_own, rows_of

RUN = FILES / "evalscope"
REVIEWS = RUN / "reviews" / "mockllm" / "general_mcq_tones.jsonl"
PREDICTIONS = RUN / "predictions" / "mockllm" / "general_mcq_tones.jsonl"


def test_reviews_come_to_the_reports_own_accuracy():
    first = rows_of(REVIEWS)[0]

    assert (first.model, first.sample.choices, first.sample.reference) == ("mockllm", ("one", "two", "three"), "one")
    assert (
        figure(REVIEWS, "accuracy", "letters") == first.figures["accuracy"] == mean_of_own(REVIEWS, "accuracy") == 0.8
    )


def test_predictions_are_read_with_the_reviews_beside_them():
    assert rows_of(PREDICTIONS) == rows_of(REVIEWS)


def test_predictions_without_reviews_are_refused(tmp_path):
    shutil.copytree(RUN / "predictions", tmp_path / "predictions")

    with pytest.raises(UsageError, match="holds predictions without targets, and there are no reviews at"):
        rows_of(tmp_path / "predictions" / "mockllm" / "general_mcq_tones.jsonl")


def test_a_review_that_has_lost_its_target_is_refused(tmp_path):
    row = json.loads(REVIEWS.read_text().splitlines()[0])
    del row["target"]
    file = tmp_path / "general_mcq_tones.jsonl"
    file.write_text(json.dumps(row) + "\n")

    with pytest.raises(UsageError, match="row 1: it has no 'index', 'target' and 'prediction'"):
        rows_of(file)


def test_a_review_that_could_not_be_made_is_an_error(tmp_path):
    row = json.loads(REVIEWS.read_text().splitlines()[0])
    row["sample_score"]["score"] |= {"status": "error", "explanation": "the server is away", "prediction": None}
    file = tmp_path / "general_mcq_tones.jsonl"
    file.write_text(json.dumps(row) + "\n")

    assert rows_of(file)[0].error == "the server is away"
